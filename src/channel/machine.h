/*
 * The recording machine: what a recording says about it, and its resources.
 */
#ifndef TW_MACHINE_H
#define TW_MACHINE_H

#include "base/store.h"
#include <trackway/descriptor.h>

#include <time.h>

/* Which machine it is, and since when it has been running. 0: the kernel does not say. */
int tw_machine_identify(struct tw_machine_id *id);

/* Layout of the extended state, from CPUID leaf 0xD and XCR0. */
void tw_machine_xstate(struct tw_xstate *out);

/* The processor's name, without needless blanks; "" if it does not say. */
void tw_machine_cpu(char name[64]);

/* Bytes of memory: what the machine has, or this process may take. */
uint64_t tw_machine_memory(void);

/* Bytes of memory that are free, or reclaimable, also within this process's control group. */
uint64_t tw_machine_free(void);

/* Processors that this process may run on; at least 1. */
unsigned tw_machine_processors(void);

/* Does the time stamp counter run at a constant rate in all processor states, on all cores? */
int tw_machine_tsc_invariant(void);

/* CLOCK_MONOTONIC, in ns. */
uint64_t tw_machine_ns(void);

/* This many ms from now by CLOCK_REALTIME, for waits on semaphores and conditions. */
struct timespec tw_machine_deadline(unsigned ms);

/* The time stamp counter and CLOCK_MONOTONIC_RAW, in ns, at one moment. */
struct tw_moment {
	uint64_t tsc, ns;
};
struct tw_moment tw_machine_now(void);

/* Cycles per second of the counter between two moments; 0: they are the same. */
uint64_t tw_machine_tsc_hz(const struct tw_moment *from, const struct tw_moment *to);

#endif
