/*
 * Draining: takes what threads have written from the buffers of their slots, returns the buffers, and frees the slots
 * of threads that have ended or died (base/channel.h has the invariants between both ends). All of this belongs to
 * the collecting thread.
 */
#ifndef TW_DRAIN_H
#define TW_DRAIN_H

#include <stdint.h>
#include <stdatomic.h>

struct tw_collector;

/* Takes what is full. Returns how much was done; *active is the number of slots still in use. */
unsigned tw_drain_all(struct tw_collector *c, unsigned *active);

/* Takes what there is of running threads, and leaves them. */
void tw_drain_leave_running(struct tw_collector *c);

/* New descriptors of the program whose threads have this slot. */
void tw_drain_descriptors(struct tw_collector *c, uint32_t slot);

/* Checks `most` slots in use for dead threads, continuing where it stopped last time. */
void tw_drain_check_threads(struct tw_collector *c, unsigned most);

/* Slots that became free a second ago are not the next to be taken: the memory of their buffers is released. */
void tw_drain_clear_slots(struct tw_collector *c, uint64_t now);

/* Number of threads that have started, or filled a buffer, in the last `ns` nanoseconds. */
unsigned tw_drain_count_busy(const struct tw_collector *c, uint64_t now, uint64_t ns);

/* Number of processes with a first thread. By any thread. */
unsigned tw_drain_count_processes(const struct tw_collector *c);

/* An engine wrote something invalid; the first error is kept. */
void tw_drain_note_failure(struct tw_collector *c, int error);

/* Wakes everyone waiting for this word of the channel. */
void tw_drain_wake(_Atomic uint32_t *word);

#endif
