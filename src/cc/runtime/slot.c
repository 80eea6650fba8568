/* A place in the channel: a slot for each stream, and one table of descriptors for the process. */
#include "runtime.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/time_types.h>

static void pause_us(uint64_t us)
{
	const struct __kernel_timespec t = {0, (long long)(us * 1000)};
	SYS(__NR_nanosleep, &t, 0);
}

/* ---- slots ---- */

/* As in engine/record/slot.c: pid and tid are written before the state says so, and only the owner of the claim writes them. */
static bool try_reserve(const struct tw_cc_process *p, uint32_t n, uint32_t tid)
{
	struct tw_slot *slot = &p->control->slot[n];
	uint32_t unclaimed = 0;
	if (atomic_load(&slot->state) != TW_SLOT_FREE || !atomic_compare_exchange_strong(&slot->claim, &unclaimed, 1))
		return false;
	const bool is_free = atomic_load(&slot->state) == TW_SLOT_FREE;
	if (is_free) {
		tw_channel_use_slot(p->control, n);
		slot->pid = p->pid;
		slot->tid = tid;
		atomic_store(&slot->state, TW_SLOT_RESERVED);
		atomic_store(&slot->table, p->table_number);
	}
	atomic_store(&slot->claim, 0);
	return is_free;
}

static uint32_t reserve_slot(const struct tw_cc_process *p, uint32_t tid)
{
	for (uint32_t n = 0; n < p->control->sizes.slots; n++)
		if (try_reserve(p, n, tid))
			return n;
	return TW_SLOTS;
}

static bool is_any_ended(const struct tw_control *c)
{
	for (uint32_t n = 0; n < tw_channel_slots_used(c); n++) {
		const uint32_t state = atomic_load(&c->slot[n].state);
		if (state == TW_SLOT_ENDED || state == TW_SLOT_DEAD || state == TW_SLOT_CLEARED)
			return true;
	}
	return false;
}

static uint32_t find_slot(const struct tw_cc_process *p, uint32_t tid)
{
	for (;;) {
		const uint32_t n = reserve_slot(p, tid);
		if (n != TW_SLOTS || !is_any_ended(p->control) || !tw_channel_collector_alive(p->control))
			return n;
		pause_us(1000);
	}
}

/* ---- descriptor tables: as engine/record/descriptor_table.c has them ---- */

static bool take_table(struct tw_cc_process *p, struct tw_slot *slot)
{
	for (uint32_t n = 1; n <= p->control->sizes.tables; n++) {
		struct tw_table_state *state = &p->control->table[n - 1];
		uint32_t none = 0;
		if (atomic_load(&state->program))
			continue;
		atomic_store(&slot->table, n);
		if (atomic_compare_exchange_strong(&state->program, &none, p->program)) {
			p->table_number = n;
			return true;
		}
	}
	return false;
}

static bool map_table(struct tw_cc_process *p)
{
	int64_t fd = SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	const struct tw_sizes *sizes = &p->control->sizes;
	int64_t at = SYS(__NR_mmap, 0, sizes->table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
	                 tw_table_at(sizes, p->table_number));
	SYS(__NR_close, fd);
	p->table = tw_cc_failed(at) ? 0 : (struct tw_descriptor_table *)at;
	return p->table != 0;
}

/* The slot names the table: from now on, nobody gives it up, unless that has happened already. */
static bool wait_until_ours(struct tw_cc_process *p)
{
	struct tw_table_state *state = &p->control->table[p->table_number - 1];
	while (atomic_load(&state->program) == p->program) {
		if (!atomic_load(&state->ending))
			return true;
		if (!tw_channel_collector_alive(p->control))
			return false;
		pause_us(5000);
	}
	return false;
}

static bool enter_table(struct tw_cc_process *p, struct tw_slot *slot)
{
	if (p->batch)
		return true;
	if (!p->table)
		return take_table(p, slot) && map_table(p);
	return wait_until_ours(p);
}

/* ---- both ---- */

/* A handler's slot looks like that of a thread created by the interrupted thread: no program has been executed. */
bool tw_cc_slot_is_handlers(const struct tw_cc_thread *t, const struct tw_cc_stream *s)
{
	return s > &t->stream[0] && s < &t->stream[TW_CC_STREAMS];
}

bool tw_cc_slot_get(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_stream *s)
{
	if (t->aside || p->batch_ended || p->mode != TW_CC_RECORDED || atomic_load(&p->control->failure) ||
	    !tw_channel_collector_alive(p->control))
		return false;
	s->number = find_slot(p, t->tid);
	if (s->number == TW_SLOTS) {
		if (!p->batch && tw_channel_collector_alive(p->control))
			atomic_fetch_add(&p->control->starved, 1);
		return false;
	}
	struct tw_slot *slot = tw_cc_slot_of(p, s);
	if (enter_table(p, slot) && tw_cc_buffer_map_all(p, s)) {
		slot->parent_pid = tw_cc_slot_is_handlers(t, s) ? p->pid : t->parent_pid;
		slot->serial = atomic_fetch_add(&p->control->next_thread, 1);
		s->mark = tw_slot_mark(slot->serial);
		slot->mark = (uint64_t)&s->mark;
		if (p->pid == t->tid)
			tw_cc_copy(p->control->program[s->number], p->file, tw_cc_length(p->file) + 1);
		atomic_store(&slot->state, TW_SLOT_ACTIVE);
		return true;
	}
	tw_cc_buffer_unmap(p, s);
	atomic_store(&slot->state, TW_SLOT_FREE);
	if (tw_channel_collector_alive(p->control))
		atomic_fetch_add(&p->control->starved, 1);
	return false;
}
