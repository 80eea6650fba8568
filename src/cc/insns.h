/*
 * The first part of tw_cc_code_match() (code.h): the instructions of the file, found by the labels put before their
 * statements; and lookup by place.
 */
#ifndef TW_CC_INSNS_H
#define TW_CC_INSNS_H

#include "cc/code.h"

#define TW_CC_INSN_LABEL ".LtwI" /* what is put before an instruction, with its statement's number */

static inline int tw_cc_is_named(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* The relocation of a place in the instruction from `from` on, before `to`; or NULL. */
const struct tw_cc_reloc *tw_cc_reloc_in(const struct tw_cc_code *c, const struct tw_cc_insn *i, unsigned from, unsigned to);

/* The instruction at this place, or -1. */
int32_t tw_cc_at_place(const struct tw_cc_code *c, uint32_t section, uint64_t at);

/* The instruction that runs first when control reaches this place: the label may belong to padding before it. -1: there is none. */
int32_t tw_cc_led_to(const struct tw_cc_code *c, uint32_t section, uint64_t at);

/* Fills c->insn, c->op and what follows from single instructions. 0, or -1: no memory. */
int tw_cc_insns_find(struct tw_cc_code *c);

#endif
