/*
 * The holder: a thread of the collector that has given up its capabilities. Under /proc a process may open what
 * another has open only if it has all capabilities of that one. If root started the collector, a program that drops
 * its capabilities (the sandbox of a browser) could no longer open the channel. It can through the holder.
 */
#ifndef TW_HOLDER_H
#define TW_HOLDER_H

#include "base/channel.h"

struct tw_holder;

/* Starts one if somebody has asked for it, and returns it, or the one that was started before. NULL: there is none. */
struct tw_holder *tw_holder_look(struct tw_control *control, struct tw_holder *holder);

/* Accepts NULL. */
void tw_holder_end(struct tw_holder *holder);

#endif
