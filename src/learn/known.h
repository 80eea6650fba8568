/* Facts that a learn file has, for a run that is to begin: what need not be told again (base/told.h). */
#ifndef TW_LEARN_KNOWN_H
#define TW_LEARN_KNOWN_H

#include "base/channel.h"

/* Enters them, as far as their modules have not changed since. A file that cannot be read has none. True: there were some. */
int tw_learn_known(const char *file, struct tw_control *c);

#endif
