#include "engine/death.h"
#include "engine/thread.h"
#include "engine/x86_64/frame.h"
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/mman.h>

#define INIT_PID 1u

/* A dump of the channel and the threads' buffers alone would have gigabytes. */
static void leave_out_of_dump(const struct thread *t)
{
	tw_sys(__NR_madvise, ARENA_CACHE, ARENA_STUBS_END - ARENA_CACHE, MADV_DONTDUMP);
	tw_sys(__NR_madvise, ARENA_HEAP, ARENA_HEAP_END - ARENA_HEAP, MADV_DONTDUMP);
	tw_sys(__NR_madvise, tw_engine.channel, TW_MAPPED_BYTES, MADV_DONTDUMP);
	tw_thread_leave_out_of_dump();
	for (const struct thread *other = t; other; other = tw_thread_next(t, other == t ? NULL : other))
		if (other->own)
			tw_sys(__NR_madvise, other->own, TW_BUFFER_STRIDE, MADV_DONTDUMP);
}

bool tw_death_spares(const struct thread *t)
{
	return t->pid == INIT_PID;
}

void tw_death_by_default(const struct thread *t, int signo, const siginfo_t *info)
{
	struct ksigaction dfl = {(u64)SIG_DFL, 0, 0, 0};
	u64 all = ~0ull, others = ~(1ull << (signo - 1));
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	tw_sys4(__NR_rt_sigaction, signo, &dfl, NULL, 8);
	if (!info || tw_failed(tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, signo, info)))
		tw_sys(__NR_tgkill, t->pid, t->tid, signo);
	if (!info)
		tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &others, NULL, 8);
}

void tw_death(struct thread *t, int signo, const siginfo_t *info, const void *xstate)
{
	siginfo_t sent;
	tw_thread_finish(t, signo, TW_ENDED_PROCESS);
	if (!tw_death_spares(t)) {
		memset(&sent, 0, sizeof sent);
		sent.si_signo = signo;
		sent.si_code = SI_KERNEL;
		leave_out_of_dump(t);
		tw_death_by_default(t, signo, info ? info : &sent);
		tw_frame_leave(t, ~(1ull << (signo - 1)), xstate);
	}
	tw_sys(__NR_exit_group, 128 + signo, 0, 0);
	__builtin_unreachable();
}
