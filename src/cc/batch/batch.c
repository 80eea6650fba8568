/* From full buffers to batches for the routine: buffers become chunks, as in the collector, and the chunks are walked. */
#include "base/cc_batch.h"
#include "cc/batch/room.h"
#include "channel/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* What a thread needs to process a buffer. As many exist as threads have done so at once. */
struct worker {
	struct worker *next;
	struct tw_demux *demux;
	uint64_t described; /* bytes of the table that the demultiplexer has seen */
	struct tw_walk *walk;
	struct tw_cc_line *line;
	uint8_t *whole; /* a torn buffer, as long as buffers of the channel are */
	uint16_t c[TW_DEMUX_C];
	uint64_t m[TW_DEMUX_M];
	_Alignas(8) uint8_t e[TW_DEMUX_E];
};

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *free_workers;
static pthread_rwlock_t known =
    PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; /* of the next two: walks read, who adds descriptors writes */
static struct tw_programs *programs;
static uint64_t described;
static struct tw_xstate xstate;
static _Atomic int failed; /* said once */

static void fail(void)
{
	if (!atomic_exchange(&failed, 1))
		tw_cc_complain("a part of what ran is left out: there is no memory, or what was written makes no sense");
}

static int take_batch(void *context, const struct tw_batch *b)
{
	return tw_cc_line_batch(((const struct worker *)context)->line, b);
}

static void machine(struct tw_xstate *out)
{
	tw_machine_xstate(out);
	xstate = *out;
}

/* ---- descriptors ---- */

static int add_programs(void *unused, const uint8_t *bytes, uint64_t n)
{
	int error = 0;
	(void)unused;
	for (uint64_t at = 0; at < n && !error; at += ((const struct tw_descriptor *)(bytes + at))->bytes)
		error = tw_programs_add(programs, (const struct tw_descriptor *)(bytes + at));
	return error;
}

static int add_to_demux(void *demux, const uint8_t *bytes, uint64_t n)
{
	uint64_t used;
	return tw_demux_descriptors(demux, bytes, n, &used);
}

/*
 * Calls fn for each run of adjacent descriptors from *from on. A descriptor that does not fit into a part of the
 * table begins the next part; zeros fill the gap.
 */
static int each_group(const struct tw_descriptor_table *table, uint64_t *from, int (*fn)(void *, const uint8_t *, uint64_t), void *arg)
{
	const uint8_t *bytes = (const uint8_t *)table;
	const uint64_t used = atomic_load_explicit(&table->used, memory_order_acquire);
	int error = 0;
	for (uint64_t at = *from ? *from : sizeof *table; at < used && !error;) {
		const uint64_t part = (at / TW_PART_BYTES + 1) * TW_PART_BYTES, end = part < used ? part : used;
		uint64_t to = at;
		while (to < end && ((const struct tw_descriptor *)(bytes + to))->bytes)
			to += ((const struct tw_descriptor *)(bytes + to))->bytes;
		error = fn(arg, bytes + at, to - at);
		at = to < end ? end : to;
	}
	*from = used;
	return error;
}

/* What has been described since. Under the lock of all walks. */
static int learn(const struct tw_descriptor_table *table)
{
	int error = 0;
	if (described == atomic_load_explicit(&table->used, memory_order_acquire))
		return 0;
	pthread_rwlock_unlock(&known);
	pthread_rwlock_wrlock(&known);
	programs = programs ? programs : tw_programs_new(TW_PROGRAMS_HOT, NULL);
	error = programs ? each_group(table, &described, add_programs, NULL) : TW_ERR_MEMORY;
	pthread_rwlock_unlock(&known);
	pthread_rwlock_rdlock(&known);
	return error;
}

/* ---- workers ---- */

static struct worker *make_worker(void)
{
	struct worker *w = calloc(1, sizeof *w);
	if (!w)
		return NULL;
	const struct tw_walk_options options = {.programs = programs, .xstate = &xstate, .batch = take_batch, .context = w};
	w->demux = tw_demux_new(0);
	w->walk = tw_walk_new(&options);
	w->whole = calloc(1, TW_DEMUX_DATA + TW_SLACK_BYTES);
	if (w->demux && w->walk && w->whole)
		return w;
	free(w);
	return NULL;
}

static struct worker *get_worker(void)
{
	pthread_mutex_lock(&free_lock);
	struct worker *w = free_workers;
	if (w)
		free_workers = w->next;
	pthread_mutex_unlock(&free_lock);
	return w ? w : make_worker();
}

static void give_back(struct worker *w)
{
	pthread_mutex_lock(&free_lock);
	w->next = free_workers;
	free_workers = w;
	pthread_mutex_unlock(&free_lock);
}

/* ---- buffers ---- */

/* Where the records of a torn buffer end. */
static void find_end(struct worker *w, const struct tw_cc_written *written, struct tw_demux_input *in)
{
	memset(w->whole, 0, TW_DEMUX_DATA);
	memcpy(w->whole, written->data, written->bytes);
	in->data = w->whole;
	tw_demux_torn_end(w->demux, in, 0);
}

static int walk_buffer(struct worker *w, const struct tw_cc_written *written)
{
	struct tw_cc_line *line = w->line;
	struct tw_demux_input in = {.data = written->data, .slack = w->whole + TW_DEMUX_DATA, .bytes = written->bytes};
	struct tw_chunk chunk = {.thread = written->serial,
	                         .sequence = line->sequence++,
	                         .first_insn = line->first_insn,
	                         .first_block = line->first_block,
	                         .first_ref = line->first_ref,
	                         .c = w->c,
	                         .m = w->m,
	                         .e = w->e};
	if (written->torn)
		find_end(w, written, &in);
	int error = tw_demux_buffer(w->demux, &in, &chunk);
	if (!error)
		error = tw_walk_chunk(w->walk, &chunk, NULL);
	line->first_insn += chunk.insns;
	line->first_block += chunk.blocks;
	line->first_ref += chunk.refs;
	return tw_walk_stopped(w->walk) ? 0 : error;
}

static int look_at(const struct tw_descriptor_table *table, const struct tw_cc_written *written, struct tw_cc_line *line)
{
	int error = learn(table);
	struct worker *w = error ? NULL : get_worker();
	if (!w)
		return TW_ERR_MEMORY;
	w->line = line;
	error = each_group(table, &w->described, add_to_demux, w->demux);
	if (!error)
		error = walk_buffer(w, written);
	give_back(w);
	return error;
}

static void take(const struct tw_descriptor_table *table, const struct tw_cc_written *written)
{
	pthread_rwlock_rdlock(&known);
	struct tw_cc_line *line = tw_cc_line_of(written->serial);
	if (line && look_at(table, written, line))
		fail();
	if (line && written->last)
		tw_cc_line_end(line);
	pthread_rwlock_unlock(&known);
}

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_rwlock_wrlock(&known);
}

/*
 * The child creates the lock anew: its owner was another thread, by number. Machine code made so far lies in memory
 * shared with the parent; they cannot both add to it.
 */
static void after_fork(bool child)
{
	static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	if (!child) {
		pthread_rwlock_unlock(&known);
		return;
	}
	known = fresh;
	programs = NULL;
	described = 0;
	free_workers = NULL;
	tw_cc_lines_forget();
}

static void end(const char *failure)
{
	if (failure)
		tw_cc_complain("a part of what ran is left out: %s", failure);
	tw_cc_lines_end();
}

const struct tw_cc_batch trackway_cc_batch = {&tw_cc_handover, take, before_fork, after_fork, end, machine};
