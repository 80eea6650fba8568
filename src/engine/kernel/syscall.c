#include "engine/kernel/syscall.h"
#include "engine/kernel/segment.h"
#include "engine/record/buffer.h"
#include "engine/signal/action.h"
#include "engine/kernel/emulate.h"
#include "engine/kernel/exec.h"
#include "engine/signal/pending.h"
#include "engine/kernel/limits.h"
#include "engine/kernel/mlock.h"
#include "engine/code/memory.h"
#include "engine/code/module.h"
#include "engine/kernel/process.h"
#include "engine/kernel/ptrace.h"
#include "engine/kernel/seccomp.h"
#include "engine/kernel/status.h"
#include "engine/kernel/traced.h"
#include "engine/code/shared.h"
#include "engine/signal/signal.h"
#include "engine/kernel/clone.h"
#include "engine/kernel/exit.h"
#include "engine/thread.h"
#include "engine/kernel/user_dispatch.h"
#include "engine/record/calls.h"
#include "engine/record/told.h"
#include "engine/record/window.h"
#include "engine/x86_64/glue.h"
#include "engine/record/instrumentor.h"
#include <asm/prctl.h>
#include <asm/fcntl.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/mman.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/personality.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/shm.h>
#include <linux/signalfd.h>
#include <linux/time.h>

#define ENGINE_ENOMEM (-12)
#define ENGINE_EINVAL (-22)
#define ENGINE_EINTR  (-4)
#define ENGINE_EFAULT (-14)
#define ENGINE_E2BIG  (-7)
#define ENGINE_ENOSYS (-38)
#define ENGINE_EEXIST (-17)
#define ENGINE_EAGAIN (-11)

#define TASK_END 0x7ffffffff000ull /* of memory that a program can have, but where it asks for more (5-level page tables) */

typedef i64 (*call_fn)(struct thread *t, const u64 *a);

static i64 make(struct thread *t, const u64 *regs, bool is_32bit)
{
	return is_32bit ? tw_app_int80(t, regs) : tw_app_syscall(t, regs);
}

/* Calls that are made often, wait for nothing and send nothing: no signal interrupts them. */
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

/* They find nothing that is pending, and what they send to this very thread must not meet a mark. */
static bool is_sender(u64 nr)
{
	return nr == __NR_kill || nr == __NR_tkill || nr == __NR_tgkill || nr == __NR_rt_sigqueueinfo || nr == __NR_rt_tgsigqueueinfo;
}

/* What a call has read, where it was read to in one piece: made what it is if it is a signalfd's. */
static i64 take_read(struct thread *t, const u64 *regs, i64 bytes)
{
	u64 piece[2] = {regs[TW_RSI], (u64)bytes};
	if ((regs[TW_RAX] != __NR_read && regs[TW_RAX] != __NR_readv) || bytes <= 0 || bytes % (i64)sizeof(struct signalfd_siginfo))
		return bytes;
	if (regs[TW_RAX] == __NR_readv && (!tw_copy(piece, (void *)regs[TW_RSI], sizeof piece) || piece[1] < (u64)bytes))
		return bytes;
	const i64 left = tw_pending_read(t, piece[0], bytes);
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

/* Calls that go by time, or are there to wait. Made again they would wait longer. */
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

/* Only waits are made shut before the process has been sent a synchronous signal: another call that the first of them interrupts is made again. */
static i64 make_for(struct thread *t, u64 nr, const u64 *regs, bool is_32bit)
{
	const u64 quiet = tw_pending_quiet(t);
	if (quiet && (tw_pending_seen ? !is_quick(nr) : is_wait(nr, regs)))
		return make_shut(t, regs, is_32bit, quiet);
	const i64 r = make(t, regs, is_32bit);
	return (tw_pending_marked || quiet) && !is_32bit ? take_read(t, regs, r) : r;
}

/* Makes the call with the registers that the application made it with. */
static i64 as_made(struct thread *t)
{
	return make_for(t, t->kernel->call, t->regs, t->kernel->call32);
}

/* Passes the call on as it is. A kernel that could not write to the application may have met a page of code that is watched. */
static i64 pass(struct thread *t, const u64 *a)
{
	i64 r = as_made(t);
	(void)a;
	if (r != ENGINE_EFAULT)
		return r;
	tw_lock(&tw_engine.lock);
	bool again = tw_memory_unwatch_all();
	tw_unlock(&tw_engine.lock);
	return again ? as_made(t) : r;
}

/* Passes it on with other arguments. */
static i64 pass_with(struct thread *t, u64 nr, const u64 *a)
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

/* ---- memory ---- */

static void tell_map(struct thread *t, u64 at, u64 length, int prot, int flags, int fd, u64 offset)
{
	char link[32], path[4096];
	struct tw_map m = {at, length, offset, (u32)prot, (u32)flags};
	i64 n = 0;
	if (!(flags & MAP_ANONYMOUS)) {
		tw_format(link, sizeof link, "/proc/self/fd/%d", fd);
		n = tw_sys(__NR_readlink, link, path, sizeof path - 1);
	}
	path[n > 0 ? n : 0] = 0;
	tw_buffer_event(t, TW_EVENT_MAP, &m, sizeof m, path, (u32)strlen(path) + 1);
	if (!(prot & PROT_EXEC))
		return;
	tw_window_mapped(path, at, length, offset);
	tw_calls_mapped(path, at, length, offset);
	tw_told_mapped(path, at, length, offset);
}

static void tell_unmap(struct thread *t, u64 at, u64 length)
{
	struct tw_unmap u = {at, length};
	tw_buffer_event(t, TW_EVENT_UNMAP, &u, sizeof u, NULL, 0);
}

/* Memory that is no file's: the heap that brk gives, a segment of shared memory. */
static void tell_memory(struct thread *t, u64 at, u64 length, u32 prot, u32 flags, const char *name)
{
	struct tw_map m = {at, length, 0, prot, flags};
	tw_buffer_event(t, TW_EVENT_MAP, &m, sizeof m, name, (u32)strlen(name) + 1);
}

/* Where ld.so wants a library: a private file mapping marked as one (MAP_DENYWRITE), or anything executable, without a place of its own. */
static bool wants_arena(const u64 *a)
{
	int prot = (int)a[2], flags = (int)a[3];
	if (a[0] || (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN)) || a[1] > (256u << 20))
		return false;
	return (flags & MAP_DENYWRITE) || (prot & PROT_EXEC);
}

/* Has the application asked for the personality in which all that can be read can be executed, as GNU Common Lisp does? execve ends it. */
static bool read_implies_exec;

/* The protection that the kernel gives memory for which the application asks this. */
static int effective(u64 prot)
{
	return (int)prot | (read_implies_exec && (prot & PROT_READ) ? PROT_EXEC : 0);
}

/* mmap with these arguments has given `at`. */
static void note_map(u64 at, const u64 *a)
{
	tw_memory_protected(at, a[1], effective(a[2]));
	tw_shared_mapped(at, a[1], effective(a[2]), (int)a[3], (int)a[4], a[5]);
	tw_module_mapped((int)a[4], at, tw_page_up(a[1]), a[5], effective(a[2]), (int)a[3]);
}

static i64 sys_mmap(struct thread *t, const u64 *a)
{
	u64 b[6];
	memcpy(b, a, sizeof b);
	if ((a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && tw_memory_is_engine(a[0], a[1]))
		return a[3] & MAP_FIXED_NOREPLACE ? ENGINE_EEXIST : ENGINE_ENOMEM;
	tw_lock(&tw_engine.lock);
	u64 place = wants_arena(a) ? tw_memory_place(a[1]) : 0;
	if (place) {
		b[0] = place;
		b[3] |= MAP_FIXED_NOREPLACE;
	}
	i64 r = pass_with(t, __NR_mmap, b);
	if (tw_failed(r) && place && r != TW_SYSCALL_ABORTED)
		r = pass_with(t, __NR_mmap, a);
	if (!tw_failed(r) && r != TW_SYSCALL_ABORTED && !tw_mlock_mapped((u64)r, a[1])) {
		tw_sys(__NR_munmap, r, a[1], 0);
		r = ENGINE_EAGAIN;
	}
	if (!tw_failed(r))
		note_map((u64)r, a);
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r))
		tell_map(t, (u64)r, a[1], effective(a[2]), (int)a[3], (int)a[4], a[5]);
	return r;
}

/* Of what is between the engine's own. EINVAL: there is nothing. */
static i64 unmap_around(u64 at, u64 end)
{
	i64 r = ENGINE_EINVAL;
	for (u64 start, next; at < end; at = next) {
		if (!tw_memory_next_engine(at, &start, &next) || start > end)
			start = next = end;
		if (start > at)
			r = tw_sys(__NR_munmap, at, start - at, 0);
	}
	return r;
}

static i64 sys_munmap(struct thread *t, const u64 *a)
{
	const bool around = !(a[0] % TW_PAGE) && a[0] + a[1] > a[0] && a[0] + a[1] <= TASK_END && tw_memory_is_engine(a[0], a[1]);
	tw_lock(&tw_engine.lock);
	i64 r = around ? unmap_around(a[0], a[0] + tw_page_up(a[1])) : as_made(t);
	if (!tw_failed(r)) {
		tw_memory_protected(a[0], a[1], PROT_NONE);
		tw_shared_unmapped(a[0], a[0] + tw_page_up(a[1]));
		tw_calls_unmapped(a[0], a[0] + tw_page_up(a[1]));
	}
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r))
		tell_unmap(t, a[0], a[1]);
	return r;
}

static void note_protection(u64 start, u64 length, int prot)
{
	tw_memory_protected(start, length, prot);
	tw_shared_protected(start, start + tw_page_up(length), prot);
}

/* How much of this is mapped, from its start on. */
static u64 mapped_bytes(u64 start, u64 length)
{
	u64 n = 0;
	while (n < length && tw_engine_mapped(start + n))
		n += TW_PAGE;
	return n;
}

static i64 sys_mprotect(struct thread *t, const u64 *a)
{
	if (tw_memory_is_engine(a[0], a[1]))
		return ENGINE_ENOMEM;
	tw_lock(&tw_engine.lock);
	if (a[2] & PROT_GROWSDOWN) /* goes down to where the kernel's mapping begins, for which watched pages are others */
		tw_memory_unwatch_stack(a[0] + tw_page_up(a[1]));
	i64 r = as_made(t);
	if (!tw_failed(r) && (a[2] & PROT_GROWSDOWN))
		tw_memory_stack_protected(a[0] + tw_page_up(a[1]), effective(a[2]));
	else if (!tw_failed(r))
		note_protection(a[0], a[1], effective(a[2]));
	else if (r == ENGINE_ENOMEM) /* a hole: what is before it has been protected */
		note_protection(a[0], mapped_bytes(a[0], a[1]), effective(a[2]));
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r) && (effective(a[2]) & PROT_EXEC))
		tell_map(t, a[0], a[1], effective(a[2]), MAP_ANONYMOUS, -1, 0);
	return r;
}

static i64 sys_mremap(struct thread *t, const u64 *a)
{
	if (tw_memory_is_engine(a[0], a[1]) || ((a[3] & MREMAP_FIXED) && tw_memory_is_engine(a[4], a[2])))
		return ENGINE_EINVAL;
	u64 end;
	tw_lock(&tw_engine.lock);
	int prot = !tw_memory_executable(a[0], &end) ? 0 : PROT_READ | PROT_EXEC | (tw_memory_writable_code(a[0]) ? PROT_WRITE : 0);
	/* A watched page is a mapping of its own to the kernel, which moves but one, and moves protections too. */
	if ((prot & PROT_WRITE) || tw_shared_any(a[0], a[0] + a[1]))
		tw_memory_unwatch_range(a[0], a[1]);
	i64 r = as_made(t);
	if (!tw_failed(r)) {
		tw_memory_protected(a[0], a[1], a[3] & MREMAP_DONTUNMAP ? prot : PROT_NONE);
		tw_memory_protected((u64)r, a[2], prot);
		tw_shared_moved(a[0], a[1], (u64)r, a[2], (a[3] & MREMAP_DONTUNMAP) != 0);
	}
	tw_unlock(&tw_engine.lock);
	return r;
}

/* As long as it is attached, it can be executed; its size is the segment's. */
static i64 sys_shmat(struct thread *t, const u64 *a)
{
	struct shmid64_ds segment;
	const bool known = (a[2] & (SHM_EXEC | SHM_REMAP)) && !tw_sys(__NR_shmctl, a[0], IPC_STAT, &segment);
	if ((a[2] & SHM_REMAP) && known && tw_memory_is_engine(a[1], segment.shm_segsz))
		return ENGINE_EINVAL;
	tw_lock(&tw_engine.lock);
	i64 r = as_made(t);
	if (!tw_failed(r) && known)
		tw_memory_protected((u64)r, segment.shm_segsz,
		                    PROT_READ | (a[2] & SHM_EXEC ? PROT_EXEC : 0) | (a[2] & SHM_RDONLY ? 0 : PROT_WRITE));
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r) && (known || !tw_sys(__NR_shmctl, a[0], IPC_STAT, &segment)))
		tell_memory(t, (u64)r, segment.shm_segsz, PROT_READ | (a[2] & SHM_RDONLY ? 0 : PROT_WRITE), MAP_SHARED, "[shm]");
	return r;
}

static i64 sys_shmdt(struct thread *t, const u64 *a)
{
	u64 end;
	tw_lock(&tw_engine.lock);
	bool code = tw_memory_executable(a[0], &end);
	if (code) /* the kernel detaches what is mapped as one */
		tw_memory_unwatch_range(a[0], end - a[0]);
	i64 r = as_made(t);
	if (!tw_failed(r) && code)
		tw_memory_written(a[0], end - 1);
	tw_unlock(&tw_engine.lock);
	return r;
}

static i64 sys_brk(struct thread *t, const u64 *a)
{
	tw_lock(&tw_engine.lock);
	u64 now = tw_memory_brk(0), before = tw_page_up(now), r = tw_memory_brk(a[0]), after = tw_page_up(r);
	if (after > before && !tw_mlock_mapped(before, after - before)) {
		r = tw_memory_brk(now);
		after = before;
	}
	if (after > before)
		tw_memory_protected(before, after - before, effective(PROT_READ | PROT_WRITE));
	else if (after < before)
		tw_memory_protected(after, before - after, PROT_NONE);
	tw_unlock(&tw_engine.lock);
	if (after > before)
		tell_memory(t, before, after - before, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, "[heap]");
	else if (after < before)
		tell_unmap(t, after, before - after);
	return (i64)r;
}

static i64 sys_mlockall(struct thread *t, const u64 *a)
{
	tw_lock(&tw_engine.lock);
	const i64 r = tw_mlock_all(a[0]);
	tw_unlock(&tw_engine.lock);
	return r == TW_MLOCK_PASS ? pass(t, a) : r;
}

static i64 sys_munlockall(struct thread *t, const u64 *a)
{
	tw_munlock_all();
	return pass(t, a);
}

static i64 sys_madvise(struct thread *t, const u64 *a)
{
	return tw_memory_is_engine(a[0], a[1]) ? ENGINE_EINVAL : pass(t, a);
}

static i64 sys_personality(struct thread *t, const u64 *a)
{
	i64 r = pass(t, a);
	if (!tw_failed(r) && (u32)a[0] != ~0u)
		read_implies_exec = (a[0] & READ_IMPLIES_EXEC) != 0;
	return r;
}

/* ---- signals ---- */

static i64 sys_sigaction(struct thread *t, const u64 *a)
{
	return tw_action_set(t, (int)a[0], a[1], a[2], a[3]);
}

static i64 sys_sigprocmask(struct thread *t, const u64 *a)
{
	return tw_signal_procmask(t, (int)a[0], a[1], a[2], a[3]);
}

static i64 sys_sigaltstack(struct thread *t, const u64 *a)
{
	return tw_signal_altstack(t, a[0], a[1]);
}

static i64 sys_sigpending(struct thread *t, const u64 *a)
{
	i64 r = tw_pending_sigpending(t, a[0], a[1]);
	return r == TW_PENDING_PASS ? pass(t, a) : r;
}

static i64 now(void)
{
	struct __kernel_timespec ts;
	tw_sys(__NR_clock_gettime, CLOCK_MONOTONIC, &ts, 0);
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* sigtimedwait by the kernel, as long as it gives what is not to be given. */
static i64 wait_for(struct thread *t, const u64 *a)
{
	siginfo_t info;
	struct __kernel_timespec left;
	u64 b[6] = {a[0], (u64)&info, a[2], a[3]};
	i64 r;
	const bool timed =
	    a[2] && tw_copy(&left, (void *)a[2], sizeof left) && left.tv_sec >= 0 && left.tv_sec < 1ll << 32 && left.tv_nsec >= 0;
	const i64 end = timed ? now() + left.tv_sec * 1000000000 + left.tv_nsec : 0;
	while (tw_pending_goes_on(t, a[0], r = pass_with(t, __NR_rt_sigtimedwait, b), &info)) {
		const i64 rest = timed && end > now() ? end - now() : 0;
		left = (struct __kernel_timespec){rest / 1000000000, rest % 1000000000};
		b[2] = timed ? (u64)&left : a[2];
	}
	return r > 0 && a[1] && !tw_copy((void *)a[1], &info, sizeof info) ? ENGINE_EFAULT : r;
}

static i64 sys_sigtimedwait(struct thread *t, const u64 *a)
{
	i64 r = tw_pending_sigtimedwait(t, a[0], a[1], a[3]);
	return r == TW_PENDING_PASS ? wait_for(t, a) : r;
}

/* Nobody blocks this signal outside the wait: one that comes before it has begun came before the call. */
static bool came_before(const struct thread *t)
{
	return !(t->signal->mask >> (t->signal->deferred.signo - 1) & 1);
}

/*
 * A call that waits under the mask at `set`, if there is one. A signal that ends it finds that mask in force. `with`: the arguments as they are with the mask that the kernel
 * is to have, at thread.signal.kernel_wait_mask, where that is another, since ignored signals are not to end the wait.
 */
static i64 wait_under(struct thread *t, const u64 *a, u64 set, u64 size, const u64 *with)
{
	struct tw_signal_thread *s = t->signal;
	if (!set || size != sizeof s->wait_mask || !tw_copy(&s->wait_mask, (void *)set, sizeof s->wait_mask))
		return pass(t, a);
	s->kernel_wait_mask = s->wait_mask | s->actions->ignored;
	__atomic_store_n(&s->waiting, true, __ATOMIC_SEQ_CST);
	i64 r = ENGINE_EINTR;
	if (!tw_pending_release(t, tw_signal_mask(t)))
		r = s->kernel_wait_mask == s->wait_mask ? pass(t, a) : pass_with(t, t->kernel->call, with);
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

static i64 sys_sigsuspend(struct thread *t, const u64 *a)
{
	return wait_under_at(t, a, 0, a[1]);
}

static i64 sys_ppoll(struct thread *t, const u64 *a)
{
	return wait_under_at(t, a, 3, a[4]);
}

/* epoll_pwait, epoll_pwait2 */
static i64 sys_epoll_pwait(struct thread *t, const u64 *a)
{
	return wait_under_at(t, a, 4, a[5]);
}

/* pselect6, io_pgetevents: the sixth argument points to the set and its size */
static i64 sys_pselect(struct thread *t, const u64 *a)
{
	const u64 own[2] = {(u64)&t->signal->kernel_wait_mask, sizeof t->signal->kernel_wait_mask};
	const u64 with[6] = {a[0], a[1], a[2], a[3], a[4], (u64)own};
	u64 set[2];
	return a[5] && tw_copy(set, (void *)a[5], sizeof set) ? wait_under(t, a, set[0], set[1], with) : pass(t, a);
}

/* Sent to one thread: the kernel does not say so when it comes. */
static i64 sys_tgsigqueueinfo(struct thread *t, const u64 *a)
{
	const int signo = (int)a[2];
	if ((u32)a[0] == t->pid && signo > 0 && signo <= 64 && tw_signal_is_sync(signo))
		tw_pending_directed(t, (u32)a[1], signo);
	return pass(t, a);
}

/* ---- threads and processes ---- */

static i64 sys_clone(struct thread *t, const u64 *a)
{
	struct tw_clone c = {
	    .args = {.flags = a[0] & 0xffffff00u, .exit_signal = a[0] & 0xff, .stack = a[1], .child_tid = a[3], .tls = a[4]}};
	c.args.parent_tid = c.args.pidfd = a[2]; /* one or the other, by flag */
	return tw_thread_clone(t, &c);
}

static i64 sys_clone3(struct thread *t, const u64 *a)
{
	struct tw_clone c = {.size = a[1], .modern = true};
	if (a[1] < CLONE_ARGS_SIZE_VER0)
		return ENGINE_EINVAL;
	if (a[1] > TW_PAGE)
		return ENGINE_E2BIG;
	if (c.size > sizeof c.args)
		c.size = sizeof c.args;
	if (!tw_copy(&c.args, (void *)a[0], c.size))
		return ENGINE_EFAULT;
	for (u64 at = c.size; at < a[1]; at++) { /* as a kernel that knows no more than this engine */
		u8 more;
		if (!tw_copy(&more, (void *)(a[0] + at), 1))
			return ENGINE_EFAULT;
		if (more)
			return ENGINE_E2BIG;
	}
	if (!c.args.stack != !c.args.stack_size)
		return ENGINE_EINVAL;
	return tw_thread_clone(t, &c);
}

static i64 sys_fork(struct thread *t, const u64 *a)
{
	const struct tw_clone c = {.args = {.exit_signal = SIGCHLD}};
	(void)a;
	return tw_thread_clone(t, &c);
}

static i64 sys_vfork(struct thread *t, const u64 *a)
{
	const struct tw_clone c = {.args = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD}};
	(void)a;
	return tw_thread_clone(t, &c);
}

static i64 sys_exit(struct thread *t, const u64 *a)
{
	tw_thread_exit(t, (i32)a[0], false);
}

static i64 sys_exit_group(struct thread *t, const u64 *a)
{
	tw_thread_exit(t, (i32)a[0], true);
}

static i64 sys_unshare(struct thread *t, const u64 *a)
{
	if (a[0] & CLONE_NEWPID)
		tw_process_tell_namespace();
	return pass(t, a);
}

static i64 sys_setns(struct thread *t, const u64 *a)
{
	if (!a[1] || (a[1] & CLONE_NEWPID))
		tw_process_tell_namespace();
	return pass(t, a);
}

/* sched_setscheduler, sched_setattr: perhaps in real time from now on. */
static i64 sys_schedule(struct thread *t, const u64 *a)
{
	tw_lock_inherit();
	return pass(t, a);
}

static i64 sys_execve(struct thread *t, const u64 *a)
{
	return tw_exec(t, AT_FDCWD, a[0], a[1], a[2], 0);
}

static i64 sys_execveat(struct thread *t, const u64 *a)
{
	return tw_exec(t, (int)a[0], a[1], a[2], a[3], (int)a[4]);
}

/* A stop of `tid` that a recorded thread has made by itself, at a system call (traced.h): told from others where its tracer asked for that. */
static void show_call_stop(u32 tid, i32 *status, i32 plain, i32 good)
{
	i32 s;
	if (tw_copy(&s, status, sizeof s) && s == plain && tw_ptrace_is_call(tid))
		tw_copy(status, &good, sizeof good);
}

static void show_call_stop_info(siginfo_t *info)
{
	siginfo_t i;
	if (tw_copy(&i, info, sizeof i) && i.si_signo == SIGCHLD && i.si_code == CLD_TRAPPED)
		show_call_stop((u32)i.si_pid, &info->si_status, SIGTRAP, SIGTRAP | 0x80);
}

/* A stop of `tid` that its tracer is not to see, which has been let go on: then `status` is what it was before. */
static bool hide_stop(u32 tid, i32 *status, i32 before)
{
	i32 s;
	if (!tw_copy(&s, status, sizeof s) || (s & 0xff) != 0x7f || s >> 16 || !tw_ptrace_hide(tid, s >> 8))
		return false;
	tw_copy(status, &before, sizeof before);
	return true;
}

static bool hide_stop_info(const siginfo_t *info)
{
	siginfo_t i;
	return tw_copy(&i, info, sizeof i) && i.si_signo == SIGCHLD && i.si_code == CLD_TRAPPED &&
	       tw_ptrace_hide((u32)i.si_pid, i.si_status);
}

/* The recording is told how the child ended, whether or not the application asks. */
static i64 sys_wait4(struct thread *t, const u64 *a)
{
	i32 own, before = 0;
	u64 b[6] = {a[0], a[1] ? a[1] : (u64)&own, a[2], a[3]};
	i64 r;
	tw_copy(&before, (const i32 *)b[1], sizeof before);
	do
		r = pass_with(t, __NR_wait4, b);
	while (r > 0 && hide_stop((u32)r, (i32 *)b[1], before));
	if (r > 0)
		show_call_stop((u32)r, (i32 *)b[1], SIGTRAP << 8 | 0x7f, (SIGTRAP | 0x80) << 8 | 0x7f);
	tw_process_tell_wait4(t, r, (const i32 *)b[1]);
	return r;
}

static i64 sys_waitid(struct thread *t, const u64 *a)
{
	siginfo_t own;
	u64 b[6] = {a[0], a[1], a[2] ? a[2] : (u64)&own, a[3], a[4]};
	i64 r;
	do
		r = pass_with(t, __NR_waitid, b);
	while (!r && hide_stop_info((const siginfo_t *)b[2]));
	if (!r)
		show_call_stop_info((siginfo_t *)b[2]);
	tw_process_tell_waitid(t, r, (const siginfo_t *)b[2]);
	return r;
}

static i64 sys_ptrace(struct thread *t, const u64 *a)
{
	i64 r = 0;
	const u64 going_on[6] = {PTRACE_CONT, a[1], a[2], a[3]};
	switch (tw_ptrace_begin(a, &r)) {
	case TW_PTRACE_ANSWERED:
		return r;
	case TW_PTRACE_CONTINUE:
		return pass_with(t, __NR_ptrace, going_on);
	case TW_PTRACE_PASS:
		break;
	}
	if (a[0] == PTRACE_ATTACH) {
		tw_lock(&tw_engine.lock);
		r = as_made(t);
		if (!r)
			tw_ptrace_await((u32)a[1]);
		tw_unlock(&tw_engine.lock);
	} else {
		r = pass(t, a);
	}
	tw_ptrace_show(a, &r);
	t->signal->traced |= a[0] == PTRACE_TRACEME && !r;
	return r;
}

/* ---- what names the program ---- */

static i64 give_exe(const char *exe, u64 buf, u64 size)
{
	u64 n = strlen(exe);
	n = n < size ? n : size;
	if ((i64)size <= 0)
		return ENGINE_EINVAL;
	return tw_copy((void *)buf, exe, n) ? (i64)n : ENGINE_EFAULT;
}

static i64 sys_readlink(struct thread *t, const u64 *a)
{
	const char *exe = tw_process_exe(AT_FDCWD, a[0]);
	return exe ? give_exe(exe, a[1], a[2]) : pass(t, a);
}

static i64 sys_readlinkat(struct thread *t, const u64 *a)
{
	const char *exe = tw_process_exe((i32)a[0], a[1]);
	return exe ? give_exe(exe, a[2], a[3]) : pass(t, a);
}

/* The call as it is, but for a path that names a program through /proc: argument `k`; before it stands, if anything, the directory. */
static i64 follow_exe(struct thread *t, const u64 *a, unsigned k, u64 not_if)
{
	const char *exe = not_if ? NULL : tw_process_exe(k ? (i32)a[k - 1] : AT_FDCWD, a[k]);
	u64 b[6];
	if (!exe)
		return pass(t, a);
	memcpy(b, a, sizeof b);
	b[k] = (u64)exe;
	return pass_with(t, t->kernel->call, b);
}

/* What an open has given: it may be a file that is to be read otherwise. */
static i64 opened(i64 fd, u64 path)
{
	tw_status_opened(fd, path);
	return fd;
}

static i64 sys_open(struct thread *t, const u64 *a)
{
	return opened(follow_exe(t, a, 0, a[1] & O_NOFOLLOW), a[0]);
}

/* stat, access, statfs, getxattr, listxattr */
static i64 sys_path(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 0, 0);
}

static i64 sys_openat(struct thread *t, const u64 *a)
{
	return opened(follow_exe(t, a, 1, a[2] & O_NOFOLLOW), a[1]);
}

/* How a path is to be resolved (RESOLVE_*) excludes such links, each in its way; where they are in a cache only, the kernel does not follow them either. */
static i64 sys_openat2(struct thread *t, const u64 *a)
{
	struct open_how how = {0};
	const bool follows = a[3] >= sizeof how && tw_copy(&how, (const void *)a[2], sizeof how) && !how.resolve;
	return opened(follow_exe(t, a, 1, !follows || (how.flags & O_NOFOLLOW)), a[1]);
}

static i64 sys_faccessat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, 0);
}

static i64 sys_faccessat2(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[3] & AT_SYMLINK_NOFOLLOW);
}

static i64 sys_newfstatat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[3] & AT_SYMLINK_NOFOLLOW);
}

static i64 sys_statx(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[2] & AT_SYMLINK_NOFOLLOW);
}

/* ---- reads ---- */

static i64 position(u64 fd)
{
	return tw_sys(__NR_lseek, fd, 0, SEEK_CUR);
}

/* The same for a read of one piece, at the file's position. */
static i64 read_piece(struct thread *t, const u64 *a, u64 to, u64 n)
{
	i64 r = tw_status_known(a[0]) ? tw_status_read(a[0], (u64)position(a[0]), to, n, true) : TW_STATUS_PASS;
	if (r != TW_STATUS_PASS)
		return r;
	r = pass(t, a);
	if (!tw_status_begins(to, r) || position(a[0]) != r)
		return r;
	const i64 again = tw_status_read(a[0], 0, to, n, true);
	return again == TW_STATUS_PASS ? r : again;
}

static i64 sys_read(struct thread *t, const u64 *a)
{
	return read_piece(t, a, a[1], a[2]);
}

/* Into the first of several pieces: it may give less than all of them would take. */
static i64 sys_readv(struct thread *t, const u64 *a)
{
	u64 piece[2];
	return a[2] && tw_copy(piece, (void *)a[1], sizeof piece) ? read_piece(t, a, piece[0], piece[1]) : pass(t, a);
}

static i64 sys_pread64(struct thread *t, const u64 *a)
{
	i64 r = tw_status_known(a[0]) ? tw_status_read(a[0], a[3], a[1], a[2], false) : TW_STATUS_PASS;
	if (r != TW_STATUS_PASS)
		return r;
	r = pass(t, a);
	if (a[3] || !tw_status_begins(a[1], r))
		return r;
	const i64 again = tw_status_read(a[0], 0, a[1], a[2], false);
	return again == TW_STATUS_PASS ? r : again;
}

/* ---- the rest ---- */

static i64 sys_prlimit64(struct thread *t, const u64 *a)
{
	(void)t;
	return tw_limits_prlimit((u32)a[0], (u32)a[1], a[2], a[3]);
}

static i64 sys_setrlimit(struct thread *t, const u64 *a)
{
	(void)t;
	return a[1] ? tw_limits_prlimit(0, (u32)a[0], a[1], 0) : ENGINE_EFAULT;
}

static i64 sys_getrlimit(struct thread *t, const u64 *a)
{
	(void)t;
	return a[1] ? tw_limits_prlimit(0, (u32)a[0], 0, a[1]) : ENGINE_EFAULT;
}

static i64 sys_arch_prctl(struct thread *t, const u64 *a)
{
	switch (a[0]) {
	case ARCH_SET_FS:
		return tw_set_segment(t, TW_SEG_FS, a[1]);
	case ARCH_SET_GS:
		return tw_set_segment(t, TW_SEG_GS, a[1]);
	case ARCH_GET_GS:
		return tw_copy((void *)a[1], &t->app_gs, 8) ? 0 : ENGINE_EFAULT;
	default:
		return pass(t, a);
	}
}

static i64 sys_seccomp(struct thread *t, const u64 *a)
{
	i64 r = tw_seccomp(t, a[0], a[1], a[2]);
	return r == TW_SECCOMP_PASS ? pass(t, a) : r;
}

static i64 sys_prctl(struct thread *t, const u64 *a)
{
	if ((u32)a[0] == PR_SET_SYSCALL_USER_DISPATCH)
		return tw_user_dispatch_set(t, a[1], a[2], a[3], a[4]);
	i64 r = tw_seccomp_prctl(t, a[0], a[1], a[2]);
	return r == TW_SECCOMP_PASS ? pass(t, a) : r;
}

/* A registered rseq area would have the kernel move a thread out of translated code; refused, as by a kernel without it. */
static i64 sys_rseq(struct thread *t, const u64 *a)
{
	(void)t, (void)a;
	return ENGINE_ENOSYS;
}

/* Nor can rseq's own kind of barrier be had, then. */
static i64 sys_membarrier(struct thread *t, const u64 *a)
{
	const i64 rseq = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ;
	if ((i32)a[0] & rseq)
		return ENGINE_EINVAL;
	i64 r = pass(t, a);
	return (i32)a[0] == MEMBARRIER_CMD_QUERY && !tw_failed(r) ? r & ~rseq : r;
}

static const call_fn table[] = {
    [__NR_mmap] = sys_mmap,
    [__NR_munmap] = sys_munmap,
    [__NR_mprotect] = sys_mprotect,
    [__NR_pkey_mprotect] = sys_mprotect,
    [__NR_mremap] = sys_mremap,
    [__NR_madvise] = sys_madvise,
    [__NR_mlockall] = sys_mlockall,
    [__NR_munlockall] = sys_munlockall,
    [__NR_shmat] = sys_shmat,
    [__NR_shmdt] = sys_shmdt,
    [__NR_brk] = sys_brk,
    [__NR_rt_sigaction] = sys_sigaction,
    [__NR_rt_sigprocmask] = sys_sigprocmask,
    [__NR_sigaltstack] = sys_sigaltstack,
    [__NR_rt_sigpending] = sys_sigpending,
    [__NR_rt_sigtimedwait] = sys_sigtimedwait,
    [__NR_rt_tgsigqueueinfo] = sys_tgsigqueueinfo,
    [__NR_rt_sigsuspend] = sys_sigsuspend,
    [__NR_ppoll] = sys_ppoll,
    [__NR_pselect6] = sys_pselect,
    [__NR_io_pgetevents] = sys_pselect,
    [__NR_epoll_pwait] = sys_epoll_pwait,
    [__NR_epoll_pwait2] = sys_epoll_pwait,
    [__NR_clone] = sys_clone,
    [__NR_clone3] = sys_clone3,
    [__NR_fork] = sys_fork,
    [__NR_vfork] = sys_vfork,
    [__NR_exit] = sys_exit,
    [__NR_exit_group] = sys_exit_group,
    [__NR_unshare] = sys_unshare,
    [__NR_setns] = sys_setns,
    [__NR_sched_setscheduler] = sys_schedule,
    [__NR_sched_setattr] = sys_schedule,
    [__NR_execve] = sys_execve,
    [__NR_execveat] = sys_execveat,
    [__NR_wait4] = sys_wait4,
    [__NR_waitid] = sys_waitid,
    [__NR_ptrace] = sys_ptrace,
    [__NR_readlink] = sys_readlink,
    [__NR_readlinkat] = sys_readlinkat,
    [__NR_open] = sys_open,
    [__NR_read] = sys_read,
    [__NR_readv] = sys_readv,
    [__NR_pread64] = sys_pread64,
    [__NR_stat] = sys_path,
    [__NR_access] = sys_path,
    [__NR_statfs] = sys_path,
    [__NR_getxattr] = sys_path,
    [__NR_listxattr] = sys_path,
    [__NR_openat] = sys_openat,
    [__NR_openat2] = sys_openat2,
    [__NR_faccessat] = sys_faccessat,
    [__NR_faccessat2] = sys_faccessat2,
    [__NR_newfstatat] = sys_newfstatat,
    [__NR_statx] = sys_statx,
    [__NR_prlimit64] = sys_prlimit64,
    [__NR_setrlimit] = sys_setrlimit,
    [__NR_getrlimit] = sys_getrlimit,
    [__NR_arch_prctl] = sys_arch_prctl,
    [__NR_rseq] = sys_rseq,
    [__NR_membarrier] = sys_membarrier,
    [__NR_seccomp] = sys_seccomp,
    [__NR_personality] = sys_personality,
    [__NR_prctl] = sys_prctl,
};

i64 tw_syscall_do(struct thread *t, u64 nr, bool is_32bit, const u64 *a)
{
	call_fn fn = nr < sizeof table / sizeof *table && table[nr] ? table[nr] : pass;
	t->kernel->call = nr;
	t->kernel->call32 = is_32bit;
	return fn(t, a);
}

/* Which arguments of a call are names of files: a bit for each. */
static const u8 path_arguments[] = {
    [__NR_open] = 1,         [__NR_stat] = 1,       [__NR_lstat] = 1,      [__NR_access] = 1,   [__NR_execve] = 1,
    [__NR_truncate] = 1,     [__NR_chdir] = 1,      [__NR_rename] = 3,     [__NR_mkdir] = 1,    [__NR_rmdir] = 1,
    [__NR_creat] = 1,        [__NR_link] = 3,       [__NR_unlink] = 1,     [__NR_symlink] = 3,  [__NR_readlink] = 1,
    [__NR_chmod] = 1,        [__NR_chown] = 1,      [__NR_lchown] = 1,     [__NR_mknod] = 1,    [__NR_statfs] = 1,
    [__NR_chroot] = 1,       [__NR_getxattr] = 1,   [__NR_utimes] = 1,     [__NR_openat] = 2,   [__NR_mkdirat] = 2,
    [__NR_mknodat] = 2,      [__NR_fchownat] = 2,   [__NR_newfstatat] = 2, [__NR_unlinkat] = 2, [__NR_renameat] = 10,
    [__NR_linkat] = 10,      [__NR_symlinkat] = 5,  [__NR_readlinkat] = 2, [__NR_fchmodat] = 2, [__NR_faccessat] = 2,
    [__NR_utimensat] = 2,    [__NR_renameat2] = 10, [__NR_statx] = 2,      [__NR_openat2] = 2,  [__NR_faccessat2] = 2,
    [__NR_memfd_create] = 1,
};
enum { PATH_SHOWN = 256 }; /* of one that is longer only the beginning is told */

/* The names of files among the arguments, one after the other with a NUL behind each; returns how many bytes they are. */
static u32 put_paths(char *to, u64 nr, const u64 *a)
{
	const u8 which = nr < sizeof path_arguments ? path_arguments[nr] : 0;
	u32 n = 0;
	for (u32 i = 0; i < 6; i++) {
		if (!(which >> i & 1))
			continue;
		if (!tw_copy_string(to + n, (const char *)a[i], PATH_SHOWN))
			to[n + PATH_SHOWN - 1] = 0;
		n += (u32)strlen(to + n) + 1;
	}
	return n;
}

void tw_syscall_tell(struct thread *t, u64 nr, const u64 *a, i64 result, u64 began, u64 pc)
{
	char paths[2 * PATH_SHOWN] = "";
	if (!tw_recorder.whole->records)
		return;
	const u32 n = put_paths(paths, nr, a);
	struct tw_syscall e = {nr, {a[0], a[1], a[2], a[3], a[4], a[5]}, result, tw_buffer_time(t), began, pc};
	tw_buffer_event(t, TW_EVENT_SYSCALL, &e, sizeof e, paths, n);
}

static void make_saved(struct thread *t)
{
	u64 nr = t->regs[TW_RAX];
	const u64 a[6] = {t->regs[TW_RDI], t->regs[TW_RSI], t->regs[TW_RDX], t->regs[TW_R10], t->regs[TW_R8], t->regs[TW_R9]};
	i64 r = 0;
	if (t->kernel->user_dispatch.on && tw_user_dispatch_takes(t))
		return;
	const bool allowed = !tw_seccomp_used(t) || tw_seccomp_allows(t, &r);
	if (r == SECCOMP_ANSWERED)
		return;
	if (allowed && nr == __NR_rt_sigreturn) {
		tw_signal_return(t);
		return;
	}
	t->regs[TW_RCX] = t->pc;
	t->regs[TW_R11] = t->flags;
	const u64 pc = t->pc - TW_SYSCALL_BYTES, began = tw_recorder.whole->records ? tw_tsc() : 0;
	if (began)
		tw_buffer_hand_over(t, began);
	t->signal->trapped_pc = t->pc; /* of interest only while TF is set: the next trap comes after the next instruction */
	if (allowed)
		r = tw_syscall_do(t, nr, false, a);
	if (r == TW_SYSCALL_ABORTED) {
		t->pc -= TW_SYSCALL_BYTES; /* made again after the signal */
		return;
	}
	t->regs[TW_RAX] = (u64)r;
	tw_syscall_tell(t, nr, a, r, began, pc);
}

void tw_syscall(struct thread *t)
{
	if (t->kernel->traced.stops)
		tw_traced_syscall(t, make_saved);
	else
		make_saved(t);
	tw_traced_replace(t);
}
