/*
 * The memory of recorded processes: what was mapped where, and when, and by which system call: files, heap, stacks,
 * anonymous and shared memory.
 *
 * It comes from MAP and UNMAP events, and from the system calls after them (for mremap, shmdt and mprotect from the
 * calls alone). Memory that was there when a program started, or was attached to, was mapped by no call. A forked
 * process additionally has what its parent had then. Recordings made before MAP events covered all memory have
 * executable mappings only.
 */
#ifndef TW_MAPPINGS_H
#define TW_MAPPINGS_H

#include <trackway/recording.h>

enum tw_mapping_kind {
	TW_MAPPING_FILE,
	TW_MAPPING_ZEROS, /* a file's variables that begin as zeros (.bss) */
	TW_MAPPING_HEAP,  /* brk */
	TW_MAPPING_STACK, /* of the first thread, with what it may grow to */
	TW_MAPPING_THREAD_STACK,
	TW_MAPPING_ANONYMOUS,
	TW_MAPPING_SHARED, /* anonymous, or of shmat */
	TW_MAPPING_KERNEL  /* vdso, vvar */
};

struct tw_mapping {
	uint64_t address, end, offset;
	uint64_t began, ended; /* time stamps; began 0: with the program; ended 0: still mapped at the end */
	uint64_t pc;           /* of the system call's instruction; 0: no call made it, or the call is not recorded */
	uint64_t call;         /* its number, as in struct tw_syscall */
	uint32_t pid, thread;  /* thread: the number of the one that made it, as in tw_recording_thread */
	uint32_t prot;         /* all that it ever had */
	uint32_t kind;         /* enum tw_mapping_kind */
	char *path;            /* of a file; "" */
};

struct tw_mappings {
	struct tw_mapping *items; /* by process, then address, then time */
	size_t n;
};

/* Reads the events of all threads. What cannot be read is left out. 0 or TW_ERR_MEMORY; tw_mappings_free in any case. */
int tw_mappings_read(const struct tw_recording *r, struct tw_mappings *out);
void tw_mappings_free(struct tw_mappings *m);

/* "file", "heap"... */
const char *tw_mapping_kind_name(uint32_t kind);

#endif
