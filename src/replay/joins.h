/*
 * Joins without a wait. When a thread joins another that has already ended, no event says that the join came later:
 * glibc's pthread_join looks at the thread id in the thread's memory, which the kernel clears when the thread ends,
 * and waits only if it is still there. So if a thread reads this id at a time when the other may have ended, the read
 * is taken to have happened after the end.
 */
#ifndef TW_REPLAY_JOINS_H
#define TW_REPLAY_JOINS_H

#include "recording/recording.h"
#include <trackway/analyzer.h>

/* A thread, and when it ended. */
struct tw_join_end {
	uint64_t time, word; /* word: the address of its number */
	uint32_t pid;
	size_t thread;
};

/* All zeros: none is known. */
struct tw_joins {
	struct tw_join_end *ends; /* by time */
	size_t n;
};

/* Reads from the recording which threads ended in processes with several threads. What cannot be read is left out. 0 or TW_ERR_MEMORY. */
int tw_joins_read(struct tw_joins *j, const struct tw_recording *r);
void tw_joins_free(struct tw_joins *j);

/*
 * Does the batch, of another thread, read the id of a thread that ended after `from` and before `to`? Returns that
 * end; NULL: no. Of several the one with which it is finished first. *block: the batch's last block that reads it.
 */
const struct tw_join_end *tw_joins_find(const struct tw_joins *j, uint32_t pid, size_t thread, uint64_t from, uint64_t to,
                                        const struct tw_batch *b, size_t *block);

#endif
