#include "engine/kernel/syscall.h"
#include "engine/code/memory.h"
#include "engine/kernel/file_calls.h"
#include "engine/kernel/limits.h"
#include "engine/kernel/memory_calls.h"
#include "engine/kernel/pass.h"
#include "engine/kernel/process_calls.h"
#include "engine/kernel/rseq.h"
#include "engine/kernel/seccomp.h"
#include "engine/kernel/segment.h"
#include "engine/kernel/signal_calls.h"
#include "engine/kernel/syscall_tell.h"
#include "engine/kernel/traced.h"
#include "engine/kernel/user_dispatch.h"
#include "engine/kernel/wait_calls.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/glue.h"
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/prctl.h>

typedef i64 (*call_fn)(struct thread *t, const u64 *a);

enum { NR_MSEAL = 462, SET_MDWE = 65 }; /* which older headers do not have */

/* ---- rows of a few lines ---- */

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
		return tw_pass(t, a);
	}
}

static i64 sys_seccomp(struct thread *t, const u64 *a)
{
	i64 r = tw_seccomp(t, a[0], a[1], a[2]);
	return r == TW_SECCOMP_PASS ? tw_pass(t, a) : r;
}

/*
 * After this call, executable memory could never become writable again, even where the engine has made it read-only
 * for a while (code/memory.h). Refused while there is such code, as on older kernels.
 */
static bool forbids_writing(const u64 *a)
{
	if ((u32)a[0] != SET_MDWE || !a[1])
		return false;
	tw_lock(&tw_engine.lock);
	const bool any = tw_memory_any_writable_code(0, ~0ull);
	tw_unlock(&tw_engine.lock);
	return any;
}

static i64 sys_prctl(struct thread *t, const u64 *a)
{
	if (forbids_writing(a))
		return ENGINE_EINVAL;
	if ((u32)a[0] == PR_SET_SYSCALL_USER_DISPATCH)
		return tw_user_dispatch_set(t, a[1], a[2], a[3], a[4]);
	i64 r = tw_seccomp_prctl(t, a[0], a[1], a[2]);
	return r == TW_SECCOMP_PASS ? tw_pass(t, a) : r;
}

/* ---- the table ---- */

static const call_fn table[] = {
    [__NR_mmap] = tw_sys_mmap,
    [__NR_munmap] = tw_sys_munmap,
    [__NR_mprotect] = tw_sys_mprotect,
    [__NR_pkey_mprotect] = tw_sys_mprotect,
    [__NR_mremap] = tw_sys_mremap,
    [__NR_madvise] = tw_sys_madvise,
    [__NR_process_madvise] = tw_sys_process_madvise,
    [NR_MSEAL] = tw_sys_mseal,
    [__NR_mlockall] = tw_sys_mlockall,
    [__NR_munlockall] = tw_sys_munlockall,
    [__NR_shmat] = tw_sys_shmat,
    [__NR_shmdt] = tw_sys_shmdt,
    [__NR_brk] = tw_sys_brk,
    [__NR_rt_sigaction] = tw_sys_sigaction,
    [__NR_rt_sigprocmask] = tw_sys_sigprocmask,
    [__NR_sigaltstack] = tw_sys_sigaltstack,
    [__NR_rt_sigpending] = tw_sys_sigpending,
    [__NR_rt_sigtimedwait] = tw_sys_sigtimedwait,
    [__NR_rt_tgsigqueueinfo] = tw_sys_tgsigqueueinfo,
    [__NR_rt_sigsuspend] = tw_sys_sigsuspend,
    [__NR_ppoll] = tw_sys_ppoll,
    [__NR_pselect6] = tw_sys_pselect,
    [__NR_io_pgetevents] = tw_sys_pselect,
    [__NR_epoll_pwait] = tw_sys_epoll_pwait,
    [__NR_epoll_pwait2] = tw_sys_epoll_pwait,
    [__NR_clone] = tw_sys_clone,
    [__NR_clone3] = tw_sys_clone3,
    [__NR_fork] = tw_sys_fork,
    [__NR_vfork] = tw_sys_vfork,
    [__NR_exit] = tw_sys_exit,
    [__NR_exit_group] = tw_sys_exit_group,
    [__NR_unshare] = tw_sys_unshare,
    [__NR_setns] = tw_sys_setns,
    [__NR_sched_setscheduler] = tw_sys_schedule,
    [__NR_sched_setattr] = tw_sys_schedule,
    [__NR_execve] = tw_sys_execve,
    [__NR_execveat] = tw_sys_execveat,
    [__NR_wait4] = tw_sys_wait4,
    [__NR_waitid] = tw_sys_waitid,
    [__NR_ptrace] = tw_sys_ptrace,
    [__NR_readlink] = tw_sys_readlink,
    [__NR_readlinkat] = tw_sys_readlinkat,
    [__NR_open] = tw_sys_open,
    [__NR_creat] = tw_sys_creat,
    [__NR_truncate] = tw_sys_truncate,
    [__NR_read] = tw_sys_read,
    [__NR_readv] = tw_sys_readv,
    [__NR_pread64] = tw_sys_pread64,
    [__NR_write] = tw_sys_change_first,
    [__NR_writev] = tw_sys_change_first,
    [__NR_pwrite64] = tw_sys_change_first,
    [__NR_pwritev] = tw_sys_change_first,
    [__NR_pwritev2] = tw_sys_change_first,
    [__NR_ftruncate] = tw_sys_change_first,
    [__NR_fallocate] = tw_sys_change_first,
    [__NR_sendfile] = tw_sys_change_first,
    [__NR_copy_file_range] = tw_sys_change_third,
    [__NR_splice] = tw_sys_change_third,
    [__NR_stat] = tw_sys_path,
    [__NR_access] = tw_sys_path,
    [__NR_statfs] = tw_sys_path,
    [__NR_getxattr] = tw_sys_path,
    [__NR_listxattr] = tw_sys_path,
    [__NR_chmod] = tw_sys_path,
    [__NR_chown] = tw_sys_path,
    [__NR_mount] = tw_sys_path,
    [__NR_openat] = tw_sys_openat,
    [__NR_openat2] = tw_sys_openat2,
    [__NR_faccessat] = tw_sys_faccessat,
    [__NR_faccessat2] = tw_sys_faccessat2,
    [__NR_newfstatat] = tw_sys_newfstatat,
    [__NR_statx] = tw_sys_statx,
    [__NR_open_tree] = tw_sys_statx,
    [__NR_fchmodat] = tw_sys_faccessat,
    [__NR_fchownat] = tw_sys_fchownat,
    [__NR_linkat] = tw_sys_linkat,
    [__NR_prlimit64] = sys_prlimit64,
    [__NR_setrlimit] = sys_setrlimit,
    [__NR_getrlimit] = sys_getrlimit,
    [__NR_arch_prctl] = sys_arch_prctl,
    [__NR_rseq] = tw_sys_rseq,
    [__NR_membarrier] = tw_sys_membarrier,
    [__NR_seccomp] = sys_seccomp,
    [__NR_personality] = tw_sys_personality,
    [__NR_prctl] = sys_prctl,
};

i64 tw_syscall_do(struct thread *t, u64 nr, bool is_32bit, const u64 *a)
{
	call_fn fn = nr < sizeof table / sizeof *table && table[nr] ? table[nr] : tw_pass;
	t->kernel->call = nr;
	t->kernel->call32 = is_32bit;
	return fn(t, a);
}

/* ---- a call ---- */

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
	t->signal->trapped_pc = t->pc; /* relevant only while TF is set: the next trap comes after the next instruction */
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
