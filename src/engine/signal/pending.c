#include "engine/signal/pending.h"
#include "engine/signal/show.h"
#include "engine/thread.h"
#include <asm/unistd.h>
#include <linux/signalfd.h>

#define SET_BYTES    8
#define ERROR_EINTR  (-4)
#define ERROR_EFAULT (-14)
#define MARK_CODE    (-0x5457) /* no si_code of the kernel's */

/* Signals sent to the process for which this memory was made. A child that shares the memory has its own (tw_signal_thread.own_shared). */
static struct tw_pending process_pending;

bool tw_pending_seen, tw_pending_marked;

static u64 bit(int signo)
{
	return 1ull << (signo - 1);
}

static int first(u64 set)
{
	return __builtin_ctzll(set) + 1;
}

/* Where the signal with this number is kept. */
static siginfo_t *place(struct tw_pending *h, int signo)
{
	unsigned n = 0;
	for (int s = 1; s < signo; s++)
		n += (TW_SYNC_SIGNALS & bit(s)) != 0;
	return &h->info[n];
}

static struct tw_pending *shared(const struct thread *t)
{
	return t->signal->shared ? t->signal->shared : &process_pending;
}

static u64 set_of(const struct thread *t)
{
	return t->signal->pending.set | __atomic_load_n(&shared(t)->set, __ATOMIC_SEQ_CST);
}

void tw_pending_thread(struct thread *t)
{
	t->signal->shared = shared(t);
}

void tw_pending_share(struct thread *child, struct thread *parent, bool is_thread)
{
	child->signal->shared = is_thread ? parent->signal->shared : &child->signal->own_shared;
}

/* ---- marks ---- */

/* Something that no other process sends, and that outlives a fork. */
static void *seal(void)
{
	return &process_pending;
}

static void mark(const struct thread *t, const struct thread *whom, int signo)
{
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = signo;
	info.si_code = MARK_CODE;
	info.si_pid = (int)t->pid;
	info.si_value.sival_ptr = seal();
	tw_pending_marked = true;
	tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, whom->tid, signo, &info);
}

bool tw_pending_is_mark(const siginfo_t *info)
{
	return info->si_code == MARK_CODE && info->si_value.sival_ptr == seal();
}

static void set_kernel_mask(u64 mask)
{
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, SET_BYTES);
}

void tw_pending_shut(struct thread *t, u64 quiet, bool marked)
{
	set_kernel_mask(t->signal->mask | quiet);
	__atomic_store_n(&t->signal->shut, quiet, __ATOMIC_SEQ_CST);
	for (u64 set = marked ? set_of(t) & quiet : 0; set; set &= set - 1)
		mark(t, t, first(set));
}

void tw_pending_open(struct thread *t)
{
	t->signal->shut = 0;
	if (!t->signal->deferred.signo)
		set_kernel_mask(t->signal->mask & ~TW_SYNC_SIGNALS);
	t->signal->dropped = 0;
}

/* ---- keeping ---- */

/* Was it sent to the whole process? Distinguishes two calls that send the same siginfo. */
static bool is_shared(struct thread *t, int signo, const siginfo_t *info)
{
	const bool directed = t->signal->directed & bit(signo);
	if (info->si_code == SI_QUEUE)
		t->signal->directed &= ~bit(signo);
	return info->si_code != SI_TKILL && !(info->si_code == SI_QUEUE && directed);
}

/* Another thread of the process that does not block this signal, or NULL. */
static struct thread *who_takes(const struct thread *t, int signo)
{
	struct thread *other = NULL;
	while ((other = tw_thread_next(t, other)) && (tw_signal_mask(other) & bit(signo)))
		;
	return other;
}

/*
 * Notifies other threads: the one that takes it, or else all that may be waiting for it in a call. `to_all`: also in
 * calls that do not block the signal.
 */
static void tell(const struct thread *t, int signo, bool to_all)
{
	const struct thread *other = who_takes(t, signo);
	if (other) {
		mark(t, other, signo);
		return;
	}
	while ((other = tw_thread_next(t, other)))
		if (to_all || (__atomic_load_n(&other->signal->shut, __ATOMIC_SEQ_CST) & bit(signo)))
			mark(t, other, signo);
}

void tw_pending_keep(struct thread *t, int signo, const siginfo_t *info)
{
	const bool of_process = is_shared(t, signo, info);
	struct tw_pending *h = of_process ? shared(t) : &t->signal->pending;
	const bool is_first = !__atomic_exchange_n(&tw_pending_seen, true, __ATOMIC_SEQ_CST);
	if (t->signal->dropped & bit(signo))
		return;
	if (!(h->set & bit(signo))) {
		*place(h, signo) = *info;
		__atomic_fetch_or(&h->set, bit(signo), __ATOMIC_SEQ_CST);
	}
	tw_signal_show_process(t);
	if (of_process)
		tell(t, signo, is_first);
}

bool tw_pending_take(struct thread *t, int signo, siginfo_t *info)
{
	struct tw_pending *h = t->signal->pending.set & bit(signo) ? &t->signal->pending : shared(t);
	if (!(set_of(t) & bit(signo)))
		return false;
	siginfo_t found = *place(h, signo);
	if (!(__atomic_fetch_and(&h->set, ~bit(signo), __ATOMIC_ACQ_REL) & bit(signo)))
		return false; /* another thread was faster */
	*info = found;
	tw_signal_show_process(t);
	return true;
}

void tw_pending_drop(struct thread *t, int signo)
{
	__atomic_fetch_and(&shared(t)->set, ~bit(signo), __ATOMIC_ACQ_REL);
	__atomic_fetch_and(&t->signal->pending.set, ~bit(signo), __ATOMIC_ACQ_REL);
	for (struct thread *other = NULL; (other = tw_thread_next(t, other));) {
		__atomic_fetch_and(&other->signal->pending.set, ~bit(signo), __ATOMIC_ACQ_REL);
		__atomic_fetch_or(&other->signal->dropped, other->signal->shut & bit(signo), __ATOMIC_ACQ_REL);
	}
	tw_signal_show_process(t);
}

void tw_pending_directed(struct thread *t, u32 tid, int signo)
{
	struct thread *to = t;
	while (to && to->tid != tid)
		to = tw_thread_next(t, to == t ? NULL : to);
	if (to)
		__atomic_fetch_or(&to->signal->directed, bit(signo), __ATOMIC_ACQ_REL);
}

bool tw_pending_release(struct thread *t, u64 mask)
{
	if (!(set_of(t) & ~mask))
		return false;
	set_kernel_mask(~TW_SYNC_SIGNALS);
	if (t->signal->deferred.signo)
		return true; /* one came before they were blocked: first that */
	int signo = first(set_of(t) & ~mask);
	if (!tw_pending_take(t, signo, &t->signal->deferred.info))
		return false;
	t->signal->deferred.signo = (u32)signo;
	t->has_deferred |= TW_DEFERRED_SIGNAL;
	return true;
}

void tw_pending_forget(struct thread *t)
{
	t->signal->pending.set = 0;
	t->signal->directed = 0;
	shared(t)->set = 0;
}

void tw_pending_requeue(struct thread *t)
{
	siginfo_t info;
	for (u64 set; (set = t->signal->pending.set);)
		if (tw_pending_take(t, first(set), &info))
			tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, first(set), &info);
	for (u64 set; (set = set_of(t));) /* a thread may send its process anything, under its own number */
		if (tw_pending_take(t, first(set), &info))
			tw_sys(__NR_rt_sigqueueinfo, t->tid, first(set), &info);
}

/* ---- the application's calls ---- */

i64 tw_pending_sigpending(struct thread *t, u64 set, u64 size)
{
	u64 pending = 0;
	if (!set_of(t) || size != SET_BYTES)
		return TW_PENDING_PASS;
	i64 r = tw_sys(__NR_rt_sigpending, &pending, SET_BYTES, 0);
	pending |= set_of(t) & t->signal->mask;
	return tw_failed(r) || tw_copy((void *)set, &pending, SET_BYTES) ? r : ERROR_EFAULT;
}

i64 tw_pending_sigtimedwait(struct thread *t, u64 set, u64 info, u64 size)
{
	u64 wanted;
	siginfo_t taken;
	if (!set_of(t) || size != SET_BYTES || !tw_copy(&wanted, (void *)set, SET_BYTES) || !(set_of(t) & wanted))
		return TW_PENDING_PASS;
	int signo = first(set_of(t) & wanted);
	if (!tw_pending_take(t, signo, &taken))
		return TW_PENDING_PASS;
	return !info || tw_copy((void *)info, &taken, sizeof taken) ? signo : ERROR_EFAULT;
}

/* Is it ignored, so that the kernel would not have kept it? */
static bool is_ignored(const struct thread *t, int signo)
{
	return t->signal->actions->ignored & ~t->signal->mask & bit(signo);
}

/*
 * Does the thread wait for a synchronous signal? The kernel wakes it for a signal that another thread, which has just
 * unblocked it, may take first; that thread drops it, or keeps it and sends a mark.
 */
static bool is_broken_off(const struct thread *t, u64 set)
{
	u64 wanted;
	return !t->signal->deferred.signo && tw_copy(&wanted, (void *)set, SET_BYTES) && (wanted & TW_SYNC_SIGNALS);
}

bool tw_pending_goes_on(struct thread *t, u64 set, i64 result, siginfo_t *info)
{
	if (result == ERROR_EINTR)
		return is_broken_off(t, set);
	if (result <= 0 || !tw_signal_is_sync((int)result))
		return false;
	return tw_pending_is_mark(info) ? !tw_pending_take(t, (int)result, info) : is_ignored(t, (int)result);
}

/* As the kernel's signalfd tells it. */
static void describe(struct signalfd_siginfo *s, const siginfo_t *info)
{
	memset(s, 0, sizeof *s);
	s->ssi_signo = (u32)info->si_signo;
	s->ssi_errno = info->si_errno;
	s->ssi_code = info->si_code;
	if (info->si_code == SI_TIMER) {
		s->ssi_tid = (u32)info->si_tid;
		s->ssi_overrun = (u32)info->si_overrun;
		s->ssi_ptr = (u64)info->si_value.sival_ptr;
		s->ssi_int = info->si_value.sival_int;
		return;
	}
	s->ssi_pid = (u32)info->si_pid;
	s->ssi_uid = info->si_uid;
	if (info->si_code > 0) {
		s->ssi_status = info->si_status;
		s->ssi_utime = (u64)info->si_utime;
		s->ssi_stime = (u64)info->si_stime;
	} else if (info->si_code != SI_USER && info->si_code != SI_TKILL) {
		s->ssi_ptr = (u64)info->si_value.sival_ptr;
		s->ssi_int = info->si_value.sival_int;
	}
}

/* Replaces a mark with the signal that it stands for. False: there is none. */
static bool resolve(struct thread *t, struct signalfd_siginfo *s)
{
	siginfo_t info;
	const int signo = (int)s->ssi_signo;
	if (signo < 1 || signo > 64 || !tw_signal_is_sync(signo))
		return true;
	if (s->ssi_code != MARK_CODE || s->ssi_ptr != (u64)seal())
		return !is_ignored(t, signo);
	if (!tw_pending_take(t, signo, &info))
		return false;
	describe(s, &info);
	return true;
}

i64 tw_pending_read(struct thread *t, u64 buffer, i64 bytes)
{
	struct signalfd_siginfo s;
	i64 kept = 0;
	for (i64 at = 0; at < bytes; at += (i64)sizeof s) {
		if (!tw_copy(&s, (void *)(buffer + (u64)at), sizeof s))
			return bytes;
		const struct signalfd_siginfo was = s;
		const bool stays = resolve(t, &s);
		if (stays && (at != kept || memcmp(&was, &s, sizeof s) != 0))
			tw_copy((void *)(buffer + (u64)kept), &s, sizeof s);
		kept += stays ? (i64)sizeof s : 0;
	}
	return kept;
}
