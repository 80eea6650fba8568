/*
 * Which instructions are atomic accesses of C, C++ or OpenMP. On x86 an atomic load or store, but a sequentially consistent store, is an ordinary mov: neither the instruction nor where
 * it leads tells. What tells, in this order:
 *
 *  - a lock prefix, or xchg with memory;
 *  - the function the code was inlined from: a member of std::atomic or its kin, of Rust's sync::atomic, or of one of Go's packages named atomic;
 *  - the source, where the recording's lines lead to a file that is there (atomic_source.h);
 *  - the name of the function that it is in, or was inlined from last: pg_atomic_read_u32.
 *
 * Of others nothing is known: EXPRESSLY_PLAIN says that the source was seen and the statement is none of these. Rust has atomic accesses in functions of sync::atomic only, so that of its code lines are enough.
 *
 * One that reads and writes at once acquires and releases, unless its statement, or that of the library's function it was inlined from, names its order, and no fence stands in that file.
 */
#ifndef TW_ATOMICS_H
#define TW_ATOMICS_H

#include "analyze/by_fragment.h"
#include "analyzers/atomic_source.h"
#include <trackway/context.h>

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

/* All zeros but for the context. */
struct tw_atomics {
	const struct tw_context *context;
	struct tw_by_fragment fragments; /* struct tw_atomic_insn, by instruction */
	struct tw_atomic_source source;
};

/* What is known of the instruction of this reference, which is one of a block of `d`. NULL: no memory. */
const struct tw_atomic_insn *tw_atomics_of(struct tw_atomics *a, const struct tw_descriptor *d, const struct tw_ref *r, uint32_t image);
/* Nothing is known of the source of an access, whose instruction is an ordinary one: may it be atomic all the same? */
int tw_atomics_may_be(struct tw_atomics *a, uint32_t image, uint64_t pc, uint64_t addr);
void tw_atomics_free(struct tw_atomics *a);

#endif
