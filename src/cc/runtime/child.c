/* After a fork, the child still has its parent's buffers. It gets its own here. */
#include "runtime.h"
#include <asm/unistd.h>

void tw_cc_child_become(struct tw_cc_process *p, uint32_t parent)
{
	const uint64_t tp = tw_cc_thread_pointer();
	if (p->is_known)
		*p->is_known = 1;
	p->copies++;
	p->lock = 0;
	p->parent_pid = p->pid;
	p->parent_tid = parent;
	p->pid = (uint32_t)SYS(__NR_getpid);
	struct tw_cc_thread *t;
	for (uint32_t k = 0; (t = tw_cc_next_entry(p, &k));) {
		if (t->tp == tp) /* others may have forked at the same time */
			p->parent_tid = t->tid;
		tw_cc_forget_streams(p, t, t->tp == tp); /* memory of other threads is not here */
		t->tp = 0;
		t->kept = 0;
	}
	if (tw_cc_batch_open(p)) {
		p->batch->handover->in_child(p);
		p->batch->after_fork(true);
	}
}

void tw_cc_child_notice(struct tw_cc_process *p)
{
	if (p->mode != TW_CC_RECORDED || !p->is_known || *p->is_known)
		return;
	tw_cc_child_become(p, p->pid);
	if (!p->batch)
		tw_cc_fail(p, "a process was made by a system call in code that is not instrumented, and wrote where its parent did");
}
