#include "analyze/paths.h"
#include "analyze/by_fragment.h"
#include "analyze/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Symbols of a segment, and of joined segments. SEGMENT is chosen so that the data stays in a processor's cache:
 * twice as fast as with a million.
 */
enum { SEGMENT = 1 << 18, JOINED = 1 << 17 };

/* What makes grammars, for one state after another. */
struct makers {
	struct tw_sequitur *segment, *joined;
};

enum { MOST_SPARE = 16 };

/* Shared by all states: the blocks, by number and by what they are. */
struct shared {
	const struct tw_recording *recording;
	struct tw_paths *out;
	pthread_mutex_t lock; /* of all that follows */
	struct makers spare[MOST_SPARE];
	size_t n_spare;
	struct tw_path_block *blocks;
	uint32_t n_blocks, room;
	uint32_t *index; /* numbers, by open addressing; 0: empty */
	uint32_t mask;
};

/*
 * Each chunk is processed independently: segments, and what joins them, end with the chunk. So the grammar does not
 * depend on the number of workers. At the end, the results of a thread's chunks are joined.
 */
struct state {
	struct shared *shared;
	struct tw_by_fragment fragments; /* of each the numbers of its blocks in this image, where they are known */
	struct tw_grammar grammar;
	struct tw_path_thread *threads;
	size_t n_threads;
	struct makers make;
	uint32_t image;    /* of the newest thread, which is */
	size_t thread;     /* this one of the recording, */
	size_t next_chunk; /* and this chunk of it comes next */
};

/* ---- blocks ---- */

static uint32_t *find(const struct shared *s, const struct tw_path_block *b)
{
	uint64_t h = (b->pc * 31 + b->image) * 0x9e3779b97f4a7c15u + b->n_insns * 0xff51afd7ed558ccdu;
	for (uint32_t i = (uint32_t)(h >> 32) & s->mask;; i = (i + 1) & s->mask) {
		const struct tw_path_block *there = &s->blocks[s->index[i]];
		if (!s->index[i] || (there->pc == b->pc && there->image == b->image && there->n_insns == b->n_insns))
			return &s->index[i];
	}
}

static int grow_blocks(struct shared *s)
{
	if (s->n_blocks < s->room)
		return 1;
	uint32_t room = s->room ? 2 * s->room : 1024;
	struct tw_path_block *blocks = realloc(s->blocks, room * sizeof *blocks);
	uint32_t *index = calloc(2ull * room, sizeof *index);
	if (blocks)
		s->blocks = blocks;
	if (!blocks || !index) {
		free(index);
		return 0;
	}
	free(s->index);
	s->index = index;
	s->room = room;
	s->mask = 2 * room - 1;
	for (uint32_t i = 1; i < s->n_blocks; i++)
		*find(s, &s->blocks[i]) = i;
	return 1;
}

/* The number of a block; 0: there is no memory. */
static uint32_t number_of(struct shared *s, const struct tw_path_block *b)
{
	uint32_t number = 0;
	pthread_mutex_lock(&s->lock);
	if (s->n_blocks < TW_GRAMMAR_PHRASE && grow_blocks(s)) {
		uint32_t *place = find(s, b);
		if (!*place) {
			s->blocks[s->n_blocks] = *b;
			*place = s->n_blocks++;
		}
		number = *place;
	}
	pthread_mutex_unlock(&s->lock);
	return number;
}

static uint32_t *fragment_of(struct state *s, const struct tw_descriptor *d)
{
	uint32_t *numbers = tw_by_fragment_get(&s->fragments, d->number);
	if (numbers)
		return numbers;
	numbers = calloc(d->n_blocks, sizeof *numbers);
	if (numbers && tw_by_fragment_set(&s->fragments, d->number, numbers))
		return numbers;
	free(numbers);
	return NULL;
}

static uint32_t terminal(struct state *s, const struct tw_block_run *run)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	const struct tw_path_block block = {run->descriptor, b->pc, s->image, run->block, run->n_insns};
	if (run->n_insns != b->n_insns)
		return number_of(s->shared, &block);
	uint32_t *numbers = fragment_of(s, run->descriptor);
	if (numbers && !numbers[run->block])
		numbers[run->block] = number_of(s->shared, &block);
	return numbers ? numbers[run->block] : 0;
}

/* ---- from blocks to a thread's symbols ---- */

static struct tw_path_thread *newest(struct state *s)
{
	return &s->threads[s->n_threads - 1];
}

/* What joins goes to these symbols. */
static int end_joined(struct state *s, struct tw_symbol_list *to)
{
	int ok = tw_grammar_take(&s->grammar, s->make.joined, to);
	tw_sequitur_clear(s->make.joined);
	return ok;
}

static int join(struct state *s, const struct tw_symbol_list *from, struct tw_symbol_list *to)
{
	int ok = 1;
	for (uint64_t i = 0; ok && i < from->n; i++) {
		tw_sequitur_push(s->make.joined, tw_grammar_phrase(from->symbols[i]));
		ok = !tw_sequitur_full(s->make.joined) || end_joined(s, to);
	}
	return ok;
}

/* Adds the segment's rules to the grammar; its start is joined. */
static int end_segment(struct state *s)
{
	struct tw_symbol_list start = {0};
	int ok = tw_grammar_take(&s->grammar, s->make.segment, &start);
	tw_sequitur_clear(s->make.segment);
	ok = ok && join(s, &start, &newest(s)->start);
	tw_symbol_list_free(&start);
	return ok;
}

static int end_chunk(struct state *s)
{
	return !s->n_threads || (end_segment(s) && end_joined(s, &newest(s)->start));
}

static int push(struct state *s, uint32_t symbol)
{
	tw_sequitur_push(s->make.segment, symbol);
	return !tw_sequitur_full(s->make.segment) || end_segment(s);
}

static struct tw_path_thread *add_thread(struct state *s, uint32_t thread)
{
	struct tw_path_thread *threads = realloc(s->threads, (s->n_threads + 1) * sizeof *threads);
	if (!threads)
		return NULL;
	s->threads = threads;
	threads[s->n_threads] = (struct tw_path_thread){.thread = thread};
	return &threads[s->n_threads++];
}

static int begin_thread(struct state *s, uint32_t thread)
{
	const struct tw_recording *r = s->shared->recording;
	if (!add_thread(s, thread))
		return 0;
	s->thread = tw_recording_find_thread(r, thread);
	s->next_chunk = 0;
	const uint32_t image = tw_profile_image_of_thread(r, s->thread);
	if (image != s->image)
		tw_by_fragment_free(&s->fragments, free);
	s->image = image;
	return 1;
}

/* Whether the batch is of another chunk than the one before. */
static int begins_chunk(struct state *s, const struct tw_batch *b)
{
	const struct tw_recording *r = s->shared->recording;
	const size_t n = tw_recording_thread(r, s->thread)->n_chunks, was = s->next_chunk;
	while (s->next_chunk < n && tw_recording_chunk_info(r, s->thread, s->next_chunk)->first_insn <= b->first_insn)
		s->next_chunk++;
	return s->next_chunk > was;
}

/* Ends what was made of the chunk before. */
static int come_to(struct state *s, const struct tw_batch *b)
{
	const int other = !s->n_threads || newest(s)->thread != b->thread;
	if (other && (!end_chunk(s) || !begin_thread(s, b->thread)))
		return 0;
	return !begins_chunk(s, b) || end_chunk(s);
}

/* ---- the analyzer ---- */

static void free_makers(struct makers *m)
{
	tw_sequitur_free(m->segment);
	tw_sequitur_free(m->joined);
	*m = (struct makers){0};
}

/* Makers that another state has left, cleared; or none. */
static struct makers take_spare(struct shared *shared)
{
	struct makers m = {0};
	pthread_mutex_lock(&shared->lock);
	if (shared->n_spare)
		m = shared->spare[--shared->n_spare];
	pthread_mutex_unlock(&shared->lock);
	return m;
}

static void leave_makers(struct state *s)
{
	struct shared *shared = s->shared;
	pthread_mutex_lock(&shared->lock);
	if (s->make.segment && s->make.joined && shared->n_spare < MOST_SPARE) {
		shared->spare[shared->n_spare++] = s->make;
		s->make = (struct makers){0};
	}
	pthread_mutex_unlock(&shared->lock);
	free_makers(&s->make);
}

static void free_state(struct state *s)
{
	tw_by_fragment_free(&s->fragments, free);
	tw_grammar_free(&s->grammar);
	for (size_t i = 0; i < s->n_threads; i++)
		tw_symbol_list_free(&s->threads[i].start);
	free(s->threads);
	leave_makers(s);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->shared = arg;
	s->image = TW_NO_INDEX;
	s->make = take_spare(s->shared);
	if (!s->make.segment)
		s->make = (struct makers){tw_sequitur_new(SEGMENT), tw_sequitur_new(JOINED)};
	if (s->make.segment && s->make.joined)
		return s;
	free_state(s);
	return NULL;
}

static int take_runs(struct state *s, const struct tw_block_run *run, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!run[i].n_insns)
			continue;
		uint32_t symbol = terminal(s, &run[i]);
		if (!symbol || !push(s, symbol))
			return TW_ERR_MEMORY;
	}
	return 0;
}

static int has_gaps(const struct tw_batch *b)
{
	for (size_t i = 0; i < b->n_events; i++)
		if (tw_event_breaks(b->events[i].type))
			return 1;
	return 0;
}

static int take_with_gaps(struct state *s, const struct tw_batch *b)
{
	const struct tw_block_run *runs = tw_batch_blocks(b);
	size_t done = 0;
	int error = 0;
	for (size_t i = 0; i < b->n_events && !error; i++) {
		if (!tw_event_breaks(b->events[i].type))
			continue;
		error = take_runs(s, runs + done, b->events[i].block - done);
		done = b->events[i].block;
		if (!error && !push(s, TW_GRAMMAR_CUT))
			error = TW_ERR_MEMORY;
	}
	return error ? error : take_runs(s, runs + done, b->n_blocks - done);
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = 0;
	if (!come_to(s, b))
		return TW_ERR_MEMORY;
	if (has_gaps(b))
		return take_with_gaps(s, b);
	for (size_t i = 0; i < b->n_stretches && !error; i++)
		error = take_runs(s, b->stretches[i]->blocks, b->stretches[i]->n_blocks);
	return error;
}

static int merge_thread(struct state *s, const struct tw_path_thread *from, const uint32_t *map)
{
	struct tw_path_thread *to = s->n_threads && newest(s)->thread == from->thread ? newest(s) : add_thread(s, from->thread);
	int ok = to != NULL;
	for (uint64_t i = 0; ok && i < from->start.n; i++) {
		const uint32_t symbol = from->start.symbols[i];
		ok = tw_symbol_list_add(&to->start, symbol < TW_GRAMMAR_RULE ? symbol : map[symbol - TW_GRAMMAR_RULE]);
	}
	return ok;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	uint32_t *map = NULL;
	int ok = end_chunk(s) && end_chunk(from) && tw_grammar_add(&s->grammar, &from->grammar, &map);
	for (size_t i = 0; ok && i < from->n_threads; i++)
		ok = merge_thread(s, &from->threads[i], map);
	free(map);
	free_state(from);
	return ok ? 0 : TW_ERR_MEMORY;
}

/* What was made of all chunks of a thread is joined. */
static int join_thread(struct state *s, struct tw_path_thread *t)
{
	struct tw_symbol_list joined = {0};
	int ok = join(s, &t->start, &joined) && end_joined(s, &joined);
	tw_symbol_list_free(&t->start);
	t->start = joined;
	return ok;
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct tw_paths *out = s->shared->out;
	int ok = !error && end_chunk(s);
	for (size_t i = 0; ok && i < s->n_threads; i++)
		ok = join_thread(s, &s->threads[i]);
	error = error || ok ? error : TW_ERR_MEMORY;
	if (!error) {
		*out = (struct tw_paths){.grammar = s->grammar, .threads = s->threads, .n_threads = s->n_threads};
		s->grammar = (struct tw_grammar){0};
		s->threads = NULL;
		s->n_threads = 0;
	}
	free_state(s);
	return error;
}

int tw_paths_run(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_paths *out)
{
	static const struct tw_analyzer paths = {.name = "paths", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct shared shared = {.recording = r, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER, .n_blocks = 1};
	struct tw_replay_options replay = {0};
	memset(out, 0, sizeof *out);
	if (options)
		replay = *options;
	replay.grain = 1;
	int error = tw_replay(r, &replay, &paths, &shared);
	while (shared.n_spare)
		free_makers(&shared.spare[--shared.n_spare]);
	free(shared.index);
	if (error) {
		free(shared.blocks);
		return error;
	}
	out->blocks = shared.blocks;
	out->n_blocks = shared.n_blocks;
	return 0;
}

void tw_paths_free(struct tw_paths *p)
{
	for (size_t i = 0; i < p->n_threads; i++)
		tw_symbol_list_free(&p->threads[i].start);
	free(p->threads);
	free(p->blocks);
	tw_grammar_free(&p->grammar);
	memset(p, 0, sizeof *p);
}

uint64_t tw_paths_symbols(const struct tw_paths *p)
{
	uint64_t n = p->grammar.n_symbols;
	for (size_t i = 0; i < p->n_threads; i++)
		n += p->threads[i].start.n;
	return n;
}
