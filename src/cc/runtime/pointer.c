/* A stream's position: the pointer, which its code may have, and the end of the buffer, which cannot be written. */
#include "runtime.h"
#include <asm/unistd.h>
#include <linux/mman.h>

/* The number of what the stream writes to, as in `tails`. */
static uint32_t written_to(const struct tw_cc_stream *s)
{
	return s->pen ? TW_BUFFERS : s->current;
}

static uint64_t scratch_of(const struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	return tw_cc_window(s, p->batch ? 0 : TW_BUFFERS) + TW_CC_SCRATCH;
}

/* The end of a spare buffer, possibly of another thread: a context may have continued here. */
static bool is_spare_end(const struct tw_cc_process *p, uint64_t address)
{
	for (uint32_t k = 0; k < TW_CC_THREADS && p->spare[k]; k++)
		if (address - ((p->spare[k] & ~TW_CC_TAKEN) + TW_CC_FULL + TW_CC_RESERVE) < TW_PAGE)
			return true;
	return false;
}

bool tw_cc_pointer_ends_at(const struct tw_cc_process *p, const struct tw_cc_stream *s, uint64_t address)
{
	if (address - (TW_CC_STRAY + TW_CC_RESERVE) < TW_PAGE)
		return true;
	if (!s || !s->base)
		return false;
	if (s->number == TW_SLOTS)
		return is_spare_end(p, address);
	return address - (tw_cc_window(s, written_to(s)) + TW_CC_TAIL) < TW_CC_TAIL_BYTES + TW_PAGE ||
	       (s->torn && address - (scratch_of(p, s) + TW_PAGE) < TW_PAGE);
}

static void open_tail(struct tw_cc_stream *s)
{
	const uint32_t b = written_to(s);
	if (!(s->tails >> b & 1))
		tw_cc_buffer_protect(s, b, PROT_READ | PROT_WRITE);
	s->tails |= 1u << b;
}

/* For events. */
static void make_room(struct tw_cc_stream *s, uint64_t pointer)
{
	if (s->base && s->number != TW_SLOTS && !s->pen && pointer + 2 * TW_MAX_EVENT > tw_cc_window(s, s->current) + TW_CC_TAIL)
		open_tail(s);
}

uint64_t tw_cc_pointer_settle(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer)
{
	const uint64_t end = scratch_of(p, s) + TW_PAGE, place = end - s->torn_bytes, at = s->torn;
	if (!at || pointer < place || pointer > end)
		return pointer;
	s->torn = 0;
	open_tail(s);
	tw_cc_copy((void *)at, (const void *)place, pointer - place);
	return at + (pointer - place);
}

uint64_t tw_cc_pointer_tear(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t start, uint32_t bytes, bool written)
{
	const uint64_t scratch = scratch_of(p, s), place = scratch + TW_PAGE - bytes;
	if (!s->scratch && !tw_cc_buffer_map(scratch, TW_PAGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
		return 0;
	s->scratch = true;
	start = tw_cc_pointer_settle(p, s, start);
	const uint64_t tail = tw_cc_window(s, written_to(s)) + TW_CC_TAIL;
	if (start + bytes > tail + TW_CC_TAIL_BYTES)
		return 0;
	if (written && start < tail)
		tw_cc_copy((void *)place, (const void *)start, tail - start);
	s->torn = start;
	s->torn_bytes = bytes;
	return place;
}

uint64_t tw_cc_pointer_take(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	uint64_t pointer = s->pointer;
	if (s->active) {
		pointer = *s->active;
		*s->active = TW_CC_POISON;
		s->active = 0;
	}
	s->pointer = tw_cc_pointer_settle(p, s, pointer);
	make_room(s, s->pointer);
	return s->pointer;
}

uint64_t *tw_cc_pointer_pen(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (s->pen)
		return &s->pen;
	if (s->quiet) {
		make_room(s, s->resume);
		return &s->resume;
	}
	tw_cc_pointer_take(p, s);
	return &s->pointer;
}
