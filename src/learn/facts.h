/*
 * What has been learned of a program: which of its code ran, and where its branches went.
 *
 * A fact is of a kind and names code by module and by the module's own addresses, so that facts of different runs agree wherever modules were mapped, and whatever
 * else was rebuilt meanwhile: a module is a file of this name with this build id. A block is the bytes from its first instruction to behind its last one. An edge is
 * a branch that was taken, or passed by: from behind the branch, where the block before ended, to where code went on. A call is an edge too, and a fact of its own.
 *
 * A context is a path of calls: the places behind the calls that are open, from the outermost on. It is a fact for each of its beginnings, whose parent it names. Where a call that is
 * open already is made again, by recursion, the context is the one that it had then. A context edge is a function that was entered by the innermost call of a context.
 * A reference is an instruction that read, wrote or modified memory.
 */
#ifndef TW_LEARN_FACTS_H
#define TW_LEARN_FACTS_H

#include "names/texts.h"

#include <stddef.h>
#include <stdint.h>

enum tw_fact_kind { TW_FACT_BLOCK, TW_FACT_EDGE, TW_FACT_CALL, TW_FACT_CONTEXT, TW_FACT_CONTEXT_EDGE, TW_FACT_REF, TW_FACT_KINDS };

/* Which kinds are wanted: bits 1 << kind. */
enum {
	TW_LEARN_BLOCKS = 1,
	TW_LEARN_BRANCHES = 3,
	TW_LEARN_CALLS = 5,
	TW_LEARN_ALL = 7, /* that the bare engine can tell */
	TW_LEARN_CONTEXTS = 1 << TW_FACT_CONTEXT | 1 << TW_FACT_CONTEXT_EDGE,
	TW_LEARN_CCT = TW_LEARN_ALL | TW_LEARN_CONTEXTS,
	TW_LEARN_REFS = TW_LEARN_ALL | 1 << TW_FACT_REF,
	TW_LEARN_EVERYTHING = TW_LEARN_CCT | TW_LEARN_REFS
};

struct tw_learned_module {
	uint32_t build_id, path; /* texts; build id "": the file has none */
};

struct tw_fact {
	uint32_t kind;              /* enum tw_fact_kind */
	uint32_t module, to_module; /* numbers; of a block both are the same */
	uint32_t function, file;    /* texts: where `from` is; file "": not known */
	uint32_t line;              /* 0: not known */
	uint32_t parent;            /* CONTEXT, CONTEXT_EDGE: number of the context that it goes on from, from 1; 0: none */
	uint32_t reserved;
	/* BLOCK: its first byte, and behind its last. EDGE, CALL, CONTEXT_EDGE: behind the branch, and where it led. CONTEXT: behind the call, and 0. REF: the instruction, and
	 * enum tw_ref_type. */
	uint64_t from, to;
};

/* A set of facts. All zeros: empty. */
struct tw_facts {
	struct tw_texts texts;
	struct tw_learned_module *modules; /* module 0: the program */
	struct tw_fact *facts;             /* in the order in which they were learned */
	size_t n_modules, modules_room, n, room;
	uint32_t *slots; /* open hash of facts: number + 1 */
	size_t n_slots;
	uint32_t runs;  /* that they are of */
	uint64_t state; /* of the learn file that they were read from: of another state it is another number; 0: of none */
};

void tw_facts_free(struct tw_facts *f);

#define TW_NO_NUMBER UINT32_MAX /* there is no memory */

/* The number of a text, or of a module, which is entered if it is new. */
uint32_t tw_facts_text(struct tw_facts *f, const char *text);
uint32_t tw_facts_module(struct tw_facts *f, const char *build_id, const char *path);

/* Adds a fact. 1: it is new, 0: it was known, TW_ERR_MEMORY. */
int tw_facts_add(struct tw_facts *f, const struct tw_fact *fact);

/* Its number, from 1; 0: it is not known. Places do not matter. */
uint32_t tw_facts_find(const struct tw_facts *f, const struct tw_fact *fact);

/* Adds all of `from`, and its runs. *added: how many were new, of each kind. 0 or TW_ERR_MEMORY. */
int tw_facts_merge(struct tw_facts *f, const struct tw_facts *from, uint64_t added[TW_FACT_KINDS]);

/* How many there are of each kind. */
void tw_facts_count(const struct tw_facts *f, uint64_t n[TW_FACT_KINDS]);

/* What they are called, in the plural. */
extern const char *const tw_fact_names[TW_FACT_KINDS];

/* Texts of a module's. */
const char *tw_facts_path(const struct tw_facts *f, uint32_t module);
const char *tw_facts_build_id(const struct tw_facts *f, uint32_t module);

/* Whether there is another build of a module, one of the same path, among those from number `first` on. */
int tw_facts_has_build(const struct tw_facts *f, uint32_t module, uint32_t first);

#endif
