#include "attach/resume.h"
#include "base/timed_call.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { SYSCALL_BYTES = 2, N_REGS = 16, BELOW_STACK = 512 /* beyond the red zone */ };

/* By enum tw_reg. */
static const size_t place[N_REGS] = {
    offsetof(struct user_regs_struct, rax), offsetof(struct user_regs_struct, rcx), offsetof(struct user_regs_struct, rdx),
    offsetof(struct user_regs_struct, rbx), offsetof(struct user_regs_struct, rsp), offsetof(struct user_regs_struct, rbp),
    offsetof(struct user_regs_struct, rsi), offsetof(struct user_regs_struct, rdi), offsetof(struct user_regs_struct, r8),
    offsetof(struct user_regs_struct, r9),  offsetof(struct user_regs_struct, r10), offsetof(struct user_regs_struct, r11),
    offsetof(struct user_regs_struct, r12), offsetof(struct user_regs_struct, r13), offsetof(struct user_regs_struct, r14),
    offsetof(struct user_regs_struct, r15),
};

void tw_resume_get(const struct user_regs_struct *r, uint64_t regs[N_REGS])
{
	for (int i = 0; i < N_REGS; i++)
		memcpy(&regs[i], (const char *)r + place[i], sizeof regs[i]);
}

static void set_registers(struct user_regs_struct *r, const uint64_t regs[N_REGS])
{
	for (int i = 0; i < N_REGS; i++)
		memcpy((char *)r + place[i], &regs[i], sizeof regs[i]);
}

/* The new value of the register that says how long a call waits; -1: it waits for ever, or this cannot be expressed. */
static int shorten(struct tw_tracee *t, const struct tw_timed_call *call, const struct tw_left *left, uint64_t ms, uint64_t *value)
{
	struct timespec_64 {
		int64_t s, ns;
	} time;
	*value = left->regs[call->reg];
	if (call->in_ms) {
		const int32_t now = (int32_t)*value;
		*value = (uint64_t)tw_timed_less(now, ms);
		return now < 0 ? -1 : 0;
	}
	if (!*value || tw_tracee_read(t, *value, &time, sizeof time) || time.s < 0 || time.s > 1ll << 32)
		return -1;
	const int64_t ns = tw_timed_less(time.s * 1000000000 + time.ns, ms * 1000000);
	time = (struct timespec_64){ns / 1000000000, ns % 1000000000};
	*value = left->regs[4] - BELOW_STACK;
	return tw_tracee_write(t, *value, &time, sizeof time);
}

/* Made again, from its instruction on. */
static void make_again(struct tw_tracee *t, size_t thread, struct user_regs_struct *r, const struct tw_left *left, uint64_t ms)
{
	const struct tw_timed_call *call = tw_timed_find(left->regs[0]);
	uint64_t value;
	r->rip -= SYSCALL_BYTES;
	if (call && !shorten(t, call, left, ms, &value))
		tw_tracee_go_through(t, thread, r, left->mask, place[call->reg], value);
	else
		tw_tracee_go(t, thread, r, left->mask);
}

void tw_resume(struct tw_tracee *t, size_t thread, const struct tw_left *left, const struct tw_resume_call *call)
{
	struct user_regs_struct r = t->thread[thread].found;
	set_registers(&r, left->regs);
	r.rip = left->pc;
	r.eflags = left->flags;
	r.gs_base = left->gs;
	r.orig_rax = ~0ull;
	if (call->how && (int64_t)call->result == -EINTR) {
		make_again(t, thread, &r, left, call->waited_ms);
		return;
	}
	if (call->how) {
		r.orig_rax = left->regs[0];
		r.rax = call->result;
	}
	tw_tracee_go(t, thread, &r, left->mask);
}
