#include "engine/syscall.h"
#include "engine/buffer.h"
#include "engine/action.h"
#include "engine/emulate.h"
#include "engine/exec.h"
#include "engine/held.h"
#include "engine/limits.h"
#include "engine/memory.h"
#include "engine/module.h"
#include "engine/process.h"
#include "engine/ptrace.h"
#include "engine/seccomp.h"
#include "engine/shared.h"
#include "engine/signal.h"
#include "engine/thread.h"
#include "engine/user_dispatch.h"
#include "engine/window.h"
#include "engine/x86_64/glue.h"
#include "instrument/instrumentor.h"
#include <asm/prctl.h>
#include <asm/fcntl.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/membarrier.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/personality.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/shm.h>

#define ENGINE_ENOMEM (-12)
#define ENGINE_EINVAL (-22)
#define ENGINE_EINTR  (-4)
#define ENGINE_EFAULT (-14)
#define ENGINE_E2BIG  (-7)
#define ENGINE_ENOSYS (-38)
#define ENGINE_EEXIST (-17)

typedef i64 (*call_fn)(struct thread *t, const u64 *a);

/* Makes the call with the registers that the application made it with. */
static i64 as_made(struct thread *t)
{
	return t->call32 ? tw_app_int80(t, t->regs) : tw_app_syscall(t, t->regs);
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
	return tw_app_syscall(t, regs);
}

/* ---- memory ---- */

static void tell_map(struct thread *t, u64 at, u64 length, int prot, int flags, int fd, u64 offset)
{
	char link[32], path[4096];
	struct tw_map m = {at, length, offset, (u32)prot, (u32)flags};
	i64 n = 0;
	if (!(prot & PROT_EXEC))
		return;
	if (!(flags & MAP_ANONYMOUS)) {
		tw_format(link, sizeof link, "/proc/self/fd/%d", fd);
		n = tw_sys(__NR_readlink, link, path, sizeof path - 1);
	}
	path[n > 0 ? n : 0] = 0;
	tw_buffer_event(t, TW_EVENT_MAP, &m, sizeof m, path, (u32)strlen(path) + 1);
	tw_window_mapped(path, at, length, offset);
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
	if (!tw_failed(r))
		note_map((u64)r, a);
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r))
		tell_map(t, (u64)r, a[1], effective(a[2]), (int)a[3], (int)a[4], a[5]);
	return r;
}

static i64 sys_munmap(struct thread *t, const u64 *a)
{
	if (tw_memory_is_engine(a[0], a[1]))
		return ENGINE_EINVAL;
	tw_lock(&tw_engine.lock);
	i64 r = as_made(t);
	if (!tw_failed(r)) {
		tw_memory_protected(a[0], a[1], PROT_NONE);
		tw_shared_unmapped(a[0], a[0] + tw_page_up(a[1]));
	}
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r)) {
		struct tw_unmap u = {a[0], a[1]};
		tw_buffer_event(t, TW_EVENT_UNMAP, &u, sizeof u, NULL, 0);
	}
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
	if (!tw_failed(r))
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
	tw_lock(&tw_engine.lock);
	i64 r = as_made(t);
	if (!tw_failed(r) && (a[2] & SHM_EXEC) && !tw_sys(__NR_shmctl, a[0], IPC_STAT, &segment))
		tw_memory_protected((u64)r, segment.shm_segsz, PROT_READ | PROT_EXEC | (a[2] & SHM_RDONLY ? 0 : PROT_WRITE));
	tw_unlock(&tw_engine.lock);
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
	(void)t;
	tw_lock(&tw_engine.lock);
	u64 before = tw_page_up(tw_memory_brk(0)), r = tw_memory_brk(a[0]), after = tw_page_up(r);
	if (after > before)
		tw_memory_protected(before, after - before, effective(PROT_READ | PROT_WRITE));
	else if (after < before)
		tw_memory_protected(after, before - after, PROT_NONE);
	tw_unlock(&tw_engine.lock);
	return (i64)r;
}

/* The engine's own memory is mapped in large pieces of which little is used: what has not been touched is locked when it is. */
static i64 sys_mlockall(struct thread *t, const u64 *a)
{
	u64 b[6] = {a[0] & (MCL_CURRENT | MCL_FUTURE) ? a[0] | MCL_ONFAULT : a[0]};
	return pass_with(t, __NR_mlockall, b);
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
	i64 r = tw_held_sigpending(t, a[0], a[1]);
	return r == TW_HELD_PASS ? pass(t, a) : r;
}

static i64 sys_sigtimedwait(struct thread *t, const u64 *a)
{
	i64 r = tw_held_sigtimedwait(t, a[0], a[1], a[3]);
	return r == TW_HELD_PASS ? pass(t, a) : r;
}

/* A call that waits under the mask at `set`, if there is one. A signal that ends it finds that mask in force. */
static i64 wait_under(struct thread *t, const u64 *a, u64 set, u64 size)
{
	if (!set || size != sizeof t->wait_mask || !tw_copy(&t->wait_mask, (void *)set, sizeof t->wait_mask))
		return pass(t, a);
	t->waiting = true;
	i64 r = tw_held_release(t, tw_signal_mask(t)) ? ENGINE_EINTR : pass(t, a);
	t->waiting = r == ENGINE_EINTR && t->pending.signo;
	return r;
}

static i64 sys_sigsuspend(struct thread *t, const u64 *a)
{
	return wait_under(t, a, a[0], a[1]);
}

static i64 sys_ppoll(struct thread *t, const u64 *a)
{
	return wait_under(t, a, a[3], a[4]);
}

/* epoll_pwait, epoll_pwait2 */
static i64 sys_epoll_pwait(struct thread *t, const u64 *a)
{
	return wait_under(t, a, a[4], a[5]);
}

/* pselect6, io_pgetevents: the sixth argument points to the set and its size */
static i64 sys_pselect(struct thread *t, const u64 *a)
{
	u64 set[2];
	return a[5] && tw_copy(set, (void *)a[5], sizeof set) ? wait_under(t, a, set[0], set[1]) : pass(t, a);
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

static i64 sys_execve(struct thread *t, const u64 *a)
{
	return tw_exec(t, AT_FDCWD, a[0], a[1], a[2], 0);
}

static i64 sys_execveat(struct thread *t, const u64 *a)
{
	return tw_exec(t, (int)a[0], a[1], a[2], a[3], (int)a[4]);
}

/* The recording is told how the child ended, whether or not the application asks. */
static i64 sys_wait4(struct thread *t, const u64 *a)
{
	i32 own;
	u64 b[6] = {a[0], a[1] ? a[1] : (u64)&own, a[2], a[3]};
	i64 r = pass_with(t, __NR_wait4, b);
	tw_process_tell_wait4(t, r, (const i32 *)b[1]);
	return r;
}

static i64 sys_waitid(struct thread *t, const u64 *a)
{
	siginfo_t own;
	u64 b[6] = {a[0], a[1], a[2] ? a[2] : (u64)&own, a[3], a[4]};
	i64 r = pass_with(t, __NR_waitid, b);
	tw_process_tell_waitid(t, r, (const siginfo_t *)b[2]);
	return r;
}

static i64 sys_ptrace(struct thread *t, const u64 *a)
{
	i64 r;
	if (a[0] == PTRACE_ATTACH) {
		tw_lock(&tw_engine.lock);
		r = as_made(t);
		if (!r)
			tw_ptrace_await((u32)a[1]);
		tw_unlock(&tw_engine.lock);
		return r;
	}
	r = pass(t, a);
	if (!r)
		tw_ptrace_show(a[0], (u32)a[1], a[2], a[3]);
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
	const char *exe = tw_process_exe(a[0]);
	return exe ? give_exe(exe, a[1], a[2]) : pass(t, a);
}

static i64 sys_readlinkat(struct thread *t, const u64 *a)
{
	const char *exe = tw_process_exe(a[1]);
	return exe ? give_exe(exe, a[2], a[3]) : pass(t, a);
}

/* The call as it is, but for a path that names a program through /proc: argument `k`. */
static i64 follow_exe(struct thread *t, const u64 *a, unsigned k, u64 not_if)
{
	const char *exe = not_if ? NULL : tw_process_exe(a[k]);
	u64 b[6];
	if (!exe)
		return pass(t, a);
	memcpy(b, a, sizeof b);
	b[k] = (u64)exe;
	return pass_with(t, t->call, b);
}

/* open, stat, access */
static i64 sys_path(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 0, t->call == __NR_open ? a[1] & O_NOFOLLOW : 0);
}

static i64 sys_openat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[2] & O_NOFOLLOW);
}

/* openat2, faccessat */
static i64 sys_path_at(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, 0);
}

static i64 sys_newfstatat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[3] & AT_SYMLINK_NOFOLLOW);
}

static i64 sys_statx(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[2] & AT_SYMLINK_NOFOLLOW);
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
    [__NR_shmat] = sys_shmat,
    [__NR_shmdt] = sys_shmdt,
    [__NR_brk] = sys_brk,
    [__NR_rt_sigaction] = sys_sigaction,
    [__NR_rt_sigprocmask] = sys_sigprocmask,
    [__NR_sigaltstack] = sys_sigaltstack,
    [__NR_rt_sigpending] = sys_sigpending,
    [__NR_rt_sigtimedwait] = sys_sigtimedwait,
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
    [__NR_execve] = sys_execve,
    [__NR_execveat] = sys_execveat,
    [__NR_wait4] = sys_wait4,
    [__NR_waitid] = sys_waitid,
    [__NR_ptrace] = sys_ptrace,
    [__NR_readlink] = sys_readlink,
    [__NR_readlinkat] = sys_readlinkat,
    [__NR_open] = sys_path,
    [__NR_stat] = sys_path,
    [__NR_access] = sys_path,
    [__NR_openat] = sys_openat,
    [__NR_openat2] = sys_path_at,
    [__NR_faccessat] = sys_path_at,
    [__NR_faccessat2] = sys_path_at,
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
	t->call = nr;
	t->call32 = is_32bit;
	return fn(t, a);
}

void tw_syscall_tell(struct thread *t, u64 nr, const u64 *a, i64 result, u64 began, u64 pc)
{
	if (!tw_engine.recorder->records)
		return;
	struct tw_syscall e = {nr, {a[0], a[1], a[2], a[3], a[4], a[5]}, result, tw_buffer_time(t), began, pc};
	tw_buffer_event(t, TW_EVENT_SYSCALL, &e, sizeof e, NULL, 0);
}

void tw_syscall(struct thread *t)
{
	u64 nr = t->regs[TW_RAX];
	const u64 a[6] = {t->regs[TW_RDI], t->regs[TW_RSI], t->regs[TW_RDX], t->regs[TW_R10], t->regs[TW_R8], t->regs[TW_R9]};
	i64 r = 0;
	if (t->user_dispatch.on && tw_user_dispatch_takes(t))
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
	const u64 pc = t->pc - TW_SYSCALL_BYTES, began = tw_engine.recorder->records ? tw_tsc() : 0;
	t->trapped_pc = t->pc; /* of interest only while TF is set: the next trap comes after the next instruction */
	if (allowed)
		r = tw_syscall_do(t, nr, false, a);
	if (r == TW_SYSCALL_ABORTED) {
		t->pc -= TW_SYSCALL_BYTES; /* made again after the signal */
		return;
	}
	t->regs[TW_RAX] = (u64)r;
	tw_syscall_tell(t, nr, a, r, began, pc);
}
