#include "engine/signal/action.h"
#include "engine/signal/death.h"
#include "engine/signal/pending.h"
#include "engine/signal/show.h"
#include "engine/thread.h"
#include "engine/x86_64/glue.h"
#include <asm/errno.h>
#include <asm/unistd.h>

#define NSIG_MAX 64
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif
/* Other flags are removed from an action: programs thus find out which flags the kernel knows. */
#define KNOWN_FLAGS                                                                                                                        \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND | SA_RESTORER | SA_EXPOSE_TAGBITS)

/* Those that are the kernel's business. */
#define KEPT_FLAGS (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT)

/*
 * The application's dispositions, shared by its threads. A child that shares memory but not dispositions (vfork,
 * posix_spawn) has a copy.
 */
static struct tw_actions process_actions;
static tw_lock_t actions_lock;

static u64 engine_handler; /* for all signals that have one of the engine's */

/* Those that by default end a process with a core dump. */
#define CORE_SIGNALS                                                                                                                       \
	(TW_SYNC_SIGNALS | 1ull << (SIGQUIT - 1) | 1ull << (SIGABRT - 1) | 1ull << (SIGXCPU - 1) | 1ull << (SIGXFSZ - 1) |                 \
	 1ull << (SIGSYS - 1))

/* Signals that ask servers to end, or that end programs whose reader or time is gone: the place of each thread is to be told. */
#define END_SIGNALS (1ull << (SIGTERM - 1) | 1ull << (SIGINT - 1) | 1ull << (SIGHUP - 1) | 1ull << (SIGPIPE - 1) | 1ull << (SIGALRM - 1))

/* Must the engine act before the default action of this signal kills the process? */
static bool is_prepared(int signo)
{
	return (CORE_SIGNALS | END_SIGNALS) >> (signo - 1) & 1;
}

bool tw_action_has_handler(const struct ksigaction *a)
{
	return a->handler != (u64)SIG_DFL && a->handler != (u64)SIG_IGN;
}

/*
 * A fault may occur in the handler of another fault, even of the same signal. SIGTRAP is sent by timers
 * (record/timer.h), and its handler has no traps.
 */
static void install(int signo, u64 flags)
{
	u64 nodefer = tw_signal_is_sync(signo) && signo != SIGTRAP ? SA_NODEFER : 0;
	struct ksigaction a = {engine_handler, SA_SIGINFO | SA_ONSTACK | SA_RESTORER | nodefer | flags, (u64)tw_restorer, ~TW_SYNC_SIGNALS};
	tw_sys4(__NR_rt_sigaction, signo, &a, NULL, 8);
}

/* For a synchronous signal: is one that was sent dropped, and may it interrupt a system call? */
static void set_sync_action(struct tw_actions *all, int signo, const struct ksigaction *a)
{
	const u64 bit = 1ull << (signo - 1);
	const bool ignored = a->handler == (u64)SIG_IGN || (a->handler == (u64)SIG_DFL && all->spared);
	all->ignored = ignored ? all->ignored | bit : all->ignored & ~bit;
	install(signo, tw_action_has_handler(a) ? a->flags & SA_RESTART : SA_RESTART);
}

static void note_sets(struct tw_actions *all, int signo)
{
	const u64 bit = 1ull << (signo - 1);
	const struct ksigaction *a = &all->of[signo];
	all->sig_ign = a->handler == (u64)SIG_IGN ? all->sig_ign | bit : all->sig_ign & ~bit;
	all->caught = tw_action_has_handler(a) ? all->caught | bit : all->caught & ~bit;
}

static i64 set_action(struct thread *t, int signo, const struct ksigaction *a)
{
	t->signal->actions->of[signo] = *a;
	note_sets(t->signal->actions, signo);
	tw_signal_show_process(t);
	if (tw_signal_is_sync(signo)) {
		set_sync_action(t->signal->actions, signo, a);
		return 0;
	}
	if (tw_action_has_handler(a) || (is_prepared(signo) && a->handler == (u64)SIG_DFL && !t->signal->actions->spared)) {
		install(signo, a->flags & KEPT_FLAGS);
		return 0;
	}
	return tw_sys4(__NR_rt_sigaction, signo, a, NULL, 8);
}

/* Installs the engine's handler instead of the previous one. */
static void take_signal(int signo, const struct ksigaction *a)
{
	if (tw_signal_is_sync(signo))
		set_sync_action(&process_actions, signo, a);
	else if (tw_action_has_handler(a) || (is_prepared(signo) && a->handler == (u64)SIG_DFL))
		install(signo, a->flags & KEPT_FLAGS);
}

void tw_action_init(tw_handler handler, const u64 *ignored)
{
	engine_handler = (u64)handler;
	for (int s = 1; s <= NSIG_MAX; s++) {
		if (ignored)
			process_actions.of[s].handler = (u64)(*ignored >> (s - 1) & 1 ? SIG_IGN : SIG_DFL);
		else
			tw_sys4(__NR_rt_sigaction, s, NULL, &process_actions.of[s], 8);
		note_sets(&process_actions, s);
	}
	for (int s = 1; s <= NSIG_MAX; s++)
		take_signal(s, &process_actions.of[s]);
}

void tw_action_share(struct thread *child, struct thread *parent, bool shared)
{
	tw_lock(&actions_lock);
	if (shared) {
		child->signal->actions = parent->signal->actions;
	} else {
		child->signal->own_actions = *parent->signal->actions;
		child->signal->actions = &child->signal->own_actions;
	}
	tw_unlock(&actions_lock);
}

void tw_action_thread(struct thread *t)
{
	if (!t->signal->actions)
		t->signal->actions = &process_actions;
	if (t->signal->actions->spared == tw_death_spares(t))
		return;
	t->signal->actions->spared = tw_death_spares(t);
	for (int s = 1; s <= NSIG_MAX; s++)
		if (is_prepared(s) && t->signal->actions->of[s].handler == (u64)SIG_DFL)
			set_action(t, s, &t->signal->actions->of[s]);
}

void tw_action_tell_ignored(const struct thread *t, bool told)
{
	const struct ksigaction ignored = {(u64)SIG_IGN, 0, 0, 0};
	for (int s = 1; s <= NSIG_MAX && !tw_thread_next(t, NULL); s++) {
		if (!tw_signal_is_sync(s) || t->signal->actions->of[s].handler != (u64)SIG_IGN)
			continue;
		if (told)
			tw_sys4(__NR_rt_sigaction, s, &ignored, NULL, 8);
		else
			set_sync_action(t->signal->actions, s, &t->signal->actions->of[s]);
	}
}

void tw_action_give_back(const struct thread *t)
{
	for (int s = 1; s <= NSIG_MAX; s++)
		tw_sys4(__NR_rt_sigaction, s, &t->signal->actions->of[s], NULL, 8);
}

void tw_action_lock(void)
{
	tw_lock(&actions_lock);
}

void tw_action_unlock(void)
{
	tw_unlock(&actions_lock);
}

void tw_action_clear_handlers(struct thread *t)
{
	const struct ksigaction dfl = {(u64)SIG_DFL, 0, 0, 0};
	tw_lock(&actions_lock);
	for (int s = 1; s <= NSIG_MAX; s++)
		if (tw_action_has_handler(&t->signal->actions->of[s]))
			set_action(t, s, &dfl);
	tw_unlock(&actions_lock);
}

struct ksigaction tw_action_take(struct thread *t, int signo, bool to_handler)
{
	tw_lock(&actions_lock);
	const struct ksigaction a = t->signal->actions->of[signo];
	if (to_handler && tw_action_has_handler(&a) && (a.flags & SA_RESETHAND)) {
		struct ksigaction dfl = a;
		dfl.handler = (u64)SIG_DFL;
		set_action(t, signo, &dfl);
	}
	tw_unlock(&actions_lock);
	return a;
}

i64 tw_action_set(struct thread *t, int signo, u64 act, u64 old, u64 size)
{
	struct ksigaction a = {0};
	i64 r = 0;
	if (size != 8 || signo < 1 || signo > NSIG_MAX || (act && (signo == SIGKILL || signo == SIGSTOP)))
		return -EINVAL;
	if (act && !tw_copy(&a, (void *)act, sizeof a))
		return -EFAULT;
	if (act) {
		a.flags &= KNOWN_FLAGS;
		a.mask &= ~TW_UNBLOCKABLE_SIGNALS;
	}
	tw_lock(&actions_lock);
	struct ksigaction before = t->signal->actions->of[signo];
	if (act)
		r = set_action(t, signo, &a);
	if (act && tw_signal_is_sync(signo) && a.handler == (u64)SIG_IGN)
		tw_pending_drop(t, signo);
	tw_unlock(&actions_lock);
	if (!r && old && !tw_copy((void *)old, &before, sizeof before))
		return -EFAULT;
	return r;
}
