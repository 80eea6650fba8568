#include "engine/kernel/pass.h"
#include "engine/code/memory.h"
#include "engine/record/due.h"
#include "engine/signal/action.h"
#include "engine/signal/pending.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/signalfd.h>
#include <linux/time.h>
#include <linux/uio.h>

static i64 make(struct thread *t, const u64 *regs, bool is_32bit)
{
	return is_32bit ? tw_app_int80(t, regs) : tw_app_syscall(t, regs);
}

/* Frequent calls that neither wait nor send anything: no signal interrupts them. */
static bool is_quick(u64 nr)
{
	static const u16 quick[] = {__NR_mmap,      __NR_munmap, __NR_mprotect, __NR_mremap,          __NR_madvise,      __NR_rt_sigpending,
	                            __NR_getpid,    __NR_gettid, __NR_getppid,  __NR_clock_gettime,   __NR_gettimeofday, __NR_time,
	                            __NR_getrusage, __NR_lseek,  __NR_fstat,    __NR_set_robust_list, __NR_sched_yield};
	for (u32 k = 0; k < sizeof quick / sizeof *quick; k++)
		if (quick[k] == nr)
			return true;
	return false;
}

/* They do not look at pending signals, and a signal sent to the calling thread must not meet a mark. */
static bool is_sender(u64 nr)
{
	return nr == __NR_kill || nr == __NR_tkill || nr == __NR_tgkill || nr == __NR_rt_sigqueueinfo || nr == __NR_rt_tgsigqueueinfo;
}

/* If the call has read a signalfd, into one piece: replaces marks in what it read. */
static i64 take_read(struct thread *t, const u64 *regs, i64 bytes)
{
	u64 piece[2] = {regs[TW_RSI], (u64)bytes};
	if ((regs[TW_RAX] != __NR_read && regs[TW_RAX] != __NR_readv) || bytes <= 0 || bytes % (i64)sizeof(struct signalfd_siginfo))
		return bytes;
	if (regs[TW_RAX] == __NR_readv && (!tw_copy(piece, (void *)regs[TW_RSI], sizeof piece) || piece[1] < (u64)bytes))
		return bytes;
	const i64 left = tw_pending_read(t, piece[0], bytes);
	t->signal->broken_off = !left;
	return left ? left : TW_SYSCALL_ABORTED;
}

/* With the synchronous signals blocked that the application blocks or ignores. */
static i64 make_shut(struct thread *t, const u64 *regs, bool is_32bit, u64 quiet)
{
	tw_pending_shut(t, quiet, !is_sender(regs[TW_RAX]));
	i64 r = make(t, regs, is_32bit);
	if (!is_32bit)
		r = take_read(t, regs, r);
	tw_pending_open(t);
	return r;
}

/* Calls with a timeout, or whose purpose is to wait: repeated, they would wait longer. */
static bool is_wait(u64 nr, const u64 *regs)
{
	static const u16 waits[] = {__NR_poll,          __NR_ppoll,        __NR_select,     __NR_pselect6,        __NR_epoll_wait,
	                            __NR_epoll_pwait,   __NR_epoll_pwait2, __NR_nanosleep,  __NR_clock_nanosleep, __NR_rt_sigtimedwait,
	                            __NR_rt_sigsuspend, __NR_pause,        __NR_semtimedop, __NR_io_getevents,    __NR_io_pgetevents,
	                            __NR_recvmmsg};
	for (u32 k = 0; k < sizeof waits / sizeof *waits; k++)
		if (waits[k] == nr)
			return true;
	return nr == __NR_futex && (regs[TW_RSI] & FUTEX_CMD_MASK) != FUTEX_WAKE;
}

/*
 * A call that would be repeated had begun, and meanwhile a signal with a handler has come: natively this one would
 * have interrupted the call. An observer that waits until the program is in a call sees it there until it runs again.
 */
static bool is_interrupted(const struct thread *t, u64 nr, const u64 *regs)
{
	const struct tw_signal_thread *s = t->signal;
	const struct ksigaction *a = &s->actions->of[s->deferred.signo];
	if (!s->broken_off || !s->deferred.signo || !tw_action_has_handler(a))
		return false;
	const bool may_restart = nr == __NR_futex || !is_wait(nr, regs);
	return !(may_restart && a->flags & SA_RESTART);
}

/*
 * Until the process has been sent a synchronous signal, only waits are made shut; another call that the first such
 * signal interrupts is repeated.
 */
static i64 make_once(struct thread *t, u64 nr, const u64 *regs, bool is_32bit)
{
	const u64 quiet = tw_pending_quiet(t);
	if (quiet && (tw_pending_seen ? !is_quick(nr) : is_wait(nr, regs)))
		return make_shut(t, regs, is_32bit, quiet);
	const i64 r = make(t, regs, is_32bit);
	return (tw_pending_marked || quiet) && !is_32bit ? take_read(t, regs, r) : r;
}

/*
 * A call interrupted by a signal that the program must not notice is repeated here, and counts as begun all the
 * while: a signal that comes meanwhile finds the program in it, as natively. It is left only if the dispatcher is
 * due.
 */
static i64 make_for(struct thread *t, u64 nr, const u64 *regs, bool is_32bit)
{
	i64 r;
	t->signal->broken_off = false;
	do {
		r = make_once(t, nr, regs, is_32bit);
	} while (r == TW_SYSCALL_ABORTED && t->signal->broken_off && !t->has_deferred && !tw_is_due(t));
	return r == TW_SYSCALL_ABORTED && is_interrupted(t, nr, regs) ? ENGINE_EINTR : r;
}

i64 tw_pass_as_made(struct thread *t)
{
	return make_for(t, t->kernel->call, t->regs, t->kernel->call32);
}

/* For larger buffers, the rest is left to chance: a call that meets a watched page there returns less. */
#define MOST_LET_GO (16ull << 20)
#define MOST_PIECES 1024

/* As the kernel defines them: struct msghdr, and the struct of recvmmsg(2). */
struct message {
	u64 name, name_bytes, pieces, n_pieces, control, control_bytes, flags;
};

struct numbered_message {
	struct message m;
	u64 bytes;
};

static void let_go(u64 start, u64 bytes)
{
	if (!bytes || start + bytes <= start)
		return;
	tw_lock(&tw_engine.lock);
	tw_memory_unwatch_range(start, bytes < MOST_LET_GO ? bytes : MOST_LET_GO);
	tw_unlock(&tw_engine.lock);
}

static void let_go_pieces(u64 at, u64 n)
{
	struct iovec v;
	for (u64 k = 0; k < n && k < MOST_PIECES && tw_copy(&v, (const void *)(at + k * sizeof v), sizeof v); k++)
		let_go((u64)v.iov_base, v.iov_len);
}

static void let_go_message(u64 at)
{
	struct message m;
	if (!tw_copy(&m, (const void *)at, sizeof m))
		return;
	let_go_pieces(m.pieces, m.n_pieces);
	let_go(m.control, m.control_bytes);
}

/*
 * Unwatches pages of code that the call is about to fill. The kernel would stop at the first watched page: data of a
 * stream would arrive in two parts, and a datagram would be lost.
 */
static void let_fill(const u64 *r)
{
	switch (r[TW_RAX]) {
	case __NR_read:
	case __NR_pread64:
	case __NR_recvfrom:
	case __NR_getdents64:
		let_go(r[TW_RSI], r[TW_RDX]);
		break;
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_process_vm_readv:
		let_go_pieces(r[TW_RSI], r[TW_RDX]);
		break;
	case __NR_process_vm_writev: /* perhaps its own */
		let_go_pieces(r[TW_R10], r[TW_R8]);
		break;
	case __NR_recvmsg:
		let_go_message(r[TW_RSI]);
		break;
	case __NR_recvmmsg:
		for (u64 k = 0; k < (u32)r[TW_RDX] && k < MOST_PIECES; k++)
			let_go_message(r[TW_RSI] + k * sizeof(struct numbered_message));
		break;
	case __NR_getrandom:
		let_go(r[TW_RDI], r[TW_RSI]);
		break;
	default:;
	}
}

/* While other threads watch and unwatch pages, one of these may have been in the way. The call is tried so often. */
#define TRIES 1000

i64 tw_pass(struct thread *t, const u64 *a)
{
	(void)a;
	if (tw_memory_watches() && !t->kernel->call32)
		let_fill(t->regs);
	for (u32 k = 0;; k++) {
		const u64 changes = tw_memory_watch_changes();
		const i64 r = tw_pass_as_made(t);
		if (r != ENGINE_EFAULT || k == TRIES)
			return r;
		tw_lock(&tw_engine.lock);
		const bool again = tw_memory_unwatch_all() || tw_memory_watch_changes() != changes;
		tw_unlock(&tw_engine.lock);
		if (!again)
			return r;
	}
}

i64 tw_pass_with(struct thread *t, u64 nr, const u64 *a)
{
	u64 regs[TW_NREGS];
	regs[TW_RAX] = nr;
	regs[TW_RDI] = a[0];
	regs[TW_RSI] = a[1];
	regs[TW_RDX] = a[2];
	regs[TW_R10] = a[3];
	regs[TW_R8] = a[4];
	regs[TW_R9] = a[5];
	return make_for(t, nr, regs, false);
}
