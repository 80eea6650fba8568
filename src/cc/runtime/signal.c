/* The program's signal handlers: they record to another stream than the code they interrupt. */
#include "runtime.h"
#include <asm/unistd.h>
#include <asm/siginfo.h>
#include <asm/sigcontext.h>
#include <asm/signal.h>
#include <asm/ucontext.h>

/* The C library's form of sigaction. */
struct library_action {
	uint64_t handler, mask[16];
	int32_t flags, unused;
	uint64_t restorer;
};

enum { LAST_SIGNAL = 64, OF_LIBRARY = 32, OF_LIBRARY_TOO = 33, INVALID = 22 };

extern int __sigaction(int number, const struct library_action *act, struct library_action *old) __attribute__((weak));

/* ---- running handlers ---- */

static uint64_t *word_at(uint64_t offset)
{
	uint64_t tp;
	__asm__ volatile("movq %%fs:0, %0" : "=r"(tp)); /* a context may go on in another thread */
	return (uint64_t *)(tp + (offset & ~7ull));
}

/* Calls the handler, and leaves what was put aside as it is. */
static void call(const struct tw_cc_process *p, const struct tw_cc_handling *h, int number, siginfo_t *info, void *context)
{
	const uint32_t n = __atomic_load_n(&p->n_words, __ATOMIC_ACQUIRE);
	uint64_t kept[n + 1], word[n + 1];
	for (uint32_t k = 0; k < n; k++) {
		word[k] = p->word[k];
		kept[k] = word[k] ? *word_at(word[k]) : 0;
		if (word[k] & TW_CC_WORD_FORGOTTEN)
			*word_at(word[k]) = 0;
	}
	((void (*)(int, siginfo_t *, void *))h->handler)(number, info, context);
	for (uint32_t k = 0; k < n; k++)
		if (word[k] && p->word[k] == word[k])
			*word_at(word[k]) = kept[k];
}

/* A handler's stream is brought up to date when a handler is called: its buffer may take long to fill. */
static void catch_up(struct tw_cc_process *p, struct tw_cc_stream *own)
{
	const uint64_t mask = tw_cc_lock(p);
	own->pointer = tw_cc_stream_follow(p, own, own->pointer, 0, 0);
	tw_cc_unlock(p, mask);
}

/* What the thread had where the handler began. */
struct own_stack {
	uint64_t pointer, alternate; /* the thread pointer; the stack for faults at the end of buffers, or 0 */
};

/*
 * If the interrupted code continues in another thread, that thread keeps its own stack for faults at the end of
 * buffers; the kernel would give it the first thread's.
 */
static void keep_stack(const struct own_stack *own, struct ucontext *context)
{
	if (own->alternate && (uint64_t)context->uc_stack.ss_sp == own->alternate && tw_cc_thread_pointer() != own->pointer)
		SYS(__NR_sigaltstack, 0, &context->uc_stack);
}

/* `t`: the thread's entry, if it is recorded. */
static void handle(struct tw_cc_process *p, struct tw_cc_thread *t, int number, siginfo_t *info, void *context)
{
	struct tw_cc_handling h = p->handling[number];
	const uint64_t fault = 1ull << (SIGSEGV - 1);
	struct tw_cc_parked k;
	if (h.flags & SA_RESETHAND && p->guard && number == SIGSEGV) /* of other signals the kernel knows it */
		p->handling[number].handler = 0;
	if (p->guard && !p->strict)
		SYS(__NR_rt_sigprocmask, SIG_UNBLOCK, &fault, 0, sizeof fault);
	if (!t || t->aside) {
		call(p, &h, number, info, context);
		if (t)
			tw_cc_unpark_aside(p);
		return;
	}
	tw_cc_park(p, t, &k, context);
	if (p->windows && tw_cc_written(t)->pointer)
		catch_up(p, tw_cc_written(t));
	call(p, &h, number, info, context);
	tw_cc_unpark(p, &k, context);
}

void tw_cc_handle(int number, siginfo_t *info, void *context)
{
	struct tw_cc_process *p = tw_cc_process();
	const bool is_recorded = p->mode == TW_CC_RECORDED;
	struct tw_cc_thread *t = is_recorded || (p->guard && !p->strict) ? tw_cc_find(p) : 0;
	const struct own_stack own = {tw_cc_thread_pointer(), t ? t->alternate : 0};
	handle(p, is_recorded ? t : 0, number, info, context);
	keep_stack(&own, context);
}

/* ---- the module is closed ---- */

/* By way of the C library: otherwise the code that handlers return to would still be in this module. */
void tw_cc_signal_give_back(const struct tw_cc_process *p, int number, uint64_t mask)
{
	const struct tw_cc_handling *h = &p->handling[number];
	const struct library_action own = {.handler = h->handler, .mask[0] = mask, .flags = (int32_t)(h->flags & ~(uint64_t)SA_RESTORER)};
	if (__sigaction)
		__sigaction(number, &own, 0);
}

void tw_cc_signals_leave(const struct tw_cc_process *p)
{
	struct tw_cc_action now;
	for (int number = 1; number <= LAST_SIGNAL; number++)
		if (!SYS(__NR_rt_sigaction, number, 0, &now, sizeof now.mask) && now.handler == (uint64_t)tw_cc_handle)
			tw_cc_signal_give_back(p, number, now.mask);
}

/* ---- setting them ---- */

static bool is_function(uint64_t handler)
{
	return handler > 1;
}

static int64_t set(struct tw_cc_process *p, int number, const struct tw_cc_action *act, struct tw_cc_action *old)
{
	struct tw_cc_action own;
	if (p->guard && number == SIGSEGV) {
		p->guard->act(p, act, old);
		return 0;
	}
	const struct tw_cc_handling before = p->handling[number];
	if (act) {
		own = *act;
		own.restorer = (uint64_t)tw_cc_restore;
		if (is_function(act->handler)) {
			own.handler = (uint64_t)tw_cc_handle;
			own.flags |= SA_SIGINFO;
			p->handling[number].handler = act->handler; /* else what is on its way still goes to the one before */
		}
		p->handling[number].flags = act->flags;
	}
	const int64_t error = SYS(__NR_rt_sigaction, number, act ? &own : 0, old, sizeof own.mask);
	if (error)
		p->handling[number] = before;
	if (old && (old->handler == (uint64_t)tw_cc_handle || (!old->handler && before.flags & SA_RESETHAND)))
		old->flags = (old->flags & ~(uint64_t)SA_SIGINFO) | (before.flags & SA_SIGINFO);
	if (old && old->handler == (uint64_t)tw_cc_handle)
		old->handler = before.handler;
	return error;
}

/* Weak: a program that has its own keeps it. */
#define EXPORTED __attribute__((visibility("default"), used, weak))

EXPORTED int sigaction(int number, const struct library_action *act, struct library_action *old);
EXPORTED void *signal(int number, void *handler);
EXPORTED void *bsd_signal(int number, void *handler);
EXPORTED void *ssignal(int number, void *handler);
EXPORTED void *sysv_signal(int number, void *handler);
EXPORTED void *__sysv_signal(int number, void *handler);

int sigaction(int number, const struct library_action *act, struct library_action *old)
{
	struct tw_cc_action to, from;
	if (number < 1 || number > LAST_SIGNAL || number == OF_LIBRARY || number == OF_LIBRARY_TOO)
		return tw_cc_answer(-INVALID);
	if (act)
		to = (struct tw_cc_action){act->handler, (uint32_t)act->flags | SA_RESTORER, 0, act->mask[0]};
	const int64_t error = set(tw_cc_process(), number, act ? &to : 0, old ? &from : 0);
	if (error)
		return tw_cc_answer(error);
	if (old) {
		for (int k = 0; k < 16; k++)
			old->mask[k] = k ? 0 : from.mask;
		old->handler = from.handler;
		old->flags = (int32_t)from.flags;
		old->restorer = from.restorer;
	}
	return 0;
}

static void *simple(int number, void *handler, uint64_t flags)
{
	const struct tw_cc_action to = {(uint64_t)handler, flags | SA_RESTORER, 0, flags & SA_RESTART ? 1ull << (number - 1) : 0};
	struct tw_cc_action from;
	if (number < 1 || number > LAST_SIGNAL || number == OF_LIBRARY || number == OF_LIBRARY_TOO)
		return (void *)(int64_t)tw_cc_answer(-INVALID);
	const int64_t error = set(tw_cc_process(), number, &to, &from);
	return error ? (void *)(int64_t)tw_cc_answer(error) : (void *)from.handler;
}

void *signal(int number, void *handler)
{
	return simple(number, handler, SA_RESTART);
}

void *bsd_signal(int number, void *handler)
{
	return simple(number, handler, SA_RESTART);
}

void *ssignal(int number, void *handler)
{
	return simple(number, handler, SA_RESTART);
}

void *sysv_signal(int number, void *handler)
{
	return simple(number, handler, SA_RESETHAND | SA_NODEFER);
}

void *__sysv_signal(int number, void *handler)
{
	return simple(number, handler, SA_RESETHAND | SA_NODEFER);
}
