/* The block profile of a Lackey trace, made while it is read. */
#ifndef TW_IMPORT_PROFILE_H
#define TW_IMPORT_PROFILE_H

#include "analyze/profile.h"
#include "import/trace.h"

/* Reads `t` to its end and fills *out, which is empty on failure; tw_profile_free. 0 or a negative enum tw_error. */
int tw_profile_trace(struct tw_trace *t, struct tw_profile *out);

#endif
