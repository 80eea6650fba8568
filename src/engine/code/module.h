/*
 * Modules: code of mapped files, identified by the file. They identify the source of translations, in this process
 * and in others that run the same files (snapshot.h).
 *
 * A module is one private mapping of a part of a regular file, readable and executable, at a fixed address. Fragments
 * made from it carry its number; 0 stands for all other code. It may be writable, as are the images that Lisp systems
 * map of themselves. Then translations from a snapshot are valid as long as nothing has been written there, so all
 * stores into it are detected from the time it is mapped (memory.h).
 *
 * What must hold:
 *  - Fragments of a module are found only while it is mapped exactly so: this file, this part of it, this address. A
 *    module from a snapshot is EXPECTED until then.
 *  - Any later change of the range (unmapped, reprotected, mapped over) makes the fragments of what was changed
 *    stale, as always (memory.h), and the module CHANGED: code translated from there afterwards has number 0.
 *  - A file that changed within the last seconds has no identity: it could change again without a change of its
 *    times.
 */
#ifndef TW_MODULE_H
#define TW_MODULE_H

#include "engine/code/room.h"
#include "base/store.h"

#define TW_MODULES 128u

enum module_state {
	MODULE_EXPECTED, /* not mapped (yet) */
	MODULE_PRESENT,
	MODULE_CHANGED, /* something has been done to its place since it was mapped */
};

struct tw_module {
	struct tw_file file;
	u64 start, length, offset;
	u64 end;   /* of what is still as it was mapped */
	u32 state; /* enum module_state */
	u16 writable;
	u16 kept; /* writable, in a snapshot: fragments of it are */
};

/* Numbered from 1. Changed under tw_engine.lock. */
struct tw_modules {
	u32 n;      /* the highest number */
	u32 missed; /* how many were not entered: too many, no identity of the file, or an address chosen by the kernel */
	struct tw_module of[TW_MODULES];
};
extern struct tw_modules tw_modules;

/* The state of an open file or, with fd -1, of the one at `path`. False: it is not a regular file. */
bool tw_file_state(int fd, const char *path, struct tw_file *f);

/* Likewise its identity. False: it has none. */
bool tw_file_identify(int fd, const char *path, struct tw_file *f);

bool tw_file_equal(const struct tw_file *a, const struct tw_file *b);

/* Are a and b the same part of the same file at the same place? */
bool tw_module_equal(const struct tw_module *a, const struct tw_module *b);

/* Makes stores into [start, end) be detected from now on. False: not possible. */
typedef bool tw_module_watch(u64 start, u64 end);

/*
 * This part of the file has been mapped; tw_memory_protected knows. Under the lock. True: it is a module that was
 * expected (tw_snapshot_came). `watch`: for a writable one; NULL: writable mappings are not to be modules.
 */
bool tw_module_mapped(int fd, u64 start, u64 length, u64 offset, int prot, int flags, tw_module_watch *watch);

/* [start, end) has changed. Under the lock. */
void tw_module_touched(u64 start, u64 end);

/* The module that holds all of [pc, pc + bytes), or 0. */
u8 tw_module_at(u64 pc, u32 bytes);

/* May fragments of this module be entered? */
static inline bool tw_module_usable(u8 number)
{
	return !number || __atomic_load_n(&tw_modules.of[number].state, __ATOMIC_RELAXED) != MODULE_EXPECTED;
}

#endif
