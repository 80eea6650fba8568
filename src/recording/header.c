/*
 * The header file: lines of `key: value`, the last of which is a checksum of the lines before it. Bytes below 0x20, 0x7f and the backslash
 * are written as \xNN. One table serves writing and reading.
 */
#include "recording/recording.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#define FIRST_LINE "trackway recording "
#define CHECK_KEY  "xxh64: "

enum { MAX_HEADER = 64 << 20, MAX_ARGC = 1 << 22, RESERVE = 64 << 10 };

enum kind { NUMBER32, NUMBER64, TEXT, FORMAT, SINK, FOLLOW, STATE };

struct field {
	const char *key;
	enum kind kind;
	size_t at;
};

#define FIELD(key, kind, member)                                                                                                           \
	{                                                                                                                                  \
		key, kind, offsetof(struct tw_recording_info, member)                                                                      \
	}

static const struct field fields[] = {
    FIELD("state", STATE, complete),
    FIELD("program", TEXT, program),
    FIELD("directory", TEXT, cwd),
    FIELD("host", TEXT, host),
    FIELD("cpu", TEXT, cpu),
    FIELD("kernel", TEXT, kernel),
    FIELD("start", NUMBER64, start),
    FIELD("tsc-start", NUMBER64, tsc_start),
    FIELD("tsc-hz", NUMBER64, tsc_hz),
    FIELD("tsc-invariant", NUMBER32, tsc_invariant),
    FIELD("order", NUMBER32, order),
    FIELD("format", FORMAT, format),
    FIELD("sink", SINK, sink),
    FIELD("follow", FOLLOW, follow),
    FIELD("start-at", TEXT, start_at),
    FIELD("stop-at", TEXT, stop_at),
    FIELD("windows", NUMBER64, windows),
    FIELD("failure", TEXT, failure),
    FIELD("wait-status", NUMBER32, wait_status),
    FIELD("duration-ns", NUMBER64, duration_ns),
    FIELD("instructions", NUMBER64, totals.insns),
    FIELD("blocks", NUMBER64, totals.blocks),
    FIELD("references", NUMBER64, totals.refs),
    FIELD("reads", NUMBER64, totals.reads),
    FIELD("writes", NUMBER64, totals.writes),
    FIELD("written", NUMBER64, totals.written),
    FIELD("raw-c", NUMBER64, totals.raw[TW_STREAM_C]),
    FIELD("raw-m", NUMBER64, totals.raw[TW_STREAM_M]),
    FIELD("raw-e", NUMBER64, totals.raw[TW_STREAM_E]),
    FIELD("raw-code", NUMBER64, totals.code_raw),
    FIELD("coded-c", NUMBER64, totals.coded[TW_STREAM_C]),
    FIELD("coded-m", NUMBER64, totals.coded[TW_STREAM_M]),
    FIELD("coded-e", NUMBER64, totals.coded[TW_STREAM_E]),
    FIELD("stored-c", NUMBER64, totals.stored[TW_STREAM_C]),
    FIELD("stored-m", NUMBER64, totals.stored[TW_STREAM_M]),
    FIELD("stored-e", NUMBER64, totals.stored[TW_STREAM_E]),
    FIELD("stored-code", NUMBER64, totals.code_stored),
    FIELD("chunks", NUMBER64, totals.chunks),
    FIELD("threads", NUMBER64, totals.threads),
    FIELD("fragments", NUMBER64, totals.fragments),
    FIELD("gaps", NUMBER64, totals.gaps),
    FIELD("stamps", NUMBER64, totals.stamps),
    FIELD("xcr0", NUMBER64, xstate.xcr0),
};

enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static const char *const formats[TW_NFORMATS] = {"none",           "dep",   "call",    "dep-c", "bb_pc", "mem_addr",
                                                 "bb_pc+mem_addr", "dep06", "dep06-c", "cf_bit"};
static const char *const sinks[] = {"file", "count"};
static const char *const follows[] = {"all", "none"};
static const char *const states[] = {"incomplete", "complete"};

static int find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

const char *tw_format_name(uint32_t format)
{
	return format < TW_NFORMATS ? formats[format] : "unknown";
}

int tw_format_by_name(const char *name)
{
	return find(formats, TW_NFORMATS, name);
}

const char *tw_sink_name(uint32_t sink)
{
	return sink < 2 ? sinks[sink] : "unknown";
}

int tw_sink_by_name(const char *name)
{
	return find(sinks, 2, name);
}

const char *tw_follow_name(uint32_t follow)
{
	return follow < 2 ? follows[follow] : "unknown";
}

int tw_follow_by_name(const char *name)
{
	return find(follows, 2, name);
}

/* ---- writing ---- */

static void put_text(FILE *f, const char *key, const char *text)
{
	fprintf(f, "%s: ", key);
	for (const unsigned char *p = (const unsigned char *)(text ? text : ""); *p; p++) {
		if (*p < 0x20 || *p == 0x7f || *p == '\\')
			fprintf(f, "\\x%02x", *p);
		else
			fputc(*p, f);
	}
	fputc('\n', f);
}

static void put_field(FILE *f, const struct field *field, const struct tw_recording_info *info)
{
	const void *at = (const char *)info + field->at;
	switch (field->kind) {
	case NUMBER32:
		fprintf(f, "%s: %d\n", field->key, *(const int32_t *)at);
		break;
	case NUMBER64:
		fprintf(f, "%s: %lld\n", field->key, *(const long long *)at);
		break;
	case TEXT:
		put_text(f, field->key, *(char *const *)at);
		break;
	case FORMAT:
		put_text(f, field->key, tw_format_name(*(const uint32_t *)at));
		break;
	case SINK:
		put_text(f, field->key, tw_sink_name(*(const uint32_t *)at));
		break;
	case FOLLOW:
		put_text(f, field->key, tw_follow_name(*(const uint32_t *)at));
		break;
	case STATE:
		put_text(f, field->key, states[*(const uint32_t *)at != 0]);
		break;
	}
}

static void put_xstate(FILE *f, const struct tw_xstate *x)
{
	for (int i = 0; i < 32; i++)
		if (x->component[i].size)
			fprintf(f, "xstate: %d %u %u %u\n", i, x->component[i].offset, x->component[i].size, x->component[i].align64);
}

/* The whole text but the checksum, allocated; NULL if there is no memory. */
static char *header_text(const struct tw_recording_info *info, size_t *n)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, n);
	if (!f)
		return NULL;
	fprintf(f, FIRST_LINE "%d\n", TW_RECORDING_VERSION);
	for (int i = 0; i < N_FIELDS; i++)
		put_field(f, &fields[i], info);
	put_xstate(f, &info->xstate);
	for (int i = 0; i < info->argc; i++)
		put_text(f, "argument", info->argv[i]);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

#define FRESH_FILE TW_HEADER_FILE ".new"

/* Overwrites in place and cuts to length, so that blocks set aside by tw_header_reserve serve on a full disk. */
static int write_file(int dir_fd, const char *text, size_t n)
{
	int fd = openat(dir_fd, FRESH_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return tw_fail(TW_ERR_SYSTEM, FRESH_FILE ": %s", strerror(errno));
	char check[64];
	int n_check = snprintf(check, sizeof check, CHECK_KEY "%016llx\n", (unsigned long long)XXH64(text, n, 0));
	struct iovec iov[2] = {{(char *)text, n}, {check, (size_t)n_check}};
	int error = tw_write_all(fd, iov, 2, FRESH_FILE);
	if (!error && ftruncate(fd, (off_t)n + n_check))
		error = tw_fail(TW_ERR_SYSTEM, FRESH_FILE ": %s", strerror(errno));
	close(fd);
	return error;
}

int tw_header_reserve(int dir_fd)
{
	int fd = openat(dir_fd, FRESH_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	int why = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE);
	if (fd >= 0)
		close(fd);
	return why ? tw_fail(TW_ERR_SYSTEM, FRESH_FILE ": %s", strerror(why)) : TW_OK;
}

int tw_header_write(int dir_fd, const struct tw_recording_info *info)
{
	size_t n = 0;
	char *text = header_text(info, &n);
	if (!text)
		return tw_fail(TW_ERR_MEMORY, "header");
	int error = write_file(dir_fd, text, n);
	free(text);
	if (error)
		return error;
	if (renameat(dir_fd, FRESH_FILE, dir_fd, TW_HEADER_FILE))
		return tw_fail(TW_ERR_SYSTEM, TW_HEADER_FILE ": %s", strerror(errno));
	return TW_OK;
}

/* ---- reading ---- */

/* The byte that \xNN at `s` stands for; 0: there is none. */
static char escaped(const char *s)
{
	if (s[0] != '\\' || s[1] != 'x' || !isxdigit((unsigned char)s[2]) || !isxdigit((unsigned char)s[3]))
		return 0;
	const char digits[3] = {s[2], s[3], 0};
	return (char)strtoul(digits, NULL, 16);
}

/* Undoes \xNN in place. */
static void unescape(char *s)
{
	char *out = s;
	for (char byte; *s; s += byte ? 4 : 1) {
		byte = escaped(s);
		*out++ = byte ? byte : *s;
	}
	*out = 0;
}

static int set_text(char **at, const char *value)
{
	free(*at);
	*at = strdup(value);
	return *at ? TW_OK : TW_ERR_MEMORY;
}

static int set_name(uint32_t *at, const char *const *names, int n, const char *value)
{
	int found = find(names, n, value);
	if (found < 0)
		return TW_ERR_DAMAGED;
	*at = (uint32_t)found;
	return TW_OK;
}

static int set_field(const struct field *field, struct tw_recording_info *info, const char *value)
{
	void *at = (char *)info + field->at;
	switch (field->kind) {
	case NUMBER32:
		*(int32_t *)at = (int32_t)strtol(value, NULL, 10);
		return TW_OK;
	case NUMBER64:
		*(long long *)at = strtoll(value, NULL, 10);
		return TW_OK;
	case TEXT:
		return set_text(at, value);
	case FORMAT:
		return set_name(at, formats, TW_NFORMATS, value);
	case SINK:
		return set_name(at, sinks, 2, value);
	case FOLLOW:
		return set_name(at, follows, 2, value);
	case STATE:
		return set_name(at, states, 2, value);
	}
	return TW_ERR_DAMAGED;
}

static int add_argument(struct tw_recording_info *info, const char *value)
{
	if (info->argc >= MAX_ARGC)
		return TW_ERR_DAMAGED;
	char **argv = realloc(info->argv, ((size_t)info->argc + 2) * sizeof *argv);
	if (!argv)
		return TW_ERR_MEMORY;
	info->argv = argv;
	argv[info->argc] = NULL;
	if (set_text(&argv[info->argc], value))
		return TW_ERR_MEMORY;
	argv[++info->argc] = NULL;
	return TW_OK;
}

static int add_component(struct tw_xstate *x, const char *value)
{
	unsigned i, offset, size, align64;
	if (sscanf(value, "%u %u %u %u", &i, &offset, &size, &align64) != 4 || i >= 32)
		return TW_ERR_DAMAGED;
	x->component[i].offset = offset;
	x->component[i].size = size;
	x->component[i].align64 = align64;
	return TW_OK;
}

/* Unknown keys are passed over, so that a later minor addition does not need a new version. */
static int parse_line(char *line, struct tw_recording_info *info)
{
	char *value = strstr(line, ": ");
	if (!value)
		return TW_ERR_DAMAGED;
	*value = 0;
	value += 2;
	unescape(value);
	if (!strcmp(line, "argument"))
		return add_argument(info, value);
	if (!strcmp(line, "xstate"))
		return add_component(&info->xstate, value);
	for (int i = 0; i < N_FIELDS; i++)
		if (!strcmp(line, fields[i].key))
			return set_field(&fields[i], info, value);
	return TW_OK;
}

static int parse_first_line(const char *text, const char *path, struct tw_recording_info *info)
{
	size_t n = strlen(FIRST_LINE);
	if (strncmp(text, FIRST_LINE, n))
		return tw_fail(TW_ERR_NOT_RECORDING, "%s", path);
	info->version = (uint32_t)strtoul(text + n, NULL, 10);
	if (info->version != TW_RECORDING_VERSION)
		return tw_fail(TW_ERR_VERSION, "version %u; this Trackway reads version %d", info->version, TW_RECORDING_VERSION);
	return TW_OK;
}

/* Finds the checksum line, checks it and cuts it off. */
static int verify_text(char *text, const char *path)
{
	char *last = strstr(text, "\n" CHECK_KEY);
	unsigned long long check;
	if (!last || sscanf(last + 1 + strlen(CHECK_KEY), "%16llx", &check) != 1 || !strchr(last + 1, '\n'))
		return tw_fail(TW_ERR_TRUNCATED, "%s", path);
	if (XXH64(text, (size_t)(last + 1 - text), 0) != check)
		return tw_fail(TW_ERR_CHECKSUM, "%s", path);
	last[1] = 0;
	return TW_OK;
}

static int parse_text(char *text, const char *path, struct tw_recording_info *info)
{
	int error = parse_first_line(text, path, info);
	if (!error)
		error = verify_text(text, path);
	if (error)
		return error;
	char *save = NULL;
	strtok_r(text, "\n", &save);
	for (char *line; (line = strtok_r(NULL, "\n", &save));) {
		error = parse_line(line, info);
		if (error)
			return tw_fail(error, "%s: %s", path, line);
	}
	for (int i = 0; i < N_FIELDS; i++) {
		char **at = (char **)((char *)info + fields[i].at);
		if (fields[i].kind == TEXT && !*at && set_text(at, ""))
			return tw_fail(TW_ERR_MEMORY, "%s", path);
	}
	return TW_OK;
}

static char *read_text(int fd, size_t n)
{
	char *text = malloc(n + 1);
	size_t have = 0;
	while (text && have < n) {
		ssize_t got = read(fd, text + have, n - have);
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	if (text)
		text[have] = 0;
	return text;
}

static int is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n <= 2; /* . and .. */
}

/* Why there is no header file in `dir`. */
static int no_header(const char *dir, const char *path, int why)
{
	struct stat st;
	if (why != ENOENT && why != ENOTDIR)
		return tw_fail(TW_ERR_SYSTEM, "%s: %s", path, strerror(why));
	if (stat(dir, &st))
		return tw_fail(errno == ENOENT || errno == ENOTDIR ? TW_ERR_NOT_FOUND : TW_ERR_SYSTEM, "%s", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return tw_fail(TW_ERR_NOT_RECORDING, "a recording is a directory");
	return tw_fail(is_empty(dir) ? TW_ERR_EMPTY : TW_ERR_NOT_RECORDING, "no file %s", path);
}

int tw_header_read(const char *dir, struct tw_recording_info *info)
{
	char path[PATH_MAX];
	struct stat st;
	memset(info, 0, sizeof *info);
	snprintf(path, sizeof path, "%s/" TW_HEADER_FILE, dir);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a named pipe may stand there */
	if (fd < 0)
		return no_header(dir, path, errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_HEADER || !st.st_size) {
		close(fd);
		return tw_fail(st.st_size || !S_ISREG(st.st_mode) ? TW_ERR_NOT_RECORDING : TW_ERR_EMPTY, "%s", path);
	}
	char *text = read_text(fd, (size_t)st.st_size);
	close(fd);
	int error = text ? parse_text(text, path, info) : tw_fail(TW_ERR_MEMORY, "%s", path);
	free(text);
	if (error)
		tw_header_free(info);
	return error;
}

void tw_header_free(struct tw_recording_info *info)
{
	for (int i = 0; i < N_FIELDS; i++)
		if (fields[i].kind == TEXT)
			free(*(char **)((char *)info + fields[i].at));
	for (int i = 0; i < info->argc; i++)
		free(info->argv[i]);
	free(info->argv);
	memset(info, 0, sizeof *info);
}
