/*
 * What has been learned of a program: which of its code ran, and where its branches went.
 *
 * A fact has a kind and names code by module and by the module's own addresses. So facts of different runs agree
 * wherever modules were mapped, and whatever else was rebuilt: a module is a file with this name and build id. A
 * block is the bytes from its first instruction to the end of its last one. An edge is a branch that was taken or
 * fell through: from the end of the branch, which ended the block, to where execution continued. A call is an edge,
 * and also a fact of its own.
 *
 * A context is a path of calls: the return addresses of the open calls, from the outermost on. Each prefix is a fact,
 * and names its parent. If an open call is made again, by recursion, its context is the earlier one. A context edge
 * is a function entered by a context's innermost call. A reference is an instruction that read, wrote or modified
 * memory.
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
	uint32_t parent;            /* CONTEXT, CONTEXT_EDGE: number of the parent context, from 1; 0: none */
	uint32_t reserved;
	/*
	 * BLOCK: its first byte, and the end of its last. EDGE, CALL, CONTEXT_EDGE: the end of the branch, and its target.
	 * CONTEXT: the return address, and 0. REF: the instruction, and enum tw_ref_type.
	 */
	uint64_t from, to;
};

/* A set of facts. All zeros: empty. */
struct tw_facts {
	struct tw_texts texts;
	struct tw_learned_module *modules; /* module 0: the program */
	struct tw_fact *facts;             /* in the order of learning */
	size_t n_modules, modules_room, n, room;
	uint32_t *slots; /* open hash of facts: number + 1 */
	size_t n_slots;
	uint32_t runs;  /* that they are of */
	uint64_t state; /* state of the learn file they were read from, a number that differs between states; 0: none */
};

void tw_facts_free(struct tw_facts *f);

#define TW_NO_NUMBER UINT32_MAX /* there is no memory */

/* The number of a text, or of a module, which is added if it is new. */
uint32_t tw_facts_text(struct tw_facts *f, const char *text);
uint32_t tw_facts_module(struct tw_facts *f, const char *build_id, const char *path);

/* Adds a fact. 1: it is new, 0: it was known, TW_ERR_MEMORY. */
int tw_facts_add(struct tw_facts *f, const struct tw_fact *fact);

/* Its number, from 1; 0: unknown. Places (function, file, line) do not matter. */
uint32_t tw_facts_find(const struct tw_facts *f, const struct tw_fact *fact);

/* Adds all of `from`, including its runs. *added: number of new ones of each kind. 0 or TW_ERR_MEMORY. */
int tw_facts_merge(struct tw_facts *f, const struct tw_facts *from, uint64_t added[TW_FACT_KINDS]);

/* How many there are of each kind. */
void tw_facts_count(const struct tw_facts *f, uint64_t n[TW_FACT_KINDS]);

/* What they are called, in the plural. */
extern const char *const tw_fact_names[TW_FACT_KINDS];

/* Texts of a module's. */
const char *tw_facts_path(const struct tw_facts *f, uint32_t module);
const char *tw_facts_build_id(const struct tw_facts *f, uint32_t module);

/* Whether the modules from number `first` on include another build of a module: one with the same path. */
int tw_facts_has_build(const struct tw_facts *f, uint32_t module, uint32_t first);

#endif
