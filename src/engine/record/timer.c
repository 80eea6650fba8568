#include "engine/record/timer.h"
#include <asm/unistd.h>
#include <linux/time.h>

#define MAGIC    TW_ASK_MAGIC
#define SECOND   1000000000u
#define NO_TIMER 0xffffffffu /* no timer has this number */

bool tw_timer_is_tick(int signo, const siginfo_t *info)
{
	return signo == SIGTRAP && info->si_code == SI_TIMER && info->si_ptr == (void *)MAGIC;
}

static bool make(struct tw_timer *timer, u32 tid, i32 clock)
{
	struct sigevent e;
	memset(&e, 0, sizeof e);
	e.sigev_notify = SIGEV_SIGNAL | SIGEV_THREAD_ID;
	e.sigev_signo = SIGTRAP;
	e.sigev_value.sival_ptr = (void *)MAGIC;
	e._sigev_un._tid = (int)tid;
	timer->tid = tid;
	timer->runs = false;
	if (!tw_failed(tw_sys(__NR_timer_create, clock, &e, &timer->id)))
		return true;
	timer->id = NO_TIMER;
	return false;
}

void tw_timer_set(struct tw_timer *timer, u32 tid, i32 clock, u64 first, u64 again)
{
	const struct itimerspec when = {{(i64)(again / SECOND), (i64)(again % SECOND)}, {(i64)(first / SECOND), (i64)(first % SECOND)}};
	if (!first && (timer->tid != tid || !timer->runs))
		return;
	if (timer->tid != tid && !make(timer, tid, clock))
		return;
	timer->runs = first;
	tw_sys4(__NR_timer_settime, timer->id, 0, &when, NULL);
}

void tw_timer_every(struct tw_timer *timer, u32 tid, i32 clock, u64 ns)
{
	if (!ns)
		tw_timer_end(timer, tid);
	else if (timer->tid != tid || !timer->runs)
		tw_timer_set(timer, tid, clock, ns, ns);
}

void tw_timer_end(struct tw_timer *timer, u32 tid)
{
	if (timer->tid == tid)
		tw_sys(__NR_timer_delete, timer->id, 0, 0);
	timer->tid = 0;
}
