#include "recording/recording.h"
#include "unit.h"
#include "unit_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

static char text[1 << 16];
static size_t text_bytes;

/* A header with one argument, in ./header, and in `text`. */
static void write_sample(void)
{
	char *argv[] = {"a\tb\\c", NULL};
	struct tw_recording_info info = {.argc = 1, .argv = argv, .program = "/bin/program", .wait_status = -7, .totals = {.insns = 12}};
	info.engine[TW_COUNT_LINKS] = 34;
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	info.xstate.xcr0 = UINT64_MAX;
	info.xstate.component[2].offset = 576;
	info.xstate.component[2].size = 256;
	EQUAL(tw_header_write(dir, &info), TW_OK);
	close(dir);
	FILE *f = fopen("header", "r");
	text_bytes = fread(text, 1, sizeof text - 1, f);
	text[text_bytes] = 0;
	fclose(f);
}

static int read_bytes(const char *bytes, size_t n, struct tw_recording_info *info)
{
	unlink("header"); /* a file cut to nothing may be written to the disk at once */
	FILE *f = fopen("header", "w");
	CHECK(fwrite(bytes, 1, n, f) == n);
	fclose(f);
	return tw_header_read(".", info);
}

static int error_of(const char *bytes, size_t n)
{
	struct tw_recording_info info;
	int error = read_bytes(bytes, n, &info);
	tw_header_free(&info);
	return error;
}

/* The sample with its first `from` replaced, and a right checksum. */
static int read_changed(const char *from, const char *to, struct tw_recording_info *info)
{
	char changed[sizeof text + 100];
	const char *at = strstr(text, from);
	CHECK(at);
	int n = snprintf(changed, sizeof changed, "%.*s%s%.*s", (int)(at - text), text, to,
	                 (int)(text + text_bytes - 24 - at - strlen(from)), at + strlen(from));
	n += snprintf(changed + n, sizeof changed - (size_t)n, "xxh64: %016llx\n", (unsigned long long)XXH64(changed, (size_t)n, 0));
	return read_bytes(changed, (size_t)n, info);
}

static int error_of_changed(const char *from, const char *to)
{
	struct tw_recording_info info;
	int error = read_changed(from, to, &info);
	tw_header_free(&info);
	return error;
}

static void is_read(void)
{
	struct tw_recording_info info;
	EQUAL(read_bytes(text, text_bytes, &info), TW_OK);
	SAME_TEXT(info.program, "/bin/program");
	SAME_TEXT(info.argv[0], "a\tb\\c");
	EQUAL(info.argc, 1);
	EQUAL(info.wait_status, -7);
	EQUAL(info.totals.insns, 12);
	EQUAL(info.engine[TW_COUNT_LINKS], 34);
	EQUAL(info.engine[TW_COUNT_STALE], 0);
	EQUAL(info.xstate.xcr0, UINT64_MAX);
	EQUAL(info.xstate.component[2].size, 256);
	tw_header_free(&info);
}

/* No byte can be another, be missing, or come in addition. */
static void every_byte_counts(void)
{
	char changed[sizeof text];
	int unnoticed = 0;
	for (size_t i = 0; i < text_bytes; i++)
		for (int by = 1; by < 256; by <<= 1) {
			memcpy(changed, text, text_bytes);
			changed[i] = (char)(changed[i] ^ by);
			unnoticed += !error_of(changed, text_bytes);
		}
	for (size_t n = 0; n < text_bytes; n++)
		unnoticed += !error_of(text, n);
	for (int byte = 0; byte < 256; byte++) {
		memcpy(changed, text, text_bytes);
		changed[text_bytes] = (char)byte;
		unnoticed += !error_of(changed, text_bytes + 1);
	}
	EQUAL(unnoticed, 0);
}

static void lines(void)
{
	static const char *const damaged[][2] = {
	    {"\nargument: ", "\targument: "},
	    {"\\x09", "\\x00"},
	    {"\\x09", "\\y09"},
	    {"\\x09", "\x7f"},
	    {"wait-status: -7", "wait-status: "},
	    {"wait-status: -7", "wait-status: 7 8"},
	    {"wait-status: -7", "wait-status:  7"},
	    {"wait-status: -7", "wait-status: 4294967297"},
	    {"instructions: 12", "instructions: x"},
	    {"instructions: 12", "instructions: 99999999999999999999"},
	    {"engine: links 34", "engine: links"},
	    {"engine: links 34", "engine: links -1"},
	    {"engine: links 34", "engine: links 34 5"},
	    {"xstate: 2 576 256 0", "xstate: 2 576 256 0 1"},
	    {"xstate: 2 576 256 0", "xstate: 2 576 256"},
	    {"xstate: 2 576 256 0", "xstate: 32 576 256 0"},
	    {"xstate: 2 576 256 0", "xstate: 2 4294967295 256 0"},
	    {"state: ", "state: in "},
	    {"format: none", "format: some"},
	    {"program: ", "program "},
	};
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
		EQUAL(error_of_changed(damaged[i][0], damaged[i][1]), TW_ERR_DAMAGED);
	EQUAL(error_of_changed("program: ", "later-addition: "), TW_OK);
	EQUAL(error_of_changed("engine: links", "engine: later_addition"), TW_OK);
}

static void without_arguments(void)
{
	struct tw_recording_info info;
	EQUAL(read_changed("argument: ", "no-argument: ", &info), TW_OK);
	EQUAL(info.argc, 0);
	CHECK(info.argv && !info.argv[0]);
	tw_header_free(&info);
}

int main(void)
{
	char place[PATH_MAX];
	unit_enter_directory(place);
	write_sample();
	is_read();
	every_byte_counts();
	lines();
	without_arguments();
	unit_leave_directory(place);
	return UNIT_END();
}
