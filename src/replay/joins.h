/*
 * When a thread joins another that has ended already, no event says that it came later: glibc's pthread_join looks at the thread's number, which the kernel clears when the thread ends, and
 * waits only if it is there still. So a thread that looks there, at a time when the other may have ended, is taken to have looked when that had.
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

/* Reads from the recording which threads ended, of those whose process had others. What cannot be read is left out. 0 or TW_ERR_MEMORY. */
int tw_joins_read(struct tw_joins *j, const struct tw_recording *r);
void tw_joins_free(struct tw_joins *j);

/*
 * Does the batch, of another thread than that, look at the number of one that ended behind `from` and before `to`? Returns its end: NULL: no. Of several the one that it has done with first.
 * *block: the batch's last block that looks.
 */
const struct tw_join_end *tw_joins_find(const struct tw_joins *j, uint32_t pid, size_t thread, uint64_t from, uint64_t to,
                                        const struct tw_batch *b, size_t *block);

#endif
