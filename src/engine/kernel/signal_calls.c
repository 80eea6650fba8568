#include "engine/kernel/signal_calls.h"
#include "engine/kernel/pass.h"
#include "engine/signal/action.h"
#include "engine/signal/pending.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/time.h>

i64 tw_sys_sigaction(struct thread *t, const u64 *a)
{
	return tw_action_set(t, (int)a[0], a[1], a[2], a[3]);
}

i64 tw_sys_sigprocmask(struct thread *t, const u64 *a)
{
	return tw_signal_procmask(t, (int)a[0], a[1], a[2], a[3]);
}

i64 tw_sys_sigaltstack(struct thread *t, const u64 *a)
{
	return tw_signal_altstack(t, a[0], a[1]);
}

i64 tw_sys_sigpending(struct thread *t, const u64 *a)
{
	i64 r = tw_pending_sigpending(t, a[0], a[1]);
	return r == TW_PENDING_PASS ? tw_pass(t, a) : r;
}

static i64 now(void)
{
	struct __kernel_timespec ts;
	tw_sys(__NR_clock_gettime, CLOCK_MONOTONIC, &ts, 0);
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Repeats sigtimedwait in the kernel while it returns signals that must not be returned. */
static i64 wait_for(struct thread *t, const u64 *a)
{
	siginfo_t info;
	struct __kernel_timespec left;
	u64 b[6] = {a[0], (u64)&info, a[2], a[3]};
	i64 r;
	const bool timed =
	    a[2] && tw_copy(&left, (void *)a[2], sizeof left) && left.tv_sec >= 0 && left.tv_sec < 1ll << 32 && left.tv_nsec >= 0;
	const i64 end = timed ? now() + left.tv_sec * 1000000000 + left.tv_nsec : 0;
	while (tw_pending_goes_on(t, a[0], r = tw_pass_with(t, __NR_rt_sigtimedwait, b), &info)) {
		const i64 rest = timed && end > now() ? end - now() : 0;
		left = (struct __kernel_timespec){rest / 1000000000, rest % 1000000000};
		b[2] = timed ? (u64)&left : a[2];
	}
	return r > 0 && a[1] && !tw_copy((void *)a[1], &info, sizeof info) ? ENGINE_EFAULT : r;
}

i64 tw_sys_sigtimedwait(struct thread *t, const u64 *a)
{
	i64 r = tw_pending_sigtimedwait(t, a[0], a[1], a[3]);
	return r == TW_PENDING_PASS ? wait_for(t, a) : r;
}

/* The signal is not blocked outside the wait: if it came before the wait began, it came before the call. */
static bool came_before(const struct thread *t)
{
	return !(t->signal->mask >> (t->signal->deferred.signo - 1) & 1);
}

/*
 * A call that waits under the mask at `set`, if there is one. A signal that ends it finds that mask in force. `with`:
 * the arguments with the kernel's mask, thread.signal.kernel_wait_mask, if that differs: ignored signals must not end
 * the wait.
 */
static i64 wait_under(struct thread *t, const u64 *a, u64 set, u64 size, const u64 *with)
{
	struct tw_signal_thread *s = t->signal;
	if (!set || size != sizeof s->wait_mask || !tw_copy(&s->wait_mask, (void *)set, sizeof s->wait_mask))
		return tw_pass(t, a);
	s->kernel_wait_mask = s->wait_mask | s->actions->ignored;
	__atomic_store_n(&s->waiting, true, __ATOMIC_SEQ_CST);
	i64 r = ENGINE_EINTR;
	if (!tw_pending_release(t, tw_signal_mask(t)))
		r = s->kernel_wait_mask == s->wait_mask ? tw_pass(t, a) : tw_pass_with(t, t->kernel->call, with);
	if (r == TW_SYSCALL_ABORTED && s->deferred.signo && !came_before(t))
		r = ENGINE_EINTR;
	s->waiting = r == ENGINE_EINTR && s->deferred.signo;
	return r;
}

/* The same where argument `k` is where the set is. */
static i64 wait_under_at(struct thread *t, const u64 *a, u32 k, u64 size)
{
	u64 with[6];
	memcpy(with, a, sizeof with);
	with[k] = (u64)&t->signal->kernel_wait_mask;
	return wait_under(t, a, a[k], size, with);
}

i64 tw_sys_sigsuspend(struct thread *t, const u64 *a)
{
	return wait_under_at(t, a, 0, a[1]);
}

i64 tw_sys_ppoll(struct thread *t, const u64 *a)
{
	return wait_under_at(t, a, 3, a[4]);
}

/* epoll_pwait, epoll_pwait2 */
i64 tw_sys_epoll_pwait(struct thread *t, const u64 *a)
{
	return wait_under_at(t, a, 4, a[5]);
}

/* pselect6, io_pgetevents: the sixth argument points to the set and its size */
i64 tw_sys_pselect(struct thread *t, const u64 *a)
{
	const u64 own[2] = {(u64)&t->signal->kernel_wait_mask, sizeof t->signal->kernel_wait_mask};
	const u64 with[6] = {a[0], a[1], a[2], a[3], a[4], (u64)own};
	u64 set[2];
	return a[5] && tw_copy(set, (void *)a[5], sizeof set) ? wait_under(t, a, set[0], set[1], with) : tw_pass(t, a);
}

/* Sent to one thread: the kernel does not tell this on delivery. */
i64 tw_sys_tgsigqueueinfo(struct thread *t, const u64 *a)
{
	const int signo = (int)a[2];
	if ((u32)a[0] == t->pid && signo > 0 && signo <= 64 && tw_signal_is_sync(signo))
		tw_pending_directed(t, (u32)a[1], signo);
	return tw_pass(t, a);
}
