#include "engine/signal/death.h"
#include "engine/code/snapshot.h"
#include "engine/record/recording.h"
#include "engine/signal/fault.h"
#include "engine/thread.h"
#include "engine/signal/frame.h"
#include "engine/x86_64/glue.h"
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

#define INIT_PID    1u
#define EFLAGS_TF   0x100u
#define INT3        0xcc
#define BEYOND_SIZE 4096

/* Otherwise a core dump would contain gigabytes of channel and thread buffers. */
static void leave_out_of_dump(const struct thread *t)
{
	tw_sys(__NR_madvise, ARENA_CACHE, tw_sizes()->cache_bytes, MADV_DONTDUMP);
	tw_sys(__NR_madvise, ARENA_STUBS, tw_sizes()->stubs_bytes, MADV_DONTDUMP);
	tw_sys(__NR_madvise, ARENA_HEAP, tw_sizes()->heap_bytes, MADV_DONTDUMP);
	tw_sys(__NR_madvise, tw_engine.channel, tw_mapped_at_once(tw_engine.control), MADV_DONTDUMP);
	tw_thread_leave_out_of_dump();
	for (const struct thread *other = t; other; other = tw_thread_next(t, other == t ? NULL : other))
		if (other->record->own)
			tw_sys(__NR_madvise, other->record->own, TW_BUFFER_STRIDE, MADV_DONTDUMP);
}

bool tw_death_spares(const struct thread *t)
{
	return t->pid == INIT_PID;
}

static void unblock_only(int signo)
{
	const u64 others = ~(1ull << (signo - 1));
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &others, NULL, 8);
}

void tw_death_by_default(const struct thread *t, int signo, const siginfo_t *info)
{
	struct ksigaction dfl = {(u64)SIG_DFL, 0, 0, 0};
	u64 all = ~0ull;
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	tw_sys4(__NR_rt_sigaction, signo, &dfl, NULL, 8);
	if (!info || tw_failed(tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, signo, info)))
		tw_sys(__NR_tgkill, t->pid, t->tid, signo);
	if (!info)
		unblock_only(signo);
}

/* ---- where a signal that one sends oneself is ignored ---- */

/* An access that the processor reports to the kernel as SIGBUS. */
static void touch_beyond_end(void)
{
	i64 fd = tw_sys(__NR_memfd_create, "empty", 0, 0);
	*(volatile u8 *)tw_mmap(0, BEYOND_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0) = 0;
}

/*
 * With the default action set: makes the kernel raise the signal on the thread, by an instruction that causes it.
 * Returns for signals that no instruction causes.
 */
static void deserve(int signo)
{
	static const u8 all_calls = SYSCALL_DISPATCH_FILTER_BLOCK;
	switch (signo) {
	case SIGILL:
		__asm__ volatile("ud2");
		break;
	case SIGTRAP:
		__asm__ volatile("int3");
		break;
	case SIGFPE:
		__asm__ volatile("divl %0" : : "r"(0), "a"(0), "d"(0) : "cc");
		break;
	case SIGBUS:
		touch_beyond_end();
		break;
	case SIGSEGV:
		tw_sigreturn(NULL);
		break;
	case SIGSYS:
		tw_sys6(__NR_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, (u64)&all_calls, 0);
		tw_sys(__NR_getpid, 0, 0, 0);
		break;
	case SIGKILL:
		tw_sys(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0);
		tw_sys(__NR_getpid, 0, 0, 0);
		break;
	}
}

static void set_action(int signo, u64 handler)
{
	const struct ksigaction a = {handler, SA_ONSTACK | SA_RESTORER, (u64)tw_restorer, ~0ull};
	tw_sys4(__NR_rt_sigaction, signo, &a, NULL, 8);
}

/* Handler of the trap behind an instruction that should have faulted again and did not. %gs is the program's. */
static int deserved;
static void not_faulted(int signo)
{
	(void)signo;
	set_action(SIGTRAP, (u64)SIG_DFL);
	deserve(deserved);
	tw_sys(__NR_exit_group, 128 + deserved, 0, 0);
}

/*
 * Repeats the program's faulting instruction in the program's context: the kernel then kills the thread with the
 * signal. If it does not fault again, the thread ends behind it all the same.
 */
static void die_by_fault(struct thread *t, int signo, const void *xstate)
{
	u8 before = 0;
	deserved = signo;
	set_action(SIGTRAP, signo == SIGTRAP ? (u64)SIG_DFL : (u64)not_faulted);
	if (signo == SIGTRAP && tw_copy(&before, (void *)(t->pc - 1), 1) && before == INT3)
		t->pc--;
	t->flags |= EFLAGS_TF;
	tw_frame_leave(t, ~TW_SYNC_SIGNALS, xstate);
}

static void die_by_force(struct thread *t, int signo, const siginfo_t *info, const void *xstate)
{
	set_action(signo, (u64)SIG_DFL);
	if (info && signo != SIGSYS)
		die_by_fault(t, signo, xstate);
	deserve(signo);
}

/* ---- */

void tw_death(struct thread *t, int signo, const siginfo_t *info, const void *xstate)
{
	siginfo_t sent;
	tw_fault_fatal(t, signo, info);
	if (!tw_signal_is_sync(signo) && signo != SIGSYS)
		tw_snapshot_leave(t);
	tw_recording_end(t, signo, TW_ENDED_PROCESS);
	if (!tw_death_spares(t)) {
		memset(&sent, 0, sizeof sent);
		sent.si_signo = signo;
		sent.si_code = SI_KERNEL;
		leave_out_of_dump(t);
		t->signal->dies_of = signo;
		tw_death_by_default(t, signo, info ? info : &sent);
		if (t->signal->traced)
			unblock_only(signo); /* dies here, where its tracer's engine finds what dies_of says */
		tw_frame_leave(t, ~(1ull << (signo - 1)), xstate);
	}
	leave_out_of_dump(t);
	die_by_force(t, signo, info, xstate);
	tw_sys(__NR_exit_group, 128 + signo, 0, 0);
	__builtin_unreachable();
}
