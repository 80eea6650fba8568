/*
 * A stopped thread goes on in its program's own code, in the system call in which it was found if it was in one.
 *
 * The kernel goes on with most calls by itself when it lets a thread go that has the program's registers and the result by which it restarts them, and knows what is left of their time.
 * Those that fail with EINTR by the stop are made again with what is left in the place of the time in one of their registers, which gets its value back behind the call: for that the thread
 * is followed on for a while (tw_tracee_await_calls).
 */
#ifndef TW_RESUME_H
#define TW_RESUME_H

#include "attach/tracee.h"
#include "base/attach.h"
#include "base/leave.h"

/* The call that a thread was found in. */
struct tw_resume_call {
	enum tw_attach_call how; /* TW_ATTACH_NO_CALL: in none */
	uint64_t result;         /* as the kernel left it */
	uint64_t waited_ms;
};

void tw_resume(struct tw_tracee *t, size_t thread, const struct tw_left *left, const struct tw_resume_call *call);

/* Registers by enum tw_reg. */
void tw_resume_get(const struct user_regs_struct *r, uint64_t regs[16]);

#endif
