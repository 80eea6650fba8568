/*
 * The view: the stage that all batches pass before an analyzer that is to see only a part of the execution (struct
 * tw_view of request.h).
 *
 * What remains of a batch is passed on as batches of their own, each a piece without a hole, so that first_insn,
 * first_block and first_ref are correct. Events about threads, processes, mappings and registers always pass. A
 * system call, signal or stamp passes if its instruction is in the view; a signal also if its handler is.
 *
 * One struct tw_views serves all states of a run; each state has one struct tw_viewer.
 */
#ifndef TW_PLUGIN_VIEW_H
#define TW_PLUGIN_VIEW_H

#include "plugin/context.h"

struct tw_views;
struct tw_viewer;

/* 1: everything is visible, and none of this is needed. */
int tw_view_is_all(const struct tw_view *view);

/* `no_code`: as TW_NEEDS_NO_CODE. The context must outlive it. NULL: see tw_context_complaint; if that is empty: no memory. */
struct tw_views *tw_views_new(const struct tw_context *context, const struct tw_view *view, int no_code);
void tw_views_free(struct tw_views *v);

/*
 * Whether anything in a chunk can be in the view; `thread` and `chunk` as in tw_recording_chunk_info. A range of
 * addresses is looked up in the recording's index, if there is one. By one thread at a time.
 */
int tw_views_chunk(struct tw_views *v, size_t thread, size_t chunk);

/* Whether what was to be found by name has been found. 0: *what is the name. */
int tw_views_found(const struct tw_views *v, const char **what);

/* The visible function, and in *module the file that it must be in; NULL if not requested. */
const char *tw_views_function(const struct tw_views *v, const char **module);

/* What has been found so far, as a number, and what was found elsewhere: in an earlier run, or by another process. */
uint32_t tw_views_findings(const struct tw_views *v);
void tw_views_add_findings(struct tw_views *v, uint32_t findings);

/* `batch` gets what is left. NULL: no memory. */
struct tw_viewer *tw_viewer_new(struct tw_views *v, int (*batch)(void *state, const struct tw_batch *b), void *state);
void tw_viewer_free(struct tw_viewer *v);

/* As batch() of an analyzer. */
int tw_viewer_batch(struct tw_viewer *v, const struct tw_batch *b);

#endif
