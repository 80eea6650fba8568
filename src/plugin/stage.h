/*
 * The stage: an analyzer around the one that was asked for, which tw_replay() runs in its place. Here batches pass the view, the guard knows who runs, and
 * progress is counted. `arg` of its begin() is a struct tw_stage.
 */
#ifndef TW_PLUGIN_STAGE_H
#define TW_PLUGIN_STAGE_H

#include "plugin/view.h"

#include <trackway/replay.h>

struct tw_stage {
	const struct tw_request *request;
	const struct tw_context *context;
	struct tw_views *views;       /* NULL: all is seen */
	_Atomic uint64_t *insns_done; /* NULL: nobody wants to know */
	void **kept;                  /* a state that has seen all goes there in the place of its end(); NULL: it ends */
};

/* Its scope is that of the request's analyzer; it can pack if that can. */
struct tw_analyzer tw_stage_analyzer(const struct tw_request *request);

/*
 * Replays the recording of a context for an analyzer that another one runs by itself, and has it see what the request's window shows, which may be one of another recording: as
 * tw_replay, but that `options->select` is asked only of chunks that the window may see.
 */
int tw_stage_replay(const struct tw_context *c, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

/* What a recording lacks that the analyzer needs, as one sentence without a full stop; NULL: nothing. */
const char *tw_stage_lacks(const struct tw_analyzer *analyzer, const struct tw_recording *r);

/* The same of what a format holds, before there is anything else. */
const char *tw_stage_lacks_format(const struct tw_analyzer *analyzer, uint32_t format, int order);

#endif
