#include "engine/kernel/rseq.h"
#include "engine/kernel/pass.h"
#include "engine/record/descriptor_lock.h"
#include <asm/unistd.h>
#include <linux/membarrier.h>
#include <linux/rseq.h>

static bool is_allowed;

void tw_rseq_allow(void)
{
	is_allowed = true;
}

void tw_rseq_register(struct thread *t, bool registered)
{
	const struct tw_found *f = &t->kernel->found;
	if (registered)
		tw_descriptor_lock_leave(t);
	if (f->rseq)
		tw_sys4(__NR_rseq, f->rseq, f->rseq_bytes, registered ? 0 : RSEQ_FLAG_UNREGISTER, f->rseq_signature);
}

/* The kernel judges the call. */
i64 tw_sys_rseq(struct thread *t, const u64 *a)
{
	struct tw_found *f = &t->kernel->found;
	if (!is_allowed)
		return ENGINE_ENOSYS;
	tw_rseq_register(t, true);
	const i64 r = tw_sys4(__NR_rseq, a[0], a[1], a[2], a[3]);
	if (!tw_failed(r)) {
		f->rseq = (u32)a[2] & RSEQ_FLAG_UNREGISTER ? 0 : a[0];
		f->rseq_bytes = (u32)a[1];
		f->rseq_signature = (u32)a[3];
	}
	tw_rseq_register(t, false);
	return r;
}

/* Without rseq its own kind of barrier cannot be had, either. */
i64 tw_sys_membarrier(struct thread *t, const u64 *a)
{
	const i64 rseq = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ;
	if (!is_allowed && (i32)a[0] & rseq)
		return ENGINE_EINVAL;
	const i64 r = tw_pass(t, a);
	return !is_allowed && (i32)a[0] == MEMBARRIER_CMD_QUERY && !tw_failed(r) ? r & ~rseq : r;
}
