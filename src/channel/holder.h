/*
 * The holder: a thread of the collector that has given up its capabilities. Under /proc a process may open what another has open only if it has all capabilities of that one; of
 * a collector that root has started, a program that drops its own (the sandbox of a browser) could not open the channel any more. It can as the holder has it.
 */
#ifndef TW_HOLDER_H
#define TW_HOLDER_H

#include "base/channel.h"

struct tw_holder;

/* Begins if somebody has asked for one; then, and if it has begun already, returns it. NULL: there is none. */
struct tw_holder *tw_holder_look(struct tw_control *control, struct tw_holder *holder);

/* Accepts NULL. */
void tw_holder_end(struct tw_holder *holder);

#endif
