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
	u64 data, data_end;   /* ...start of the last segment, and end of its file data: as in /proc/PID/stat */
	bool pie;
	bool executable_stack;
};

/* 0, or -errno and nothing can be done for the process. */
i64 tw_load_program(const char *path, struct loaded *l);

/* Reports to the recording what the loader has mapped, once the first thread can write events. */
void tw_load_tell(struct thread *t);

#endif
