/* Processes created by the program's own system calls: linked into modules that contain such calls (copying.S). */
#include "runtime.h"
#include <asm/unistd.h>
#include <linux/sched.h>

/* One process at a time: the child finds its starting data in its copy of this, wherever its stack is. */
static struct {
	uint32_t lock;
	struct tw_cc_beginning beginning;
	uint64_t back;
} copying;

/* The flags of fork, clone or clone3. LEAST: the minimum size of a struct clone_args. */
static uint64_t flags_of(const uint64_t *regs)
{
	enum { LEAST = 64 };
	const uint64_t *args = (const uint64_t *)regs[TW_RDI];
	if ((uint32_t)regs[TW_RAX] != __NR_clone3)
		return (uint32_t)regs[TW_RAX] == __NR_clone ? regs[TW_RDI] : 0;
	return args && regs[TW_RSI] >= LEAST ? *args : CLONE_VM; /* it will fail */
}

bool tw_cc_copying_begin(const uint64_t *regs);
void tw_cc_copying_end(uint64_t *regs);

/* False: the system call is not to be followed. */
bool tw_cc_copying_begin(const uint64_t *regs)
{
	struct tw_cc_beginning own = {0};
	tw_cc_before_copy(&own, flags_of(regs));
	if (!own.process)
		return false;
	while (__atomic_exchange_n(&copying.lock, 1, __ATOMIC_ACQUIRE))
		SYS(__NR_sched_yield);
	copying.beginning = own;
	copying.back = regs[TW_RCX];
	return true;
}

/* Runs in both processes. When it returns, the child has written to its own stream, so its slot has a pointer, as the parent's has. */
void tw_cc_copying_end(uint64_t *regs)
{
	const struct tw_cc_beginning own = copying.beginning;
	const bool is_child = !regs[TW_RAX];
	regs[TW_RCX] = copying.back;
	__atomic_store_n(&copying.lock, 0, __ATOMIC_RELEASE);
	tw_cc_after_copy(&own, is_child);
	if (is_child)
		tw_cc_cold(TW_CC_POISON, regs);
}
