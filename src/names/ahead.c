#include "names/ahead.h"
#include "base/array.h"
#include "base/helper_thread.h"
#include "channel/machine.h"
#include "names/dwarf_file.h"
#include "names/places.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The first look comes after FIRST_MS, the next after twice as long, and so on up to LAST_MS; at most SLOTS slots;
 * files larger than LARGE would take too much memory.
 */
enum { FIRST_MS = 4, LAST_MS = 512, SLOTS = 8, LARGE = 64 << 20 };
/*
 * Opened files are dropped after this many ms: they take memory, and what is stored of a file must not be older than
 * the age at which a file counts as young (file_store.c).
 */
enum { HELD_MS = 1000 };

/* A path that has been come by. */
struct seen {
	char *path;
	struct stat st;
	struct tw_dwarf_file file; /* all zeros: it has not been opened, or was taken */
};

struct tw_ahead {
	const struct tw_control *control;
	struct tw_name_store store;
	const char *engine;
	pthread_t thread;
	sem_t end;
	int has_thread;
	_Atomic int ending;
	struct seen *seen;
	size_t n, room;
};

static struct seen *find(const struct tw_ahead *a, const char *path)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->seen[i].path, path))
			return &a->seen[i];
	return NULL;
}

/* Whether the file is one that names may come from. */
static int is_program(const char *path, struct stat *st)
{
	char magic[SELFMAG];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const int is = fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_size < LARGE &&
	               pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
	if (fd >= 0)
		close(fd);
	return is;
}

/* The loader's path in recordings differs from the one with which it is mapped. */
static int is_wanted(const struct tw_ahead *a, const char *path)
{
	const char *name = tw_base_name(path);
	return strncmp(name, "ld-", 3) && strcmp(name, tw_base_name(a->engine)) && !tw_name_store_has(&a->store, path);
}

static void open_file(struct seen *seen)
{
	Dwarf_Addr bias;
	tw_dwarf_file_open(&seen->file, seen->path);
	if (!seen->file.module)
		return;
	dwfl_module_getdwarf(seen->file.module, &bias);
	dwfl_module_getsymtab(seen->file.module);
}

static void come_by(struct tw_ahead *a, const char *path)
{
	struct seen *seen = find(a, path) ? NULL : tw_array_room(a->seen, a->n, &a->room, sizeof *seen);
	if (!seen)
		return;
	a->seen = seen;
	seen = &a->seen[a->n];
	*seen = (struct seen){.path = strdup(path)};
	a->n += seen->path != NULL;
	if (seen->path && is_wanted(a, path) && is_program(path, &seen->st))
		open_file(seen);
}

static void look_at_process(struct tw_ahead *a, uint32_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	FILE *maps = fopen(path, "re");
	while (maps && !atomic_load(&a->ending) && getline(&line, &room, maps) > 0) {
		char *name = strchr(line, '/');
		line[strcspn(line, "\n")] = 0;
		if (name)
			come_by(a, name);
	}
	free(line);
	if (maps)
		fclose(maps);
}

static void look(struct tw_ahead *a)
{
	const uint32_t used = tw_channel_slots_used(a->control);
	uint32_t before = 0;
	for (uint32_t s = 0; s < used && s < SLOTS && !atomic_load(&a->ending); s++) {
		const struct tw_slot *slot = &a->control->slot[s];
		const uint32_t pid = slot->pid;
		if (atomic_load(&slot->state) != TW_SLOT_ACTIVE || !pid || pid == before)
			continue;
		look_at_process(a, pid);
		before = pid;
	}
}

/* Waits so long. 1: it is to end. */
static int pause_for(struct tw_ahead *a, unsigned ms)
{
	const struct timespec until = tw_machine_deadline(ms);
	int failed;
	while ((failed = sem_timedwait(&a->end, &until)) && errno == EINTR)
		;
	return !failed;
}

static void close_all(struct tw_ahead *a)
{
	for (size_t i = 0; i < a->n; i++)
		tw_dwarf_file_close(&a->seen[i].file);
}

static void *run(void *ahead)
{
	struct tw_ahead *a = ahead;
	int ended = 0;
	for (unsigned ms = FIRST_MS; ms <= LAST_MS && !ended; ms *= 2) {
		ended = pause_for(a, ms);
		if (!ended)
			look(a);
	}
	if (!ended && !pause_for(a, HELD_MS))
		close_all(a);
	return NULL;
}

struct tw_ahead *tw_ahead_begin(const struct tw_control *control, const struct tw_name_store *store, const char *engine)
{
	/* With debug-information servers, it is not known yet what to ask for. */
	struct tw_ahead *a = tw_machine_processors() > 1 && !tw_debuginfod_is_asked() ? calloc(1, sizeof *a) : NULL;
	if (!a)
		return NULL;
	a->control = control;
	a->engine = engine;
	a->store = (struct tw_name_store){strdup(store->path), store->limit};
	sem_init(&a->end, 0, 0);
	a->has_thread = a->store.path && tw_helper_thread_start(&a->thread, run, a);
	if (a->has_thread)
		return a;
	tw_ahead_free(a);
	return NULL;
}

void tw_ahead_end(struct tw_ahead *a)
{
	if (!a || !a->has_thread)
		return;
	atomic_store(&a->ending, 1);
	sem_post(&a->end);
	pthread_join(a->thread, NULL);
	a->has_thread = 0;
}

static int is_the_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       !memcmp(&a->st_mtim, &b->st_mtim, sizeof a->st_mtim) && !memcmp(&a->st_ctim, &b->st_ctim, sizeof a->st_ctim);
}

int tw_ahead_take(struct tw_ahead *a, const char *path, struct tw_dwarf_file *out)
{
	struct stat now;
	struct seen *seen = a ? find(a, path) : NULL;
	if (!seen || !seen->file.module || stat(path, &now) || !is_the_same(&now, &seen->st))
		return 0;
	*out = seen->file;
	seen->file = (struct tw_dwarf_file){0};
	return 1;
}

void tw_ahead_free(struct tw_ahead *a)
{
	if (!a)
		return;
	tw_ahead_end(a);
	close_all(a);
	for (size_t i = 0; i < a->n; i++)
		free(a->seen[i].path);
	sem_destroy(&a->end);
	free(a->seen);
	free((char *)a->store.path);
	free(a);
}
