/*
 * The application's address space as the engine manages it: where modules go, what is executable, the emulated brk.
 *
 * What must hold: the list of executable ranges is exactly what the application has mapped executable (the engine
 * sees every mmap, munmap, mprotect and mremap). Code is translated only from these ranges. When a range is changed
 * or unmapped, its fragments are stale before the system call that did it returns. A page that is both writable and
 * executable and from which code was translated is write-protected. A store into it is let through and makes its
 * fragments stale, including the one that contains the store (signal/synchronous.h).
 */
#ifndef TW_MEMORY_H
#define TW_MEMORY_H

#include "engine/code/room.h"

/*
 * Notes that [start, start + length) was mapped or has this protection now (0: unmapped); code translated from its
 * former contents is stale.
 */
void tw_memory_protected(u64 start, u64 length, int prot);

/* The same for a stack that ends at `end`, including what it grows to; none of its pages may be watched. */
void tw_memory_stack_protected(u64 end, int prot);

/* Is pc in an executable range? Stores the end of the range in *end. */
bool tw_memory_executable(u64 pc, u64 *end);

/* Is anything in [start, end) executable? */
bool tw_memory_any_code(u64 start, u64 end);

/* Is anything in [start, end) both executable and writable? */
bool tw_memory_any_writable_code(u64 start, u64 end);

/*
 * The first address from pc on at which no code can be read: the end of executable memory, or, on this page or the
 * next, the end of the file mapped there; then *beyond_file.
 */
u64 tw_memory_code_end(u64 pc, bool *beyond_file);

/* Code in [pc, pc + bytes) has been translated: from now on stores into writable pages of it must be detected. */
void tw_memory_watch(u64 pc, u64 bytes);

/* The same for all pages of this range of writable code. False: too many, or the kernel does not allow it. */
bool tw_memory_watch_all(u64 start, u64 end);

/* A store to this address faulted: true if it was on a page watched for changes of code, which is now writable again. */
bool tw_memory_unwatch(u64 address);

/* The same for the watched pages of [start, start + length), whose fragments become stale. */
void tw_memory_unwatch_range(u64 start, u64 length);

/* Number of pages watched and released so far; without a lock, so possibly slightly out of date. */
u64 tw_memory_watch_changes(void);

/* Is any page watched? */
bool tw_memory_watches(void);

/* The same for a stack that ends at `end`. */
void tw_memory_unwatch_stack(u64 end);

/* The same for every watched page, all of whose fragments become stale. False: there was none. */
bool tw_memory_unwatch_all(void);

/* Has the application mapped this address both executable and writable? */
bool tw_memory_writable_code(u64 address);

/* If so, makes it possible to perform the store that faulted there. */
bool tw_memory_let_write(u64 address);

/* Code on the pages from that of `first` to that of `last` has been written: its fragments are stale. */
void tw_memory_written(u64 first, u64 last);

/* Some code is not there, or is zeros, in forked processes (madvise). tw_memory_forked: this is one, all its fragments are stale. */
void tw_memory_forks_differ(void);
void tw_memory_forked(void);

/* A free place in the low arena for a module of this length, or 0. */
u64 tw_memory_place(u64 length);

/*
 * A non-relocatable program is at [start, end). If that is in the arena, modules are placed after it, with as much
 * room before them, for brk, as for them.
 */
void tw_memory_place_behind(u64 start, u64 end);

/* The engine's lowest memory that ends above `from`, where nothing of the program's can be. False: there is none. */
bool tw_memory_next_engine(u64 from, u64 *start, u64 *end);

/* Does [start, start + length) touch anything of the engine's? */
bool tw_memory_is_engine(u64 start, u64 length);

/* The application's brk: starts here; or is where the kernel has it, and moved by the kernel. */
void tw_memory_brk_init(u64 start);
void tw_memory_brk_keep(void);

/* The current brk if the engine has moved it; 0: the kernel has it. */
u64 tw_memory_brk_moved(void);
u64 tw_memory_brk(u64 to);

#endif
