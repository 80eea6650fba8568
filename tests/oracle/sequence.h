/*
 * Random sequences of instructions, as machine code, that can be run over and over: sequence.c makes them, sequences.c runs them.
 *
 * A sequence has a slot of memory of its own. Whatever it does, all its references stay within the slot, but for the TRAP_CELL pointer, which
 * leads at times to where nothing is mapped: a sequence may fault, at any instruction. It is entered with all registers as
 * `mask` and `in` give them and ends with a jump to sequence_finish.
 */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SEQUENCE_BYTES = 2048,  /* code of one, at the most */
	FUNCTIONS_BYTES = 8192, /* code of the functions they call, at the most */
	SLOT_BYTES = 8192,
	DATA_BYTES = 4096,   /* of a slot: what random instructions access */
	CELL_POINTER = 4096, /* a pointer to data, another in each iteration */
	CELL_TRAP = 4104,    /* a pointer to data, or at times to nothing */
	CELL_FIRST = 4112,   /* pointers to code */
	CELL_END = 4608,
	STACK_TOP = 6656, /* rsp at the start; up to the slot's end */
};

struct sequence {
	uint64_t entry;
	uint64_t in[16], mask[16]; /* register n begins as in[n] + (random & mask[n]), rdi as in[7] */
	uint32_t bytes;            /* of code */
	uint32_t n_cells, cells;   /* how many cells it has from CELL_FIRST on; free for the user */
};

/*
 * Once. finish: where sequences jump at their end. high: code and slots are not below 2 GB, but within 2 GB of each other. modify: code may change
 * itself.
 */
void sequence_init(uint64_t finish, bool high, bool modify);

/* A new stock of random instructions, from the seed. */
void sequence_stock(uint64_t seed);

/* Begins a batch, from the seed: the functions that its sequences call, at `code`, where FUNCTIONS_BYTES are free. Returns their size. */
uint32_t sequence_functions(uint8_t *code, uint64_t seed);

/* A sequence at `code`, where SEQUENCE_BYTES are free, with its memory at `slot`, where its cells are set. */
void sequence_make(struct sequence *s, uint8_t *code, uint8_t *slot);

#endif
