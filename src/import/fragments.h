/*
 * Fragments of an address stream: straight pieces of code with their references, found on the fly.
 *
 * They form a tree: a *position* stands for the instructions on the path to it from the root, position 0. Where a
 * piece has ended before, and where an instruction has made other references than the first time, later pieces end
 * too, so that the tree grows only with the code.
 */
#ifndef TW_FRAGMENTS_H
#define TW_FRAGMENTS_H

#include <trackway/descriptor.h>

/* Limits: references of one instruction, instructions of a fragment. */
enum { TW_FRAGMENT_REFS = 256, TW_FRAGMENT_INSNS = 64 };

/* An instruction with its references, each as enum tw_ref_type << 24 | bytes. */
struct tw_fragment_insn {
	uint64_t pc;
	uint8_t length;
	uint16_t n_refs;
	uint32_t refs[TW_FRAGMENT_REFS];
};

/* What stands on the way to a position. */
struct tw_fragment_counts {
	uint16_t insns, refs, reads, writes;
};

struct tw_fragments;

struct tw_fragments *tw_fragments_new(void); /* NULL: no memory */
void tw_fragments_free(struct tw_fragments *f);

/* The position one instruction on; 0: no memory. */
uint32_t tw_fragments_step(struct tw_fragments *f, uint32_t position, const struct tw_fragment_insn *insn);

/* Whether a fragment at `position` must end there if an instruction at `next` follows. */
int tw_fragments_ends(const struct tw_fragments *f, uint32_t position, uint64_t next);

struct tw_fragment_counts tw_fragments_counts(const struct tw_fragments *f, uint32_t position);

/* The number of the fragment that ends at `position`. *is_new: it had none before. */
uint32_t tw_fragments_number(struct tw_fragments *f, uint32_t position, int *is_new);

/*
 * Bytes of the fragment's descriptor; writes it to `to`, aligned to 8, unless NULL. The addresses of its references
 * are values of the M stream, in order.
 */
size_t tw_fragments_describe(const struct tw_fragments *f, uint32_t position, void *to);

#endif
