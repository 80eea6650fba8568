/*
 * Functions by name: where a function starts in a file that is being mapped, according to the file's symbol tables
 * and those of its separate debug file.
 */
#ifndef TW_ENGINE_SYMBOLS_H
#define TW_ENGINE_SYMBOLS_H

#include "engine/record/room.h"

/* A function that was found: its offset in the file, and its number. */
struct tw_symbol {
	u64 offset;
	u32 number;
};

/* Offsets in the file at `path` where functions of this name begin, at most `max`. Returns how many; 0 for an invalid file. */
u32 tw_symbols_find(const char *path, const char *function, struct tw_symbol *found, u32 max);

/*
 * Functions of the file's own symbol tables to which number_of() gives a number other than 0; at most `max`. Names
 * may end with a version, from '@' on. Returns how many; 0 for an invalid file.
 */
u32 tw_symbols_match(const char *path, u32 (*number_of)(const char *name, u32 bytes), struct tw_symbol *found, u32 max);

#endif
