/* What this module's run-time part shares with the module's code, and all copies with each other. */
#include "runtime.h"
#include <asm/signal.h>
#include <asm/unistd.h>

__thread uint64_t trackway_cc_slot = TW_CC_POISON;
uint8_t trackway_cc_switch[TW_PAGE];

uint64_t tw_cc_time(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

uint64_t tw_cc_thread_pointer(void)
{
	uint64_t tp;
	__asm__ volatile("movq %%fs:0, %0" : "=r"(tp)); /* a context may go on in another thread */
	return tp;
}

void tw_cc_fail(struct tw_cc_process *p, const char *why)
{
	struct tw_control *c = p->control;
	uint32_t none = TW_FAILURE_NONE;
	if (atomic_compare_exchange_strong(&c->failure, &none, TW_FAILURE_CHANNEL))
		tw_cc_copy(c->failure_text, why, tw_cc_length(why) + 1);
}

uint64_t tw_cc_lock(struct tw_cc_process *p)
{
	const uint64_t all = ~0ull;
	uint64_t before;
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE))
		SYS(__NR_sched_yield);
	return before;
}

void tw_cc_unlock(struct tw_cc_process *p, uint64_t mask)
{
	__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof mask);
}

struct tw_cc_thread *tw_cc_entry(struct tw_cc_process *p, uint64_t tp, uint32_t k)
{
	return &p->thread[((uint32_t)(tp * 0x9e3779b97f4a7c15ull >> 52) + k) % TW_CC_THREADS];
}

struct tw_cc_thread *tw_cc_next_entry(struct tw_cc_process *p, uint32_t *k)
{
	while (*k < TW_CC_THREADS) {
		const uint64_t rest = __atomic_load_n(&p->used[*k / 64], __ATOMIC_ACQUIRE) >> *k % 64;
		if (!rest) {
			*k = (*k / 64 + 1) * 64;
			continue;
		}
		*k += (uint32_t)__builtin_ctzll(rest) + 1;
		return &p->thread[*k - 1];
	}
	return 0;
}

/* Between vfork and exec, a child runs in its parent's memory, as the thread that created it. */
static bool is_borrowed(const struct tw_cc_process *p)
{
	return (uint32_t)SYS(__NR_getpid) != p->pid;
}

/* The thread's entry, or a free one; NULL: neither. */
struct tw_cc_thread *tw_cc_look_up(struct tw_cc_process *p, uint32_t tid, bool *is_there)
{
	const uint64_t tp = tw_cc_thread_pointer();
	struct tw_cc_thread *found = 0;
	*is_there = false;
	for (uint32_t k = 0; k < p->threads && !found; k++) {
		struct tw_cc_thread *t = tw_cc_entry(p, tp, k);
		const uint64_t there = __atomic_load_n(&t->tp, __ATOMIC_ACQUIRE);
		if (there == tp && (t->tid == tid || is_borrowed(p))) {
			*is_there = true;
			return t;
		}
		if (there == tp || !there)
			found = t;
	}
	return found;
}

struct tw_cc_thread *tw_cc_find(struct tw_cc_process *p)
{
	bool is_there;
	struct tw_cc_thread *t = tw_cc_look_up(p, (uint32_t)SYS(__NR_gettid), &is_there);
	return is_there ? t : 0;
}
