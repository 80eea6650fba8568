#include "engine/kernel/exit.h"
#include "engine/code/snapshot.h"
#include "engine/record/recording.h"
#include "engine/x86_64/glue.h"
#include <asm/signal.h>
#include <asm/unistd.h>

void tw_thread_exit(struct thread *t, i32 status, bool group)
{
	u64 all = ~0ull;
	u32 kept;
	bool last = t->pid == tw_engine.pid && group;
	bool process = group || t->vforked || (t->pid == tw_engine.pid && tw_engine.n_threads == 1);
	if (process)
		tw_snapshot_leave(t);
	tw_recording_end(t, (status & 0xff) << 8, process ? TW_ENDED_PROCESS : TW_ENDED_THREAD);
	if (last)
		tw_sys(__NR_exit_group, status, 0, 0);
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	if (!t->vforked)
		__atomic_fetch_sub(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	tw_exit_thread(t->vforked ? &kept : &t->in_use, status, group ? __NR_exit_group : __NR_exit);
}
