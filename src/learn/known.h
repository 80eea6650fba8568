/* Facts in a learn file at the start of a run: what need not be told again (base/told.h). */
#ifndef TW_LEARN_KNOWN_H
#define TW_LEARN_KNOWN_H

#include "base/channel.h"

/* Enters them, except for modules that have changed since. An unreadable file has none. True: there were some. */
int tw_learn_known(const char *file, struct tw_control *c);

#endif
