/*
 * Code that `trackway cc` has inserted into the program and its libraries, with TW_FLAG_REST: it is left out of all that is decoded, so that what runs, and is
 * recorded, is the program without it.
 *
 * Which code that is says each module's section (base/cc_section.h), which is read from the file when its code is mapped.
 *
 * What must hold:
 *  - Inserted code runs never, not even a part of it: what it puts aside at one place it takes back at another. So the process is the engine's from its first
 *    instruction on (not --pid).
 *  - It changes no register and no flag that the program's own code could see, and only inserted code reads what it writes. So leaving all of it out is right.
 *  - A place where code may be mapped anew has no module's instructions any more.
 */
#ifndef TW_INSERTED_H
#define TW_INSERTED_H

#include "engine/code/room.h"

/* This part of a file is mapped, and can be executed. Under the lock. */
void tw_inserted_mapped(int fd, u64 start, u64 length, u64 offset);

/* Something else is in [start, end) from now on, or nothing. Under the lock. */
void tw_inserted_gone(u64 start, u64 end);

/* The program's own instruction that runs at pc: there, or behind inserted code that begins, or goes on, there. Under the lock. */
u64 tw_inserted_behind(u64 pc);

#endif
