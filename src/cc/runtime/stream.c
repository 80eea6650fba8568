#include "runtime.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/time_types.h>

uint64_t tw_cc_time(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static uint64_t thread_pointer(void)
{
	uint64_t tp;
	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

static struct tw_slot *slot_of(const struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	return &p->control->slot[s->number];
}

static void ring(const struct tw_cc_process *p)
{
	if (p->batch)
		return;
	atomic_fetch_add(&p->control->doorbell, 1);
	SYS(__NR_futex, &p->control->doorbell, FUTEX_WAKE, 1);
}

static void pause_us(uint64_t us)
{
	const struct __kernel_timespec t = {0, (long long)(us * 1000)};
	SYS(__NR_nanosleep, &t, 0);
}

/* ---- events ---- */

uint64_t tw_cc_stream_event(uint64_t pointer, uint16_t type, const void *a, uint32_t na, const void *b, uint32_t nb)
{
	const uint32_t bytes = (na + nb + 1) & ~1u;
	const struct tw_event_header h = {TW_TAG_EVENT, type, bytes};
	uint8_t *at = (uint8_t *)pointer;
	tw_cc_copy(at + 2, (const uint8_t *)&h + 2, sizeof h - 2);
	tw_cc_copy(at + sizeof h, a, na);
	tw_cc_copy(at + sizeof h + na, b, nb);
	atomic_signal_fence(memory_order_seq_cst);
	*(volatile uint16_t *)at = TW_TAG_EVENT;
	return pointer + sizeof h + bytes;
}

uint64_t *tw_cc_stream_pen(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (s->pen)
		return &s->pen;
	tw_cc_stream_take(p, s);
	return &s->pointer;
}

static uint64_t put_keyframe(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, const uint64_t *regs)
{
	struct tw_keyframe k;
	for (int r = 0; r < TW_NREGS; r++)
		k.regs[r] = regs ? regs[r] : 0;
	k.seg_base[TW_SEG_NONE] = k.seg_base[TW_SEG_GS] = 0;
	k.seg_base[TW_SEG_FS] = thread_pointer();
	k.tsc = s->time = tw_cc_time();
	k.upper = s->pen ? s->pen_upper : s->upper;
	k.program = p->program;
	return tw_cc_stream_event(pointer, TW_EVENT_KEYFRAME, &k, sizeof k, 0, 0);
}

/* ---- buffers ---- */

static uint64_t window(const struct tw_cc_stream *s, uint32_t b)
{
	return s->base + b * TW_CC_WINDOW;
}

/* Places for n windows. 0: there are none. */
static uint64_t reserve(uint32_t n)
{
	int64_t at = SYS(__NR_mmap, 0, (n + 1) * TW_CC_WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return tw_cc_failed(at) ? 0 : ((uint64_t)at + TW_CC_WINDOW - 1) & ~(TW_CC_WINDOW - 1);
}

static bool map(uint64_t at, uint64_t bytes, int flags, int fd, uint64_t offset)
{
	return !tw_cc_failed(SYS(__NR_mmap, at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, offset));
}

static bool protect_tail(const struct tw_cc_stream *s, uint32_t b, int how)
{
	return !tw_cc_failed(SYS(__NR_mprotect, window(s, b) + TW_CC_TAIL, TW_CC_TAIL_BYTES, how));
}

/* The one buffer whose records go to a batch routine. */
static bool map_batch_buffer(struct tw_cc_stream *s)
{
	s->base = reserve(1);
	return s->base &&
	       map(s->base + TW_CC_FULL - TW_CC_BATCH_BYTES, TW_CC_BATCH_BYTES + TW_CC_RESERVE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	           -1, 0) &&
	       protect_tail(s, 0, PROT_NONE);
}

/* The part of the slot's buffers that records go to. */
static bool map_buffers(const struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (p->batch)
		return map_batch_buffer(s);
	int64_t fd = SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	bool done = !tw_cc_failed(fd) && (s->base = reserve(TW_BUFFERS + 1));
	for (uint32_t b = 0; done && b < p->control->sizes.buffers; b++)
		done = map(window(s, b) + TW_CC_FULL + TW_CC_RESERVE - TW_BUFFER_BYTES, TW_BUFFER_BYTES, MAP_SHARED | MAP_NORESERVE,
		           (int)fd, tw_buffer_at(&p->control->sizes, s->number, b)) &&
		       protect_tail(s, b, PROT_NONE);
	SYS(__NR_close, fd);
	return done;
}

/* Records go to a buffer of the thread's own from now on, in the window behind the slot's. */
static void begin_tally(const struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const uint64_t own = window(s, TW_BUFFERS) + TW_CC_FULL - TW_CC_OWN;
	const int64_t fd = SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	const int64_t tally = SYS(__NR_mmap, 0, tw_tally_bytes(&p->control->sizes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
	                          (uint64_t)tw_channel_tally(p->control, s->number) - (uint64_t)p->control);
	SYS(__NR_close, fd);
	if (tw_cc_failed(tally) || !map(own, TW_CC_OWN + TW_CC_RESERVE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ||
	    !protect_tail(s, TW_BUFFERS, PROT_NONE))
		return;
	s->tally = (uint64_t *)tally;
	s->own = own;
	s->first_upper = s->pen_upper = s->upper;
	s->turns = s->skip = s->skipped = 0;
	s->pen = s->pointer;
	s->pointer = own;
}

static void unmap(const struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (s->base)
		SYS(__NR_munmap, s->base, (s->number == TW_SLOTS || p->batch ? 1 : TW_BUFFERS + 1) * TW_CC_WINDOW);
	if (s->pen)
		SYS(__NR_munmap, s->tally, tw_tally_bytes(&p->control->sizes));
	s->base = s->pen = s->torn = 0;
	s->tails = 0;
	s->scratch = false;
}

/* Where there is not even memory for a buffer that nobody reads, the program cannot run. */
static uint64_t begin_spare(struct tw_cc_stream *s)
{
	s->number = TW_SLOTS;
	s->base = reserve(1);
	s->buffer = s->base + TW_CC_FULL - TW_CC_SPARE;
	if (!s->base || !map(s->buffer, TW_CC_SPARE + TW_CC_RESERVE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
		__builtin_trap();
	return s->buffer;
}

static void close_tail(struct tw_cc_stream *s, uint32_t b)
{
	if (s->tails >> b & 1)
		protect_tail(s, b, PROT_NONE);
	s->tails &= ~(1u << b);
}

static uint64_t open_buffer(struct tw_cc_process *p, struct tw_cc_stream *s, uint32_t b, const uint64_t *regs)
{
	close_tail(s, b);
	s->current = b;
	s->buffer = window(s, b) + TW_CC_FULL + (p->batch ? -TW_CC_BATCH_BYTES : TW_CC_RESERVE - TW_BUFFER_BYTES);
	slot_of(p, s)->current = b;
	return put_keyframe(p, s, s->buffer, regs);
}

static void close_buffer(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer)
{
	struct tw_slot *slot = slot_of(p, s);
	slot->buffer[s->current].bytes = (uint32_t)(pointer - s->buffer);
	slot->buffer[s->current].slack_end = 0;
	atomic_store_explicit(&slot->buffer[s->current].state, TW_BUFFER_FULL, memory_order_release);
	ring(p);
}

/* Waits until the collector has given the buffer back; false when it is gone. */
static bool wait_empty(struct tw_cc_process *p, struct tw_slot *slot, uint32_t b)
{
	const struct __kernel_timespec pause = {0, 100000000};
	while (atomic_load_explicit(&slot->buffer[b].state, memory_order_acquire) != TW_BUFFER_EMPTY) {
		if (!tw_channel_collector_alive(p->control))
			return false;
		SYS(__NR_futex, &slot->buffer[b].state, FUTEX_WAIT, TW_BUFFER_FULL, &pause);
	}
	return true;
}

void tw_cc_stream_turn(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const uint32_t next = (s->current + 1) % p->control->sizes.buffers;
	close_buffer(p, s, s->pen);
	s->pen = wait_empty(p, slot_of(p, s), next) ? open_buffer(p, s, next, 0) : s->buffer;
}

uint64_t tw_cc_stream_switch(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, const uint64_t *regs)
{
	if (s->number == TW_SLOTS)
		return s->buffer;
	if (s->pen) {
		tw_cc_tally_turn(p, s, pointer);
		close_tail(s, TW_BUFFERS);
		return s->own;
	}
	const uint32_t next = (s->current + 1) % p->control->sizes.buffers;
	if (p->batch) {
		tw_cc_batch_hand_over(p, s, pointer, false);
		return open_buffer(p, s, next, regs);
	}
	close_buffer(p, s, pointer);
	if (wait_empty(p, slot_of(p, s), next))
		return open_buffer(p, s, next, regs);
	unmap(p, s);
	return begin_spare(s);
}

/* ---- where a buffer ends ---- */

/* The number of what the stream writes to, as in `tails`. */
static uint32_t written_to(const struct tw_cc_stream *s)
{
	return s->pen ? TW_BUFFERS : s->current;
}

static uint64_t scratch_of(const struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	return window(s, p->batch ? 0 : TW_BUFFERS) + TW_CC_SCRATCH;
}

bool tw_cc_stream_ends_at(const struct tw_cc_process *p, const struct tw_cc_stream *s, uint64_t address)
{
	if (!s->base)
		return false;
	if (s->number == TW_SLOTS)
		return address - (s->base + TW_CC_FULL + TW_CC_RESERVE) < TW_PAGE;
	return address - (window(s, written_to(s)) + TW_CC_TAIL) < TW_CC_TAIL_BYTES + TW_PAGE ||
	       (s->torn && address - (scratch_of(p, s) + TW_PAGE) < TW_PAGE);
}

static void open_tail(struct tw_cc_stream *s)
{
	const uint32_t b = written_to(s);
	if (!(s->tails >> b & 1))
		protect_tail(s, b, PROT_READ | PROT_WRITE);
	s->tails |= 1u << b;
}

/* For events. */
static void make_room(struct tw_cc_stream *s, uint64_t pointer)
{
	if (s->base && s->number != TW_SLOTS && !s->pen && pointer + 2 * TW_MAX_EVENT > window(s, s->current) + TW_CC_TAIL)
		open_tail(s);
}

uint64_t tw_cc_stream_settle(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer)
{
	const uint64_t end = scratch_of(p, s) + TW_PAGE, place = end - s->torn_bytes, at = s->torn;
	if (!at || pointer < place || pointer > end)
		return pointer;
	s->torn = 0;
	open_tail(s);
	tw_cc_copy((void *)at, (const void *)place, pointer - place);
	return at + (pointer - place);
}

uint64_t tw_cc_stream_tear(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t start, uint32_t bytes, bool written)
{
	const uint64_t scratch = scratch_of(p, s), place = scratch + TW_PAGE - bytes;
	if (!s->scratch && !map(scratch, TW_PAGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
		return 0;
	s->scratch = true;
	start = tw_cc_stream_settle(p, s, start);
	const uint64_t tail = window(s, written_to(s)) + TW_CC_TAIL;
	if (start + bytes > tail + TW_CC_TAIL_BYTES)
		return 0;
	if (written && start < tail)
		tw_cc_copy((void *)place, (const void *)start, tail - start);
	s->torn = start;
	s->torn_bytes = bytes;
	return place;
}

uint64_t tw_cc_stream_take(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	uint64_t pointer = s->pointer;
	if (s->active) {
		pointer = *s->active;
		*s->active = TW_CC_POISON;
		s->active = 0;
	}
	s->pointer = tw_cc_stream_settle(p, s, pointer);
	make_room(s, s->pointer);
	return s->pointer;
}

/* ---- slots ---- */

/* As engine/record/slot.c has it: pid and tid are there before the state says so, and nobody writes them but who has the claim. */
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

/* The slot names the table: nobody gives it up from now on, unless that has happened already. */
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

/* ---- beginning and ending ---- */

/* A handler's is as a thread that the one which it interrupts has begun: no program has been executed. */
static bool is_handlers(const struct tw_cc_thread *t, const struct tw_cc_stream *s)
{
	return s > &t->stream[0] && s < &t->stream[TW_CC_DEPTHS];
}

static bool get_slot(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_stream *s)
{
	if (t->aside || p->batch_ended || p->mode != TW_CC_RECORDED || atomic_load(&p->control->failure) ||
	    !tw_channel_collector_alive(p->control))
		return false;
	s->number = find_slot(p, t->tid);
	if (s->number == TW_SLOTS)
		return false;
	struct tw_slot *slot = slot_of(p, s);
	if (enter_table(p, slot) && map_buffers(p, s)) {
		slot->parent_pid = is_handlers(t, s) ? p->pid : t->parent_pid;
		slot->serial = atomic_fetch_add(&p->control->next_thread, 1);
		if (p->pid == t->tid)
			tw_cc_copy(p->control->program[s->number], p->file, tw_cc_length(p->file) + 1);
		atomic_store(&slot->state, TW_SLOT_ACTIVE);
		return true;
	}
	atomic_store(&slot->state, TW_SLOT_FREE);
	return false;
}

/* ---- the switch ---- */

/* No time is before that of what has been told: the thread was still recording when the switch was off. */
static void tell_window(struct tw_cc_process *p, struct tw_cc_stream *s, uint32_t open, uint32_t reason, uint64_t pc, uint64_t tsc)
{
	s->time = tsc > s->time ? tsc : s->time;
	const struct tw_window e = {open, reason, pc, s->time};
	uint64_t *pen = tw_cc_stream_pen(p, s);
	*pen = tw_cc_stream_event(*pen, TW_EVENT_WINDOW, &e, sizeof e, 0, 0);
}

/* What is written from now on is told to be recorded, or not to be. */
static void follow_switch(struct tw_cc_process *p, struct tw_cc_stream *s, uint8_t on, uint64_t pc)
{
	const struct tw_version_switch *w = tw_channel_switch(p->control);
	const uint32_t reason = atomic_load(&w->reason);
	if (s->on)
		tell_window(p, s, 0, reason, 0, atomic_load(&w->closed));
	if (on)
		tell_window(p, s, 1, reason, pc, tw_cc_time());
	s->on = on;
}

void tw_cc_stream_enter(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pc)
{
	const uint8_t on = atomic_load(&tw_channel_switch(p->control)->on);
	if (!on || on == s->on)
		return;
	follow_switch(p, s, on, pc);
	if (!s->pen)
		s->pointer = put_keyframe(p, s, s->pointer, 0);
	else if (s->pen & TW_CC_FULL)
		tw_cc_stream_turn(p, s);
}

/* The stream begins, perhaps while the switch is off. */
static void begin_on(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const struct tw_version_switch *w = tw_channel_switch(p->control);
	s->on = p->batch ? 1 : atomic_load(&w->on);
	if (!s->on && p->switchable)
		tell_window(p, s, 0, atomic_load(&w->reason), 0, tw_cc_time());
	else if (!s->on)
		s->on = 1;
}

void tw_cc_stream_begin(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_stream *s)
{
	s->active = 0;
	s->base = s->pen = s->torn = 0;
	s->tails = 0;
	s->scratch = false;
	s->upper = 0;
	if (!get_slot(p, t, s)) {
		s->pointer = begin_spare(s);
		return;
	}
	s->pointer = open_buffer(p, s, 0, 0);
	const bool handles = is_handlers(t, s);
	const struct tw_thread_start e = {p->pid, t->tid, handles ? p->pid : t->parent_pid, handles ? t->tid : t->parent_tid, tw_cc_time()};
	s->pointer = tw_cc_stream_event(s->pointer, TW_EVENT_THREAD_START, &e, sizeof e, 0, 0);
	begin_on(p, s);
	if (tw_cc_tallies(p))
		begin_tally(p, s);
}

void tw_cc_stream_end(struct tw_cc_process *p, struct tw_cc_stream *s, int32_t status, uint32_t what)
{
	if (!s->pointer)
		return;
	if (s->number != TW_SLOTS && p->switchable && !atomic_load(&tw_channel_switch(p->control)->on))
		follow_switch(p, s, 0, 0);
	uint64_t pointer = tw_cc_stream_take(p, s);
	if (s->number != TW_SLOTS) {
		const struct tw_thread_end e = {status, what, tw_cc_time()};
		if (s->pen) {
			tw_cc_tally_end(p, s, pointer);
			pointer = s->pen;
		}
		pointer = tw_cc_stream_event(pointer, TW_EVENT_THREAD_END, &e, sizeof e, 0, 0);
		if (p->batch)
			tw_cc_batch_hand_over(p, s, pointer, true);
		else
			close_buffer(p, s, pointer);
		atomic_store(&slot_of(p, s)->state, p->batch ? TW_SLOT_FREE : TW_SLOT_ENDED);
		ring(p);
	}
	unmap(p, s);
	s->pointer = 0;
}

void tw_cc_stream_forget(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (!s->pointer)
		return;
	s->torn = 0; /* that is the parent's to end */
	tw_cc_stream_take(p, s);
	unmap(p, s);
	s->pointer = 0;
}

void tw_cc_stream_abandon(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (!s->pointer)
		return;
	if (s->number != TW_SLOTS && p->batch)
		tw_cc_batch_hand_over(p, s, 0, true);
	if (s->number != TW_SLOTS)
		atomic_store(&slot_of(p, s)->state, p->batch ? TW_SLOT_FREE : TW_SLOT_DEAD);
	unmap(p, s);
	*s = (struct tw_cc_stream){0};
}
