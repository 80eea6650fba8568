/* What has been told already (base/told.h): where modules are mapped in this process, and the table in the channel. */
#ifndef TW_ENGINE_TOLD_H
#define TW_ENGINE_TOLD_H

#include "engine/record/instrumentor.h"

/* Is what runs now told of, since it records nothing and something is learned? */
static inline bool tw_told_wanted(void)
{
	return (tw_engine.control->flags & TW_FLAG_LEARN) && !tw_instr()->records;
}

/* Something executable was mapped from this file; "": from none. */
void tw_told_mapped(const char *path, u64 address, u64 length, u64 offset);

/* Is there something in this that has not been told yet and is wanted? With `now` it has been, from now on. Under the lock. */
bool tw_told_new(const struct tw_learned *e, bool now);

/* With a log of regions: does it know the block? It has been told. Code of no file is not known. Under the lock. */
bool tw_told_has_region(u64 pc, u64 bytes);
void tw_told_add_region(u64 pc, u64 bytes);

#endif
