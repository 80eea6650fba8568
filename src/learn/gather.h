/*
 * The facts of a recording: what it tells of the code that ran. With a budget, they come from the recorded parts, and
 * from what the bare engine told besides (LEARNED events).
 */
#ifndef TW_LEARN_GATHER_H
#define TW_LEARN_GATHER_H

#include "learn/facts.h"

#include <trackway/names.h>
#include <trackway/recording.h>
#include <trackway/replay.h>

/* Adds the recording's facts of these kinds (TW_LEARN_*) to *f; module 0 is the program. */
int tw_learn_gather(const struct tw_recording *r, const struct tw_replay_options *options, unsigned what, struct tw_facts *f);

#endif
