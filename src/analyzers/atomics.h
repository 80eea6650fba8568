/*
 * Which instructions are atomic accesses of C, C++ or OpenMP. On x86 an atomic load or store, except a sequentially
 * consistent store, is an ordinary mov: neither the instruction nor its address reveals it. What reveals it, in this
 * order:
 *  - a lock prefix, or xchg with memory;
 *  - the function from which the code was inlined: a member of std::atomic or similar, of Rust's sync::atomic, or of
 *    one of Go's packages named atomic;
 *  - the source, if the recording's lines lead to an existing file (atomic_source.h);
 *  - the name of its function, or of the function from which it was inlined last: pg_atomic_read_u32.
 *
 * Nothing is known of others: EXPRESSLY_PLAIN says that the source was seen and the statement is none of these. Rust
 * has atomic accesses only in functions of sync::atomic, so for its code lines are enough.
 *
 * An instruction that both reads and writes acquires and releases, unless its statement, or that of the library's
 * function from which it was inlined, names its order, and there is no fence in that file.
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
	uint8_t reduces; /* it is, and is at an OpenMP pragma with a reduction, or in a loop that gcc parallelized */
	uint8_t leads;   /* it jumps or calls through memory, or pushes from there, as the first call of a library's function does */
};

/* Has it been examined, and is it not known to be atomic? */
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

/* What is known of the instruction of this reference, which is in a block of `d`. NULL: no memory. */
const struct tw_atomic_insn *tw_atomics_of(struct tw_atomics *a, const struct tw_descriptor *d, const struct tw_ref *r, uint32_t image);
/* Nothing is known of the source of an access, whose instruction is an ordinary one: may it nevertheless be atomic? */
int tw_atomics_may_be(struct tw_atomics *a, uint32_t image, uint64_t pc, uint64_t addr);
void tw_atomics_free(struct tw_atomics *a);

#endif
