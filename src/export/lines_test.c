/* Lines of a hand-made recording: every kind, ranges, threads, workers; numbers as text. */
#include "export/lines.h"
#include "base/text.h"
#include "made_recording.h"

#include <fcntl.h>

enum { OF_THREAD = MADE_CHUNKS * MADE_RUNS };

static char text[1 << 20];

/* The lines, in `text`; returns how many. */
static unsigned lines(const struct tw_recording *r, struct tw_lines_options options)
{
	unsigned n = 0;
	options.fd = open("lines", O_RDWR | O_CREAT | O_TRUNC, 0600);
	EQUAL(tw_lines(r, &options), 0);
	ssize_t length = pread(options.fd, text, sizeof text - 1, 0);
	close(options.fd);
	text[length < 0 ? 0 : length] = 0;
	for (char *p = text; *p; p++)
		n += *p == '\n';
	return n;
}

static int begins(const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void test_kinds(const struct tw_recording *r)
{
	struct tw_lines_options o = {.one_thread = -1, .count = UINT64_MAX, .jobs = 1};
	EQUAL(lines(r, o), 2 * OF_THREAD * 2);
	CHECK(begins("0 400000 R 10000 8\n0 400004 M 4000 4\n0 400000 R 10001 8\n"));
	o.kind = TW_LINES_BLOCKS;
	EQUAL(lines(r, o), OF_THREAD * 2);
	CHECK(begins("0 400000 2 fall\n0 400000 2 fall\n"));
	o.kind = TW_LINES_LACKEY;
	EQUAL(lines(r, o), 4 * OF_THREAD * 2);
	CHECK(begins("I  00400000,4\n L 00010000,8\nI  00400004,4\n M 00004000,4\n"));
}

static void test_ranges(const struct tw_recording *r)
{
	struct tw_lines_options o = {.one_thread = 1, .count = 3, .from = 2, .jobs = 1};
	for (o.jobs = 1; o.jobs < 4; o.jobs++) {
		EQUAL(lines(r, o), 3);
		CHECK(begins("1 400000 R 20001 8\n1 400004 M 4000 4\n1 400000 R 20002 8\n"));
	}
	o.one_thread = -1;
	o.from = 2 * OF_THREAD - 1; /* the last of thread 0 and the first of thread 1 */
	o.count = 2;
	EQUAL(lines(r, o), 2);
	SAME_TEXT(text, "0 400004 M 4000 4\n1 400000 R 20000 8\n");
	o.kind = TW_LINES_BLOCKS;
	o.from = OF_THREAD + 41;
	o.count = UINT64_MAX;
	EQUAL(lines(r, o), OF_THREAD - 41);
	o.kind = TW_LINES_LACKEY;
	o.from = 2 * OF_THREAD + 1;
	o.count = 1;
	EQUAL(lines(r, o), 2);
	SAME_TEXT(text, "I  00400004,4\n M 00004000,4\n");
	o.from = UINT64_MAX;
	EQUAL(lines(r, o), 0);
}

static void test_full(const struct tw_recording *r)
{
	struct tw_lines_options o = {.one_thread = -1, .count = UINT64_MAX};
	o.fd = open("/dev/full", O_WRONLY);
	for (o.jobs = 1; o.jobs < 3; o.jobs++)
		EQUAL(tw_lines(r, &o), TW_LINES_WRITE);
	close(o.fd);
}

static void hex(uint64_t v, unsigned width, const char *expected)
{
	char to[32];
	*tw_put_hex(to, v, width) = 0;
	SAME_TEXT(to, expected);
}

static void decimal(uint64_t v, const char *expected)
{
	char to[32];
	*tw_put_decimal(to, v) = 0;
	SAME_TEXT(to, expected);
}

int main(void)
{
	char dir[PATH_MAX];
	hex(0, 1, "0");
	hex(0, 8, "00000000");
	hex(0xf, 1, "f");
	hex(0x10, 1, "10");
	hex(0x4016b80, 8, "04016b80");
	hex(UINT64_MAX, 8, "ffffffffffffffff");
	decimal(0, "0");
	decimal(10, "10");
	decimal(UINT64_MAX, "18446744073709551615");
	unit_enter_directory(dir);
	struct tw_recording *r = make_recording("r.tw");
	test_kinds(r);
	test_ranges(r);
	test_full(r);
	tw_recording_close(r);
	unit_leave_directory(dir);
	return UNIT_END();
}
