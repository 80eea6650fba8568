#include "channel/drain.h"
#include "channel/clear.h"
#include "channel/collector_state.h"
#include "channel/machine.h"
#include "channel/output.h"
#include "channel/output_jobs.h"
#include "channel/output_queue.h"
#include "channel/tally.h"
#include "recording/recording.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Limits: a thread that takes this long for all of its buffers is slow; a slot that has been free this long is not
 * needed; and this many of those are cleared at a time.
 */
#define SLOW_NS (2000 * 1000 * 1000ull)
enum { FREE_NS = 1000 * 1000 * 1000, CLEARED = 8 };
enum { READY = 4 }; /* buffers that are available before a thread with a budget reaches them */

/* ---- one buffer ---- */

void tw_drain_note_failure(struct tw_collector *c, int error)
{
	if (!c->failure[0])
		tw_failure_sentence(error, c->failure, sizeof c->failure);
}

void tw_drain_descriptors(struct tw_collector *c, uint32_t s)
{
	int error = tw_tables_take(c->tables, atomic_load(&c->control->slot[s].table));
	if (error)
		tw_drain_note_failure(c, error);
}

/* Reading the thread's data stops where the count is reached. */
static struct tw_demux_stop *stop_of(const struct tw_collector *c, struct tw_drained *t)
{
	if (c->stop_at == UINT64_MAX)
		return NULL;
	t->stop.insns = c->recorded < c->stop_at ? c->stop_at - c->recorded : 0;
	return &t->stop;
}

static struct tw_job *begin_job(struct tw_collector *c, const struct tw_drained *t, uint32_t flags)
{
	struct tw_job *job = tw_output_take(c->output);
	struct tw_chunk *chunk = &job->chunk;
	chunk->thread = t->info.serial;
	chunk->sequence = t->sequence;
	chunk->flags = flags;
	chunk->upper = 0;
	chunk->first_insn = t->insns;
	chunk->first_block = t->blocks;
	chunk->first_ref = t->refs;
	return job;
}

static void end_job(struct tw_collector *c, struct tw_drained *t, struct tw_job *job, int error)
{
	struct tw_chunk *chunk = &job->chunk;
	if (error) {
		chunk->flags |= TW_CHUNK_TORN;
		tw_drain_note_failure(c, error);
	}
	if (!chunk->n_c) {
		tw_output_drop(c->output, job);
		return;
	}
	t->sequence++;
	t->insns += chunk->insns;
	c->recorded += chunk->insns;
	c->records += chunk->n_c;
	t->blocks += chunk->blocks;
	t->refs += chunk->refs;
	job->thread = t->info;
	job->dead = t->seen.dead && (chunk->flags & TW_CHUNK_LAST);
	job->wait_status = t->seen.wait_status;
	tw_output_put(c->output, job);
}

static struct tw_far_buffer far_buffer(const struct tw_collector *c, const struct tw_drained *t)
{
	return (struct tw_far_buffer){&c->far, c->fd, tw_buffer_at(&c->control->sizes, (uint32_t)(t - c->thread), t->next)};
}

/* Is the next buffer of a thread read and cleared without being mapped? Torn ones have been looked at. */
static int is_far(const struct tw_collector *c, const struct tw_drained *t, uint32_t flags)
{
	return c->far.pays && !c->expand && !(flags & TW_CHUNK_TORN) && t->times[t->next] < TW_FAR_TIMES;
}

/* A buffer of the plain form as it is. */
static void spool(struct tw_collector *c, const struct tw_drained *t, const struct tw_demux_input *in, uint32_t flags)
{
	const struct tw_far_buffer far = far_buffer(c, t);
	const struct tw_output_buffer buffer = {t->info, flags, t->seen.dead, t->seen.wait_status, is_far(c, t, flags) ? &far : NULL};
	if (in->bytes)
		tw_output_spool(c->output, &buffer, in);
}

/* For buffers that would mostly be memory that the collector touches for the first time. */
static void read_far(struct tw_collector *c, const struct tw_drained *t, struct tw_demux_input *in, uint32_t flags)
{
	enum { MUCH = 128 << 10 };
	const struct tw_far_buffer far = far_buffer(c, t);
	uint8_t *copy = in->bytes >= MUCH && is_far(c, t, flags) ? tw_far_read(&c->far, &far, in->bytes, in->slack_end) : NULL;
	if (copy)
		*in = (struct tw_demux_input){copy, tw_channel_slack(copy), in->bytes, in->slack_end, in->stop};
}

/* What is of the plain form: spooled, stored or only counted. */
static void take_plain(struct tw_collector *c, struct tw_drained *t, struct tw_demux_input *in, uint32_t flags)
{
	if (c->spool) {
		spool(c, t, in, flags);
		return;
	}
	struct tw_job *job = begin_job(c, t, flags);
	in->stop = stop_of(c, t);
	if (c->count_only)
		read_far(c, t, in, flags);
	int error = c->count_only ? tw_demux_count(c->demux, in, &job->chunk) : tw_demux_buffer(c->demux, in, &job->chunk);
	end_job(c, t, job, error);
}

/* A buffer of another form than the plain one. */
static void take_expanded(struct tw_collector *c, struct tw_drained *t, const struct tw_demux_input *in, uint32_t flags)
{
	struct tw_demux_input piece;
	int more, last;
	tw_expand_begin(c->expand, in, flags & TW_CHUNK_TORN);
	while ((more = tw_expand_next(c->expand, &piece, &last)) > 0)
		take_plain(c, t, &piece, last ? flags : 0);
	if (more < 0)
		tw_drain_note_failure(c, more);
	c->written += tw_expand_used(c->expand) + in->slack_end;
}

static void take_buffer(struct tw_collector *c, struct tw_drained *t, struct tw_demux_input *in, uint32_t flags)
{
	if (c->expand) {
		take_expanded(c, t, in, flags);
		return;
	}
	c->written += in->bytes + in->slack_end;
	take_plain(c, t, in, flags);
}

void tw_drain_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The next buffer of a slot, if it is full. */
static int find_full(struct tw_collector *c, uint32_t s, struct tw_demux_input *in)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t b = c->thread[s].next;
	if (atomic_load_explicit(&slot->buffer[b].state, memory_order_acquire) != TW_BUFFER_FULL)
		return 0;
	uint8_t *data = tw_channel_buffer(c->base, s, b);
	*in = (struct tw_demux_input){data, tw_channel_slack(data), slot->buffer[b].bytes, slot->buffer[b].slack_end, NULL};
	return 1;
}

/*
 * Clears the buffer for the thread. A slow thread gets its buffers back without memory: otherwise it would end up
 * with memory for all of them, and never need two.
 */
static void clear_next(struct tw_collector *c, uint32_t s, const struct tw_demux_input *in)
{
	struct tw_drained *t = &c->thread[s];
	const struct tw_far_buffer far = far_buffer(c, t);
	uint64_t now = tw_machine_ns(), took = now - t->emptied[t->next];
	t->emptied[t->next] = now;
	if (took < SLOW_NS && is_far(c, t, 0)) {
		t->times[t->next]++;
		if (!tw_far_clear(&far, in->bytes, in->slack_end))
			return;
	}
	if (took < SLOW_NS || tw_clear_range(c->fd, tw_buffer_at(&c->control->sizes, s, t->next), TW_BUFFER_STRIDE))
		tw_clear_buffer(tw_channel_buffer(c->base, s, t->next), in->bytes, in->slack_end);
	else
		t->ready &= ~(1u << t->next);
}

/*
 * A budget is charged for memory that a thread touches for the first time: a millisecond or more per buffer, as much
 * as 2 % of 50 ms. So the buffers after the one being filled get theirs ahead of time. If the mapping itself is
 * expensive (far.h) that would gain nothing.
 */
static void make_ready(struct tw_collector *c, uint32_t s)
{
	struct tw_drained *t = &c->thread[s];
	for (uint32_t k = 1; k <= READY && c->control->budget.period && !c->far.pays; k++) {
		const uint32_t b = (t->next + k) % c->control->sizes.buffers;
		if (!(t->ready >> b & 1))
			madvise(tw_channel_buffer(c->base, s, b), TW_BUFFER_BYTES, MADV_POPULATE_READ);
		t->ready |= 1u << b;
	}
}

/* Gives the next buffer back to the thread. */
static void give_back(struct tw_collector *c, uint32_t s, const struct tw_demux_input *in)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t b = c->thread[s].next;
	clear_next(c, s, in);
	slot->buffer[b].bytes = slot->buffer[b].slack_end = 0;
	atomic_store_explicit(&slot->buffer[b].state, TW_BUFFER_EMPTY, memory_order_release);
	tw_drain_wake(&slot->buffer[b].state);
	c->thread[s].next = (b + 1) % c->control->sizes.buffers;
	make_ready(c, s);
}

/* Drains the full buffers of a slot, at most one round of the ring. Returns how many. */
static unsigned drain_full(struct tw_collector *c, uint32_t s)
{
	struct tw_demux_input in;
	unsigned done = 0;
	for (; done < c->control->sizes.buffers && find_full(c, s, &in); done++) {
		tw_drain_descriptors(c, s);
		take_buffer(c, &c->thread[s], &in, 0);
		give_back(c, s, &in);
	}
	return done;
}

/* ---- slots ---- */

static void adopt(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	struct tw_drained *t = &c->thread[s];
	const int is_new = !t->active;
	if (is_new) {
		const uint64_t now = tw_machine_ns();
		memset(t, 0, sizeof *t);
		t->active = 1;
		for (int b = 0; b < TW_BUFFERS; b++)
			t->emptied[b] = now;
	}
	t->info.serial = atomic_load(&slot->serial);
	t->info.pid = slot->pid;
	t->info.tid = slot->tid;
	t->info.parent_pid = slot->parent_pid;
	if (is_new)
		tw_drain_descriptors(c, s); /* there may be many kept ones: take them while the program runs, not at its end */
}

/* Takes what the thread of slot s has counted. `live`: it is still running. */
static void take_tally(struct tw_collector *c, uint32_t s, int live)
{
	const struct tw_tally_input in = {c->tables, c->control, c->fd, c->base, s};
	if (!(c->control->flags & TW_FLAG_TALLY))
		return;
	struct tw_totals tallied;
	int error = tw_tally_take(&in, &tallied);
	tw_output_add(c->output, &tallied);
	if (!error && !live)
		error = tw_tally_clear(&in);
	if (error)
		tw_drain_note_failure(c, error);
}

static void release(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	tw_drain_descriptors(c, s);
	take_tally(c, s, 0);
	tw_output_thread_ends(c->output, c->thread[s].info.serial);
	c->thread[s].active = 0;
	c->thread[s].freed = tw_machine_ns();
	c->thread[s].seen = (struct tw_seen){0}; /* the next may be looked for before it is adopted */
	c->thread[s].overdue = (struct tw_overdue){0};
	slot->pid = slot->tid = slot->parent_pid = 0;
	atomic_store(&slot->ask, TW_ASK_CLOSED);
	atomic_store(&slot->current, 0);
	atomic_store(&slot->table, 0);
	atomic_store_explicit(&slot->state, TW_SLOT_FREE, memory_order_release);
}

/* Has anything been written to the buffer? */
static int is_begun(const struct tw_collector *c, const uint8_t *data)
{
	return data[c->expand ? 2 : 0] != 0; /* the tag of the keyframe */
}

/* Scans what a thread left in unfinished buffers. `live`: it still runs, and owns them. */
static void salvage(struct tw_collector *c, uint32_t s, int live)
{
	struct tw_drained *t = &c->thread[s];
	const uint32_t n = c->control->sizes.buffers;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *data = tw_channel_buffer(c->base, s, (t->next + i) % n);
		if (!is_begun(c, data))
			continue;
		struct tw_demux_input in = {.data = data, .slack = tw_channel_slack(data)};
		tw_drain_descriptors(c, s);
		in.bytes = TW_BUFFER_BYTES;
		if (!c->expand)
			tw_demux_torn_end(c->demux, &in, c->logged);
		take_buffer(c, t, &in, TW_CHUNK_TORN | TW_CHUNK_LAST);
		if (!live)
			tw_clear_buffer(data, TW_BUFFER_BYTES, TW_SLACK_BYTES);
	}
}

static unsigned drain_slot(struct tw_collector *c, uint32_t s);

/* The thread of slot s, the first of its program in its process, has been drained, and has written more since. */
static void tell_thread(struct tw_collector *c, uint32_t s)
{
	struct tw_drained *t = &c->thread[s];
	if (!t->active || t->told || !is_begun(c, tw_channel_buffer(c->base, s, t->next)))
		return;
	tw_output_tell_thread(c->output, &t->info);
	t->told = 1;
}

/*
 * What a process ran before it executed this program must come first: live analyzers use that to distinguish the two.
 * And before another thread of the program arrives they must know its first one, which may fill its first buffer
 * later.
 */
static unsigned drain_before(struct tw_collector *c, uint32_t s)
{
	const struct tw_thread_info *t = &c->thread[s].info;
	const int is_first = t->pid == t->tid;
	unsigned n = 0;
	for (uint32_t k = 0; k < tw_channel_slots_used(c->control); k++) {
		const struct tw_slot *slot = &c->control->slot[k];
		if (slot->pid != t->pid || atomic_load(&slot->serial) >= t->serial || !(is_first || slot->tid == t->pid))
			continue;
		n += drain_slot(c, k);
		if (!is_first)
			tell_thread(c, k);
	}
	return n;
}

static unsigned drain_slot(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	const int is_new = !c->thread[s].active;
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	if (state == TW_SLOT_FREE || state == TW_SLOT_RESERVED)
		return 0;
	adopt(c, s);
	if (is_new && (c->is_fed || slot->pid == slot->tid)) {
		const unsigned before = drain_before(c, s);
		return before + drain_slot(c, s); /* meanwhile a later one may have drained this one, and the slot may be another's */
	}
	unsigned n = drain_full(c, s);
	if (state == TW_SLOT_ACTIVE || n >= c->control->sizes.buffers)
		return n;
	if (state == TW_SLOT_DEAD)
		salvage(c, s, 0);
	release(c, s);
	return n + 1;
}

unsigned tw_drain_all(struct tw_collector *c, unsigned *active)
{
	unsigned done = 0;
	*active = 0;
	for (uint32_t s = 0; s < tw_channel_slots_used(c->control); s++) {
		done += drain_slot(c, s);
		*active += atomic_load_explicit(&c->control->slot[s].state, memory_order_relaxed) != TW_SLOT_FREE;
	}
	return done;
}

/* A slot that became free a second ago is not the next to be taken: the memory of its buffers is released. */
static void clear_slot(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t unclaimed = 0;
	if (!atomic_compare_exchange_strong(&slot->claim, &unclaimed, 1))
		return;
	const int is_free = atomic_load(&slot->state) == TW_SLOT_FREE;
	if (is_free)
		atomic_store(&slot->state, TW_SLOT_CLEARED);
	atomic_store(&slot->claim, 0);
	if (!is_free)
		return;
	tw_clear_range(c->fd, tw_buffer_at(&c->control->sizes, s, 0), tw_slot_bytes(&c->control->sizes));
	c->thread[s].freed = 0;
	atomic_store(&slot->state, TW_SLOT_FREE);
}

void tw_drain_clear_slots(struct tw_collector *c, uint64_t now)
{
	unsigned most = CLEARED;
	for (uint32_t s = 0; s < tw_channel_slots_used(c->control) && most; s++) {
		const struct tw_drained *t = &c->thread[s];
		if (t->active || !t->freed || now - t->freed < FREE_NS)
			continue;
		clear_slot(c, s);
		most -= !t->freed;
	}
}

/* ---- threads that died ---- */

/* If the thread of slot s holds the descriptor lock in this way, releases it. */
static void unlock_descriptors(struct tw_collector *c, uint32_t s, uint64_t holder)
{
	if ((uint32_t)holder == s + 1)
		atomic_compare_exchange_strong(&c->control->descriptor_lock, &holder, 0);
}

/*
 * Was the thread stopped, a moment after `holder` was seen in the lock, in a section that it will restart? Without
 * this, others would wait until it is continued: they cannot see its state where processes number each other
 * differently.
 */
static int begins_anew(const struct tw_seen *seen, uint64_t holder)
{
	return holder & TW_HOLDS_RESTARTABLE && seen->certain && (seen->state == 'T' || seen->state == 't');
}

/* A slot that was only reserved holds nothing yet, and is free again at once. */
static void check_slot(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	uint32_t tid = slot->tid;
	if (state != TW_SLOT_ACTIVE && state != TW_SLOT_RESERVED)
		return;
	int namespaces = atomic_load(&c->control->namespaces) != 0;
	const uint64_t held = atomic_load(&c->control->descriptor_lock); /* before the thread is looked at */
	const int ended = tw_thread_has_ended(slot, c->inode, namespaces, &c->thread[s].seen);
	if (slot->tid != tid)
		return;
	if (!ended) {
		if (begins_anew(&c->thread[s].seen, held))
			unlock_descriptors(c, s, held);
		if (state == TW_SLOT_ACTIVE)
			tw_overdue_look(slot, &c->thread[s].seen, &c->thread[s].overdue);
		return;
	}
	unlock_descriptors(c, s, atomic_load(&c->control->descriptor_lock));
	atomic_compare_exchange_strong(&slot->state, &state, state == TW_SLOT_ACTIVE ? TW_SLOT_DEAD : TW_SLOT_FREE);
}

void tw_drain_check_threads(struct tw_collector *c, unsigned most)
{
	const uint32_t used = tw_channel_slots_used(c->control);
	for (uint32_t n = 0; n < used && most; n++) {
		uint32_t s = c->next_check++ % used;
		if (atomic_load_explicit(&c->control->slot[s].state, memory_order_relaxed) == TW_SLOT_FREE)
			continue;
		check_slot(c, s);
		most--;
	}
}

unsigned tw_drain_count_busy(const struct tw_collector *c, uint64_t now, uint64_t ns)
{
	const uint32_t buffers = c->control->sizes.buffers;
	unsigned n = 0;
	for (uint32_t s = 0; s < tw_channel_slots_used(c->control); s++) {
		const struct tw_drained *t = &c->thread[s];
		n += t->active && now - t->emptied[(t->next + buffers - 1) % buffers] <= ns;
	}
	return n;
}

unsigned tw_drain_count_processes(const struct tw_collector *c)
{
	unsigned n = 0;
	for (uint32_t s = 0; s < tw_channel_slots_used(c->control); s++) {
		const struct tw_slot *slot = &c->control->slot[s];
		n += atomic_load(&slot->state) == TW_SLOT_ACTIVE && slot->pid == slot->tid;
	}
	return n;
}

void tw_drain_leave_running(struct tw_collector *c)
{
	struct tw_control *control = c->control;
	unsigned n = tw_drain_count_processes(c);
	if (!atomic_load(&control->failure))
		snprintf(control->failure_text, sizeof control->failure_text, "stopped by a signal while %u process%s ran", n,
		         n == 1 ? "" : "es");
	atomic_store(&control->failure, TW_FAILURE_COLLECTOR);
	for (uint32_t s = 0; s < tw_channel_slots_used(c->control); s++) {
		drain_slot(c, s);
		if (atomic_load(&control->slot[s].state) != TW_SLOT_ACTIVE)
			continue;
		tw_drain_descriptors(c, s);
		salvage(c, s, 1);
		take_tally(c, s, 1);
	}
}
