/*
 * The header file: lines of `key: value`, the last of which is a checksum of the lines before it. Bytes below 0x20, 0x7f and the backslash
 * are written as \xNN. One table serves writing and reading. What is written differently from how it would be written here is refused.
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

#define FIRST_LINE   "trackway recording "
#define CHECK_FORMAT "xxh64: %016llx\n"

enum { MAX_HEADER = 64 << 20, MAX_ARGC = 1 << 22, RESERVE = 64 << 10, CHECK_BYTES = 24 /* of the last line */ };

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
    FIELD("calls", TEXT, calls),
    FIELD("format", FORMAT, format),
    FIELD("sink", SINK, sink),
    FIELD("follow", FOLLOW, follow),
    FIELD("attached", NUMBER32, attached),
    FIELD("instrumented", NUMBER32, instrumented),
    FIELD("burst", NUMBER64, burst),
    FIELD("every", NUMBER64, every),
    FIELD("start-at", TEXT, start_at),
    FIELD("stop-at", TEXT, stop_at),
    FIELD("windows", NUMBER64, windows),
    FIELD("dropped", NUMBER64, dropped),
    FIELD("failure", TEXT, failure),
    FIELD("wait-status", NUMBER32, wait_status),
    FIELD("duration-ns", NUMBER64, duration_ns),
    FIELD("instructions", NUMBER64, totals.insns),
    FIELD("blocks", NUMBER64, totals.blocks),
    FIELD("references", NUMBER64, totals.refs),
    FIELD("reads", NUMBER64, totals.reads),
    FIELD("writes", NUMBER64, totals.writes),
    FIELD("written", NUMBER64, totals.written),
    FIELD("uncounted", NUMBER64, totals.uncounted),
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
    FIELD("cut", NUMBER64, totals.cut),
    FIELD("xcr0", NUMBER64, xstate.xcr0),
};

enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static const char *const states[] = {"incomplete", "complete"};

/* ---- writing ---- */

static int is_escaped(char byte)
{
	return (unsigned char)byte < 0x20 || byte == 0x7f || byte == '\\';
}

static void put_text(FILE *f, const char *key, const char *text)
{
	fprintf(f, "%s: ", key);
	for (const char *p = text ? text : ""; *p; p++) {
		if (is_escaped(*p))
			fprintf(f, "\\x%02x", (unsigned char)*p);
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

/* What was counted, of what there is. */
static void put_counts(FILE *f, const uint64_t *counts)
{
	for (unsigned k = 0; k < TW_COUNTS; k++)
		if (counts[k])
			fprintf(f, "engine: %s %llu\n", tw_count_name(k), (unsigned long long)counts[k]);
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
	put_counts(f, info->engine);
	put_xstate(f, &info->xstate);
	for (int i = 0; i < info->argc; i++)
		put_text(f, "argument", info->argv[i]);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Prints the last line, over the n bytes before it. */
static void print_check(char to[CHECK_BYTES + 1], const char *text, size_t n)
{
	snprintf(to, CHECK_BYTES + 1, CHECK_FORMAT, (unsigned long long)XXH64(text, n, 0));
}

#define FRESH_FILE TW_HEADER_FILE ".new"

/* Overwrites in place and truncates, so that blocks reserved by tw_header_reserve help on a full disk. */
static int write_file(int dir_fd, const char *text, size_t n)
{
	int fd = openat(dir_fd, FRESH_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return tw_fail(TW_ERR_SYSTEM, FRESH_FILE ": %s", strerror(errno));
	char check[CHECK_BYTES + 1];
	print_check(check, text, n);
	struct iovec iov[2] = {{(char *)text, n}, {check, CHECK_BYTES}};
	int error = tw_write_all(fd, iov, 2, FRESH_FILE);
	if (!error && ftruncate(fd, (off_t)n + CHECK_BYTES))
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
	if (s[1] != 'x' || !isxdigit((unsigned char)s[2]) || !isxdigit((unsigned char)s[3]))
		return 0;
	const char digits[3] = {s[2], s[3], 0};
	return (char)strtoul(digits, NULL, 16);
}

/* Undoes \xNN in place. TW_ERR_DAMAGED: a byte that must be escaped stands for itself, as when a line's end has become a tab. */
static int unescape(char *s)
{
	char *out = s;
	for (; *s; s++) {
		char byte = *s == '\\' ? escaped(s) : *s;
		if (!byte || (*s != '\\' && is_escaped(byte)))
			return TW_ERR_DAMAGED;
		if (*s == '\\')
			s += 3;
		*out++ = byte;
	}
	*out = 0;
	return TW_OK;
}

static int set_text(char **at, const char *value)
{
	free(*at);
	*at = strdup(value);
	return *at ? TW_OK : TW_ERR_MEMORY;
}

/* What a name stands for, or -1. */
static int set_named(uint32_t *at, int found)
{
	if (found < 0)
		return TW_ERR_DAMAGED;
	*at = (uint32_t)found;
	return TW_OK;
}

/* One number and nothing else. */
static int number(const char *value, long long least, long long most, long long *n)
{
	char *end;
	errno = 0;
	*n = strtoll(value, &end, 10);
	return errno || !value[0] || isspace((unsigned char)value[0]) || *end || *n < least || *n > most ? TW_ERR_DAMAGED : TW_OK;
}

static int set_number32(int32_t *at, const char *value)
{
	long long n;
	int error = number(value, INT32_MIN, INT32_MAX, &n);
	*at = (int32_t)n;
	return error;
}

static int set_field(const struct field *field, struct tw_recording_info *info, const char *value)
{
	void *at = (char *)info + field->at;
	switch (field->kind) {
	case NUMBER32:
		return set_number32(at, value);
	case NUMBER64:
		return number(value, LLONG_MIN, LLONG_MAX, at);
	case TEXT:
		return set_text(at, value);
	case FORMAT:
		return set_named(at, tw_format_by_name(value));
	case SINK:
		return set_named(at, tw_sink_by_name(value));
	case FOLLOW:
		return set_named(at, tw_follow_by_name(value));
	case STATE:
		return set_named(at, !strcmp(value, states[0]) ? 0 : !strcmp(value, states[1]) ? 1 : -1);
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

/* Where a state component of a processor may be, and how large: a few KB are. */
#define TW_XSTATE_MOST (TW_REF_MOST / 2)

static int add_component(struct tw_xstate *x, const char *value)
{
	unsigned i, offset, size, align64;
	int read = 0;
	if (sscanf(value, "%2u %9u %9u %1u%n", &i, &offset, &size, &align64, &read) != 4 || value[read] || i >= 32 ||
	    offset > TW_XSTATE_MOST || size > TW_XSTATE_MOST)
		return TW_ERR_DAMAGED;
	x->component[i].offset = offset;
	x->component[i].size = size;
	x->component[i].align64 = align64;
	return TW_OK;
}

/* Names that are not known are passed over, too. */
static int set_count(uint64_t *counts, char *value)
{
	char *blank = strchr(value, ' ');
	long long n;
	if (!blank || number(blank + 1, 0, LLONG_MAX, &n))
		return TW_ERR_DAMAGED;
	*blank = 0;
	for (unsigned k = 0; k < TW_COUNTS; k++)
		if (!strcmp(value, tw_count_name(k)))
			counts[k] = (uint64_t)n;
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
	int error = unescape(value);
	if (error)
		return error;
	if (!strcmp(line, "argument"))
		return add_argument(info, value);
	if (!strcmp(line, "engine"))
		return set_count(info->engine, value);
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
	if (info->version < TW_RECORDING_OLDEST || info->version > TW_RECORDING_VERSION)
		return tw_fail(TW_ERR_VERSION, "version %u; this Trackway reads versions %d to %d", info->version, TW_RECORDING_OLDEST,
		               TW_RECORDING_VERSION);
	return TW_OK;
}

/* Checks the checksum line, the last one, and cuts it off. Each of its bytes counts. */
static int verify_text(char *text, size_t n, const char *path)
{
	char check[CHECK_BYTES + 1];
	char *last = n > CHECK_BYTES ? text + n - CHECK_BYTES : text;
	if (n <= CHECK_BYTES || last[-1] != '\n' || memcmp(last, CHECK_FORMAT, strcspn(CHECK_FORMAT, "%")) || text[n - 1] != '\n')
		return tw_fail(TW_ERR_TRUNCATED, "%s", path);
	print_check(check, text, (size_t)(last - text));
	if (memcmp(last, check, CHECK_BYTES))
		return tw_fail(TW_ERR_CHECKSUM, "%s", path);
	*last = 0;
	return strlen(text) == n - CHECK_BYTES ? TW_OK : tw_fail(TW_ERR_DAMAGED, "%s", path);
}

static int parse_lines(char *text, const char *path, struct tw_recording_info *info)
{
	char *save = NULL;
	unsigned n = 1;
	strtok_r(text, "\n", &save);
	for (char *line; (line = strtok_r(NULL, "\n", &save));) {
		int error = parse_line(line, info);
		n++;
		if (error)
			return tw_fail(error, "%s: line %u", path, n);
	}
	return TW_OK;
}

/* Fills in what no line provided: texts are empty, and so is the list of arguments. */
static int fill_absent(struct tw_recording_info *info)
{
	for (int i = 0; i < N_FIELDS; i++) {
		char **at = (char **)((char *)info + fields[i].at);
		if (fields[i].kind == TEXT && !*at && set_text(at, ""))
			return TW_ERR_MEMORY;
	}
	info->argv = info->argv ? info->argv : calloc(1, sizeof *info->argv);
	return info->argv ? TW_OK : TW_ERR_MEMORY;
}

static int parse_text(char *text, size_t n, const char *path, struct tw_recording_info *info)
{
	int error = parse_first_line(text, path, info);
	if (!error)
		error = verify_text(text, n, path);
	if (!error)
		error = parse_lines(text, path, info);
	if (!error && fill_absent(info))
		error = tw_fail(TW_ERR_MEMORY, "%s", path);
	return error;
}

/* At most *n bytes, and NUL; *n becomes how many there are. */
static char *read_text(int fd, size_t *n)
{
	char *text = malloc(*n + 1);
	size_t have = 0;
	while (text && have < *n) {
		ssize_t got = read(fd, text + have, *n - have);
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	if (text)
		text[have] = 0;
	*n = have;
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
	size_t n = (size_t)st.st_size;
	char *text = read_text(fd, &n);
	close(fd);
	int error = text ? parse_text(text, n, path, info) : tw_fail(TW_ERR_MEMORY, "%s", path);
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

/* ---- copying ---- */

static char *copy_text(const char *s)
{
	return strdup(s ? s : "");
}

static int copy_argv(struct tw_recording_info *to, const struct tw_recording_info *from)
{
	to->argc = 0;
	to->argv = calloc((size_t)from->argc + 1, sizeof *to->argv);
	if (!to->argv)
		return TW_ERR_MEMORY;
	for (; to->argc < from->argc; to->argc++) {
		to->argv[to->argc] = copy_text(from->argv[to->argc]);
		if (!to->argv[to->argc])
			return TW_ERR_MEMORY;
	}
	return TW_OK;
}

int tw_info_copy(struct tw_recording_info *to, const struct tw_recording_info *from)
{
	*to = *from;
	to->complete = 0;
	to->program = copy_text(from->program);
	to->cwd = copy_text(from->cwd);
	to->host = copy_text(from->host);
	to->cpu = copy_text(from->cpu);
	to->kernel = copy_text(from->kernel);
	to->failure = copy_text(from->failure);
	to->calls = copy_text(from->calls);
	to->start_at = copy_text(from->start_at);
	to->stop_at = copy_text(from->stop_at);
	if (copy_argv(to, from) || !to->calls || !to->start_at || !to->stop_at || !to->program || !to->cwd || !to->host || !to->cpu ||
	    !to->kernel || !to->failure)
		return tw_fail(TW_ERR_MEMORY, "header");
	return TW_OK;
}
