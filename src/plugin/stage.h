/*
 * The stage: an analyzer around the requested one, which tw_replay() runs in its place. It passes batches through the
 * view, tells the guard who runs, and counts progress. `arg` of its begin() is a struct tw_stage.
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
	void **kept;                  /* receives a state that has seen everything, instead of its end(); NULL: the state ends */
};

/* It has the scope of the request's analyzer, and can pack if that can. */
struct tw_analyzer tw_stage_analyzer(const struct tw_request *request);

/*
 * Replays the recording of a context for an analyzer that another analyzer runs itself; it sees what the request's
 * window shows. The recording may be another one. As tw_replay, but `options->select` is asked only about chunks that
 * the window may show.
 */
int tw_stage_replay(const struct tw_context *c, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

/* What the analyzer needs and a recording lacks, as one sentence without a full stop; NULL: nothing. */
const char *tw_stage_lacks(const struct tw_analyzer *analyzer, const struct tw_recording *r);

/* The same for a recording format, before there is a recording. */
const char *tw_stage_lacks_format(const struct tw_analyzer *analyzer, uint32_t format, int order);

#endif
