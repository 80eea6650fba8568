/*
 * What a plug-in analyzer is given: its begin() gets a const struct tw_context *, which outlives its states. All
 * states of a run share one context. It provides the command line options, names for code, and the answer.
 */
#ifndef TRACKWAY_CONTEXT_H
#define TRACKWAY_CONTEXT_H

#include <trackway/analyzer.h>
#include <trackway/answer.h>
#include <trackway/names.h>
#include <trackway/recording.h>

struct tw_context;

/*
 * ---- options: as given, or their defaults. Asking for an option that the analyzer does not have is an error of the
 * plug-in and ends the run. From any thread ----
 */

int tw_context_flag(const struct tw_context *c, const char *option);
uint64_t tw_context_number(const struct tw_context *c, const char *option);  /* NUMBER, BYTES; 0: not given, and no default */
const char *tw_context_text(const struct tw_context *c, const char *option); /* WORD, TEXT; NULL: likewise */
int tw_context_given(const struct tw_context *c, const char *option);        /* whether it was given */

/* ---- what is analyzed ---- */

/* The recording: its threads, modules, processes, descriptors. For a running program it has no chunks, and holds what is known so far. */
const struct tw_recording *tw_context_recording(const struct tw_context *c);

/*
 * Names for its code and data, opened at first use. NULL: no memory. From any thread. Ask once per place, not per
 * execution. Names are complete in end(); an analyzer that needs them earlier sets TW_NEEDS_NAMES.
 */
struct tw_names *tw_context_names(const struct tw_context *c);

/* ---- the answer ---- */

/* Where end() puts its results. */
struct tw_answer *tw_context_answer(const struct tw_context *c);

/*
 * Reports an error: one sentence without a full stop, printed after the analyzer's name. Returns 1, for batch(),
 * merge() or end() to return; begin() returns NULL after it. From any thread.
 */
int tw_context_wrong(const struct tw_context *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
