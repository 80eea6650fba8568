/*
 * Draining: what threads have written is taken from the buffers of their slots, which they get back, and slots of threads that have ended or died come free again (base/channel.h has what
 * must hold between both ends). All of this is the collecting thread's.
 */
#ifndef TW_DRAIN_H
#define TW_DRAIN_H

#include <stdint.h>
#include <stdatomic.h>

struct tw_collector;

/* Takes what is full. Returns how much was done; *active says how many slots are still in use. */
unsigned tw_drain_all(struct tw_collector *c, unsigned *active);

/* Takes what there is of the threads that still run, and leaves them. */
void tw_drain_leave_running(struct tw_collector *c);

/* New descriptors of the program whose threads have this slot. */
void tw_drain_descriptors(struct tw_collector *c, uint32_t slot);

/* Looks at `most` slots in use whether their threads have died, going on from where it stopped the last time. */
void tw_drain_check_threads(struct tw_collector *c, unsigned most);

/* Slots that came free a second ago are not the next to be taken: the memory of their buffers goes back to the machine. */
void tw_drain_clear_slots(struct tw_collector *c, uint64_t now);

/* Threads that have begun, or filled a buffer, in the last `ns` nanoseconds. */
unsigned tw_drain_count_busy(const struct tw_collector *c, uint64_t now, uint64_t ns);

/* Processes of which a first thread is there. By any thread. */
unsigned tw_drain_count_processes(const struct tw_collector *c);

/* What was wrong with what an engine wrote; the first is kept. */
void tw_drain_note_failure(struct tw_collector *c, int error);

/* Wakes all who wait for this word of the channel. */
void tw_drain_wake(_Atomic uint32_t *word);

#endif
