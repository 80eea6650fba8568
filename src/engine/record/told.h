/* What has been told already (base/told.h): where modules are mapped in this process, and the table in the channel. */
#ifndef TW_ENGINE_TOLD_H
#define TW_ENGINE_TOLD_H

#include "engine/record/room.h"

/* Something executable was mapped from this file; "": from none. */
void tw_told_mapped(const char *path, u64 address, u64 length, u64 offset);

/* Is there something in this that has not been told yet and is wanted? With `now` it has been, from now on. Under the lock. */
bool tw_told_new(const struct tw_learned *e, bool now);

#endif
