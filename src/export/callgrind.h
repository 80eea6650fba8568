/*
 * Callgrind's profile format, for KCachegrind and callgrind_annotate. For each instruction and source line, in the
 * context of its function, it has: instructions executed (Ir), reads (Dr), writes (Dw), conditional and indirect
 * branches executed (Bc, Bi), calls with their inclusive cost, and jumps.
 *
 * The sums of Ir, Dr and Dw are the recording's totals of instructions, reads and writes (a modify is a read and a
 * write). All processes and threads are in one profile, distinguished by their code's files. analyze/calls.h defines
 * what a call is.
 */
#ifndef TW_CALLGRIND_H
#define TW_CALLGRIND_H

#include <stdio.h>
#include <trackway/names.h>
#include <trackway/replay.h>

/* To be used instead of tw_replay, as in struct tw_calls_options (analyze/call.h). NULL: tw_replay. */
struct tw_callgrind_replay {
	int (*run)(void *run_context, const struct tw_recording *r, const struct tw_replay_options *replay,
	           const struct tw_analyzer *analyzer, void *arg);
	void *run_context;
};

/* Replays `r` and writes its profile to `f`. 0, a negative enum tw_error, or what options->damage returned; the caller checks ferror(f). */
int tw_callgrind(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_names *names,
                 const struct tw_callgrind_replay *by, FILE *f);

#endif
