#include "analyze/index_maker.h"
#include "analyze/line_set.h"
#include "analyze/syscall_buffers.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/replay.h>

/* An entry, and whose it is. */
struct made {
	size_t thread, chunk;
	struct tw_index_entry entry;
};

struct making {
	const struct tw_recording *recording;
	struct tw_index *index;
	int (*select)(void *context, size_t thread, size_t chunk);
	void *context;
	struct made *damaged; /* these have no entry */
	size_t n_damaged, room_damaged;
};

struct state {
	struct making *making;
	struct made *made;
	size_t n, room;
	/* the chunk that is replayed */
	int is_open;
	uint32_t thread, sequence, turn; /* turn: counts chunks */
	uint64_t first_tsc, last_tsc;
	int lacks_buffers; /* 1: the kernel read or filled more than is kept */
	struct tw_line_set code, memory;
	uint32_t *seen; /* by number of the stretch: in which turn */
	size_t room_seen;
};

static void free_state(struct state *s)
{
	for (size_t i = 0; i < s->n; i++)
		tw_index_entry_free(&s->made[i].entry);
	tw_line_set_free(&s->code);
	tw_line_set_free(&s->memory);
	free(s->made);
	free(s->seen);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (s)
		s->making = arg;
	return s;
}

/* ---- a chunk ---- */

static int code_list(struct tw_index_entry *e, enum tw_index_list list, const struct tw_line_set *set, unsigned kind, uint32_t most)
{
	struct tw_lines *lines;
	size_t n;
	int error = tw_line_set_ranges(set, kind, &lines, &n);
	if (!error)
		error = tw_lines_code(lines, n, most, &e->list[list], &e->bytes[list]);
	free(lines);
	return error;
}

/* The chunk with this sequence number, which exists: at this index, or before it if chunks are missing. */
static size_t chunk_with(const struct tw_recording *r, size_t thread, uint32_t sequence)
{
	const size_t n = tw_recording_thread(r, thread)->n_chunks;
	size_t i = sequence < n ? sequence : n - 1;
	while (tw_recording_chunk_info(r, thread, i)->sequence != sequence)
		i--;
	return i;
}

/* The chunk has been replayed. */
static int end_chunk(struct state *s)
{
	const struct tw_recording *r = s->making->recording;
	if (!s->is_open)
		return 0;
	s->is_open = 0;
	struct made *more = tw_array_room(s->made, s->n, &s->room, sizeof *more);
	if (!more)
		return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
	s->made = more;
	struct made *m = &s->made[s->n++];
	*m = (struct made){.thread = tw_recording_find_thread(r, s->thread)};
	m->chunk = chunk_with(r, m->thread, s->sequence);
	m->entry.first_tsc = s->first_tsc;
	m->entry.last_tsc = s->last_tsc;
	m->entry.has_buffers = !s->lacks_buffers;
	const uint32_t most = tw_index_list_most(tw_recording_chunk_info(r, m->thread, m->chunk));
	tw_line_set_sort(&s->code);
	tw_line_set_sort(&s->memory);
	int error = code_list(&m->entry, TW_INDEX_CODE, &s->code, 0, most);
	if (!error)
		error = code_list(&m->entry, TW_INDEX_READ, &s->memory, 0, most);
	if (!error)
		error = code_list(&m->entry, TW_INDEX_WRITTEN, &s->memory, 1, most);
	return error;
}

static void begin_chunk(struct state *s, const struct tw_batch *b)
{
	s->is_open = 1;
	s->thread = b->thread;
	s->sequence = b->sequence;
	s->turn++;
	s->first_tsc = s->last_tsc = 0;
	s->lacks_buffers = 0;
	tw_line_set_clear(&s->code);
	tw_line_set_clear(&s->memory);
}

static void take_time(struct state *s, uint64_t tsc)
{
	if (!tsc)
		return;
	if (!s->first_tsc || tsc < s->first_tsc)
		s->first_tsc = tsc;
	if (tsc > s->last_tsc)
		s->last_tsc = tsc;
}

static int take_syscall(struct state *s, const struct tw_syscall *call, uint32_t bytes)
{
	enum { MOST = 1 << 24 };
	struct tw_syscall_buffers k;
	int error = 0;
	tw_syscall_buffers(call, bytes, &k);
	take_time(s, call->began);
	for (size_t i = 0; i < k.n && !error; i++) {
		s->lacks_buffers |= k.buffer[i].bytes > MOST;
		error = k.buffer[i].bytes <= MOST
		            ? tw_line_set_add(&s->memory, k.buffer[i].addr, (uint32_t)k.buffer[i].bytes, (unsigned)k.buffer[i].type)
		            : 0;
	}
	return error;
}

static int take_events(struct state *s, const struct tw_batch *b)
{
	int error = 0;
	for (size_t i = 0; i < b->n_events && !error; i++) {
		take_time(s, tw_event_time(b->events[i].type, b->events[i].payload));
		if (b->events[i].type == TW_EVENT_SYSCALL)
			error = take_syscall(s, b->events[i].payload, b->events[i].bytes);
	}
	return error;
}

static int add_code(struct state *s, const struct tw_stretch *stretch)
{
	int error = 0;
	for (uint32_t i = 0; i < stretch->n_blocks && !error; i++) {
		const struct tw_block_run *run = &stretch->blocks[i];
		error = tw_line_set_add(&s->code, run->pc, tw_descriptor_blocks(run->descriptor)[run->block].bytes, 1);
	}
	return error;
}

/* Code of a stretch that is new in this chunk. */
static int take_code(struct state *s, const struct tw_stretch *stretch)
{
	if (!stretch->number)
		return add_code(s, stretch);
	if (stretch->number >= s->room_seen) {
		uint32_t *seen = tw_array_zeros(s->seen, stretch->number, &s->room_seen, sizeof *seen);
		if (!seen)
			return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
		s->seen = seen;
	}
	if (s->seen[stretch->number] == s->turn)
		return 0;
	s->seen[stretch->number] = s->turn;
	return add_code(s, stretch);
}

static int take_memory(struct tw_line_set *memory, const struct tw_stretch *stretch, const uint64_t *addr)
{
	int error = 0;
	for (uint32_t i = 0; i < stretch->n_refs; i++)
		error |= tw_line_set_add(memory, addr[i], stretch->refs[i].size, stretch->refs[i].type);
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = 0;
	if (!s->is_open || b->thread != s->thread || b->sequence != s->sequence) {
		error = end_chunk(s);
		begin_chunk(s, b);
	}
	error = error ? error : take_events(s, b);
	const uint64_t *addr = b->addr;
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		error = take_code(s, b->stretches[i]);
		if (!error)
			error = take_memory(&s->memory, b->stretches[i], addr);
		addr += b->stretches[i]->n_refs;
	}
	return error;
}

/* ---- all of them ---- */

static int merge(void *state, void *later)
{
	struct state *s = state, *l = later;
	int error = end_chunk(s);
	if (!error)
		error = end_chunk(l);
	for (size_t i = 0; i < l->n && !error; i++) {
		struct made *more = tw_array_room(s->made, s->n, &s->room, sizeof *more);
		if (!more) {
			error = tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
			break;
		}
		s->made = more;
		s->made[s->n++] = l->made[i];
		memset(&l->made[i].entry, 0, sizeof l->made[i].entry);
	}
	free_state(l);
	return error;
}

static int is_damaged(const struct making *g, const struct made *m)
{
	for (size_t i = 0; i < g->n_damaged; i++)
		if (g->damaged[i].thread == m->thread && g->damaged[i].chunk == m->chunk)
			return 1;
	return 0;
}

static int end(void *state, int error)
{
	struct state *s = state;
	const struct making *g = s->making;
	error = error ? error : end_chunk(s);
	for (size_t i = 0; i < s->n && !error; i++)
		if (!is_damaged(g, &s->made[i]))
			tw_index_add(g->index, s->made[i].thread, s->made[i].chunk, &s->made[i].entry);
	free_state(s);
	return error;
}

static int is_wanted(void *context, size_t thread, size_t chunk)
{
	const struct making *g = context;
	return g->select(g->context, thread, chunk);
}

/* Who asks for what is in the chunk is told then. */
static int note_damage(void *context, size_t thread, size_t chunk, int error)
{
	struct making *g = context;
	(void)error;
	struct made *more = tw_array_room(g->damaged, g->n_damaged, &g->room_damaged, sizeof *more);
	if (!more)
		return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
	g->damaged = more;
	g->damaged[g->n_damaged++] = (struct made){.thread = thread, .chunk = chunk};
	return 0;
}

int tw_index_make(const struct tw_recording *r, struct tw_index *index, unsigned jobs,
                  int (*select)(void *context, size_t thread, size_t chunk), void *context)
{
	static const struct tw_analyzer maker = {.name = "index", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct making g = {.recording = r, .index = index, .select = select, .context = context};
	const struct tw_replay_options options = {.jobs = jobs, .select = is_wanted, .damage = note_damage, .context = &g};
	int error = tw_replay(r, &options, &maker, &g);
	free(g.damaged);
	return error;
}
