/*
 * The interface between the run-time part of an instrumented program (cc/runtime) and its batch routine (`trackway cc
 * --batch`): full buffers are not sent to a collector, but replayed at once, in the thread that filled them, for an
 * analyzer that is linked into the program.
 *
 * What must hold: take() is called with all signals blocked, on a stack of its own, with the vector registers saved,
 * and by a thread that is in no signal handler. So the routine may call the C library. Program code that it calls is
 * not recorded.
 */
#ifndef TW_CC_BATCH_H
#define TW_CC_BATCH_H

#include "base/channel.h"
#include <stdbool.h>

/* What a thread has written (base/channel.h: the layout of a buffer). */
struct tw_cc_written {
	const uint8_t *data;
	uint32_t bytes;  /* TORN: room; the records end somewhere in it, and zeros follow */
	uint32_t serial; /* of the thread, as in a recording */
	bool torn;
	bool last; /* nothing follows of this thread */
};

struct tw_cc_process;
struct tw_cc_thread;
struct tw_cc_stream;

/* What buffer-filling code of all modules calls: cc/handover/handover.c. */
struct tw_cc_handover {
	/* The module has a batch routine, and the process has none yet: recording for that starts now. */
	bool (*begin)(struct tw_cc_process *p);
	void (*in_child)(struct tw_cc_process *p);
	/* The contents of the stream's buffer, up to `pointer`, go to the routine; 0: the end is not known. The buffer is empty then. */
	void (*take)(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, bool last);
	/*
	 * The entry belongs to a thread that ended without notice: what it wrote goes to the routine with what the entry's
	 * next thread writes.
	 */
	void (*inherit)(struct tw_cc_process *p, struct tw_cc_thread *t);
	/* The module has the routine: everything left goes to it, and it ends. The calling thread's streams have ended. */
	void (*end)(struct tw_cc_process *p, struct tw_cc_thread *t);
};

struct tw_cc_batch {
	const struct tw_cc_handover *handover;
	void (*take)(const struct tw_descriptor_table *table, const struct tw_cc_written *w);
	/* Around a fork: nobody is in take() meanwhile. `child`: it starts again, with nothing seen. */
	void (*before_fork)(void);
	void (*after_fork)(bool child);
	/* Everything is taken: the routine's end(). `failure`: why something is missing, or NULL. */
	void (*end)(const char *failure);
	void (*machine)(struct tw_xstate *out);
};

extern const struct tw_cc_handover tw_cc_handover __attribute__((visibility("hidden")));

/* In programs that have a batch routine. */
extern const struct tw_cc_batch trackway_cc_batch __attribute__((weak, visibility("hidden")));

#endif
