/*
 * What the source says of accesses: whether the statement of a line is atomic, and in which order. It is so if it
 *
 *  - names an atomic function (atomic_load, __atomic_store_n, __sync_..., atomic.Load..., g_atomic_int_get, x.load(), or a macro of the file that does, or has inline assembly;
 *  - uses a variable that the file declares atomic;
 *  - stands under `#pragma omp atomic`, or is a pragma of OpenMP that reduces, or right below one.
 *
 * What a file includes by "NAME" counts as the file's own, where it is found: beside it, or in that or include/ of a folder above.
 * Of Go it is not said that a statement is plain: a load that is inlined may have its caller's line.
 */
#ifndef TW_ATOMIC_SOURCE_H
#define TW_ATOMIC_SOURCE_H

#include <stddef.h>
#include <stdint.h>

enum tw_atomic_kind {
	TW_ATOMIC_UNKNOWN = 1,
	TW_ATOMIC_EXPRESSLY_PLAIN, /* the source was seen, and it is none of these */
	TW_ATOMIC_RELAXED,         /* atomic, and orders nothing else: what is relaxed in a function without a fence */
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

/* Of a line, and of a line of several statements those that use `object`, if there are such (NULL: all). `path` may be NULL. UNKNOWN: the file is not there, or no memory. */
enum tw_atomic_kind tw_atomic_source_kind(struct tw_atomic_source *s, const char *path, unsigned line, const char *object);
/* What the instruction that a line makes, which reads and writes at once, lacks: TW_ATOMIC_NO_...; 0: nothing, or that is not sure. */
uint8_t tw_atomic_source_lacks(struct tw_atomic_source *s, const char *path, unsigned line);
/* Is it at a pragma of OpenMP that reduces? */
int tw_atomic_source_reduces(struct tw_atomic_source *s, const char *path, unsigned line);
/* Is a word the name of an atomic operation: "atomic" in it, and behind that what it does? */
int tw_atomic_source_is_operation(const char *word, size_t bytes);
void tw_atomic_source_free(struct tw_atomic_source *s);

#endif
