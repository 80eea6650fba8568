#include "engine/held.h"
#include "engine/signal.h"
#include <asm/unistd.h>

#define SET_BYTES    8
#define ERROR_EFAULT (-14)

/* Those sent to process process_pid; a vfork child, which shares them, is another. */
static struct tw_held process_held;
static u32 process_pid;

static u64 bit(int signo)
{
	return 1ull << (signo - 1);
}

static int first(u64 set)
{
	return __builtin_ctzll(set) + 1;
}

/* Where the signal with this number is kept. */
static siginfo_t *place(struct tw_held *h, int signo)
{
	unsigned n = 0;
	for (int s = 1; s < signo; s++)
		n += (TW_SYNC_SIGNALS & bit(s)) != 0;
	return &h->info[n];
}

static u64 held(const struct thread *t)
{
	u64 of_process = process_pid == t->pid ? __atomic_load_n(&process_held.set, __ATOMIC_ACQUIRE) : 0;
	return t->held.set | of_process;
}

void tw_held_keep(struct thread *t, int signo, const siginfo_t *info)
{
	struct tw_held *h = info->si_code == SI_USER ? &process_held : &t->held;
	if (h == &process_held && process_pid != t->pid) {
		h->set = 0;
		process_pid = t->pid;
	}
	if (h->set & bit(signo))
		return;
	*place(h, signo) = *info;
	__atomic_fetch_or(&h->set, bit(signo), __ATOMIC_RELEASE);
}

bool tw_held_take(struct thread *t, int signo, siginfo_t *info)
{
	struct tw_held *h = t->held.set & bit(signo) ? &t->held : &process_held;
	if (!(held(t) & bit(signo)))
		return false;
	siginfo_t found = *place(h, signo);
	if (!(__atomic_fetch_and(&h->set, ~bit(signo), __ATOMIC_ACQ_REL) & bit(signo)))
		return false; /* another thread was faster */
	*info = found;
	return true;
}

bool tw_held_release(struct thread *t, u64 mask)
{
	u64 all = ~TW_SYNC_SIGNALS;
	if (!(held(t) & ~mask))
		return false;
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	if (t->pending.signo)
		return true; /* one came before they were blocked: first that */
	int signo = first(held(t) & ~mask);
	if (!tw_held_take(t, signo, &t->pending.info))
		return false;
	t->pending.signo = (u32)signo;
	t->has_pending = 1;
	return true;
}

void tw_held_forget(struct thread *t)
{
	t->held.set = 0;
	process_held.set = 0;
}

void tw_held_requeue(struct thread *t)
{
	siginfo_t info;
	for (u64 set; (set = held(t));)
		if (tw_held_take(t, first(set), &info))
			tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, first(set), &info);
}

i64 tw_held_sigpending(struct thread *t, u64 set, u64 size)
{
	u64 pending = 0;
	if (!held(t) || size != SET_BYTES)
		return TW_HELD_PASS;
	i64 r = tw_sys(__NR_rt_sigpending, &pending, SET_BYTES, 0);
	pending |= held(t);
	return tw_failed(r) || tw_copy((void *)set, &pending, SET_BYTES) ? r : ERROR_EFAULT;
}

i64 tw_held_sigtimedwait(struct thread *t, u64 set, u64 info, u64 size)
{
	u64 wanted;
	siginfo_t taken;
	if (!held(t) || size != SET_BYTES || !tw_copy(&wanted, (void *)set, SET_BYTES) || !(held(t) & wanted))
		return TW_HELD_PASS;
	int signo = first(held(t) & wanted);
	if (!tw_held_take(t, signo, &taken))
		return TW_HELD_PASS;
	return !info || tw_copy((void *)info, &taken, sizeof taken) ? signo : ERROR_EFAULT;
}
