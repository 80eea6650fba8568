/* trackway report --last: what a thread did last. */
#ifndef TW_LAST_H
#define TW_LAST_H

#include <stdio.h>
#include <trackway/names.h>
#include <trackway/replay.h>

struct tw_last_options {
	FILE *f;         /* where it goes */
	uint64_t blocks; /* how many */
	int64_t thread;  /* serial number; -1: the thread of which the program died, else the first */
	int json;
	struct tw_replay_options replay; /* `damage` and its context */
};

/* Writes the last blocks of a thread with their source lines, the earliest first. 0 or an enum tw_error; TW_ERR_RANGE: no such thread. */
int tw_last_print(const struct tw_recording *r, struct tw_names *names, const struct tw_last_options *options);

#endif
