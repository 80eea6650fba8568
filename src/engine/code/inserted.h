/*
 * Code that `trackway cc` has inserted into the program and its libraries, with TW_FLAG_REST: it is skipped in
 * everything that is decoded, so that what runs, and is recorded, is the program without it.
 *
 * Each module's section says which code that is (base/cc_section.h); it is read from the file when the module's code
 * is mapped.
 *
 * What must hold:
 *  - Inserted code never runs, not even part of it: what it saves at one place it restores at another. So the engine
 *    must have the process from its first instruction on (no --pid).
 *  - It changes no register or flag that the program's own code could read, and only inserted code reads what it
 *    writes. So skipping all of it is correct.
 *  - A place where code may be mapped anew no longer has any module's instructions.
 */
#ifndef TW_INSERTED_H
#define TW_INSERTED_H

#include "engine/code/room.h"

/* This part of a file has been mapped executable. Under the lock. */
void tw_inserted_mapped(int fd, u64 start, u64 length, u64 offset);

/* [start, end) has been unmapped or replaced. Under the lock. */
void tw_inserted_gone(u64 start, u64 end);

/* The program's own instruction that runs at pc: there, or after inserted code that starts, or continues, there. Under the lock. */
u64 tw_inserted_behind(u64 pc);

#endif
