/* A stream's buffers: mapping them, writing to them what is not a record, and handing them over. */
#include "runtime.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/time_types.h>

void tw_cc_buffer_ring(const struct tw_cc_process *p)
{
	if (p->batch)
		return;
	atomic_fetch_add(&p->control->doorbell, 1);
	SYS(__NR_futex, &p->control->doorbell, FUTEX_WAKE, 1);
}

/* ---- events ---- */

uint64_t tw_cc_event(uint64_t pointer, uint16_t type, const void *a, uint32_t na, const void *b, uint32_t nb)
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

uint64_t tw_cc_buffer_keyframe(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, const uint64_t *regs)
{
	struct tw_keyframe k;
	for (int r = 0; r < TW_NREGS; r++)
		k.regs[r] = regs ? regs[r] : 0;
	k.seg_base[TW_SEG_NONE] = k.seg_base[TW_SEG_GS] = 0;
	k.seg_base[TW_SEG_FS] = tw_cc_thread_pointer();
	k.tsc = s->time = tw_cc_time();
	k.upper = s->pen ? s->pen_upper : s->upper;
	k.program = p->program;
	return tw_cc_event(pointer, TW_EVENT_KEYFRAME, &k, sizeof k, 0, 0);
}

/* ---- windows ---- */

/* Places for n windows. 0: there are none. */
static uint64_t reserve(uint32_t n)
{
	const int64_t at = SYS(__NR_mmap, 0, (n + 1) * TW_CC_WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const uint64_t from = ((uint64_t)at + TW_CC_WINDOW - 1) & ~(TW_CC_WINDOW - 1), before = from - (uint64_t)at;
	if (tw_cc_failed(at))
		return 0;
	if (before)
		SYS(__NR_munmap, at, before);
	SYS(__NR_munmap, from + n * TW_CC_WINDOW, TW_CC_WINDOW - before);
	return from;
}

bool tw_cc_buffer_map(uint64_t at, uint64_t bytes, int flags, int fd, uint64_t offset)
{
	return !tw_cc_failed(SYS(__NR_mmap, at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, offset));
}

bool tw_cc_buffer_protect(const struct tw_cc_stream *s, uint32_t b, int how)
{
	return !tw_cc_failed(SYS(__NR_mprotect, tw_cc_window(s, b) + TW_CC_TAIL, TW_CC_TAIL_BYTES, how));
}

/* Maps this part of the channel, shared. at 0: at any free address. Returns its address; 0: failed. */
static uint64_t share(const struct tw_cc_process *p, uint64_t at, uint64_t bytes, uint64_t offset)
{
	const int64_t fd = SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	int64_t r = fd;
	if (!tw_cc_failed(fd))
		r = SYS(__NR_mmap, at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd, offset);
	else if (p->whole) /* of no bytes: a second mapping of the same */
		r = SYS(__NR_mremap, p->whole + offset, 0, bytes, MREMAP_MAYMOVE | (at ? MREMAP_FIXED : 0), at);
	else
		atomic_store(&p->control->barred, 1);
	SYS(__NR_close, fd);
	return tw_cc_failed(r) ? 0 : (uint64_t)r;
}

/* The one buffer whose records go to a batch routine. */
static bool map_batch_buffer(struct tw_cc_stream *s)
{
	s->base = reserve(1);
	return s->base &&
	       tw_cc_buffer_map(s->base + TW_CC_FULL - TW_CC_BATCH_BYTES, TW_CC_BATCH_BYTES + TW_CC_RESERVE,
	                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) &&
	       tw_cc_buffer_protect(s, 0, PROT_NONE);
}

/* The part of the slot's buffers that records go to. */
bool tw_cc_buffer_map_all(const struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (p->batch)
		return map_batch_buffer(s);
	bool done = (s->base = reserve(TW_BUFFERS + 1));
	for (uint32_t b = 0; done && b < p->control->sizes.buffers; b++)
		done = share(p, tw_cc_window(s, b) + TW_CC_FULL + TW_CC_RESERVE - TW_BUFFER_BYTES, TW_BUFFER_BYTES,
		             tw_buffer_at(&p->control->sizes, s->number, b)) &&
		       tw_cc_buffer_protect(s, b, PROT_NONE);
	return done;
}

/* From now on, records go to the thread's own buffer, in the window behind the slot's. */
void tw_cc_buffer_tally(const struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const uint64_t own = tw_cc_window(s, TW_BUFFERS) + TW_CC_FULL - TW_CC_OWN;
	const uint64_t tally =
	    share(p, 0, tw_tally_bytes(&p->control->sizes), (uint64_t)tw_channel_tally(p->control, s->number) - (uint64_t)p->control);
	if (!tally || !tw_cc_buffer_map(own, TW_CC_OWN + TW_CC_RESERVE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ||
	    !tw_cc_buffer_protect(s, TW_BUFFERS, PROT_NONE))
		return;
	s->tally = (uint64_t *)tally;
	s->own = own;
	s->first_upper = s->pen_upper = s->upper;
	s->turns = s->skip = s->skipped = 0;
	s->pen = s->pointer;
	s->pointer = own;
}

uint64_t tw_cc_buffer_span(const struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	return (s->number == TW_SLOTS || p->batch ? 1 : TW_BUFFERS + 1) * TW_CC_WINDOW;
}

bool tw_cc_buffer_has(const struct tw_cc_process *p, const struct tw_cc_stream *s, uint64_t address)
{
	return address - s->base < tw_cc_buffer_span(p, s) || (s->quiet_base && address - s->quiet_base < TW_CC_WINDOW);
}

/* A spare buffer is another thread's next. */
static void give_back(struct tw_cc_process *p, uint64_t base)
{
	for (uint32_t k = 0; k < TW_CC_THREADS && p->spare[k]; k++)
		if (p->spare[k] == (base | TW_CC_TAKEN))
			__atomic_store_n(&p->spare[k], base, __ATOMIC_RELEASE);
}

void tw_cc_buffer_unmap(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (s->base && s->number == TW_SLOTS)
		give_back(p, s->base);
	else if (s->base)
		SYS(__NR_munmap, s->base, tw_cc_buffer_span(p, s));
	if (s->pen)
		SYS(__NR_munmap, s->tally, tw_tally_bytes(&p->control->sizes));
	if (s->quiet_base)
		SYS(__NR_munmap, s->quiet_base, TW_CC_WINDOW);
	s->base = s->pen = s->torn = s->quiet_base = 0;
	s->tails = 0;
	s->scratch = s->quiet = false;
}

static uint64_t make_spare(void)
{
	const uint64_t base = reserve(1);
	return base && tw_cc_buffer_map(base + TW_CC_FULL - TW_CC_SPARE, TW_CC_SPARE + TW_CC_RESERVE,
	                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
	           ? base
	           : 0;
}

/* A window with a spare buffer that no other thread has. 0: none. */
static uint64_t take_spare(struct tw_cc_process *p)
{
	for (uint32_t k = 0; k < TW_CC_THREADS; k++) {
		uint64_t there = __atomic_load_n(&p->spare[k], __ATOMIC_ACQUIRE);
		if (there & TW_CC_TAKEN)
			continue;
		const bool is_new = !there;
		const uint64_t base = is_new ? make_spare() : there;
		if (!base ||
		    __atomic_compare_exchange_n(&p->spare[k], &there, base | TW_CC_TAKEN, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return base;
		if (is_new)
			SYS(__NR_munmap, base, TW_CC_WINDOW);
	}
	return 0;
}

uint64_t tw_cc_buffer_spare(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const uint64_t base = take_spare(p);
	s->number = TW_SLOTS;
	s->buffer = base ? base + TW_CC_FULL - TW_CC_SPARE : TW_CC_NOWHERE;
	s->base = s->buffer + TW_CC_SPARE - TW_CC_FULL;
	return s->buffer;
}

uint64_t tw_cc_buffer_quiet(struct tw_cc_stream *s)
{
	const uint64_t base = s->quiet_base ? s->quiet_base : reserve(1), from = base + TW_CC_FULL - TW_CC_SPARE;
	if (!s->quiet_base &&
	    (!base || !tw_cc_buffer_map(from, TW_CC_SPARE + TW_CC_RESERVE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)))
		return 0;
	s->quiet_base = base;
	return from;
}

/* ---- one after the other ---- */

void tw_cc_buffer_close_tail(struct tw_cc_stream *s, uint32_t b)
{
	if (s->tails >> b & 1)
		tw_cc_buffer_protect(s, b, PROT_NONE);
	s->tails &= ~(1u << b);
}

uint64_t tw_cc_buffer_open(struct tw_cc_process *p, struct tw_cc_stream *s, uint32_t b, const uint64_t *regs)
{
	tw_cc_buffer_close_tail(s, b);
	s->current = b;
	s->buffer = tw_cc_window(s, b) + TW_CC_FULL + (p->batch ? -TW_CC_BATCH_BYTES : TW_CC_RESERVE - TW_BUFFER_BYTES);
	tw_cc_slot_of(p, s)->current = b;
	return tw_cc_buffer_keyframe(p, s, s->buffer, regs);
}

void tw_cc_buffer_close(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer)
{
	struct tw_slot *slot = tw_cc_slot_of(p, s);
	slot->buffer[s->current].bytes = (uint32_t)(pointer - s->buffer);
	slot->buffer[s->current].slack_end = 0;
	atomic_store_explicit(&slot->buffer[s->current].state, TW_BUFFER_FULL, memory_order_release);
	tw_cc_buffer_ring(p);
}

/* Waits until the collector has given the buffer back; false if the collector is gone. */
bool tw_cc_buffer_wait(struct tw_cc_process *p, struct tw_slot *slot, uint32_t b)
{
	const struct __kernel_timespec pause = {0, 100000000};
	while (atomic_load_explicit(&slot->buffer[b].state, memory_order_acquire) != TW_BUFFER_EMPTY) {
		if (!tw_channel_collector_alive(p->control))
			return false;
		SYS(__NR_futex, &slot->buffer[b].state, FUTEX_WAIT, TW_BUFFER_FULL, &pause);
	}
	return true;
}

void tw_cc_buffer_turn(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const uint32_t next = (s->current + 1) % p->control->sizes.buffers;
	tw_cc_buffer_close(p, s, s->pen);
	s->pen = tw_cc_buffer_wait(p, tw_cc_slot_of(p, s), next) ? tw_cc_buffer_open(p, s, next, 0) : s->buffer;
}
