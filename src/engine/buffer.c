#include "engine/buffer.h"
#include "engine/bits.h"
#include "engine/known.h"
#include "engine/room.h"
#include "engine/tags.h"
#include "engine/tally.h"
#include "engine/thread.h"
#include "engine/trace.h"
#include "engine/window.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/glue.h"
#include "instrument/instrumentor.h"
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <linux/mman.h>

#define STORE_RELEASE(p, v) __atomic_store_n((u32 *)(p), (v), __ATOMIC_RELEASE)
#define LOAD_ACQUIRE(p)     __atomic_load_n((u32 *)(p), __ATOMIC_ACQUIRE)

static void ring(void)
{
	struct tw_control *c = tw_engine.control;
	__atomic_fetch_add((u32 *)&c->doorbell, 1, __ATOMIC_RELEASE);
	tw_sys(__NR_futex, &c->doorbell, FUTEX_WAKE, 1);
}

static struct tw_slot *slot_of(const struct thread *t)
{
	return &tw_engine.control->slot[t->slot];
}

/* Bytes that can be written from C at thread.bufptr. */
static i64 room(const struct thread *t)
{
	u64 data_end = (u64)t->buffer + TW_BUFFER_BYTES, slack_end = (u64)tw_channel_slack(t->buffer) + TW_SLACK_BYTES;
	return (i64)((t->bufptr <= data_end ? data_end : slack_end) - t->bufptr);
}

static bool is_tagged(void)
{
	return tw_form_of(tw_engine.recorder->format) == TW_FORM_TAGGED;
}

/* p may be NULL when n is 0. */
static void put(struct thread *t, const void *p, u32 n)
{
	const u8 *from = p;
	u8 *to = (u8 *)t->bufptr;
	if (!p)
		return;
	t->bufptr += n;
	for (; n >= 8; n -= 8, from += 8, to += 8) /* most are short, and memcpy takes long to begin */
		memcpy(to, from, 8);
	for (; n; n--)
		*to++ = *from++;
}

static void put_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	const u32 unit = tw_bits_recorded() ? 4 : 2; /* what lengths are a multiple of */
	struct tw_event_header h = {TW_TAG_EVENT, type, (na + nb + unit - 1) & ~(unit - 1)};
	/* The tag last: a reader that finds it finds the whole event. In the tagged form an escape stands before it. */
	t->bufptr += is_tagged() ? 2 : 0;
	u64 at = t->bufptr;
	t->bufptr += 2;
	put(t, (u8 *)&h + 2, sizeof h - 2);
	put(t, a, na);
	put(t, b, nb);
	put(t, "\0\0", h.bytes - na - nb);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile u16 *)at = TW_TAG_EVENT;
}

/* Appends an event where the thread writes now. */
static void event_here(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	if (!tw_engine.recorder->records || !tw_window_keeps(t, type))
		return;
	if (t->walks)
		tw_bits_stop(t);
	tw_buffer_reserve(t, (u32)sizeof(struct tw_event_header) + na + nb + 3);
	put_event(t, type, a, na, b, nb);
}

static void put_keyframe(struct thread *t)
{
	struct tw_keyframe k;
	memcpy(k.regs, t->regs, sizeof k.regs);
	k.seg_base[TW_SEG_NONE] = 0;
	k.seg_base[TW_SEG_FS] = t->app_fs;
	k.seg_base[TW_SEG_GS] = t->app_gs;
	k.tsc = tw_tsc();
	k.upper = t->upper;
	k.program = tw_known_program();
	memset(t->status, TW_UPDATED, sizeof t->status);
	event_here(t, TW_EVENT_KEYFRAME, &k, sizeof k, NULL, 0);
}

void tw_buffer_keyframe(struct thread *t)
{
	if (t->told_closed || t->tallied)
		return;
	if (t->buffer)
		tw_buffer_reserve(t, TW_MAX_EVENT); /* a switch would come between its time and its place */
	put_keyframe(t);
}

/* ---- buffers ---- */

/* A tallied thread turns to the buffer of its slot, or back to its own. */
static void turn(struct thread *t)
{
	struct tw_pen here = {t->buffer, t->bufptr, t->slack_jump, t->upper};
	t->buffer = t->other.buffer;
	t->bufptr = t->other.bufptr;
	t->slack_jump = t->other.slack_jump;
	t->upper = t->other.upper;
	t->other = here;
	t->telling = !t->telling;
}

/* A tallied thread is about to write over what is in its own buffer. */
static void note_written(struct thread *t)
{
	struct tw_slot *s = slot_of(t);
	s->written += t->bufptr - (u64)t->buffer;
	s->keyframes += sizeof(struct tw_event_header) + sizeof(struct tw_keyframe);
}

static void open_buffer(struct thread *t, u8 *buffer)
{
	t->buffer = buffer;
	t->bufptr = (u64)buffer;
	put_keyframe(t);
}

static void close_buffer(struct thread *t)
{
	struct tw_slot *s = slot_of(t);
	u32 b = s->current;
	u64 start = (u64)t->buffer, slack = (u64)tw_channel_slack(t->buffer);
	s->buffer[b].slack_end = 0;
	if (t->bufptr >= slack) {
		s->buffer[b].slack_end = (u32)(t->bufptr - slack);
		s->buffer[b].bytes = (u32)(t->slack_jump + 4 - start);
	} else {
		s->buffer[b].bytes = (u32)(t->bufptr - start);
	}
	STORE_RELEASE(&s->buffer[b].state, TW_BUFFER_FULL);
	ring();
}

/* Waits until the collector has given the buffer back; false when it is gone. */
static bool wait_empty(struct tw_slot *s, u32 b)
{
	const struct __kernel_timespec pause = {0, 100000000};
	while (LOAD_ACQUIRE(&s->buffer[b].state) != TW_BUFFER_EMPTY) {
		if (!tw_channel_collector_alive(tw_engine.control))
			return false;
		tw_sys4(__NR_futex, &s->buffer[b].state, FUTEX_WAIT, TW_BUFFER_FULL, &pause);
	}
	return true;
}

/* From here on the thread writes over one buffer of its slot again and again, and nobody reads it. */
static void stop_recording(struct thread *t)
{
	t->recording = false;
	tw_engine.control->failure = tw_engine.control->failure ? tw_engine.control->failure : TW_FAILURE_COLLECTOR;
}

/* Makes what is between the guard pages accessible. False: there are too many mappings. */
static bool protect_guards(u8 *buffer)
{
	const int prot = PROT_READ | PROT_WRITE;
	return !tw_sys(__NR_mprotect, buffer, TW_BUFFER_BYTES, prot) &&
	       !tw_sys(__NR_mprotect, tw_channel_slack(buffer), TW_SLACK_BYTES, prot);
}

/* Makes buffer `b` of its slot the thread's, accessible the first time it is used. */
static void take_buffer(struct thread *t, u32 b)
{
	slot_of(t)->current = b;
	t->buffer = tw_channel_buffer(tw_engine.channel, t->slot, b);
	if (!(t->usable >> b & 1))
		protect_guards(t->buffer);
	t->usable |= 1u << b;
}

void tw_buffer_switch(struct thread *t)
{
	if (t->walks)
		tw_bits_stop(t);
	if (!t->telling)
		tw_trace_look(t, t->buffer,
		              tw_buffer_in_slack(t) ? t->slack_jump : t->bufptr); /* not the guard page between data and slack */
	if (t->tallied && !t->telling) {
		note_written(t);
	} else if (t->recording) {
		struct tw_slot *s = slot_of(t);
		close_buffer(t);
		u32 next = (s->current + 1) % TW_BUFFERS;
		if (!wait_empty(s, next)) {
			stop_recording(t);
		} else {
			take_buffer(t, next);
		}
	}
	open_buffer(t, t->buffer);
}

void tw_buffer_put(struct thread *t, const void *p, u32 n)
{
	u64 slack = (u64)tw_channel_slack(t->buffer);
	if (room(t) < (i64)n && t->bufptr < slack) {
		t->slack_jump = t->bufptr - 4; /* where the data ends is 4 behind this: close_buffer */
		t->bufptr = slack;
	}
	put(t, p, n);
}

bool tw_buffer_in_slack(const struct thread *t)
{
	return t->bufptr >= (u64)tw_channel_slack(t->buffer);
}

bool tw_buffer_has_room(const struct thread *t, u32 bytes)
{
	return room(t) >= (i64)bytes;
}

void tw_buffer_reserve(struct thread *t, u32 bytes)
{
	if (room(t) < (i64)bytes)
		tw_buffer_switch(t);
}

u64 tw_buffer_time(struct thread *t)
{
	if (t->buffer)
		tw_buffer_reserve(t, TW_MAX_EVENT);
	return tw_tsc();
}

void tw_buffer_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	if (t->tallied)
		turn(t);
	event_here(t, type, a, na, b, nb);
	if (t->tallied)
		turn(t);
}

void tw_buffer_tell(struct thread *t, const struct fragment *f, const struct tw_partial *p, const void *record, u32 bytes)
{
	if (!t->tallied)
		return;
	turn(t);
	tw_buffer_reserve(t, TW_ESCAPE_BYTES + (u32)(sizeof(struct tw_event_header) + sizeof *p) + bytes);
	tw_buffer_upper(t, f);
	if (p)
		put_event(t, TW_EVENT_PARTIAL, p, sizeof *p, NULL, 0);
	else
		slot_of(t)->copied += bytes;
	put(t, record, bytes);
	turn(t);
}

void tw_buffer_untell(struct thread *t, u32 bytes)
{
	if (!t->tallied)
		return;
	turn(t);
	t->bufptr -= bytes;
	memset((void *)t->bufptr, 0, bytes);
	slot_of(t)->copied -= bytes;
	turn(t);
}

void tw_buffer_upper(struct thread *t, const struct fragment *f)
{
	if (!tw_engine.instr->records || tw_upper_fits(f, t->upper))
		return;
	tw_buffer_reserve(t, TW_ESCAPE_BYTES);
	u32 record = (u32)f->upper_in << 16 | (is_tagged() ? 0 : TW_TAG_UPPER);
	put(t, &record, TW_ESCAPE_BYTES);
	t->upper = f->upper_in;
}

/* ---- slots ---- */

/* Reserves the slot if it is free. Its pid and tid are there before the state says so, and nobody writes them but who has the claim. */
static bool try_reserve(struct tw_slot *s, u32 pid, u32 tid)
{
	u32 *claim = (u32 *)&s->claim, unclaimed = 0;
	if (LOAD_ACQUIRE(&s->state) != TW_SLOT_FREE ||
	    !__atomic_compare_exchange_n(claim, &unclaimed, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	const bool is_free = LOAD_ACQUIRE(&s->state) == TW_SLOT_FREE;
	if (is_free) {
		s->pid = pid;
		s->tid = tid;
		STORE_RELEASE(&s->state, TW_SLOT_RESERVED);
		__atomic_store_n((u32 *)&s->room, tw_engine.room_number, __ATOMIC_SEQ_CST);
	}
	STORE_RELEASE(claim, 0);
	return is_free;
}

/* Reserves a free slot. NO_SLOT: there is none. */
static u32 reserve_slot(u32 pid, u32 tid)
{
	for (u32 i = 0; i < TW_SLOTS; i++)
		if (try_reserve(&tw_engine.control->slot[i], pid, tid))
			return i;
	return NO_SLOT;
}

/* Is there a slot that comes free as soon as the collector gets round to it? */
static bool is_any_ended(void)
{
	for (u32 i = 0; i < TW_SLOTS; i++) {
		u32 state = LOAD_ACQUIRE(&tw_engine.control->slot[i].state);
		if (state == TW_SLOT_ENDED || state == TW_SLOT_DEAD || state == TW_SLOT_CLEARED)
			return true;
	}
	return false;
}

/* Reserves a slot, waiting for one if need be: threads can come and go faster than the collector takes what they leave. */
static u32 wait_for_slot(u32 pid, u32 tid)
{
	for (;;) {
		u32 i = reserve_slot(pid, tid);
		if (i != NO_SLOT || !is_any_ended() || !tw_channel_collector_alive(tw_engine.control))
			return i;
		tw_pause(1000);
	}
}

static bool is_reserved(u32 i)
{
	return LOAD_ACQUIRE(&tw_engine.control->slot[i].state) == TW_SLOT_RESERVED;
}

void tw_buffer_promise(struct thread *t, u32 pid, u32 tid)
{
	bool wanted = !t->unfollowed && !tw_engine.control->failure && tw_channel_collector_alive(tw_engine.control);
	t->promised = wanted ? wait_for_slot(pid, tid) : NO_SLOT;
}

void tw_buffer_promised_to(struct thread *t, u32 pid, u32 tid)
{
	u32 i = t->promised;
	t->promised = NO_SLOT;
	if (i == NO_SLOT || !is_reserved(i))
		return;
	struct tw_slot *s = &tw_engine.control->slot[i];
	if (!pid) {
		STORE_RELEASE(&s->state, TW_SLOT_FREE);
		return;
	}
	s->pid = pid;
	s->tid = tid;
}

/* The slot reserved for this thread by its parent, or by this process before it executed this program; else a fresh one, or none. */
static bool take_slot(struct thread *t)
{
	const struct tw_control *c = tw_engine.control;
	t->slot = t->promised;
	t->promised = NO_SLOT;
	if (t->slot != NO_SLOT && is_reserved(t->slot))
		return true;
	for (u32 i = 0; i < TW_SLOTS; i++) {
		t->slot = i;
		if (c->slot[i].pid == t->pid && c->slot[i].tid == t->tid && is_reserved(i))
			return true;
	}
	t->slot = wait_for_slot(t->pid, t->tid);
	return t->slot != NO_SLOT;
}

/* The room that goes with the thread's slot; without it the slot is given back. */
static bool enter_room(struct thread *t)
{
	if (tw_room_enter(slot_of(t)))
		return true;
	tw_engine_fail(TW_FAILURE_CHANNEL, "process %u cannot be recorded: who made it was killed while it did", t->pid);
	STORE_RELEASE(&slot_of(t)->state, TW_SLOT_FREE);
	t->slot = NO_SLOT;
	return false;
}

static void set_up_slot(struct thread *t, u32 parent_pid)
{
	struct tw_control *c = tw_engine.control;
	struct tw_slot *s = slot_of(t);
	s->pid = t->pid;
	s->tid = t->tid;
	s->parent_pid = parent_pid;
	s->serial = __atomic_fetch_add((u32 *)&c->next_thread, 1, __ATOMIC_RELAXED);
	if (t->pid == t->tid)
		memcpy(c->program[t->slot], tw_engine.program_path, strlen(tw_engine.program_path) + 1);
	STORE_RELEASE(&s->state, TW_SLOT_ACTIVE);
}

/* Shared: so it counts against no limit on the program's data, and a fork does not copy it. */
bool tw_buffer_own(struct thread *t)
{
	if (t->own)
		return true;
	i64 at = tw_mmap(0, TW_BUFFER_STRIDE, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tw_failed(at))
		return false;
	t->own = (u8 *)at;
	if (protect_guards(t->own))
		return true;
	tw_buffer_disown(t);
	return false;
}

void tw_buffer_disown(struct thread *t)
{
	if (t->own)
		tw_sys(__NR_munmap, t->own, TW_BUFFER_STRIDE, 0);
	t->own = NULL;
}

/* The thread writes to a buffer of its own, which whoever made it has seen to: here it would have nowhere to go. */
static void open_own_buffer(struct thread *t)
{
	if (!tw_buffer_own(t))
		__builtin_trap();
	open_buffer(t, t->own);
}

/* The thread has begun to write to its slot. What it tells goes there from now on; records, which it counts itself, to a buffer of its own. */
static void begin_tally(struct thread *t)
{
	turn(t);
	t->upper = 0;
	open_own_buffer(t);
	t->telling = false;
	t->tallied = true;
}

static void end_tally(struct thread *t)
{
	if (!t->tallied)
		return;
	note_written(t);
	turn(t);
	t->tallied = t->telling = false;
}

void tw_buffer_attach(struct thread *t, u32 parent_pid, u32 parent_tid)
{
	bool records = tw_engine.recorder->records;
	t->tallied = t->telling = false;
	t->slot = NO_SLOT; /* in a new process it is the parent's */
	bool wanted = !t->unfollowed && !tw_engine.control->failure && tw_channel_collector_alive(tw_engine.control);
	bool has_slot = wanted && take_slot(t);
	if (wanted && !has_slot && records)
		tw_engine_fail(TW_FAILURE_CHANNEL, "more than %d threads at once", TW_SLOTS);
	if (has_slot && records)
		has_slot = enter_room(t);
	t->recording = has_slot && records;
	t->told_closed = t->walks = false;
	t->count = 0;
	t->upper = 0;
	if (has_slot)
		set_up_slot(t, parent_pid);
	if (!t->recording && records)
		open_own_buffer(t);
	if (tw_tallies() && !tw_tally_open(t))
		tw_engine_fail(TW_FAILURE_CHANNEL, "no memory to count executions in");
	if (!t->recording)
		return;
	t->usable = 0;
	take_buffer(t, 0);
	open_buffer(t, t->buffer);
	if (tw_tallies())
		begin_tally(t);
	struct tw_thread_start e = {t->pid, t->tid, parent_pid, parent_tid, tw_buffer_time(t)};
	tw_buffer_event(t, TW_EVENT_THREAD_START, &e, sizeof e, NULL, 0);
}

void tw_buffer_detach(struct thread *t, i32 status, u32 what)
{
	if (t->recording) {
		tw_call_flush(t);
		struct tw_thread_end e = {status, what, tw_buffer_time(t)};
		tw_buffer_event(t, TW_EVENT_THREAD_END, &e, sizeof e, NULL, 0);
		end_tally(t);
		close_buffer(t);
		t->recording = false;
	}
	tw_buffer_disown(t);
	if (t->slot == NO_SLOT)
		return;
	STORE_RELEASE(&slot_of(t)->state, TW_SLOT_ENDED);
	t->slot = NO_SLOT;
	ring();
}

/* ---- guards ---- */

bool tw_buffer_guard(const struct thread *t, u64 address)
{
	u64 guard = (u64)t->buffer + TW_BUFFER_BYTES;
	return address >= guard && address < guard + TW_PAGE;
}

/* Writes the jump to the slack over a record's tag. The last two bytes of the data leave no room for it: then the guard lends two. */
static void put_slack_jump(struct thread *t, u64 at, u64 to)
{
	u64 data_end = (u64)t->buffer + TW_BUFFER_BYTES;
	u32 jump = (u32)(to - (u64)tw_channel_slack(t->buffer)) << 16 | TW_TAG_SLACK;
	if (at + 4 > data_end)
		tw_sys(__NR_mprotect, data_end, TW_PAGE, PROT_READ | PROT_WRITE);
	*(volatile u32 *)at = jump;
	if (at + 4 > data_end)
		tw_sys(__NR_mprotect, data_end, TW_PAGE, PROT_NONE);
	t->slack_jump = at;
}

/* Values that the instruction just executed was to have stored after it. `values`: where those of the record are; none is written from `end` on. */
static void put_after(const struct thread *t, u64 values, u64 end, const struct fragment *f, u32 insns)
{
	for (u16 k = 0; k < f->n_after; k++) {
		u64 at = values + 8u * f->after[k].slot;
		if (f->after[k].insn + 1u == insns && at + 8 <= end)
			memcpy((void *)at, &t->regs[f->after[k].reg], 8);
	}
}

void tw_buffer_stop(struct thread *t, u64 values, u64 end, const struct fragment *f, u32 insns, bool in_rep)
{
	const u32 first = tw_piece_of(f, insns)->first_insn;
	struct tw_partial p = {insns - first, in_rep, {0}};
	u64 data_end = (u64)t->buffer + TW_BUFFER_BYTES;
	end = end < data_end ? end : data_end;
	put_after(t, values, end, f, insns);
	memcpy(p.regs, t->regs, sizeof p.regs);
	t->slack_jump = end - 4; /* where the data ends is 4 behind this: close_buffer */
	t->bufptr = (u64)tw_channel_slack(t->buffer);
	put_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	tw_call_flush(t);
	tw_buffer_switch(t);
}

void tw_buffer_partial(struct thread *t, u64 start, const struct fragment *f, u32 insns, bool in_rep)
{
	struct tw_partial p = {insns, in_rep, {0}};
	u8 record[TW_MAX_RECORD];
	u64 data_end = (u64)t->buffer + TW_BUFFER_BYTES, slack = (u64)tw_channel_slack(t->buffer);
	u32 need = (u32)(sizeof(struct tw_event_header) + sizeof p) + f->record_bytes;
	u64 have = start < data_end ? data_end - start : f->record_bytes;
	memset(record, 0, f->record_bytes);
	memcpy(record, (void *)start, have < f->record_bytes ? have : f->record_bytes);
	memcpy(record, &f->number, 2); /* a side exit may have put its own there */
	put_after(t, (u64)record + f->head, (u64)record + sizeof record, f, insns);
	memcpy(p.regs, t->regs, sizeof p.regs);
	if (t->tallied) {
		tw_buffer_tell(t, f, &p, record, f->record_bytes);
		t->bufptr = start;
		tw_buffer_reserve(t, TW_MAX_RECORD);
		return;
	}
	if (start + need > data_end) {
		t->bufptr = slack;
		put_slack_jump(t, start, slack);
	} else {
		t->bufptr = start;
	}
	put_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	put(t, record, f->record_bytes);
	if (t->bufptr >= slack)
		tw_buffer_switch(t);
}

/* ---- descriptors ---- */

/* How the calling thread stands in the lock (channel.h). */
static u32 own_hold(void)
{
	const struct thread *t = tw_thread_self();
	const struct tw_slot *s = t->slot == NO_SLOT ? NULL : slot_of(t);
	return s && s->pid == t->pid && s->tid == t->tid ? t->slot + 1 : tw_engine.pid | TW_HOLDS_BY_PID;
}

/* Has the holder been killed? Where processes number each other differently only the collector can tell. */
static bool is_killed(const struct tw_control *c, u32 holder)
{
	u32 pid = holder & TW_HOLDS_BY_PID ? holder & ~TW_HOLDS_BY_PID : c->slot[holder - 1].pid;
	return !c->namespaces && tw_sys(__NR_kill, pid, 0, 0) == -3; /* ESRCH */
}

/* Takes the lock between processes. False: the collector has died, and nobody reads what is described. */
static bool lock_descriptors(struct tw_control *c)
{
	const u32 hold = own_hold();
	u32 *lock = (u32 *)&c->descriptor_lock, holder = 0;
	for (u32 spins = 1; !__atomic_compare_exchange_n(lock, &holder, hold, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); spins++) {
		if (spins % 64 == 0) {
			if (is_killed(c, holder) &&
			    __atomic_compare_exchange_n(lock, &holder, hold, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				return true;
			if (!tw_channel_collector_alive(c))
				return false;
		}
		tw_sys(__NR_sched_yield, 0, 0, 0);
		holder = 0;
	}
	return true;
}

/* One way through a fragment: its first n_insns instructions. */
struct path {
	u32 number;
	u16 n_blocks, n_insns, n_ops, n_values, code_bytes;
	u8 flags; /* enum tw_descriptor_flags */
};

static struct path path_to(const struct block *b, const struct plan *p, u32 number, u16 n_insns)
{
	struct path path = {number, 0, n_insns, p->n_ops, p->n_values, 0, p->flags};
	while (path.n_blocks < b->n_parts && b->part[path.n_blocks].first_insn < n_insns)
		path.code_bytes += (u16)b->part[path.n_blocks++].bytes;
	if (n_insns < b->n_insns) {
		path.n_ops = p->after[n_insns - 1].n_ops;
		path.n_values = p->after[n_insns - 1].n_values;
	}
	return path;
}

static u32 descriptor_bytes(const struct path *path)
{
	return tw_descriptor_size(path->n_blocks, path->n_ops, path->n_insns, path->code_bytes);
}

static void fill_descriptor(struct tw_descriptor *d, const struct fragment *f, const struct block *b, const struct plan *p,
                            const struct path *path)
{
	d->number = path->number;
	d->bytes = descriptor_bytes(path);
	d->pid = tw_engine.pid;
	d->n_blocks = path->n_blocks;
	d->n_ops = path->n_ops;
	d->n_insns = path->n_insns;
	d->n_values = path->n_values;
	d->code_bytes = path->code_bytes;
	d->format = tw_engine.instr->format;
	d->flags = path->flags;
	d->context = (u16)f->context;
	d->program = tw_form_of(d->format) == TW_FORM_PLAIN ? 0 : (u16)tw_known_program();
	d->tag = 0;
	struct tw_block *blk = (struct tw_block *)(d + 1);
	for (u16 k = 0; k < path->n_blocks; k++) {
		const struct part *part = &b->part[k];
		*blk++ = (struct tw_block){part->pc, part->target, part->first_insn, part->n_insns, (u16)part->bytes, part->end, 0};
	}
	struct tw_op *op = (struct tw_op *)blk;
	memcpy(op, p->op, path->n_ops * sizeof *op);
	u8 *len = (u8 *)(op + path->n_ops), *code = len + path->n_insns;
	for (u16 k = 0; k < path->n_insns; k++) {
		*len++ = b->insn[k].len;
		memcpy(code, b->insn[k].raw, b->insn[k].len);
		code += b->insn[k].len;
	}
}

/* Tallied: the group gets entries in windows, if each execution of it counts the same, and there are some left. */
static void draw_entries(u64 offset, u32 bytes)
{
	struct tw_room *room = tw_engine.room;
	struct tw_descriptor *d;
	u32 first = room->entries ? room->entries : 1, end = first;
	for (u64 at = offset; at < offset + bytes; at += d->bytes) {
		d = tw_room_descriptor(room, at);
		end++;
		if (d->flags & TW_DESC_DYNAMIC)
			return;
	}
	if (end > TW_TALLY_ENTRIES)
		return;
	room->entries = end;
	for (u64 at = offset; at < offset + bytes; at += d->bytes) {
		d = tw_room_descriptor(room, at);
		d->tag = first++;
	}
}

/* Writes the n paths' descriptors at `offset` of the room, numbered from 0. */
static void fill_group(u64 offset, const struct fragment *f, const struct block *b, const struct plan *p, const struct path *path, u32 n)
{
	for (u32 k = 0; k < n; k++) {
		fill_descriptor(tw_room_descriptor(tw_engine.room, offset), f, b, p, &path[k]);
		offset += descriptor_bytes(&path[k]);
	}
}

/* The group of n descriptors at `offset` gets numbers, and in the forms that have one a tag, and is published. False: there are no more numbers. */
static bool publish_group(u64 offset, u32 bytes, u32 n)
{
	struct tw_descriptor *d = tw_room_descriptor(tw_engine.room, offset);
	u32 first = tw_room_numbers(n);
	if (!first)
		return false;
	for (u64 at = offset; at < offset + bytes; at += tw_room_descriptor(tw_engine.room, at)->bytes)
		tw_room_descriptor(tw_engine.room, at)->number += first;
	if (tw_form_of(d->format) != TW_FORM_PLAIN)
		tw_tag_draw(d);
	else if (tw_tallies())
		draw_entries(offset, bytes);
	tw_room_publish(offset, bytes);
	return true;
}

/*
 * Describes the n paths, unless there is an equal group already. Returns the first descriptor of the one or the other; NULL: there is no room. Under
 * the descriptor lock.
 */
static const struct tw_descriptor *describe(const struct fragment *f, const struct block *b, const struct plan *p, const struct path *path,
                                            u32 n, u32 bytes)
{
	u64 offset = tw_room_place_for(bytes);
	if (!offset)
		return NULL;
	fill_group(offset, f, b, p, path, n);
	struct tw_descriptor *d = tw_room_descriptor(tw_engine.room, offset);
	const struct tw_descriptor *known = tw_known_find(offset, bytes);
	if (!known && publish_group(offset, bytes, n))
		return d;
	memset(d, 0, bytes); /* unused memory is zeros */
	return known;
}

void tw_buffer_tagged(struct fragment *f, u32 last_tag)
{
	f->upper_in = (u16)(f->tag >> 16);
	f->upper_out = (u16)(last_tag >> 16);
	f->any_upper = !(f->tag & 0xffff);
	f->head = f->any_upper ? TW_ZERO_BYTES : 2;
}

/* What must be in force where f is entered, and is where it is left; how long its record's head is. */
static void set_upper(struct fragment *f)
{
	switch (tw_form_now()) {
	case TW_FORM_PLAIN:
		f->upper_in = f->upper_out = (u16)(f->number >> 16);
		return;
	case TW_FORM_BITS:
		f->upper_in = f->upper_out = 0;
		f->any_upper = true;
		f->head = 0;
		return;
	case TW_FORM_TAGGED:
		break;
	}
	tw_buffer_tagged(f, f->tag);
}

void tw_buffer_describe(struct fragment *f, const struct block *b, const struct plan *p)
{
	struct tw_control *c = tw_engine.control;
	struct path path[BLOCK_MAX_PARTS + 1];
	u32 n = tw_path_count(f), bytes = 0;
	for (u32 k = 0; k < n; k++) {
		path[k] = path_to(b, p, k, k && k <= f->n_sides ? f->side[k - 1].n_insns : f->n_insns);
		if (k > f->n_sides) {
			path[k].flags |= TW_DESC_LOOP;
			path[k].n_values = 1;
		}
		bytes += descriptor_bytes(&path[k]);
	}
	f->number = 0;
	if (!tw_room_is_there() || !lock_descriptors(c)) { /* so nobody reads what is recorded here */
		set_upper(f);
		return;
	}
	const struct tw_descriptor *d = describe(f, b, p, path, n, bytes);
	if (d) {
		f->number = d->number;
		f->tag = d->tag;
		f->tally = tw_tallies() ? d->tag : 0;
		f->descriptor = tw_form_of(d->format) == TW_FORM_TAGGED ? d : NULL;
		f->announced = d->flags & TW_DESC_ANNOUNCED;
	}
	STORE_RELEASE(&c->descriptor_lock, 0);
	if (!f->number)
		tw_engine_fail(TW_FAILURE_CHANNEL, "no more room for descriptors");
	set_upper(f);
}
