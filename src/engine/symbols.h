/*
 * Functions by name: where in a file that is being mapped a function begins, by the file's own symbol tables and those of its separate debug file.
 */
#ifndef TW_ENGINE_SYMBOLS_H
#define TW_ENGINE_SYMBOLS_H

#include "engine/engine.h"

/* Offsets in the file at `path` where functions of this name begin, at most `max`. Returns how many; of a file that makes no sense, none. */
u32 tw_symbols_find(const char *path, const char *function, u64 *offset, u32 max);

#endif
