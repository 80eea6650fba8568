/*
 * Memory that the application maps shared, more than once: code that is written through one mapping and executed
 * through another, as in JITs that never make memory writable and executable at the same time (asmjit, Erlang, .NET).
 * It belongs to a file, to a System V segment, or is anonymous and duplicated by mremap.
 *
 * A *view* is one such mapping, or a part of one with uniform protection. What must hold: if code was translated from
 * a page of an executable view, the page cannot be written through another view of this process without making those
 * fragments stale. The same pages of writable views are watched (memory.h), and a view that becomes writable makes
 * stale what was translated from the others. If this process changes the file by a call (write(2) and the like), or
 * truncates it, all code of its views becomes stale. Writes by other processes are not noticed. Beyond TW_VIEWS
 * views, some are not known.
 *
 * All of these but two are called under the engine's lock.
 */
#ifndef TW_SHARED_H
#define TW_SHARED_H

#include "engine/code/room.h"

#define TW_VIEWS 2048u

/* mmap has put this at `start`: a view, or a replacement of views. Arguments as for mmap. */
void tw_shared_mapped(u64 start, u64 length, int prot, int flags, int fd, u64 offset);

/* A shared mapping of this file that existed before the engine. */
void tw_shared_found(u64 start, u64 end, int prot, u64 offset, u64 device, u64 inode);

/* shmat has put this segment at `start`; shmdt has removed what was left of it there: `f` is called with each part. */
void tw_shared_attached(u64 start, u64 bytes, int prot, int segment);
void tw_shared_detached(u64 start, void (*f)(u64 start, u64 length));

/*
 * The file that is open on `fd`, or has this path, has been written, or truncated, by a call. Takes the engine's lock
 * itself, if any view contains code.
 */
void tw_shared_file_written(int fd);
void tw_shared_path_written(u64 path);

/* Nothing of [start, end) is a view any more. */
void tw_shared_unmapped(u64 start, u64 end);

/* What there is of views in [start, end) has this protection now. */
void tw_shared_protected(u64 start, u64 end, int prot);

/* mremap made [to, to + to_length) from [from, from + length), which is no longer a view unless `keep`. */
void tw_shared_moved(u64 from, u64 length, u64 to, u64 to_length, bool keep);

/* Is there a view in [start, end)? */
bool tw_shared_any(u64 start, u64 end);

/* The view that contains this address; unchanged if there is none. */
void tw_shared_view(u64 address, u64 *start, u64 *end);

/* Calls `f` with the address of each page in other, writable views that is the same memory as this page of code. */
void tw_shared_writers(u64 page, void (*f)(u64 page));

/* Calls `f` with the address of each page in executable views that is the same memory as this writable page. */
void tw_shared_code(u64 page, void (*f)(u64 page));

/* May this address be written, and is it the same memory as code elsewhere? */
bool tw_shared_writable_code(u64 address);

#endif
