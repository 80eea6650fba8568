#include "engine/kernel/int80.h"
#include "engine/signal/signal.h"
#include "engine/kernel/syscall.h"
#include "engine/kernel/syscall_tell.h"
#include "engine/x86_64/glue.h"
#include "engine/record/instrumentor.h"
#include "trackway/event.h"
#include <asm/errno.h>
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/sched.h>

#define INT80_FAULT_ERROR (0x80 << 3 | 2) /* error code if int 0x80 is not allowed: refers to a descriptor of the interrupt table */

/* Numbers of 32-bit Linux. */
enum number {
	I_EXIT = 1,
	I_FORK = 2,
	I_OPEN = 5,
	I_WAITPID = 7,
	I_EXECVE = 11,
	I_GETPID = 20,
	I_ACCESS = 33,
	I_BRK = 45,
	I_SIGNAL = 48,
	I_SIGACTION = 67,
	I_SSETMASK = 69,
	I_READLINK = 85,
	I_MMAP = 90,
	I_MUNMAP = 91,
	I_WAIT4 = 114,
	I_SIGRETURN = 119,
	I_CLONE = 120,
	I_MPROTECT = 125,
	I_SIGPROCMASK = 126,
	I_PERSONALITY = 136,
	I_MLOCKALL = 152,
	I_MREMAP = 163,
	I_PRCTL = 172,
	I_RT_SIGRETURN = 173,
	I_RT_SIGACTION = 174,
	I_RT_SIGPROCMASK = 175,
	I_RT_SIGPENDING = 176,
	I_RT_SIGSUSPEND = 179,
	I_SIGALTSTACK = 186,
	I_VFORK = 190,
	I_MMAP2 = 192,
	I_MADVISE = 219,
	I_EXIT_GROUP = 252,
	I_OPENAT = 295,
	I_READLINKAT = 305,
	I_FACCESSAT = 307,
	I_UNSHARE = 310,
	I_PRLIMIT64 = 340,
	I_SETNS = 346,
	I_SECCOMP = 354,
	I_EXECVEAT = 358,
	I_PKEY_MPROTECT = 380,
	I_RSEQ = 386,
	I_CLONE3 = 435,
	I_OPENAT2 = 437,
	I_FACCESSAT2 = 439,
	I_END
};

/* Equivalent 64-bit calls: after `widened`, the arguments are the same. */
static const u16 like[I_END] = {
    [I_EXIT] = __NR_exit,
    [I_FORK] = __NR_fork,
    [I_OPEN] = __NR_open,
    [I_WAITPID] = __NR_wait4,
    [I_EXECVE] = __NR_execve,
    [I_ACCESS] = __NR_access,
    [I_BRK] = __NR_brk,
    [I_READLINK] = __NR_readlink,
    [I_MMAP] = __NR_mmap,
    [I_MUNMAP] = __NR_munmap,
    [I_CLONE] = __NR_clone,
    [I_MPROTECT] = __NR_mprotect,
    [I_PERSONALITY] = __NR_personality,
    [I_MLOCKALL] = __NR_mlockall,
    [I_MREMAP] = __NR_mremap,
    [I_PRCTL] = __NR_prctl,
    [I_RT_SIGPROCMASK] = __NR_rt_sigprocmask,
    [I_RT_SIGPENDING] = __NR_rt_sigpending,
    [I_RT_SIGSUSPEND] = __NR_rt_sigsuspend,
    [I_VFORK] = __NR_vfork,
    [I_MMAP2] = __NR_mmap,
    [I_MADVISE] = __NR_madvise,
    [I_EXIT_GROUP] = __NR_exit_group,
    [I_OPENAT] = __NR_openat,
    [I_READLINKAT] = __NR_readlinkat,
    [I_FACCESSAT] = __NR_faccessat,
    [I_UNSHARE] = __NR_unshare,
    [I_PRLIMIT64] = __NR_prlimit64,
    [I_SETNS] = __NR_setns,
    [I_EXECVEAT] = __NR_execveat,
    [I_PKEY_MPROTECT] = __NR_pkey_mprotect,
    [I_CLONE3] = __NR_clone3,
    [I_OPENAT2] = __NR_openat2,
    [I_FACCESSAT2] = __NR_faccessat2,
};

/* Signal calls, which would call handlers with frames of 32-bit code, and calls with other structures, which would bypass the engine. */
static bool is_refused(u32 nr)
{
	switch (nr) {
	case I_SIGNAL:
	case I_SIGACTION:
	case I_SSETMASK:
	case I_SIGRETURN:
	case I_SIGPROCMASK:
	case I_RT_SIGRETURN:
	case I_RT_SIGACTION:
	case I_SIGALTSTACK:
	case I_SECCOMP:
	case I_RSEQ:
		return true;
	default:
		return false;
	}
}

/* Copies a NULL-terminated array of 32-bit pointers into one of 64-bit pointers, in a mapping of *bytes. Its address, or an error. */
static i64 widen_pointers(u32 from, u64 *bytes)
{
	u32 n = 0, p = from;
	for (; p; n++)
		if (!tw_copy(&p, (void *)(u64)(from + 4 * n), sizeof p))
			return -EFAULT;
	*bytes = (n + 1) * sizeof(u64);
	i64 at = tw_mmap(0, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (u32 k = 0; !tw_failed(at) && k < n; k++)
		if (!tw_copy(&((u64 *)at)[k], (void *)(u64)(from + 4 * k), sizeof p))
			return -EFAULT;
	return at;
}

/* execve, or execveat: argv is argument `first`. */
static i64 execute(struct thread *t, u64 nr, u64 *a, u32 first)
{
	u64 bytes[2];
	i64 r = 0;
	u32 done = 0;
	for (; done < 2 && !tw_failed(r); done++) {
		r = widen_pointers((u32)a[first + done], &bytes[done]);
		a[first + done] = (u64)r;
	}
	if (tw_failed(r))
		done--;
	else
		r = tw_syscall_do(t, nr, true, a);
	while (done--)
		tw_sys(__NR_munmap, a[first + done], bytes[done], 0);
	return r;
}

/* Memory requested this way must be within reach of 32-bit pointers. */
static i64 map(struct thread *t, u32 nr, u64 *a)
{
	u32 of[6];
	if (nr == I_MMAP) {
		if (!tw_copy(of, (void *)a[0], sizeof of))
			return -EFAULT;
		for (u32 k = 0; k < 6; k++)
			a[k] = of[k];
	} else {
		a[5] *= TW_PAGE;
	}
	if (!(a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		a[3] |= MAP_32BIT;
	return tw_syscall_do(t, __NR_mmap, true, a);
}

/* 0: the kernel accepts such calls; TW_INT80_FAULTS: they all fault; or TW_SYSCALL_ABORTED. The first time, a getpid shows which. */
static i64 taken(struct thread *t)
{
	static bool known, refused;
	const u64 regs[TW_NREGS] = {[TW_RAX] = I_GETPID};
	const i64 r = known ? 0 : tw_app_int80(t, regs);
	if (r == TW_SYSCALL_ABORTED)
		return r;
	refused |= r == TW_INT80_FAULTS;
	known = true;
	return refused ? TW_INT80_FAULTS : 0;
}

static i64 make(struct thread *t, u32 nr, u64 *a)
{
	const u64 as = nr < I_END ? like[nr] : 0;
	u64 tls;
	switch (nr) {
	case I_EXECVE:
		return execute(t, as, a, 1);
	case I_EXECVEAT:
		return execute(t, as, a, 2);
	case I_MMAP:
	case I_MMAP2:
		return map(t, nr, a);
	case I_WAITPID:
		a[3] = 0;
		break;
	case I_CLONE:
		if (a[0] & CLONE_SETTLS) /* a segment of the GDT */
			return -ENOSYS;
		tls = a[3];
		a[3] = a[4];
		a[4] = tls;
		break;
	default:
		if (is_refused(nr))
			return -ENOSYS;
	}
	return tw_syscall_do(t, as ? as : ~0ull, true, a);
}

void tw_int80(struct thread *t)
{
	const u32 nr = (u32)t->regs[TW_RAX];
	u64 a[6] = {t->regs[TW_RBX], t->regs[TW_RCX], t->regs[TW_RDX], t->regs[TW_RSI], t->regs[TW_RDI], t->regs[TW_RBP]};
	for (u32 k = 0; k < 6; k++)
		a[k] = (u32)a[k];
	const u64 pc = t->pc - TW_SYSCALL_BYTES, began = tw_recorder.whole->records ? tw_tsc() : 0;
	t->signal->trapped_pc = t->pc;
	i64 r = taken(t);
	r = r ? r : make(t, nr, a);
	if (r == TW_SYSCALL_ABORTED || r == TW_INT80_FAULTS) {
		t->pc = pc; /* made again after the signal */
		if (r == TW_INT80_FAULTS)
			tw_signal_force(t, SIGSEGV, INT80_FAULT_ERROR);
		return;
	}
	t->regs[TW_RAX] = (u64)r;
	tw_syscall_tell(t, TW_SYSCALL_INT80 | nr, a, r, began, pc);
}
