/*
 * Between the run-time part of an instrumented program (cc/runtime) and its batch routine (`trackway cc --batch`): full buffers are not sent to a collector, but
 * replayed at once, in the thread that filled them, for an analyzer that is linked into the program.
 *
 * What must hold: take() is called with all signals blocked, on a stack of its own, with the vector registers put aside, and by a thread that is in no signal handler. So the
 * routine may call the C library. Code of the program that it calls is not recorded.
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

struct tw_cc_batch {
	void (*take)(const struct tw_descriptor_table *table, const struct tw_cc_written *w);
	/* Around a fork: nobody is in take() meanwhile. `child`: it begins anew, with nothing seen. */
	void (*before_fork)(void);
	void (*after_fork)(bool child);
	/* All is taken: the routine's answer. `failure`: why something is missing, or NULL. */
	void (*end)(const char *failure);
	void (*machine)(struct tw_xstate *out);
};

/* In programs that have a batch routine. */
extern const struct tw_cc_batch trackway_cc_batch __attribute__((weak, visibility("hidden")));

#endif
