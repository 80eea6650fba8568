#include "channel/keep.h"
#include "channel/descriptor_tables.h"
#include "base/channel.h"
#include "base/text.h"
#include "channel/machine.h"
#include "recording/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---- the directory ---- */

int tw_keep_default(char path[TW_KEEP_PATH])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = TW_KEEP_PATH;
	if (cache && cache[0] == '/')
		n = snprintf(path, TW_KEEP_PATH, "%s/trackway/translations", cache);
	else if (home && home[0] == '/')
		n = snprintf(path, TW_KEEP_PATH, "%s/.cache/trackway/translations", home);
	return n < (int)TW_KEEP_PATH;
}

/* Makes it and what it is in, where that is not there. */
static void make_directories(const char *path)
{
	char part[TW_KEEP_PATH];
	const size_t n = strlen(path);
	for (size_t k = 1; k <= n; k++) {
		if (path[k] != '/' && path[k])
			continue;
		memcpy(part, path, k);
		part[k] = 0;
		mkdir(part, 0700);
	}
}

static int is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* What it is in, in its place. */
static void cut(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = 0;
	else
		strcpy(path, ".");
}

uint64_t tw_keep_usual_bytes(const char *path)
{
	char at[PATH_MAX];
	struct statvfs v;
	snprintf(at, sizeof at, "%s", path);
	while (statvfs(at, &v)) {
		if (!strcmp(at, "/") || !strcmp(at, "."))
			return 0;
		cut(at);
	}
	const uint64_t tenth = (uint64_t)v.f_bavail * v.f_frsize / 10;
	return tenth < TW_KEEP_BYTES ? tenth : TW_KEEP_BYTES;
}

int tw_keep_begin(struct tw_store *store, const char *path, int asked)
{
	struct stat st;
	char whole[PATH_MAX];
	if (strlen(path) >= TW_KEEP_PATH)
		return tw_fail(TW_ERR_SYSTEM, "%s: a directory for translations has at most %u letters", path, TW_KEEP_PATH - 1);
	if (asked)
		mkdir(path, 0700);
	else if (access(path, F_OK))
		make_directories(path);
	if (!realpath(path, whole) || stat(whole, &st))
		return tw_fail(TW_ERR_SYSTEM, "translations cannot be kept in %s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || !is_own(&st))
		return tw_fail(TW_ERR_SYSTEM, "translations are not kept in %s: %s", path,
		               S_ISDIR(st.st_mode) ? "it is another's, or others may write there" : "it is not a directory");
	if (strlen(whole) >= TW_KEEP_PATH)
		return tw_fail(TW_ERR_SYSTEM, "%s: a directory for translations has at most %u letters", whole, TW_KEEP_PATH - 1);
	if (tw_machine_identify(&store->machine))
		memcpy(store->keep, whole, strlen(whole) + 1);
	return TW_OK;
}

/* ---- keeping one ---- */

static void name_of(uint64_t number, const char *suffix, char name[NAME_MAX + 1])
{
	snprintf(name, NAME_MAX + 1, "%016llx%s", (unsigned long long)number, suffix);
}

int tw_keep_allows(uint64_t bytes)
{
	struct rlimit most;
	return !getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur >= bytes;
}

/* Copies the part [from, to) of `fd` to the same part of `out`, which starts at `base`. Holes stay holes. */
static int copy(int out, int fd, off_t base, off_t from, off_t to)
{
	if (lseek(out, from - base, SEEK_SET) < 0)
		return 0;
	while (from < to) {
		const ssize_t n = sendfile(out, fd, &from, (size_t)(to - from));
		if (n == 0 || (n < 0 && errno != EINTR))
			return 0;
	}
	return 1;
}

static int copy_all(int out, int fd, off_t base, off_t end)
{
	for (off_t from = base; from < end;) {
		from = lseek(fd, from, SEEK_DATA);
		if (from < 0 || from >= end)
			break; /* a hole to the end */
		off_t to = lseek(fd, from, SEEK_HOLE);
		to = to < 0 || to > end ? end : to;
		if (!copy(out, fd, base, from, to))
			return 0;
		from = to;
	}
	return !ftruncate(out, end - base);
}

/* Appends the descriptors of its table to what has been copied; they may have become more since, and so may its numbers. */
static int add_descriptors(int out, struct tw_snapshot_lead *lead, const struct tw_store_entry *e,
                           const struct tw_descriptor_tables *tables)
{
	if (!lead->base)
		return 1;
	lead->descriptors = tw_tables_image(tables, lead->base, out, lead->bytes);
	lead->base = 0;
	lead->number = e->number;
	lead->n_claimed = e->n_claimed;
	memcpy(lead->claimed, e->claimed, sizeof lead->claimed);
	return lead->descriptors != 0;
}

/*
 * Opens the seal of this number, for writing its file: one process at a time; others meanwhile leave it alone. -1:
 * not possible. A killed process holds nothing any more.
 */
static int begin_seal(int dir, uint64_t number)
{
	struct stat st;
	char name[NAME_MAX + 1];
	name_of(number, TW_SEAL_SUFFIX, name);
	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && !S_ISREG(st.st_mode))
		unlinkat(dir, name, 0);
	const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -1;
}

/* The file has its name: writes its state. A half-written seal does not match the file. */
static int seal(int fd, int file)
{
	struct stat st;
	if (fstat(file, &st))
		return 0;
	const struct tw_seal seal = {.magic = TW_SEAL_MAGIC,
	                             .file = {.device = st.st_dev,
	                                      .inode = st.st_ino,
	                                      .size = (uint64_t)st.st_size,
	                                      .modified_s = (uint64_t)st.st_mtim.tv_sec,
	                                      .modified_ns = (uint64_t)st.st_mtim.tv_nsec,
	                                      .changed_s = (uint64_t)st.st_ctim.tv_sec,
	                                      .changed_ns = (uint64_t)st.st_ctim.tv_nsec}};
	return pwrite(fd, &seal, sizeof seal, 0) == (ssize_t)sizeof seal;
}

/* Writes what starts at `at` in the memfd, under a temporary name. -1: it cannot be kept. */
static int write_early(int dir, const char *early, const struct tw_store_entry *e, int fd, off_t at,
                       const struct tw_descriptor_tables *tables)
{
	struct tw_snapshot_lead lead;
	if (pread(fd, &lead, sizeof lead, at) != (ssize_t)sizeof lead || !tw_keep_allows(lead.bytes))
		return -1;
	const int out = openat(dir, early, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return -1;
	if (copy_all(out, fd, at, at + (off_t)lead.bytes) && add_descriptors(out, &lead, e, tables) &&
	    pwrite(out, &lead, sizeof lead, 0) == (ssize_t)sizeof lead)
		return out;
	unlinkat(dir, early, 0);
	close(out);
	return -1;
}

/* It becomes the file of this entry. */
static void keep_snapshot(int dir, uint64_t number, const struct tw_store_entry *e, int fd, off_t at,
                          const struct tw_descriptor_tables *tables)
{
	char name[NAME_MAX + 1], early[NAME_MAX + 1];
	const int of = begin_seal(dir, number);
	if (of < 0)
		return;
	name_of(number, TW_KEEP_SUFFIX, name);
	snprintf(early, sizeof early, "new.%d", (int)getpid());
	const int out = write_early(dir, early, e, fd, at, tables);
	if (out >= 0 && renameat(dir, early, dir, name))
		unlinkat(dir, early, 0);
	else if (out >= 0 && !seal(of, out))
		unlinkat(dir, name, 0);
	if (out >= 0)
		close(out);
	close(of);
}

/* ---- the limit ---- */

enum { LONG_S = 3600 };

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct tw_kept *)a)->used, *y = &((const struct tw_kept *)b)->used;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* The name of the seal of what is kept under this name. */
static void seal_of(const char *name, char seal[NAME_MAX + 1])
{
	name_of(strtoull(name, NULL, 16), TW_SEAL_SUFFIX, seal);
}

/* Was it left by a collector that was killed while writing, or is it a seal of nothing? Not a file that is being written. */
static int is_left_over(int dir, const char *name, const struct stat *st, time_t patience)
{
	char file[NAME_MAX + 1];
	name_of(strtoull(name, NULL, 16), TW_KEEP_SUFFIX, file);
	const int is_left =
	    !strncmp(name, "new.", 4) || (tw_has_suffix(name, TW_SEAL_SUFFIX) && faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW));
	return is_left && st->st_mtime + patience <= time(NULL);
}

static int remove_sealed(int dir, const char *name)
{
	char seal[NAME_MAX + 1];
	seal_of(name, seal);
	unlinkat(dir, seal, 0);
	return unlinkat(dir, name, 0);
}

static int remove_kept(int dir, const struct tw_kept *k)
{
	return k->is_names ? unlinkat(dir, k->name, 0) : remove_sealed(dir, k->name);
}

static void read_lead(int dir, struct tw_kept *k)
{
	void *lead = k->is_names ? (void *)&k->names : (void *)&k->lead;
	const size_t bytes = k->is_names ? sizeof k->names : sizeof k->lead;
	const uint64_t magic = k->is_names ? TW_KEPT_NAMES_MAGIC : TW_SNAPSHOT_MAGIC;
	const int fd = openat(dir, k->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOATIME);
	if (fd < 0 || pread(fd, lead, bytes, 0) != (ssize_t)bytes || memcmp(lead, &magic, sizeof magic))
		memset(lead, 0, bytes);
	(k->is_names ? k->names.path : k->lead.program)[TW_KEPT_PROGRAM - 1] = 0;
	if (fd >= 0)
		close(fd);
}

/* All kept files; *n is their number. NULL: none. Removes leftovers older than this many seconds. */
static struct tw_kept *list(int dir, size_t *n, time_t patience)
{
	struct tw_kept *all = NULL;
	struct stat st;
	const int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	*n = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (is_left_over(dir, e->d_name, &st, patience))
			unlinkat(dir, e->d_name, 0);
		const int is_names = tw_has_suffix(e->d_name, TW_KEEP_NAMES_SUFFIX);
		if (!is_names && !tw_has_suffix(e->d_name, TW_KEEP_SUFFIX))
			continue;
		struct tw_kept *more = realloc(all, (*n + 1) * sizeof *all);
		if (!more)
			break;
		all = more;
		struct tw_kept *k = &all[(*n)++];
		char seal[NAME_MAX + 1];
		snprintf(k->name, sizeof k->name, "%s", e->d_name);
		k->bytes = (uint64_t)st.st_blocks * 512;
		k->is_names = is_names;
		seal_of(k->name, seal);
		if (!is_names)
			fstatat(dir, seal, &st, AT_SYMLINK_NOFOLLOW); /* without one it has not been used */
		k->used = st.st_atim;
	}
	if (d)
		closedir(d);
	return all;
}

void tw_keep_remove_beyond(int dir, uint64_t limit)
{
	size_t n;
	uint64_t sum = 0;
	struct tw_kept *all = list(dir, &n, LONG_S);
	if (n)
		qsort(all, n, sizeof *all, by_use);
	for (size_t k = 0; k < n; k++) {
		sum += all[k].bytes;
		if (sum > limit)
			remove_kept(dir, &all[k]);
	}
	free(all);
}

/* Who begins with it is to know. */
static void note_lacked(int dir, const char *name, uint64_t lacked)
{
	struct tw_seal now;
	const int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && pread(fd, &now, sizeof now, 0) == (ssize_t)sizeof now && now.lacked != lacked)
		pwrite(fd, &lacked, sizeof lacked, offsetof(struct tw_seal, lacked));
	if (fd >= 0)
		close(fd);
}

/* The file of one number has been used. */
static void keep_used(int dir, uint64_t number, uint64_t lacked)
{
	char name[NAME_MAX + 1];
	name_of(number, TW_SEAL_SUFFIX, name);
	if (lacked)
		note_lacked(dir, name, lacked);
	utimensat(dir, name, (const struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}}, 0);
}

/* What was kept under this number is useless except with a copy of the learn file made before this recording. */
static void drop(int dir, uint64_t number)
{
	char name[NAME_MAX + 1];
	name_of(number, TW_KEEP_SUFFIX, name);
	remove_sealed(dir, name);
}

/* The file of one number, which has been used, gets another. */
static void renumber(int dir, uint64_t from, uint64_t to)
{
	char old[NAME_MAX + 1], name[NAME_MAX + 1];
	const int of = begin_seal(dir, to);
	if (of < 0)
		return;
	name_of(from, TW_KEEP_SUFFIX, old);
	name_of(to, TW_KEEP_SUFFIX, name);
	const int file = openat(dir, old, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file >= 0 && !renameat(dir, old, dir, name) && !seal(of, file))
		unlinkat(dir, name, 0);
	if (file >= 0)
		close(file);
	drop(dir, from);
	close(of);
}

void tw_keep_end(const struct tw_store *store, int fd, uint64_t at, const struct tw_descriptor_tables *tables, uint64_t learned)
{
	int written = 0;
	const int dir = store->keep[0] ? open(store->keep, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0)
		return;
	const uint32_t n = atomic_load(&store->n_occupied);
	for (uint32_t k = 0; k < n && k < TW_STORE_ENTRIES; k++) {
		const struct tw_store_entry *e = &store->entry[store->occupied[k] % TW_STORE_ENTRIES];
		const uint64_t offset = atomic_load(&e->offset), key = atomic_load(&e->key);
		const uint64_t before = tw_store_file_number(key, store->learned), now = tw_store_file_number(key, learned);
		if (offset == TW_STORE_KEPT && before == now) {
			keep_used(dir, now, atomic_load(&e->lacked));
		} else if (offset == TW_STORE_KEPT) {
			renumber(dir, before, now);
		} else if (offset) {
			keep_snapshot(dir, now, e, fd, (off_t)(at + offset - 1), tables);
			if (before != now)
				drop(dir, before);
			written = 1;
		}
	}
	if (written)
		tw_keep_remove_beyond(dir, store->keep_limit);
	close(dir);
}

/* ---- for who asks what there is ---- */

int tw_keep_look(const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return tw_fail(TW_ERR_SYSTEM, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || !is_own(&st))
		return tw_fail(TW_ERR_SYSTEM, "%s: %s", path,
		               S_ISDIR(st.st_mode) ? "it is another's, or others may write there" : "it is not a directory");
	return TW_OK;
}

struct tw_kept *tw_keep_list(const char *path, size_t *n)
{
	const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tw_kept *all = dir < 0 ? NULL : list(dir, n, LONG_S);
	*n = all ? *n : 0;
	for (size_t k = 0; k < *n; k++)
		read_lead(dir, &all[k]);
	if (*n)
		qsort(all, *n, sizeof *all, by_use);
	if (dir >= 0)
		close(dir);
	return all;
}

size_t tw_keep_empty(const char *path, size_t *names)
{
	size_t n, removed = 0;
	*names = 0;
	const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tw_kept *all = dir < 0 ? NULL : list(dir, &n, 0);
	for (size_t k = 0; all && k < n; k++) {
		if (remove_kept(dir, &all[k]))
			continue;
		removed++;
		*names += all[k].is_names != 0;
	}
	free(all);
	if (dir >= 0)
		close(dir);
	return removed;
}
