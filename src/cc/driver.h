/*
 * `trackway cc`: runs a compiler so that the code it compiles is instrumented. For each source, the compiler makes assembly,
 * with the user's own flags; this is assembled once for its encodings, rewritten, and assembled again. A link gets the
 * run-time part, and its output is completed.
 */
#ifndef TW_CC_DRIVER_H
#define TW_CC_DRIVER_H

#include "cc/wishes.h"

/* Exit status: the compiler's own. argv: the compiler's command. */
int tw_cc_drive(const struct tw_cc_wishes *wishes, int argc, char **argv);

#endif
