#include "engine/record/descriptor_lock.h"
#include "engine/record/descriptor_table.h"
#include "engine/record/slot.h"
#include "engine/heap.h"
#include "engine/x86_64/glue.h"
#include <asm/errno.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/rseq.h>

enum outcome { DONE, TAKEN }; /* or TW_RESTART */

/* The work, and the value of the lock while it is held. */
struct job {
	void (*section)(void *arg);
	void *arg;
	u32 bytes;
	bool unmapped; /* the table is to be mapped further first */
	u64 *lock, hold;
};

/* ---- restartable sequences ---- */

/* A fork inherits its parent's registration; the kernel then says that it has one (EBUSY). */
static void prepare(struct thread *t)
{
	if (t->record->restart_of == t->tid)
		return;
	const i64 r = tw_sys4(__NR_rseq, &t->rseq, sizeof t->rseq, 0, TW_RSEQ_SIGNATURE);
	t->record->restart_of = t->tid;
	t->record->has_restart = !r || r == -EBUSY;
}

void tw_descriptor_lock_leave(struct thread *t)
{
	if (t->record->restart_of == t->tid && t->record->has_restart)
		tw_sys4(__NR_rseq, &t->rseq, sizeof t->rseq, RSEQ_FLAG_UNREGISTER, TW_RSEQ_SIGNATURE);
	t->record->restart_of = 0;
}

/* ---- who holds it ---- */

/* How the calling thread stands in the lock. */
static u64 own_hold(struct thread *t)
{
	const struct tw_slot *s = t->record->slot == NO_SLOT ? NULL : tw_slot_of(t);
	if (!s || s->pid != t->pid || s->tid != t->tid)
		return tw_engine.pid | TW_HOLDS_BY_PID;
	return tw_hold(++t->record->holds, t->record->slot) | (t->record->has_restart ? TW_HOLDS_RESTARTABLE : 0);
}

static bool is_by_pid(u64 holder)
{
	return holder & TW_HOLDS_BY_PID;
}

static u32 pid_of(const struct tw_control *c, u64 holder)
{
	return is_by_pid(holder) ? (u32)holder & ~TW_HOLDS_BY_PID : c->slot[(u32)holder - 1].pid;
}

/* Where processes number each other differently only the collector can tell. */
static bool is_killed(const struct tw_control *c, u64 holder)
{
	return !c->namespaces && tw_sys(__NR_kill, pid_of(c, holder), 0, 0) == -ESRCH;
}

/* The letter for the thread's state in /proc; it stands behind the name, which may contain anything. 0: none. */
static char state_of(u32 pid, u32 tid)
{
	char path[64], text[128];
	tw_format(path, sizeof path, "/proc/%u/task/%u/stat", pid, tid);
	const i64 fd = tw_sys(__NR_open, path, O_RDONLY | O_CLOEXEC, 0);
	if (tw_failed(fd))
		return 0;
	i64 n = tw_sys(__NR_read, fd, text, sizeof text);
	tw_sys(__NR_close, fd, 0, 0);
	while (n > 2 && text[n - 1] != ')')
		n--;
	return n > 2 && n + 1 < (i64)sizeof text ? text[n + 1] : 0;
}

/* Is it stopped, by a signal or a tracer, in a sequence that it will restart? */
static bool is_stopped(const struct tw_control *c, u64 holder)
{
	if (!(holder & TW_HOLDS_RESTARTABLE) || c->namespaces)
		return false;
	const struct tw_slot *s = &c->slot[(u32)holder - 1];
	const char state = state_of(s->pid, s->tid);
	return state == 'T' || state == 't';
}

/* ---- the lock ---- */

static bool exchange(u64 *lock, u64 from, u64 to)
{
	return __atomic_compare_exchange_n(lock, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The last store completes it: a restart after it only finds the work done. */
static int do_locked(void *arg)
{
	struct job *job = arg;
	if (!exchange(job->lock, 0, job->hold))
		return TAKEN;
	job->unmapped = !tw_table_is_mapped(job->bytes);
	if (!job->unmapped)
		job->section(job->arg);
	__atomic_store_n(job->lock, 0, __ATOMIC_RELEASE);
	return DONE;
}

/* The lock was found taken for the n-th time. False: the collector has died. */
static bool wait(struct tw_control *c, u64 *lock, u32 n)
{
	if (n % 64 == 0) {
		const u64 holder = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
		if (holder && (is_killed(c, holder) || is_stopped(c, holder)) && exchange(lock, holder, 0))
			return true;
		if (!tw_channel_collector_alive(c))
			return false;
	}
	if (n < 64)
		tw_sys(__NR_sched_yield, 0, 0, 0);
	else
		tw_pause(20); /* the holder may be of lower priority, on this processor */
	return true;
}

/* False: the collector has died. */
static bool lock_and_do(struct tw_control *c, struct thread *t, struct job *job)
{
	for (u32 n = 0;;) {
		job->hold = own_hold(t);
		const int r = tw_restartable(do_locked, job);
		if (r == DONE)
			return true;
		if (r == TW_RESTART)
			exchange(job->lock, job->hold, 0); /* unless it has been taken over */
		else if (!wait(c, job->lock, ++n))
			return false;
	}
}

bool tw_with_descriptors(void (*section)(void *arg), void *arg, u32 bytes)
{
	struct tw_control *c = tw_engine.control;
	struct thread *t = tw_thread_self();
	struct job job = {.section = section, .arg = arg, .bytes = bytes, .lock = (u64 *)&c->descriptor_lock};
	prepare(t);
	do {
		if (!tw_table_is_there() || !lock_and_do(c, t, &job))
			return false;
	} while (job.unmapped && tw_table_map(bytes));
	tw_heap_shared_wanted();
	return true;
}
