/*
 * A stopped thread continues in its program's own code, in the system call in which it was found, if any.
 *
 * The kernel resumes most calls by itself if the released thread has the program's registers and the restart result;
 * it also knows the remaining time. Calls that fail with EINTR because of the stop are made again, with the remaining
 * time in a register in place of the original, which the register gets back after the call: for that, the thread is
 * traced a little longer (tw_tracee_await_calls).
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
