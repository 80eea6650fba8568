#include "export/simpoint.h"
#include "analyze/by_fragment.h"
#include "analyze/profile.h"
#include "base/array.h"
#include "recording/recording.h"
#include "names/texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ids of the blocks of a fragment; 0: not given yet. */
struct fragment {
	uint32_t image;
	uint32_t id[];
};

struct state {
	const struct tw_recording *recording;
	const char *path;
	uint64_t interval;
	struct tw_by_fragment fragments;
	struct tw_texts blocks; /* "IMAGE PC", by id - 1 */
	uint64_t *counts;       /* by id - 1: instructions in this interval */
	size_t room;
	uint64_t filled; /* instructions in this interval, and what the one before had too much */
	uint64_t any;    /* instructions since the last line */
	/* the thread being written */
	FILE *f;
	char *name; /* of f */
	uint32_t thread, image;
};

struct arg {
	const struct tw_recording *recording;
	const char *path;
	uint64_t interval;
};

/* ---- lines ---- */

static void put_line(struct state *s)
{
	if (!s->any)
		return;
	fputc('T', s->f);
	for (uint32_t i = 0; i < s->blocks.n; i++) {
		if (s->counts[i])
			fprintf(s->f, ":%u:%llu ", i + 1, (unsigned long long)s->counts[i]);
		s->counts[i] = 0;
	}
	fputc('\n', s->f);
	s->any = 0;
}

/* What batch() returns when a file cannot be written: a negative error would be taken for damage of the chunk. */
enum { CANNOT_WRITE = 1 };

static int file_error(const struct state *s)
{
	tw_fail(TW_ERR_SYSTEM, "%s: %s", s->name, strerror(errno));
	return CANNOT_WRITE;
}

static int close_thread(struct state *s)
{
	if (!s->f)
		return 0;
	put_line(s);
	int wrong = fflush(s->f) || ferror(s->f);
	if (s->f != stdout)
		wrong |= fclose(s->f);
	s->f = NULL;
	return wrong ? file_error(s) : 0;
}

/* The first thread has the file that was asked for, the others have theirs beside it. */
static char *name_file(const struct state *s, uint32_t thread)
{
	char *name;
	if (thread == tw_recording_thread(s->recording, 0)->serial)
		return strdup(s->path);
	return asprintf(&name, "%s.%u", s->path, thread) < 0 ? NULL : name;
}

static int open_thread(struct state *s, uint32_t thread)
{
	int error = close_thread(s);
	if (error)
		return error;
	free(s->name);
	s->name = name_file(s, thread);
	if (!s->name)
		return TW_ERR_MEMORY;
	s->f = strcmp(s->name, "-") ? fopen(s->name, "w") : stdout;
	s->thread = thread;
	s->image = tw_profile_image_of_thread(s->recording, tw_recording_find_thread(s->recording, thread));
	s->filled = 0;
	return s->f ? 0 : file_error(s);
}

/* ---- blocks ---- */

static struct fragment *new_fragment(struct state *s, const struct tw_descriptor *d)
{
	struct fragment *f = calloc(1, sizeof *f + d->n_blocks * sizeof f->id[0]);
	if (!f || !tw_by_fragment_set(&s->fragments, d->number, f)) {
		free(f);
		return NULL;
	}
	f->image = s->image;
	return f;
}

static int make_room(struct state *s)
{
	uint64_t *counts = tw_array_zeros(s->counts, s->blocks.n, &s->room, sizeof *counts);
	if (counts)
		s->counts = counts;
	return counts != NULL;
}

/* The id of a block, 0 if there is no memory. */
static uint32_t id_of(struct state *s, const struct tw_block_run *run)
{
	char key[40];
	const struct tw_descriptor *d = run->descriptor;
	struct fragment *f = tw_by_fragment_get(&s->fragments, d->number);
	if (!f)
		f = new_fragment(s, d);
	if (!f || f->id[run->block])
		return f ? f->id[run->block] : 0;
	snprintf(key, sizeof key, "%x %llx", f->image, (unsigned long long)run->pc);
	uint32_t number = tw_texts_number(&s->blocks, key);
	if (number == TW_NO_TEXT || !make_room(s))
		return 0;
	return f->id[run->block] = number + 1;
}

/* ---- the analyzer ---- */

static void *begin(void *arg)
{
	const struct arg *a = arg;
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->recording = a->recording;
	s->path = a->path;
	s->interval = a->interval;
	s->thread = UINT32_MAX;
	return s;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = s->thread != b->thread ? open_thread(s, b->thread) : 0;
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	for (size_t i = 0; i < b->n_blocks && !error; i++) {
		const struct tw_block_run *run = &blocks[i];
		uint32_t id = run->n_insns ? id_of(s, run) : 0;
		if (!run->n_insns)
			continue;
		if (!id)
			return TW_ERR_MEMORY;
		s->counts[id - 1] += run->n_insns;
		s->filled += run->n_insns;
		s->any += run->n_insns;
		if (s->filled >= s->interval) {
			s->filled %= s->interval;
			put_line(s);
		}
	}
	return error;
}

static void free_state(struct state *s)
{
	tw_by_fragment_free(&s->fragments, free);
	tw_texts_free(&s->blocks);
	free(s->counts);
	free(s->name);
	free(s);
}

/* There is one state for everything: intervals follow each other. */
static int merge(void *state, void *later)
{
	(void)state;
	free_state(later);
	return TW_ERR_RANGE;
}

static int end(void *state, int error)
{
	struct state *s = state;
	int closed = close_thread(s);
	free_state(s);
	return error ? error : closed;
}

int tw_simpoint(const struct tw_recording *r, const struct tw_replay_options *options, const char *path, uint64_t interval)
{
	static const struct tw_analyzer simpoint = {.name = "simpoint", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct tw_replay_options replay = *options;
	struct arg arg = {r, path, interval};
	if (!strcmp(path, "-") && tw_recording_n_threads(r) > 1)
		return tw_fail(TW_ERR_SYSTEM, "each thread has vectors in a file of its own, so that standard output will not do");
	replay.jobs = 1;
	replay.grain = 0;
	int error = tw_replay(r, &replay, &simpoint, &arg);
	return error == CANNOT_WRITE ? TW_ERR_SYSTEM : error;
}
