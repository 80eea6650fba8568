/* For programs with a batch routine: a channel of the process's own. The thread that filled a buffer also processes it. */
#include "base/cc_batch.h"
#include "runtime.h"
#include <asm/signal.h>
#include <asm/unistd.h>
#include <cpuid.h>
#include <linux/mman.h>

enum { STACK_BYTES = 1 << 20, GUARD_BYTES = 1 << 16, TABLE_BYTES = 1 << 28 };
enum { SLOTS_MOST = TW_SLOTS };

/*
 * A buffer that became full in a signal handler. It waits until the thread is in no handler: the handler may have
 * interrupted code that the routine relies on.
 */
struct tw_cc_kept {
	struct tw_cc_kept *next;
	uint64_t mapped;
	struct tw_cc_written written;
	uint8_t data[];
};

/* ---- the channel ---- */

static int64_t map_anonymous(uint64_t bytes)
{
	return SYS(__NR_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static bool begin(struct tw_cc_process *p)
{
	if (p->batch)
		return false;
	const int64_t control = map_anonymous(TW_CONTROL_BYTES), table = map_anonymous(TABLE_BYTES);
	if (tw_cc_failed(control) || tw_cc_failed(table))
		return false;
	p->control = (struct tw_control *)control;
	p->control->life = 1;
	p->control->sizes.slots = SLOTS_MOST;
	p->control->sizes.buffers = 1;
	p->control->sizes.table_bytes = p->control->descriptors_most = TABLE_BYTES;
	p->table = (struct tw_descriptor_table *)table;
	p->table_number = 1;
	p->control->table[0].program = p->program = 1;
	trackway_cc_batch.machine(&p->control->xstate);
	p->batch = &trackway_cc_batch;
	return true;
}

/* In a child process: the parent's threads have no slots here, and their numbers are free again. */
static void in_child(struct tw_cc_process *p)
{
	for (uint32_t n = 0; n < SLOTS_MOST; n++) {
		atomic_store(&p->control->slot[n].state, TW_SLOT_FREE);
		p->control->slot[n].buffer[0].state = TW_BUFFER_EMPTY;
	}
	p->control->next_thread = 0;
}

/* ---- another stack ---- */

static uint64_t stack_of(struct tw_cc_thread *t)
{
	if (t->stack)
		return t->stack;
	const int64_t at = map_anonymous(STACK_BYTES);
	if (tw_cc_failed(at))
		return 0;
	SYS(__NR_mprotect, at, GUARD_BYTES, PROT_NONE);
	return t->stack = (uint64_t)at + STACK_BYTES;
}

/* Of what xsave stores; 0: there is none, fxsave stores 512. */
static uint32_t vector_bytes(void)
{
	uint32_t a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !__get_cpuid_count(13, 0, &a, &b, &c, &d))
		return 0;
	return (b + 63) & ~63u;
}

void tw_cc_apart(void (*fn)(void *), void *arg, uint64_t stack, uint64_t vector_bytes);

struct call {
	struct tw_cc_process *p;
	struct tw_cc_thread *t;
	const struct tw_cc_written *written;
};

/* The waiting ones first: they were written before. */
static void take_kept(struct tw_cc_process *p, struct tw_cc_thread *t)
{
	for (struct tw_cc_kept *k; (k = t->kept);) {
		t->kept = k->next;
		p->batch->take(p->table, &k->written);
		SYS(__NR_munmap, k, k->mapped);
	}
}

static void take(void *arg)
{
	const struct call *c = arg;
	take_kept(c->p, c->t);
	if (c->written)
		c->p->batch->take(c->p->table, c->written);
}

/* The thread's slot is set as during a handler: code of the program that the routine calls writes to a buffer that nobody reads. */
static void call_apart(struct tw_cc_process *p, struct tw_cc_thread *t, void (*fn)(void *), void *arg)
{
	static uint32_t bytes;
	const uint64_t all = ~(1ull << (SIGSEGV - 1)), stack = stack_of(t);
	uint64_t before;
	struct tw_cc_stream *s = &t->stream[t->current];
	uint64_t *active = s->active, pointer = active ? *active : 0;
	int *error = __errno_location ? __errno_location() : 0;
	const int errno_before = error ? *error : 0;
	if (!stack) {
		tw_cc_fail(p, "there is no memory");
		return;
	}
	bytes = bytes ? bytes : vector_bytes();
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	if (active)
		*active = TW_CC_POISON;
	s->active = 0;
	t->aside = true;
	tw_cc_apart(fn, arg, stack, bytes);
	if (t->quiet.pointer)
		tw_cc_pointer_take(p, &t->quiet);
	t->aside = false;
	s->active = active;
	if (active)
		*active = pointer;
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
	if (error)
		*error = errno_before;
}

/* ---- buffers ---- */

static void keep(struct tw_cc_process *p, struct tw_cc_thread *t, const struct tw_cc_written *w)
{
	const uint64_t bytes = sizeof(struct tw_cc_kept) + w->bytes;
	const int64_t at = map_anonymous(bytes);
	struct tw_cc_kept *k = (struct tw_cc_kept *)at, **end = &t->kept;
	if (tw_cc_failed(at)) {
		tw_cc_fail(p, "there is no memory");
		return;
	}
	tw_cc_copy(k->data, w->data, w->bytes);
	k->mapped = bytes;
	k->written = *w;
	k->written.data = k->data;
	while (*end)
		end = &(*end)->next;
	*end = k;
}

/* Zeros show where the records of a thread end that does not tell its own end. */
static void clear(uint64_t at, uint64_t bytes)
{
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(0) : "memory");
}

static struct tw_cc_written torn(const struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	const uint64_t room = TW_CC_BATCH_BYTES + TW_CC_RESERVE - (s->tails ? 0 : TW_CC_TAIL_BYTES);
	return (struct tw_cc_written){(const uint8_t *)s->buffer, (uint32_t)room, p->control->slot[s->number].serial, true, true};
}

static void hand_over(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, bool last)
{
	struct tw_cc_thread *t = tw_cc_find(p);
	const struct tw_cc_written whole = {(const uint8_t *)s->buffer, (uint32_t)(pointer - s->buffer), p->control->slot[s->number].serial,
	                                    false, last};
	const struct tw_cc_written w = pointer ? whole : torn(p, s);
	struct call c = {p, t, &w};
	if (t && (t->aside || tw_cc_is_any_parked(t)))
		keep(p, t, &w);
	else if (t)
		call_apart(p, t, take, &c);
	clear(s->buffer, w.bytes);
}

static bool is_open(const struct tw_cc_stream *s)
{
	return s->pointer && s->number < SLOTS_MOST;
}

static void inherit(struct tw_cc_process *p, struct tw_cc_thread *t)
{
	for (uint32_t d = 0; d < t->streams; d++) {
		const struct tw_cc_stream *s = &t->stream[d];
		if (!is_open(s))
			continue;
		const struct tw_cc_written w = torn(p, s);
		keep(p, t, &w);
		atomic_store(&p->control->slot[s->number].state, TW_SLOT_FREE);
	}
}

/* ---- the end ---- */

/* Takes what other threads, which may still run, have written so far. Whatever they write later is not read. */
static void take_other(struct tw_cc_process *p, const struct tw_cc_thread *own)
{
	struct tw_cc_thread *t;
	for (uint32_t k = 0; (t = tw_cc_next_entry(p, &k));) {
		if (!t->tp || t == own)
			continue;
		take_kept(p, t);
		for (uint32_t d = 0; d < t->streams; d++) {
			if (!is_open(&t->stream[d]))
				continue;
			const struct tw_cc_written w = torn(p, &t->stream[d]);
			p->batch->take(p->table, &w);
		}
	}
}

static void take_last(void *arg)
{
	const struct call *c = arg;
	take_kept(c->p, c->t); /* a handler was left */
	take_other(c->p, c->t);
	c->p->batch->end(c->p->control->failure ? c->p->control->failure_text : 0);
}

static void end(struct tw_cc_process *p, struct tw_cc_thread *t)
{
	struct call c = {p, t, 0};
	p->batch_ended = true;
	call_apart(p, t, take_last, &c);
}

const struct tw_cc_handover tw_cc_handover = {begin, in_child, hand_over, inherit, end};
