#include "engine/signal/mask.h"
#include "engine/signal/action.h"
#include "engine/signal/frame.h"
#include "engine/signal/pending.h"
#include "engine/signal/show.h"
#include "engine/signal/signal.h"
#include <asm/errno.h>
#include <asm/unistd.h>

void tw_mask_kernel(u64 mask)
{
	mask &= ~TW_SYNC_SIGNALS;
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

bool tw_mask_blocks(const struct thread *t, int signo)
{
	return tw_signal_mask(t) >> (signo - 1) & 1;
}

u64 tw_mask_running(const struct thread *t)
{
	return (t->signal->mask | (t->signal->deferred.signo ? ~0ull : 0)) & ~TW_SYNC_SIGNALS;
}

void tw_signal_set_mask(struct thread *t, u64 mask)
{
	__atomic_store_n(&t->signal->mask, mask & ~TW_UNBLOCKABLE_SIGNALS, __ATOMIC_SEQ_CST);
	tw_signal_show(t);
	if (!t->signal->deferred.signo && !tw_pending_release(t, t->signal->mask))
		tw_mask_kernel(t->signal->mask); /* else it follows when the deferred signal is delivered */
}

void tw_signal_thread(struct thread *t)
{
	tw_action_thread(t);
	tw_pending_thread(t);
	stack_t ss = {.ss_sp = (u8 *)t + THREAD_STACK_TOP, .ss_flags = 0, .ss_size = THREAD_BYTES - THREAD_STACK_TOP};
	tw_sys(__NR_sigaltstack, &ss, NULL, 0);
	tw_mask_kernel(~0ull);
}

void tw_signal_no_deferred(struct thread *t)
{
	t->signal->deferred.signo = 0;
	t->has_deferred &= ~(u64)TW_DEFERRED_SIGNAL;
}

void tw_signal_forget(struct thread *t)
{
	tw_signal_no_deferred(t);
	tw_pending_forget(t);
}

/* ---- the application's calls ---- */

i64 tw_signal_procmask(struct thread *t, int how, u64 set, u64 old, u64 size)
{
	u64 m, before = t->signal->mask;
	if (size != 8)
		return -EINVAL;
	if (set) {
		if (!tw_copy(&m, (void *)set, 8))
			return -EFAULT;
		switch (how) {
		case SIG_BLOCK:
			m |= t->signal->mask;
			break;
		case SIG_UNBLOCK:
			m = t->signal->mask & ~m;
			break;
		case SIG_SETMASK:
			break;
		default:
			return -EINVAL;
		}
		tw_signal_set_mask(t, m);
	}
	if (old && !tw_copy((void *)old, &before, 8))
		return -EFAULT;
	return 0;
}

i64 tw_signal_altstack(struct thread *t, u64 ss, u64 old)
{
	stack_t s, o;
	const bool on = tw_frame_on_altstack(t, t->regs[TW_RSP]);
	memset(&o, 0, sizeof o);
	o.ss_sp = (void *)t->signal->altstack.sp;
	o.ss_size = t->signal->altstack.size;
	o.ss_flags =
	    (int)((t->signal->altstack.flags & SS_AUTODISARM_BIT) | (on ? SS_ONSTACK : 0) | (t->signal->altstack.size ? 0 : SS_DISABLE));
	if (ss) {
		if (!tw_copy(&s, (void *)ss, sizeof s))
			return -EFAULT;
		const i64 r = tw_frame_set_altstack(t, (u64)s.ss_sp, s.ss_size, (u32)s.ss_flags);
		if (r)
			return r;
	}
	if (old && !tw_copy((void *)old, &o, sizeof o))
		return -EFAULT;
	return 0;
}
