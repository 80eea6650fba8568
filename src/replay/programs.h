/*
 * The programs of a recording, by fragment number, and their machine code.
 */
#ifndef TW_PROGRAMS_H
#define TW_PROGRAMS_H

#include "replay/program.h"

struct tw_programs;
struct tw_code;

/*
 * Step-by-step executions after which a program gets machine code. If not all addresses must be computed it is made
 * sooner: it is short, and analyzers that use no addresses count numbered stretches, which is cheaper than single
 * blocks.
 */
enum { TW_PROGRAMS_HOT = 32, TW_PROGRAMS_WARM = 8 };

struct tw_value_map;
struct tw_value_slot;

/*
 * `hot`: number of executions after which programs get machine code; 0: never. `values`: of all descriptors, for
 * walks of chunks with encoded values; NULL: they are not encoded. NULL: no memory.
 */
struct tw_programs *tw_programs_new(uint32_t hot, const struct tw_value_map *values);
void tw_programs_free(struct tw_programs *p);

/*
 * Before any are added: which addresses are needed; all, if this is not called. The second function: those of an
 * analyzer with these needs (enum tw_needs).
 */
void tw_programs_set_addresses(struct tw_programs *p, enum tw_addresses addresses);
enum tw_addresses tw_addresses_for(uint32_t needs);

/*
 * What was set, and what applies to an analyzer in this many walks: counting only if the machine can, and its period
 * is long enough. `period` may be NULL: there is none.
 */
enum tw_addresses tw_programs_addresses(const struct tw_programs *p);
enum tw_addresses tw_addresses_of(const struct tw_analyzer *a, const void *arg, unsigned walks, uint64_t *period);

/* Compiles a descriptor, which must stay. A later one with the same number replaces an earlier one. TW_ERR_DAMAGED, TW_ERR_MEMORY. */
int tw_programs_add(struct tw_programs *p, const struct tw_descriptor *d);

/* Compiles all descriptors of a recording. Likewise. */
struct tw_recording;
int tw_programs_add_all(struct tw_programs *p, const struct tw_recording *r);

/*
 * The programs of the 65536 fragments with this upper half; never NULL, an item is NULL if there is no such fragment.
 * Any number of threads may look while none adds.
 */
struct tw_program *const *tw_programs_row(const struct tw_programs *p, uint32_t upper);

/* The machine code of all programs, or NULL. */
struct tw_code *tw_programs_code(const struct tw_programs *p);

const struct tw_value_map *tw_programs_values(const struct tw_programs *p);

/* The program has run once more, step by step. `slots`: how values are predicted now, if they are encoded. By any number of threads. */
void tw_programs_ran(const struct tw_programs *p, struct tw_program *program, const struct tw_value_slot *slots);

/* The program will run very often in a row: makes machine code for it now, unless there is some. Is there any? Likewise. */
int tw_programs_make_code(const struct tw_programs *p, struct tw_program *program, const struct tw_value_slot *slots);

/* The program's code repeatedly finds these values (a bit each) predicted in modes for which it was not made: remakes it. Likewise. */
void tw_programs_renew(const struct tw_programs *p, struct tw_program *program, uint64_t values, const struct tw_value_slot *slots);

#endif
