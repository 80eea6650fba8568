/*
 * The sets of signals that a thread shows in /proc (kernel/status.h), and that its slot has for other recorded
 * processes: updated whenever one of them changes.
 */
#ifndef TW_SHOW_H
#define TW_SHOW_H

#include "base/channel.h"
#include "engine/signal/room.h"

void tw_signal_tell(const struct thread *t, struct tw_slot_signals *s);

/* A set of the thread's own is another. */
void tw_signal_show(const struct thread *t);

/* One of its process's is, too. */
void tw_signal_show_process(const struct thread *t);

#endif
