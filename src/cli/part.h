/* A part of an execution: certain threads and processes, from one time to another; and replay of that part. */
#ifndef TW_PART_H
#define TW_PART_H

#include "plugin/view.h"

#include <trackway/replay.h>

struct tw_part {
	const struct tw_recording *recording;
	struct tw_request request; /* its view: thread, from, to */
	int64_t process;           /* its pid; -1: all */
	struct tw_context *context;
	struct tw_views *views; /* NULL: no limit in time */
};

/* Call once its view and process are set. Returns 0, or an exit status after reporting an error for `command`. */
int tw_part_open(struct tw_part *p, const char *command, const struct tw_recording *r);
void tw_part_close(struct tw_part *p);

/* Reports on stderr if the view begins after the end of the recording or of its thread, so that it is empty. */
void tw_part_tell_end(const char *command, const struct tw_recording *r, const struct tw_view *view);

/* Is it all of the recording? */
int tw_part_is_all(const struct tw_part *p);

/* As tw_replay, for hot.h and calls.h; the first argument is the part. */
int tw_part_replay(void *part, const struct tw_recording *r, const struct tw_replay_options *replay, const struct tw_analyzer *analyzer,
                   void *arg);

#endif
