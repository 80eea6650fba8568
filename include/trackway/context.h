/*
 * What a plug-in analyzer is given: its begin() gets a const struct tw_context *, which lives longer than its states. One context is shared by all states of a
 * run. What was asked for on the command line, names for code, and where the answer goes.
 */
#ifndef TRACKWAY_CONTEXT_H
#define TRACKWAY_CONTEXT_H

#include <trackway/analyzer.h>
#include <trackway/answer.h>
#include <trackway/names.h>
#include <trackway/recording.h>

struct tw_context;

/* ---- options: as given, or their defaults. To ask for one that the analyzer does not have is a mistake of the plug-in and ends the run. From any thread ---- */

int tw_context_flag(const struct tw_context *c, const char *option);
uint64_t tw_context_number(const struct tw_context *c, const char *option);  /* NUMBER, BYTES; 0: not given, and there is no default */
const char *tw_context_text(const struct tw_context *c, const char *option); /* WORD, TEXT; NULL: likewise */
int tw_context_given(const struct tw_context *c, const char *option);        /* whether it was given */

/* ---- what is analyzed ---- */

/* The recording: its threads, modules, processes, descriptors. Of a program that still runs it has no chunks, and holds what is known at the time. */
const struct tw_recording *tw_context_recording(const struct tw_context *c);

/* Names for its code and data; they are opened when first asked for. NULL: there is no memory. From any thread. Ask once for each place, not for each execution. They are whole in end();
 * who needs them before that says TW_NEEDS_NAMES. */
struct tw_names *tw_context_names(const struct tw_context *c);

/* ---- the answer ---- */

/* Where end() puts it. */
struct tw_answer *tw_context_answer(const struct tw_context *c);

/* Something is wrong, in one sentence without a full stop: it is printed with the analyzer's name in front. Returns 1, for batch(), merge() or end() to return;
 * begin() returns NULL after it. From any thread. */
int tw_context_wrong(const struct tw_context *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
