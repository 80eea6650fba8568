#include "names/file_store.h"
#include "channel/keep.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* A file as it was. */
struct state {
	uint64_t device, inode, bytes; /* all zeros: there was none */
	struct timespec modified, changed;
};

struct source {
	struct state state;
	char path[TW_NAME_SOURCE_PATH];
};

/* What a kept file begins with; then the names. */
struct kept {
	struct tw_kept_names lead;
	uint64_t hash; /* of all that follows it, names included */
	uint64_t n_sources;
	struct source sources[TW_NAME_SOURCES];
};

/* ---- the state of files ---- */

static int is_absent(const struct state *s)
{
	return !s->device && !s->inode;
}

static void look_at(const char *path, struct state *s)
{
	struct stat st;
	memset(s, 0, sizeof *s);
	if (stat(path, &st))
		return;
	s->device = st.st_dev;
	s->inode = st.st_ino;
	s->bytes = (uint64_t)st.st_size;
	s->modified = st.st_mtim;
	s->changed = st.st_ctim;
}

static int is_as_it_was(const struct source *source)
{
	struct state now;
	look_at(source->path, &now);
	return !memcmp(&now, &source->state, sizeof now);
}

/* Whether a file changed so recently that it may change again with the same times. */
static int is_young(const struct state *s)
{
	enum { YOUNG_S = 3 };
	const time_t now = time(NULL);
	return !is_absent(s) && (s->changed.tv_sec + YOUNG_S > now || s->modified.tv_sec + YOUNG_S > now);
}

int tw_name_sources_add(struct tw_name_sources *s, const char *path)
{
	if (s->n == TW_NAME_SOURCES || path[0] != '/' || strlen(path) >= TW_NAME_SOURCE_PATH)
		return 0;
	strcpy(s->path[s->n++], path);
	return 1;
}

/* ---- finding ---- */

static void name_of(const char *path, char name[NAME_MAX + 1])
{
	snprintf(name, NAME_MAX + 1, "%016llx" TW_KEEP_NAMES_SUFFIX, (unsigned long long)XXH3_64bits(path, strlen(path)));
}

static uint64_t hash_of(const struct kept *k, const struct tw_file_names *f)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t hash = 0;
	if (state) {
		XXH3_64bits_reset(state);
		XXH3_64bits_update(state, &k->n_sources, sizeof *k - offsetof(struct kept, n_sources));
		XXH3_64bits_update(state, f, f->bytes);
		hash = XXH3_64bits_digest(state);
	}
	XXH3_freeState(state);
	return hash;
}

static int is_of_use(const struct kept *k, size_t bytes, const char *path)
{
	const struct tw_file_names *f = (const struct tw_file_names *)(k + 1);
	if (bytes < sizeof *k + sizeof *f || k->lead.magic != TW_KEPT_NAMES_MAGIC || !k->n_sources || k->n_sources > TW_NAME_SOURCES ||
	    f->bytes != bytes - sizeof *k || k->hash != hash_of(k, f) || strcmp(k->sources[0].path, path))
		return 0;
	for (uint64_t i = 0; i < k->n_sources; i++)
		if (!is_as_it_was(&k->sources[i]))
			return 0;
	return tw_file_names_are_sound(f, f->bytes);
}

/* The whole file, mapped; NULL: none that is the user's own. */
static const struct kept *map(int fd, size_t *bytes)
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ||
	    st.st_size < (off_t)sizeof(struct kept))
		return NULL;
	*bytes = (size_t)st.st_size;
	void *at = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static int open_kept(const struct tw_name_store *store, const char *path)
{
	char name[NAME_MAX + 1];
	name_of(path, name);
	const int dir = store ? open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	const int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (dir >= 0)
		close(dir);
	return fd;
}

int tw_name_store_has(const struct tw_name_store *store, const char *path)
{
	const int fd = open_kept(store, path);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const struct tw_file_names *tw_name_store_find(const struct tw_name_store *store, const char *path)
{
	size_t bytes;
	const int fd = open_kept(store, path);
	const struct kept *k = fd < 0 ? NULL : map(fd, &bytes);
	if (k && !is_of_use(k, bytes, path)) {
		munmap((void *)k, bytes);
		k = NULL;
	}
	if (k)
		futimens(fd, (const struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}}); /* it has been used */
	if (fd >= 0)
		close(fd);
	return k ? (const struct tw_file_names *)(k + 1) : NULL;
}

void tw_name_store_release(const struct tw_file_names *f)
{
	if (f)
		munmap((void *)((const struct kept *)f - 1), sizeof(struct kept) + f->bytes);
}

/* ---- keeping ---- */

static int describe(struct kept *k, const struct tw_file_names *f, const struct tw_name_sources *sources)
{
	const size_t n = strlen(sources->path[0]), most = sizeof k->lead.path - 1;
	memset(k, 0, sizeof *k);
	k->lead.magic = TW_KEPT_NAMES_MAGIC;
	k->lead.functions = (uint32_t)f->n[TW_NAME_FUNCTIONS];
	strcpy(k->lead.path, sources->path[0] + (n > most ? n - most : 0));
	k->n_sources = sources->n;
	for (unsigned i = 0; i < sources->n; i++) {
		strcpy(k->sources[i].path, sources->path[i]);
		look_at(sources->path[i], &k->sources[i].state);
		if (is_young(&k->sources[i].state))
			return 0;
	}
	k->hash = hash_of(k, f);
	return !is_absent(&k->sources[0].state);
}

static void write_file(int dir, const struct kept *k, const struct tw_file_names *f)
{
	char early[NAME_MAX + 1], name[NAME_MAX + 1];
	const size_t bytes = sizeof *k + f->bytes;
	name_of(k->sources[0].path, name);
	snprintf(early, sizeof early, "new.%d", (int)gettid()); /* several threads may each keep one */
	const int fd = openat(dir, early, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	const struct iovec parts[] = {{(void *)k, sizeof *k}, {(void *)f, f->bytes}};
	const int whole = tw_keep_allows(bytes) && writev(fd, parts, 2) == (ssize_t)bytes;
	if (close(fd) || !whole || renameat(dir, early, dir, name))
		unlinkat(dir, early, 0);
}

void tw_name_store_put(const struct tw_name_store *store, const struct tw_file_names *f, const struct tw_name_sources *sources)
{
	struct kept k;
	if (!store || !describe(&k, f, sources) || f->bytes > store->limit / 4 || tw_keep_look(store->path))
		return;
	const int dir = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	write_file(dir, &k, f);
	tw_keep_remove_beyond(dir, store->limit);
	close(dir);
}
