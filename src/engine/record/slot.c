#include "engine/record/slot.h"
#include "engine/record/descriptor_table.h"
#include "engine/record/instrumentor.h"
#include <asm/unistd.h>
#include <linux/futex.h>

/* Reserves the slot if it is free. pid and tid are written before the state says so, and only the owner of the claim writes them. */
static bool try_reserve(u32 i, u32 pid, u32 tid)
{
	struct tw_slot *s = &tw_engine.control->slot[i];
	u32 *claim = (u32 *)&s->claim, unclaimed = 0;
	if (LOAD_ACQUIRE(&s->state) != TW_SLOT_FREE ||
	    !__atomic_compare_exchange_n(claim, &unclaimed, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	const bool is_free = LOAD_ACQUIRE(&s->state) == TW_SLOT_FREE;
	if (is_free) {
		tw_channel_use_slot(tw_engine.control, i);
		s->pid = pid;
		s->tid = tid;
		s->parent_pid = 0;
		s->trace = 0;
		STORE_RELEASE(&s->state, TW_SLOT_RESERVED);
		__atomic_store_n((u32 *)&s->table, tw_recorder.table_number, __ATOMIC_SEQ_CST);
	}
	STORE_RELEASE(claim, 0);
	return is_free;
}

/* Reserves a free slot. NO_SLOT: there is none. */
static u32 reserve_slot(u32 pid, u32 tid)
{
	for (u32 i = 0; i < tw_sizes()->slots; i++)
		if (try_reserve(i, pid, tid))
			return i;
	return NO_SLOT;
}

/* Will a slot become free as soon as the collector gets to it? */
static bool is_any_ended(void)
{
	for (u32 i = 0; i < tw_channel_slots_used(tw_engine.control); i++) {
		u32 state = LOAD_ACQUIRE(&tw_engine.control->slot[i].state);
		if (state == TW_SLOT_ENDED || state == TW_SLOT_DEAD || state == TW_SLOT_CLEARED)
			return true;
	}
	return false;
}

/* Reserves a slot; waits for one if necessary: threads can come and go faster than the collector takes their data. */
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
	return i < tw_channel_slots_used(tw_engine.control) && LOAD_ACQUIRE(&tw_engine.control->slot[i].state) == TW_SLOT_RESERVED;
}

/* Is the thread to be known to the collector? */
static bool is_wanted(const struct thread *t)
{
	return !t->record->unfollowed && !tw_engine.control->failure && tw_channel_collector_alive(tw_engine.control);
}

void tw_slot_promise(struct thread *t, u32 pid, u32 tid)
{
	t->record->promised = is_wanted(t) ? wait_for_slot(pid, tid) : NO_SLOT;
	if (t->record->promised != NO_SLOT && t->record->slot != NO_SLOT)
		tw_engine.control->slot[t->record->promised].parent_pid = tw_slot_of(t)->parent_pid;
}

void tw_slot_promised_to(struct thread *t, u32 pid, u32 tid)
{
	u32 i = t->record->promised;
	t->record->promised = NO_SLOT;
	if (!is_reserved(i))
		return;
	struct tw_slot *s = &tw_engine.control->slot[i];
	if (s->pid != t->pid || s->tid != t->tid) /* the child has had the slot, and by now it is reserved for another thread */
		return;
	if (!pid) {
		STORE_RELEASE(&s->state, TW_SLOT_FREE);
		return;
	}
	s->pid = pid;
	s->tid = tid;
}

/*
 * Takes the slot reserved for this thread by its parent, or by this process before it executed this program; else a
 * fresh one, or none. It could not be found by pid and tid: with namespaces, several threads may have the same.
 */
static bool find_promised(struct thread *t)
{
	t->record->slot = t->record->promised;
	t->record->promised = NO_SLOT;
	if (!is_reserved(t->record->slot))
		t->record->slot = wait_for_slot(t->pid, t->tid);
	return t->record->slot != NO_SLOT;
}

void tw_slot_leave(struct thread *t)
{
	STORE_RELEASE(&tw_slot_of(t)->state, TW_SLOT_FREE);
	t->record->slot = NO_SLOT;
}

/* Gets the table that belongs to the thread's slot; without a table the slot is given back. */
static bool enter_table(struct thread *t)
{
	if (tw_table_enter(tw_slot_of(t)))
		return true;
	tw_engine_fail(TW_FAILURE_CHANNEL, "process %u cannot be recorded: who made it was killed while it did", t->pid);
	tw_slot_leave(t);
	return false;
}

bool tw_slot_take(struct thread *t)
{
	const bool records = tw_recorder.whole->records;
	t->record->slot = NO_SLOT; /* in a new process it is the parent's */
	if (!is_wanted(t))
		return false;
	if (!find_promised(t)) {
		if (records)
			tw_engine_fail(TW_FAILURE_CHANNEL, "more than %u threads at once", tw_sizes()->slots);
		return false;
	}
	return !records || enter_table(t);
}

void tw_slot_set_up(struct thread *t, u32 parent_pid)
{
	struct tw_control *c = tw_engine.control;
	struct tw_slot *s = tw_slot_of(t);
	s->pid = t->pid;
	s->tid = t->tid;
	if (parent_pid) /* The first process of a namespace does not see its parent; after an exec, the known parent stays. */
		s->parent_pid = parent_pid;
	s->serial = __atomic_fetch_add((u32 *)&c->next_thread, 1, __ATOMIC_RELAXED);
	t->record->mark = tw_slot_mark(s->serial);
	s->mark = (u64)&t->record->mark;
	if (t->pid == t->tid)
		memcpy(c->program[t->record->slot], tw_engine.program_path, strlen(tw_engine.program_path) + 1);
	STORE_RELEASE(&s->state, TW_SLOT_ACTIVE);
	if (tw_recorder.start.loaded) /* the collector copies the base while the program runs */
		tw_slot_ring();
	tw_recorder.start.loaded = false;
}

void tw_slot_give_back(struct thread *t)
{
	if (t->record->slot == NO_SLOT)
		return;
	STORE_RELEASE(&tw_slot_of(t)->state, TW_SLOT_ENDED);
	t->record->slot = NO_SLOT;
	tw_slot_ring();
}

void tw_slot_ring(void)
{
	struct tw_control *c = tw_engine.control;
	__atomic_fetch_add((u32 *)&c->doorbell, 1, __ATOMIC_RELEASE);
	tw_sys(__NR_futex, &c->doorbell, FUTEX_WAKE, 1);
}
