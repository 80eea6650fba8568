/*
 * Contexts (include/trackway/context.h): made for one run by the code that runs an analyzer.
 */
#ifndef TW_PLUGIN_CONTEXT_H
#define TW_PLUGIN_CONTEXT_H

#include "plugin/request.h"

#include <trackway/context.h>

/* `answer` belongs to the caller. The other two must outlive it. NULL: no memory. */
struct tw_context *tw_context_new(const struct tw_request *request, const struct tw_recording *recording, struct tw_answer *answer);
void tw_context_free(struct tw_context *c);

/* A context of the same request for another recording, with its own answer and complaints. */
struct tw_context *tw_context_of_other(const struct tw_context *c, const struct tw_recording *recording);

const struct tw_request *tw_context_request(const struct tw_context *c);

/* What tw_context_wrong was told first; "" if nothing. */
const char *tw_context_complaint(const struct tw_context *c);

/* The names opened by tw_context_names; NULL: it was not called. */
struct tw_names *tw_context_opened_names(const struct tw_context *c);

/* A time stamp in nanoseconds since the start of the recording; 0 if before it. */
uint64_t tw_context_ns(const struct tw_context *c, uint64_t tsc);

#endif
