/*
 * Any number of workers count chunks, each into a state with its own ids. What a state has of an interval is a record
 * in a temporary file. When states are merged, records of one interval become adjacent; they are summed when lines
 * are written. The interval of a block follows from the number of instructions that its thread had executed before.
 */
#include "export/simpoint.h"
#include "export/outfile.h"
#include "analyze/by_fragment.h"
#include "analyze/profile.h"
#include "base/array.h"
#include "names/texts.h"
#include "recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Ids of the blocks of a fragment; 0: not given yet. */
struct fragment {
	uint32_t image;
	uint32_t id[];
};

/* A stretch that stays, by its number. */
struct stretch {
	const struct tw_stretch *stretch; /* NULL: it has not run */
	uint64_t insns;                   /* of all its blocks */
	uint64_t times;                   /* in this interval, not in the counts yet */
};

/* Numbers, without those that are 0. */
struct counts {
	uint64_t *of; /* by id - 1 */
	uint32_t *touched;
	size_t room, touched_room, n;
};

struct record {
	uint32_t thread, n; /* serial number; how many entries follow */
	uint64_t interval;
};

struct entry {
	uint32_t id, reserved;
	uint64_t insns;
};

struct state {
	const struct tw_simpoint *shared;
	struct tw_by_fragment fragments;
	struct tw_texts blocks; /* "IMAGE PC", by id - 1 */
	struct stretch *stretches;
	size_t stretches_room;
	uint32_t *running; /* the numbers of stretches that have run in this interval */
	size_t n_running, running_room;
	struct counts counts;
	FILE *spool;
	/* the interval that is counted */
	uint32_t thread, image;
	uint64_t interval;
	int wrong; /* errno of the temporary file; 0: nothing is wrong */
};

/* ---- counts ---- */

static int add(struct counts *c, uint32_t id, uint64_t insns)
{
	uint64_t *of = id <= c->room ? c->of : tw_array_zeros(c->of, id, &c->room, sizeof *of);
	if (!of)
		return TW_ERR_MEMORY;
	c->of = of;
	if (!of[id - 1] && insns) {
		uint32_t *touched = tw_array_room(c->touched, c->n, &c->touched_room, sizeof *touched);
		if (!touched)
			return TW_ERR_MEMORY;
		c->touched = touched;
		touched[c->n++] = id;
	}
	of[id - 1] += insns;
	return 0;
}

static void free_counts(struct counts *c)
{
	free(c->of);
	free(c->touched);
}

/* ---- records ---- */

static void put(struct state *s, const void *bytes, size_t n)
{
	if (!s->spool)
		s->spool = tmpfile();
	if (!s->wrong && (!s->spool || (n && fwrite(bytes, n, 1, s->spool) != 1)))
		s->wrong = errno ? errno : EIO;
}

/* 0: there is none behind the last one. */
static int get(struct state *s, void *bytes, size_t n)
{
	const int got = fread(bytes, n, 1, s->spool) == 1;
	if (!got && ferror(s->spool))
		s->wrong = errno ? errno : EIO;
	return got;
}

/* What was counted of this interval becomes a record. */
static int put_record(struct state *s, struct counts *c, uint32_t thread, uint64_t interval)
{
	const struct record head = {thread, (uint32_t)c->n, interval};
	if (c->n)
		put(s, &head, sizeof head);
	for (size_t i = 0; i < c->n; i++) {
		const struct entry entry = {.id = c->touched[i], .insns = c->of[c->touched[i] - 1]};
		put(s, &entry, sizeof entry);
		c->of[entry.id - 1] = 0;
	}
	c->n = 0;
	return 0;
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
	return number == TW_NO_TEXT ? 0 : (f->id[run->block] = number + 1);
}

static int count_block(struct state *s, const struct tw_block_run *run, uint64_t times)
{
	const uint32_t id = run->n_insns ? id_of(s, run) : 1;
	if (!id)
		return TW_ERR_MEMORY;
	return run->n_insns ? add(&s->counts, id, times * run->n_insns) : 0;
}

/* ---- intervals ---- */

/* The interval has ended: what ran in it is put down. */
static int end_interval(struct state *s)
{
	int error = 0;
	for (size_t i = 0; i < s->n_running && !error; i++) {
		struct stretch *of = &s->stretches[s->running[i]];
		for (uint32_t k = 0; k < of->stretch->n_blocks && !error; k++)
			error = count_block(s, &of->stretch->blocks[k], of->times);
		of->times = 0;
	}
	s->n_running = 0;
	return error ? error : put_record(s, &s->counts, s->thread, s->interval);
}

/* The next block begins behind so many instructions of the thread. */
static int come_to(struct state *s, uint64_t insn)
{
	const uint64_t interval = insn / s->shared->interval;
	int error = interval != s->interval ? end_interval(s) : 0;
	s->interval = interval;
	return error;
}

/* A new stretch: its blocks get their ids in order. */
static int meet(struct state *s, struct stretch *of, const struct tw_stretch *t)
{
	of->stretch = t;
	for (uint32_t k = 0; k < t->n_blocks; k++) {
		of->insns += t->blocks[k].n_insns;
		if (t->blocks[k].n_insns && !id_of(s, &t->blocks[k]))
			return TW_ERR_MEMORY;
	}
	return 0;
}

/* The stretch of a number, which is not 0. NULL: no memory. */
static struct stretch *stretch_of(struct state *s, const struct tw_stretch *t)
{
	if (t->number >= s->stretches_room) {
		struct stretch *stretches = tw_array_zeros(s->stretches, t->number, &s->stretches_room, sizeof *stretches);
		if (!stretches)
			return NULL;
		s->stretches = stretches;
	}
	struct stretch *of = &s->stretches[t->number];
	return of->stretch || !meet(s, of, t) ? of : NULL;
}

static int count_stretch(struct state *s, struct stretch *of, uint32_t number)
{
	if (!of->times++) {
		uint32_t *running = tw_array_room(s->running, s->n_running, &s->running_room, sizeof *running);
		if (!running)
			return TW_ERR_MEMORY;
		s->running = running;
		running[s->n_running++] = number;
	}
	return 0;
}

/* Counts a stretch that begins after *insn instructions, and moves *insn behind it. */
static int take_stretch(struct state *s, const struct tw_stretch *t, uint64_t *insn)
{
	int error = come_to(s, *insn);
	struct stretch *of = error || !t->number ? NULL : stretch_of(s, t);
	if (error || (t->number && !of))
		return error ? error : TW_ERR_MEMORY;
	if (of && *insn % s->shared->interval + of->insns <= s->shared->interval) {
		*insn += of->insns;
		return of->insns ? count_stretch(s, of, t->number) : 0;
	}
	for (uint32_t k = 0; k < t->n_blocks && !error; k++) {
		error = t->blocks[k].n_insns ? come_to(s, *insn) : 0;
		if (!error)
			error = count_block(s, &t->blocks[k], 1);
		*insn += t->blocks[k].n_insns;
	}
	return error;
}

/* ---- lines ---- */

static void put_line(FILE *f, struct counts *c)
{
	if (!c->n)
		return;
	qsort(c->touched, c->n, sizeof *c->touched, tw_by_number32);
	fputc('T', f);
	for (size_t i = 0; i < c->n; i++) {
		fprintf(f, ":%u:%llu ", c->touched[i], (unsigned long long)c->of[c->touched[i] - 1]);
		c->of[c->touched[i] - 1] = 0;
	}
	fputc('\n', f);
	c->n = 0;
}

/* The file of a thread: the first thread's has the requested name, the others' are beside it. Its name is freed when it is closed. */
static int open_file(const struct state *s, uint32_t thread, struct tw_outfile *to)
{
	const struct tw_simpoint *o = s->shared;
	char *name;
	const int is_first = thread == tw_recording_thread(o->recording, 0)->serial;
	if (asprintf(&name, is_first ? "%s" : "%s.%u", o->path, thread) < 0)
		return TW_ERR_MEMORY;
	const int error = tw_outfile_open(to, name);
	if (error)
		free(name);
	return error;
}

/* Writes the last line. The file is kept if `keep`. */
static int close_file(struct tw_outfile *to, struct counts *c, int keep)
{
	if (!to->f)
		return 0;
	put_line(to->f, c);
	const int error = tw_outfile_close(to, keep);
	free((void *)to->name);
	return error;
}

/* Adds the entries of a record. */
static int sum_record(struct state *s, const struct record *record, struct counts *c)
{
	struct entry entry;
	int error = 0;
	for (uint32_t i = 0; i < record->n && !error && get(s, &entry, sizeof entry); i++)
		error = add(c, entry.id, entry.insns);
	return error;
}

static int write_lines(struct state *s)
{
	struct record record, last = {0};
	struct counts counts = {0};
	struct tw_outfile to = {0};
	int error = 0;
	if (s->spool && fseek(s->spool, 0, SEEK_SET))
		return tw_fail(TW_ERR_SYSTEM, "temporary file: %s", strerror(errno));
	while (s->spool && !error && get(s, &record, sizeof record)) {
		if (!to.f || record.thread != last.thread) {
			error = close_file(&to, &counts, 1);
			error = error ? error : open_file(s, record.thread, &to);
		} else if (record.interval != last.interval) {
			put_line(to.f, &counts);
		}
		last = record;
		error = error ? error : sum_record(s, &record, &counts);
	}
	const int closed = close_file(&to, &counts, !error);
	free_counts(&counts);
	return error ? error : closed;
}

/* ---- the analyzer ---- */

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (s) {
		s->shared = arg;
		s->thread = UINT32_MAX;
	}
	return s;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	uint64_t insn = b->first_insn;
	int error = s->thread != b->thread ? end_interval(s) : 0;
	if (s->thread != b->thread) {
		s->thread = b->thread;
		s->interval = insn / s->shared->interval;
		s->image = tw_profile_image_of_thread(s->shared->recording, tw_recording_find_thread(s->shared->recording, b->thread));
	}
	for (size_t i = 0; i < b->n_stretches && !error; i++)
		error = take_stretch(s, b->stretches[i], &insn);
	return error;
}

static void free_state(struct state *s)
{
	tw_by_fragment_free(&s->fragments, free);
	tw_texts_free(&s->blocks);
	free(s->stretches);
	free(s->running);
	free_counts(&s->counts);
	if (s->spool)
		fclose(s->spool);
	free(s);
}

/* Adds the records of a later state with this state's ids: *ids maps the later one's blocks. */
static int take_records(struct state *s, struct state *from, const uint32_t *ids)
{
	struct record record;
	struct entry entry;
	if (from->spool && fseek(from->spool, 0, SEEK_SET))
		from->wrong = errno;
	while (from->spool && get(from, &record, sizeof record)) {
		put(s, &record, sizeof record);
		for (uint32_t i = 0; i < record.n && get(from, &entry, sizeof entry); i++) {
			entry.id = ids[entry.id - 1];
			put(s, &entry, sizeof entry);
		}
	}
	s->wrong = s->wrong ? s->wrong : from->wrong;
	return 0;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	uint32_t *ids = calloc(from->blocks.n + 1, sizeof *ids);
	int error = ids ? end_interval(s) : TW_ERR_MEMORY;
	error = error ? error : end_interval(from);
	for (uint32_t i = 0; i < from->blocks.n && !error; i++) {
		const uint32_t number = tw_texts_number(&s->blocks, from->blocks.items[i]);
		error = number == TW_NO_TEXT ? TW_ERR_MEMORY : 0;
		ids[i] = number + 1;
	}
	error = error ? error : take_records(s, from, ids);
	free(ids);
	free_state(from);
	return error;
}

static int end(void *state, int error)
{
	struct state *s = state;
	error = error ? error : end_interval(s);
	error = error ? error : write_lines(s);
	if (!error && s->wrong)
		error = tw_fail(TW_ERR_SYSTEM, "temporary file: %s", strerror(s->wrong));
	free_state(s);
	return error;
}

const struct tw_analyzer tw_simpoint_analyzer = {.name = "simpoint", .begin = begin, .batch = batch, .merge = merge, .end = end};

int tw_simpoint_check(const struct tw_simpoint *s)
{
	struct stat there;
	if (tw_recording_n_threads(s->recording) < 2)
		return 0;
	if (!strcmp(s->path, "-"))
		return tw_fail(TW_ERR_SYSTEM, "each thread has its own file of vectors, so they cannot go to standard output");
	if (!strncmp(s->path, "/dev/", 5) || (!stat(s->path, &there) && !S_ISREG(there.st_mode)))
		return tw_fail(TW_ERR_SYSTEM, "each thread has its own file of vectors, named after the one given; %s is not a file",
		               s->path);
	return 0;
}
