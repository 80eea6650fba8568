/*
 * What the source says about accesses: whether the statement of a line is atomic, and with which order. It is atomic
 * if it
 *  - names an atomic function (atomic_load, __atomic_store_n, __sync_..., atomic.Load..., g_atomic_int_get, x.load(),
 *    or a macro of the file that does, or has inline assembly;
 *  - uses a variable that the file declares atomic;
 *  - is under `#pragma omp atomic`, or is an OpenMP pragma with a reduction, or directly below one.
 *
 * Files included by "NAME" count as the file's own, if they are found: next to it, or in that directory or include/
 * of a folder above. For Go a statement is never called plain: an inlined load may have its caller's line.
 */
#ifndef TW_ATOMIC_SOURCE_H
#define TW_ATOMIC_SOURCE_H

#include <stddef.h>
#include <stdint.h>

enum tw_atomic_kind {
	TW_ATOMIC_UNKNOWN = 1,
	TW_ATOMIC_EXPRESSLY_PLAIN, /* the source was seen, and it is none of these */
	TW_ATOMIC_RELAXED,         /* atomic, and orders nothing else: relaxed, in a function without a fence */
	TW_ATOMIC_ORDERS,          /* atomic, and acquires what it reads and releases with what it writes */
};

/* What one that ORDERS does not do. */
enum { TW_ATOMIC_NO_ACQUIRE = 1, TW_ATOMIC_NO_RELEASE = 2 };

struct tw_source_file;

/* Files that have been read. All zeros. */
struct tw_atomic_source {
	struct tw_source_file **files, *last;
	size_t n_files, files_room;
};

/*
 * For a line, or if it has several statements for those that use `object`, if there are such (NULL: all). `path` may
 * be NULL. UNKNOWN: the file does not exist, or no memory.
 */
enum tw_atomic_kind tw_atomic_source_kind(struct tw_atomic_source *s, const char *path, unsigned line, const char *object);
/* What is missing of a line's instruction that both reads and writes: TW_ATOMIC_NO_...; 0: nothing, or not certain. */
uint8_t tw_atomic_source_lacks(struct tw_atomic_source *s, const char *path, unsigned line);
/* Is it at a pragma of OpenMP that reduces? */
int tw_atomic_source_reduces(struct tw_atomic_source *s, const char *path, unsigned line);
/* Is a word the name of an atomic operation: "atomic" in it, followed by what it does? */
int tw_atomic_source_is_operation(const char *word, size_t bytes);
void tw_atomic_source_free(struct tw_atomic_source *s);

#endif
