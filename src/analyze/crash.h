/*
 * Crashes: threads whose last event says that a signal ended their process, and which access it was for.
 */
#ifndef TW_CRASH_H
#define TW_CRASH_H

#include "analyze/backtrace.h"

/* The access that was not made. */
struct tw_undone {
	uint64_t address; /* where it began, if the instruction tells; else where it faulted */
	uint32_t size;    /* bytes; 0: not known */
	uint8_t type;     /* enum tw_ref_type; 0: none, or an instruction that could not be read */
};

struct tw_crash {
	size_t thread; /* as in tw_recording_thread */
	struct tw_fault fault;
};

/*
 * The threads of which a process died, in their order: fills at most `room`; *n is how many there are. Only the last chunk of a thread is looked at, and only of processes that were
 * killed. 0 or TW_ERR_MEMORY; a chunk that is damaged tells of none.
 */
int tw_crashes(const struct tw_recording *r, struct tw_crash *crashes, size_t room, size_t *n);

/* The access of the instruction at which a thread stopped: by descriptor `d`, if that has it (NULL: none), else by the newest one that does. */
struct tw_undone tw_crash_access(const struct tw_recording *r, const struct tw_descriptor *d, const struct tw_fault *fault);

/* Whether it was one: not of a signal that was sent, an illegal instruction, a division. */
int tw_crash_is_access(const struct tw_fault *fault, const struct tw_undone *undone);

#endif
