/*
 * The view: the one stage that all batches pass before an analyzer which is to see only a part of the execution (struct tw_view of request.h).
 *
 * What is left of a batch is given on as batches of its own, each of them a piece without a hole, so that its first_insn, first_block and first_ref are what they
 * say. Events that tell of threads, processes, mappings and registers pass always; a system call, signal or stamp passes if its instruction is part of the view,
 * a signal also if its handler is.
 *
 * One struct tw_views serves all states of a run, one struct tw_viewer a state.
 */
#ifndef TW_PLUGIN_VIEW_H
#define TW_PLUGIN_VIEW_H

#include "plugin/context.h"

struct tw_views;
struct tw_viewer;

/* 1: all is seen, and there is no need for any of this. */
int tw_view_is_all(const struct tw_view *view);

/* `no_code`: as TW_NEEDS_NO_CODE. The context must stay. NULL: see tw_context_complaint; or there is no memory, where that is empty. */
struct tw_views *tw_views_new(const struct tw_context *context, const struct tw_view *view, int no_code);
void tw_views_free(struct tw_views *v);

/* Whether anything of a chunk can be part of the view; `thread` and `chunk` as in tw_recording_chunk_info. A range of addresses is looked for in the recording's index, if it has
 * one. By one thread at a time. */
int tw_views_chunk(struct tw_views *v, size_t thread, size_t chunk);

/* Whether what was to be found by name has been found. 0: *what is the name. */
int tw_views_found(const struct tw_views *v, const char **what);

/* The function that is seen, and *module, the file that it is to be in; each is NULL where none was asked for. */
const char *tw_views_function(const struct tw_views *v, const char **module);

/* What of it has been found so far, as a number, and what was found elsewhere: in an earlier run, or by another process. */
uint32_t tw_views_findings(const struct tw_views *v);
void tw_views_add_findings(struct tw_views *v, uint32_t findings);

/* `batch` gets what is left. NULL: no memory. */
struct tw_viewer *tw_viewer_new(struct tw_views *v, int (*batch)(void *state, const struct tw_batch *b), void *state);
void tw_viewer_free(struct tw_viewer *v);

/* As batch() of an analyzer. */
int tw_viewer_batch(struct tw_viewer *v, const struct tw_batch *b);

#endif
