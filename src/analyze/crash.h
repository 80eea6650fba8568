/*
 * Crashes: threads whose last event says that a signal ended their process, and the access that caused it.
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
 * The threads whose fault or signal ended a process, in order: fills at most `room`; *n is their number. Looks only
 * at the last chunk of a thread, and only at killed processes. 0 or TW_ERR_MEMORY; damaged chunks are skipped.
 */
int tw_crashes(const struct tw_recording *r, struct tw_crash *crashes, size_t room, size_t *n);

/*
 * The access of the instruction at which a thread stopped: from descriptor `d`, if that has it (NULL: none),
 * otherwise from the newest one that does.
 */
struct tw_undone tw_crash_access(const struct tw_recording *r, const struct tw_descriptor *d, const struct tw_fault *fault);

/* Was it an access: not a sent signal, an illegal instruction, or a division? */
int tw_crash_is_access(const struct tw_fault *fault, const struct tw_undone *undone);

#endif
