/*
 * The loader: maps the program and its interpreter, as the kernel would have, and says where to start. Modules go into the low arena.
 */
#ifndef TW_LOADER_H
#define TW_LOADER_H

#include "engine/kernel/room.h"

struct loaded {
	u64 entry; /* first instruction: the interpreter's, or the program's own */
	u64 program_entry, phdr, phnum, phent;
	u64 interpreter_base; /* 0: static */
	u64 end;              /* of the program's last segment */
	u64 code, code_end;   /* the first and last address of executable segments... */
	u64 data,
	    data_end; /* ...the last segment's first, and where the last one's data from the file ends: as the kernel has it in /proc/PID/stat */
	bool pie;
	bool executable_stack;
};

/* 0, or -errno with nothing to be said for the process. */
i64 tw_load_program(const char *path, struct loaded *l);

/* Tells the recording of what the loader has mapped; once the first thread can write events. */
void tw_load_tell(struct thread *t);

#endif
