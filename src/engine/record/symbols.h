/*
 * Functions by name: where a function starts in a file that is being mapped, according to the file's symbol tables
 * and those of its separate debug file.
 */
#ifndef TW_ENGINE_SYMBOLS_H
#define TW_ENGINE_SYMBOLS_H

#include "engine/record/room.h"

/* A function that was found: where in the file it begins, and its number. */
struct tw_symbol {
	u64 offset;
	u32 number;
};

/* Where in the file at `path` functions of this name begin, at most `max`. Returns how many; of a file that makes no sense, none. */
u32 tw_symbols_find(const char *path, const char *function, struct tw_symbol *found, u32 max);

/*
 * The functions of the file's own symbol tables that number_of() has a number for, not 0; at most `max`. Names may have a version behind them, from '@' on. Returns
 * how many there are; of a file that makes no sense, none.
 */
u32 tw_symbols_match(const char *path, u32 (*number_of)(const char *name, u32 bytes), struct tw_symbol *found, u32 max);

#endif
