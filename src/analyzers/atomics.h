/*
 * Which instructions are atomic accesses of C, C++ or OpenMP. On x86 an atomic load or store, but a sequentially consistent store, is an ordinary mov: neither the instruction nor where
 * it leads tells. What tells, in this order:
 *
 *  - a lock prefix, or xchg with memory;
 *  - the function the code was inlined from: a member of std::atomic or its kin, or of one of Go's packages named atomic;
 *  - the source, where the recording's lines lead to a file that is there: the statement names an atomic function (atomic_load, __atomic_store_n, __sync_..., atomic.Load...) or a variable that the file
 *    declares atomic, or stands under `#pragma omp atomic`, or is a pragma of OpenMP that reduces, or right below one.
 *
 * Of others nothing is known: EXPRESSLY_PLAIN says that the source was seen and the statement is none of these. Of Go that is not said: a load that is inlined may have its caller's line.
 *
 * One that reads and writes at once acquires and releases, unless its statement, or that of the library's function it was inlined from, names its order, and no fence stands in that file.
 */
#ifndef TW_ATOMICS_H
#define TW_ATOMICS_H

#include "analyze/by_fragment.h"
#include <trackway/context.h>

enum tw_atomic_kind {
	TW_ATOMIC_UNKNOWN = 1,
	TW_ATOMIC_EXPRESSLY_PLAIN,
	TW_ATOMIC_RELAXED, /* atomic, and orders nothing else: what is relaxed in a function without a fence */
	TW_ATOMIC_ORDERS,  /* atomic, and acquires what it reads and releases with what it writes */
};

/* What one that ORDERS does not do. */
enum { TW_ATOMIC_NO_ACQUIRE = 1, TW_ATOMIC_NO_RELEASE = 2 };

struct tw_atomic_insn {
	uint8_t kind;    /* enum tw_atomic_kind; 0: not looked at yet */
	uint8_t lacks;   /* TW_ATOMIC_NO_... */
	uint8_t locked;  /* by its bytes */
	uint8_t reduces; /* it is, and stands at a pragma of OpenMP that reduces, or in a loop that gcc made parallel */
	uint8_t leads;   /* it jumps or calls by way of memory, or pushes from there, as the first call of a library's function does */
};

/* Has it been looked at, and is not known to be atomic? */
static inline int tw_atomics_is_plain(const struct tw_atomic_insn *i)
{
	return i->kind == TW_ATOMIC_UNKNOWN || i->kind == TW_ATOMIC_EXPRESSLY_PLAIN;
}

struct tw_source_file;

/* All zeros but for the context. */
struct tw_atomics {
	const struct tw_context *context;
	struct tw_by_fragment fragments; /* struct tw_atomic_insn, by instruction */
	struct tw_source_file *files;
	size_t n_files, files_room;
};

/* What is known of the instruction of this reference, which is one of a block of `d`. NULL: no memory. */
const struct tw_atomic_insn *tw_atomics_of(struct tw_atomics *a, const struct tw_descriptor *d, const struct tw_ref *r, uint32_t image);
void tw_atomics_free(struct tw_atomics *a);

#endif
