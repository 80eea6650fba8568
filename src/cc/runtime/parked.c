/* Code interrupted by signal handlers: it is parked with its stream until the handler returns, in any order, or never. */
#include "runtime.h"
#include <asm/errno.h>
#include <asm/sigcontext.h>
#include <asm/signal.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <linux/uio.h>

/* ---- the code here ---- */

/* The linker's (code.ld). */
extern const uint8_t tw_cc_code[] __attribute__((visibility("hidden")));
extern const uint8_t tw_cc_code_end[] __attribute__((visibility("hidden")));
extern const uint8_t tw_cc_twice_code[] __attribute__((weak, visibility("hidden")));
extern const uint8_t tw_cc_twice_code_end[] __attribute__((weak, visibility("hidden")));
extern const uint8_t tw_cc_handover_code[] __attribute__((weak, visibility("hidden")));
extern const uint8_t tw_cc_handover_code_end[] __attribute__((weak, visibility("hidden")));
extern const uint8_t tw_cc_copying_code[] __attribute__((weak, visibility("hidden")));
extern const uint8_t tw_cc_copying_code_end[] __attribute__((weak, visibility("hidden")));

/* Of a part that the module may not have. */
static void enter_code(struct tw_cc_process *p, const uint8_t *from, const uint8_t *to, bool there)
{
	if (!tw_cc_is_there(from))
		return;
	const uint64_t mask = tw_cc_lock(p);
	uint32_t k = 0;
	while (k < TW_CC_OWN_CODES - 1 && p->own_code[k].from != (there ? 0 : (uint64_t)from))
		k++;
	p->own_code[k] = there ? (struct tw_cc_own_code){(uint64_t)from, (uint64_t)to} : (struct tw_cc_own_code){0};
	p->own_codes = k < p->own_codes ? p->own_codes : k + 1;
	tw_cc_unlock(p, mask);
}

void tw_cc_parked_enter(struct tw_cc_process *p, bool there)
{
	enter_code(p, tw_cc_code, tw_cc_code_end, there);
	enter_code(p, tw_cc_twice_code, tw_cc_twice_code_end, there);
	enter_code(p, tw_cc_copying_code, tw_cc_copying_code_end, there);
	enter_code(p, tw_cc_handover_code, tw_cc_handover_code_end, there);
}

static bool is_inside(const struct tw_cc_process *p, uint64_t pc)
{
	for (uint32_t k = 0; k < p->own_codes; k++)
		if (pc >= p->own_code[k].from && pc < p->own_code[k].to)
			return true;
	return false;
}

/* ---- what nobody comes back for ---- */

/* Does this number still stand there? If the system refuses to tell, yes: giving up code that does return would lose records. */
static bool has_word(const struct tw_cc_process *p, uint64_t at, uint64_t number)
{
	uint64_t word = 0;
	const struct iovec to = {&word, sizeof word}, from = {(void *)at, sizeof word};
	const int64_t n = SYS(__NR_process_vm_readv, p->pid, &to, 1, &from, 1, 0);
	return n == (int64_t)sizeof word ? word == number : n != -EFAULT;
}

/*
 * Has the handler been left by siglongjmp? With one stack: its frame lies below the stack pointer. If handlers have
 * been seen to switch stacks: only the number in its frame tells. `now`: a later handler's frame.
 */
static bool is_left(const struct tw_cc_process *p, const struct tw_cc_thread *t, const struct tw_cc_stream *s, uint64_t now)
{
	if (!s->parked || s->inside)
		return false;
	return t->hops && s->frame != now ? !has_word(p, s->frame, s->parked) : s->frame <= now;
}

static void give_up(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	tw_cc_stream_abandon(p, s);
	s->parked = 0;
}

/* The stream of a handler that was left becomes the thread's own: stream 0. */
static void move_to_first(struct tw_cc_thread *t)
{
	struct tw_cc_stream *own = &t->stream[t->current], *first = &t->stream[0];
	if (own == first || first->parked)
		return;
	*first = *own;
	*own = (struct tw_cc_stream){0};
	t->current = 0;
}

static void give_up_left(struct tw_cc_process *p, struct tw_cc_thread *t, uint64_t now, bool inside)
{
	bool is_any = false;
	for (uint32_t k = 0; k < t->streams && !is_any; k++)
		is_any = is_left(p, t, &t->stream[k], now);
	if (!is_any)
		return;
	const uint64_t mask = tw_cc_lock(p);
	for (uint32_t k = 0; k < t->streams; k++)
		if (is_left(p, t, &t->stream[k], now))
			give_up(p, &t->stream[k]);
	if (!inside)
		move_to_first(t);
	tw_cc_unlock(p, mask);
}

/* ---- another stream ---- */

/*
 * The stream parked longest, if it has been parked so long that it has probably been left. To begin a stream takes
 * long: if handlers switch many stacks, giving one up each time would leave time for nothing else.
 */
static struct tw_cc_stream *oldest(struct tw_cc_thread *t)
{
	enum { LONG = 256 }; /* calls of handlers */
	struct tw_cc_stream *found = 0;
	for (uint32_t k = 0; k < t->streams; k++) {
		struct tw_cc_stream *s = &t->stream[k];
		if (k != t->current && !s->inside && t->calls - s->parked > LONG && (!found || s->parked < found->parked))
			found = s;
	}
	return found;
}

/* NULL: there is none. */
static struct tw_cc_stream *find_other(struct tw_cc_process *p, struct tw_cc_thread *t)
{
	for (uint32_t k = 0; k < t->streams; k++)
		if (k != t->current && !t->stream[k].parked)
			return &t->stream[k];
	if (t->streams < TW_CC_STREAMS)
		return &t->stream[t->streams++];
	struct tw_cc_stream *s = oldest(t);
	if (s) {
		const uint64_t mask = tw_cc_lock(p);
		give_up(p, s);
		tw_cc_unlock(p, mask);
	}
	return s;
}

/* The current stream is parked: the thread writes to another, or aside. */
static void write_elsewhere(struct tw_cc_process *p, struct tw_cc_thread *t)
{
	const struct tw_cc_stream *own = find_other(p, t);
	if (own)
		t->current = (uint32_t)(own - t->stream);
	t->aside = !own;
}

/* A handler may interrupt between any two steps of this and of the next function. */
void tw_cc_park(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_parked *k, const struct ucontext *context)
{
	const bool inside = is_inside(p, context->uc_mcontext.rip);
	give_up_left(p, t, (uint64_t)k, inside);
	struct tw_cc_stream *s = &t->stream[t->current];
	*k = (struct tw_cc_parked){.number = __atomic_add_fetch(&t->calls, 1, __ATOMIC_RELAXED),
	                           .before = s->parked,
	                           .before_frame = s->frame,
	                           .before_inside = s->inside,
	                           .thread = t,
	                           .slot = s->active ? (uint64_t)s->active - t->tp : t->stray,
	                           .stream = s,
	                           .base = s->base,
	                           .bytes = tw_cc_buffer_span(p, s),
	                           .quiet_base = s->quiet_base};
	s->inside = inside;
	s->frame = (uint64_t)k;
	s->parked = k->number;
	k->active = s->active;
	k->pointer = k->active ? *k->active : 0;
	if (k->active)
		*k->active = TW_CC_POISON;
	s->active = 0; /* `pointer` is not exact either: the interrupted code may be past it */
	write_elsewhere(p, t);
}

/* ---- it goes on ---- */

/*
 * The slot has nobody's pointer: code that loads it before its test writes to a buffer that nobody reads, even if it
 * is interrupted again before.
 */
static void stray_by_slot(struct tw_cc_thread *t, uint64_t slot)
{
	if (t)
		t->stray = slot;
	if (slot)
		*(uint64_t *)(tw_cc_thread_pointer() + slot) = TW_CC_STRAY;
}

/* All addresses of its stream that the code has in registers are replaced with one in a buffer that nobody reads. Its next test notices. */
static void lead_astray(const struct tw_cc_parked *k, struct ucontext *context)
{
	uint64_t *reg = (uint64_t *)(void *)&context->uc_mcontext.r8;
	enum { REGISTERS = 15 }; /* all but rsp */
	for (int r = 0; r < REGISTERS; r++)
		if ((k->base && reg[r] - k->base < k->bytes) || (k->quiet_base && reg[r] - k->quiet_base < TW_CC_WINDOW))
			reg[r] = TW_CC_STRAY | (reg[r] & TW_CC_BORROWED);
}

/* Takes the pointer of the thread's current stream out of its slot. Returns the thread's entry; NULL: none. */
static struct tw_cc_thread *stop_writing(struct tw_cc_process *p)
{
	struct tw_cc_thread *t = tw_cc_self(p);
	if (t && tw_cc_written(t)->pointer)
		tw_cc_pointer_take(p, tw_cc_written(t));
	return t;
}

void tw_cc_unpark_aside(struct tw_cc_process *p)
{
	stop_writing(p);
}

void tw_cc_unpark(struct tw_cc_process *p, struct tw_cc_parked *k, struct ucontext *context)
{
	struct tw_cc_thread *t = stop_writing(p);
	struct tw_cc_stream *s = k->stream;
	if (t)
		t->aside = false;
	if (t == k->thread && s->parked == k->number) {
		t->current = (uint32_t)(s - t->stream);
		s->frame = k->before_frame;
		s->inside = k->before_inside;
		s->parked = k->before;
		s->active = k->active;
		if (k->active)
			*k->active = k->pointer;
		else
			stray_by_slot(t, k->slot);
	} else {
		if (t)
			t->hops = true;
		if (t && t->stream[t->current].parked)
			write_elsewhere(p, t);
		lead_astray(k, context);
		stray_by_slot(t, k->slot);
	}
	k->number = 0;
}
