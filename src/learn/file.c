#include "learn/file.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC "TWLEARN\n"
enum { VERSION = 2 };

struct head {
	char magic[8];
	uint32_t version, runs;
	uint32_t n_modules, n_texts;
	uint64_t text_bytes, n_facts;
	uint64_t check; /* xxh64 of everything that follows, seeded with the xxh64 of what precedes it */
};

static uint64_t check_of(const struct head *h, const void *rest, size_t n)
{
	return XXH64(rest, n, XXH64(h, offsetof(struct head, check), 0));
}

static uint64_t state_of(const struct head *h)
{
	return h->check ? h->check : 1;
}

static size_t rest_bytes(const struct head *h)
{
	return h->n_modules * sizeof(struct tw_learned_module) + h->n_facts * sizeof(struct tw_fact) + h->text_bytes;
}

static int failed(int error, const char *path)
{
	return tw_fail(error, "'%s': %s", path, strerror(errno));
}

const char *tw_learn_sentence(const char *path, int error, char *to, size_t size)
{
	switch (error) {
	case TW_ERR_NOT_FOUND:
		snprintf(to, size, "there is no learn file '%s'", path);
		break;
	case TW_ERR_EMPTY:
		snprintf(to, size, "nothing has been learned in '%s', which is empty", path);
		break;
	case TW_ERR_NOT_RECORDING:
		snprintf(to, size, "'%s' is not a learn file", path);
		break;
	case TW_ERR_VERSION:
		snprintf(to, size, "the learn file '%s' is of another version (%s)", path, tw_recording_detail());
		break;
	case TW_ERR_TRUNCATED:
		snprintf(to, size, "the learn file '%s' ends early", path);
		break;
	case TW_ERR_CHECKSUM:
		snprintf(to, size, "the learn file '%s' is damaged: its checksum does not match", path);
		break;
	case TW_ERR_DAMAGED:
		snprintf(to, size, "the learn file '%s' is damaged: its %s contradict each other", path, tw_recording_detail());
		break;
	default:
		tw_failure_sentence(error, to, size);
	}
	return to;
}

/* ---- reading ---- */

/* Not a damaged learn file, which would be kept aside: something else. */
static int not_a_file(const struct stat *st, const char *path)
{
	return tw_fail(TW_ERR_SYSTEM, "'%s' is a %s, not a learn file", path, S_ISDIR(st->st_mode) ? "folder" : "device or pipe");
}

static int whole_file(int fd, const char *path, char **bytes, size_t *n)
{
	struct stat st;
	if (fstat(fd, &st))
		return failed(TW_ERR_SYSTEM, path);
	if (!S_ISREG(st.st_mode))
		return not_a_file(&st, path);
	*n = (size_t)st.st_size;
	*bytes = malloc(*n + 1);
	if (!*bytes)
		return tw_fail(TW_ERR_MEMORY, "%s", path);
	return *n ? tw_read_at(fd, *bytes, *n, 0, path) : tw_fail(TW_ERR_EMPTY, "%s", path);
}

static int check_head(const struct head *h, const char *bytes, size_t n, const char *path)
{
	if (n < sizeof h->magic || memcmp(bytes, MAGIC, sizeof h->magic))
		return tw_fail(TW_ERR_NOT_RECORDING, "%s", path);
	if (n < sizeof *h)
		return tw_fail(TW_ERR_TRUNCATED, "%s", path);
	if (h->version != VERSION)
		return tw_fail(TW_ERR_VERSION, "version %u, where this Trackway has %d", h->version, VERSION);
	if (h->n_modules > n || h->n_facts > n || h->text_bytes > n || rest_bytes(h) != n - sizeof *h)
		return tw_fail(TW_ERR_TRUNCATED, "%s", path);
	return check_of(h, bytes + sizeof *h, n - sizeof *h) == h->check ? TW_OK : tw_fail(TW_ERR_CHECKSUM, "%s", path);
}

/* Texts one after another, each with a NUL: so they get the same numbers again. */
static int take_texts(struct tw_facts *f, const struct head *h, const char *at)
{
	const char *end = at + h->text_bytes;
	if (h->text_bytes && end[-1])
		return tw_fail(TW_ERR_DAMAGED, "texts");
	for (uint32_t i = 0; i < h->n_texts; i++, at += strlen(at) + 1) {
		const uint32_t number = at < end ? tw_facts_text(f, at) : TW_NO_TEXT;
		if (number != i)
			return tw_fail(number == TW_NO_TEXT && at < end ? TW_ERR_MEMORY : TW_ERR_DAMAGED, "texts");
	}
	return TW_OK;
}

static int take_modules(struct tw_facts *f, const struct head *h, const struct tw_learned_module *m)
{
	for (uint32_t i = 0; i < h->n_modules; i++) {
		if (m[i].build_id >= f->texts.n || m[i].path >= f->texts.n)
			return tw_fail(TW_ERR_DAMAGED, "modules");
		const uint32_t number = tw_facts_module(f, f->texts.items[m[i].build_id], f->texts.items[m[i].path]);
		if (number != i)
			return tw_fail(number == TW_NO_NUMBER ? TW_ERR_MEMORY : TW_ERR_DAMAGED, "modules");
	}
	return TW_OK;
}

static int take_facts(struct tw_facts *f, const struct head *h, const struct tw_fact *facts)
{
	for (uint64_t i = 0; i < h->n_facts; i++) {
		const struct tw_fact *fact = &facts[i];
		const int ok = fact->kind < TW_FACT_KINDS && fact->module < f->n_modules && fact->to_module < f->n_modules &&
		               fact->function < f->texts.n && fact->file < f->texts.n && fact->parent <= i &&
		               (!fact->parent || f->facts[fact->parent - 1].kind == TW_FACT_CONTEXT);
		const int error = ok ? tw_facts_add(f, fact) : tw_fail(TW_ERR_DAMAGED, "facts");
		if (error < 0)
			return error;
	}
	return TW_OK;
}

/* Parts are in the order of their alignment: modules and facts, which are aligned, then texts. */
static int take_all(struct tw_facts *f, const char *bytes, size_t n, const char *path)
{
	const struct head *h = (const struct head *)bytes;
	int error = check_head(h, bytes, n, path);
	if (error)
		return error;
	const struct tw_learned_module *modules = (const struct tw_learned_module *)(h + 1);
	const struct tw_fact *facts = (const struct tw_fact *)(modules + h->n_modules);
	error = take_texts(f, h, (const char *)(facts + h->n_facts));
	if (!error)
		error = take_modules(f, h, modules);
	if (!error)
		error = take_facts(f, h, facts);
	f->runs = h->runs;
	f->state = state_of(h);
	return error;
}

static int read_open(int fd, const char *path, struct tw_facts *f)
{
	char *bytes = NULL;
	size_t n = 0;
	int error = whole_file(fd, path, &bytes, &n);
	if (!error)
		error = take_all(f, bytes, n, path);
	free(bytes);
	if (error)
		tw_facts_free(f);
	return error;
}

int tw_learn_read(const char *path, struct tw_facts *f)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* (a pipe has nobody wait) */
	if (fd < 0)
		return failed(errno == ENOENT ? TW_ERR_NOT_FOUND : TW_ERR_SYSTEM, path);
	const int error = read_open(fd, path, f);
	close(fd);
	return error;
}

/* ---- writing ---- */

static char *join_texts(const struct tw_facts *f, uint64_t *n)
{
	*n = 0;
	for (uint32_t i = 0; i < f->texts.n; i++)
		*n += strlen(f->texts.items[i]) + 1;
	char *texts = malloc(*n + 1), *at = texts;
	for (uint32_t i = 0; texts && i < f->texts.n; i++)
		at = stpcpy(at, f->texts.items[i]) + 1;
	return texts;
}

/* Everything after the header, in one piece, for the checksum. */
static char *pack(const struct tw_facts *f, struct head *h)
{
	char *texts = join_texts(f, &h->text_bytes);
	h->n_modules = (uint32_t)f->n_modules;
	h->n_facts = f->n;
	h->n_texts = f->texts.n;
	char *bytes = texts ? malloc(rest_bytes(h) + 1) : NULL, *at = bytes;
	if (bytes) {
		at = mempcpy(at, f->modules, f->n_modules * sizeof *f->modules);
		at = mempcpy(at, f->facts, f->n * sizeof *f->facts);
		memcpy(at, texts, h->text_bytes);
		h->check = check_of(h, bytes, rest_bytes(h));
	}
	free(texts);
	return bytes;
}

/* Writes it beside the old one and replaces that, with its mode. */
static int replace(const char *path, mode_t mode, struct tw_facts *f)
{
	char aside[PATH_MAX + 16];
	struct head h = {.magic = MAGIC, .version = VERSION, .runs = f->runs};
	char *bytes = pack(f, &h);
	if (!bytes)
		return tw_fail(TW_ERR_MEMORY, "%s", path);
	snprintf(aside, sizeof aside, "%s.%d", path, (int)getpid());
	const int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct iovec iov[] = {{&h, sizeof h}, {bytes, rest_bytes(&h)}};
	int error = fd < 0 ? failed(TW_ERR_SYSTEM, aside) : tw_write_all(fd, iov, 2, aside);
	if (!error && (fchmod(fd, mode) || fsync(fd) || rename(aside, path)))
		error = failed(TW_ERR_SYSTEM, path);
	if (fd >= 0)
		close(fd);
	if (error && fd >= 0)
		unlink(aside);
	f->state = state_of(&h);
	free(bytes);
	return error;
}

/*
 * Opens the file, created if necessary, and locks it. If another file was put there meanwhile, opens that. `real`:
 * its path without links, which stay; *st: its status.
 */
static int open_locked(const char *path, int *fd, char real[PATH_MAX], struct stat *st)
{
	for (;;) {
		struct stat there;
		*fd = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
		if (*fd < 0)
			return failed(TW_ERR_SYSTEM, path);
		if (flock(*fd, LOCK_EX) || fstat(*fd, st)) {
			close(*fd);
			return failed(TW_ERR_SYSTEM, path);
		}
		if (!S_ISREG(st->st_mode)) {
			close(*fd);
			return not_a_file(st, path);
		}
		if (realpath(path, real) && !stat(real, &there) && st->st_dev == there.st_dev && st->st_ino == there.st_ino)
			return TW_OK;
		close(*fd);
	}
}

/* Renames what stands there to a name that nothing has. */
static int keep_aside(const char *path, char kept[TW_LEARN_KEPT])
{
	for (unsigned k = 1; k < 1000; k++) {
		snprintf(kept, TW_LEARN_KEPT, k > 1 ? "%s.kept%u" : "%s.kept", path, k);
		if (!renameat2(AT_FDCWD, path, AT_FDCWD, kept, RENAME_NOREPLACE))
			return TW_OK;
		if (errno != EEXIST)
			break;
	}
	return failed(TW_ERR_SYSTEM, path);
}

/* What is there already. Whatever that is, it is not lost. */
static int take_old(int fd, const char *path, struct tw_facts *all, struct tw_learn_saved *saved)
{
	const int error = read_open(fd, path, all);
	if (!error || error == TW_ERR_EMPTY)
		return TW_OK;
	if (error == TW_ERR_SYSTEM || error == TW_ERR_MEMORY)
		return error;
	tw_learn_sentence(path, error, saved->why, sizeof saved->why);
	return keep_aside(path, saved->kept);
}

int tw_learn_save(const char *path, const struct tw_facts *f, struct tw_learn_saved *saved)
{
	struct tw_facts all = {0};
	char real[PATH_MAX];
	struct stat st;
	int fd;
	memset(saved, 0, sizeof *saved);
	int error = open_locked(path, &fd, real, &st);
	if (error)
		return error;
	error = take_old(fd, real, &all, saved);
	saved->before = all.state;
	if (!error)
		error = tw_facts_merge(&all, f, saved->added);
	if (!error)
		error = replace(real, st.st_mode & 0777, &all);
	tw_facts_count(&all, saved->all);
	saved->now = all.state;
	tw_facts_free(&all);
	close(fd);
	return error;
}

/* The directory must permit writing a file beside it. */
int tw_learn_writable(const char *path)
{
	char real[PATH_MAX], folder[PATH_MAX];
	struct stat st;
	const int stands = !stat(path, &st);
	if (stands && !S_ISREG(st.st_mode))
		return not_a_file(&st, path);
	if (stands && access(path, R_OK | W_OK))
		return failed(TW_ERR_SYSTEM, path);
	snprintf(folder, sizeof folder, "%s", stands && realpath(path, real) ? real : path);
	char *slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	if (!path[0] || access(slash ? folder : ".", W_OK | X_OK))
		return failed(TW_ERR_SYSTEM, path);
	return TW_OK;
}
