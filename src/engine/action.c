#include "engine/action.h"
#include "engine/signal.h"
#include "engine/x86_64/glue.h"
#include <asm/errno.h>
#include <asm/unistd.h>

#define NSIG_MAX 64
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif
/* Others are taken out of an action: by that programs see which the kernel knows. */
#define KNOWN_FLAGS                                                                                                                        \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND | SA_RESTORER | SA_EXPOSE_TAGBITS)

/* The application's dispositions, shared by its threads; a child that shares memory but not them (vfork, posix_spawn) has a copy. */
static struct tw_actions process_actions;
static tw_lock_t actions_lock;

/* Those that by default end a process with a core dump. */
#define CORE_SIGNALS                                                                                                                       \
	(TW_SYNC_SIGNALS | 1ull << (SIGQUIT - 1) | 1ull << (SIGABRT - 1) | 1ull << (SIGXCPU - 1) | 1ull << (SIGXFSZ - 1) |                 \
	 1ull << (SIGSYS - 1))

static bool dumps_core(int signo)
{
	return CORE_SIGNALS >> (signo - 1) & 1;
}

bool tw_action_has_handler(const struct ksigaction *a)
{
	return a->handler != (u64)SIG_DFL && a->handler != (u64)SIG_IGN;
}

static void install(int signo, u64 flags)
{
	u64 nodefer = tw_signal_is_sync(signo) ? SA_NODEFER : 0;
	struct ksigaction a = {(u64)tw_signal_handler, SA_SIGINFO | SA_ONSTACK | SA_RESTORER | nodefer | flags, (u64)tw_restorer,
	                       ~TW_SYNC_SIGNALS};
	tw_sys4(__NR_rt_sigaction, signo, &a, NULL, 8);
}

static i64 set_action(struct thread *t, int signo, const struct ksigaction *a)
{
	t->actions->of[signo] = *a;
	if (tw_signal_is_sync(signo))
		return 0;
	if (tw_action_has_handler(a) || (dumps_core(signo) && a->handler == (u64)SIG_DFL)) {
		install(signo, a->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT));
		return 0;
	}
	return tw_sys4(__NR_rt_sigaction, signo, a, NULL, 8);
}

void tw_action_init(void)
{
	for (int s = 1; s <= NSIG_MAX; s++)
		tw_sys4(__NR_rt_sigaction, s, NULL, &process_actions.of[s], 8);
	for (int s = 1; s <= NSIG_MAX; s++)
		if (tw_signal_is_sync(s) || (dumps_core(s) && process_actions.of[s].handler == (u64)SIG_DFL))
			install(s, 0);
}

void tw_action_share(struct thread *child, struct thread *parent, bool shared)
{
	tw_lock(&actions_lock);
	if (shared) {
		child->actions = parent->actions;
	} else {
		child->own_actions = *parent->actions;
		child->actions = &child->own_actions;
	}
	tw_unlock(&actions_lock);
}

void tw_action_thread(struct thread *t)
{
	if (!t->actions)
		t->actions = &process_actions;
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
		if (tw_action_has_handler(&t->actions->of[s]))
			set_action(t, s, &dfl);
	tw_unlock(&actions_lock);
}

struct ksigaction tw_action_take(struct thread *t, int signo, bool to_handler)
{
	tw_lock(&actions_lock);
	const struct ksigaction a = t->actions->of[signo];
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
	struct ksigaction before = t->actions->of[signo];
	if (act)
		r = set_action(t, signo, &a);
	tw_unlock(&actions_lock);
	if (!r && old && !tw_copy((void *)old, &before, sizeof before))
		return -EFAULT;
	return r;
}
