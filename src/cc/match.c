/* Statements and encodings, one to one. */
#include "cc/functions.h"
#include "cc/insns.h"
#include "cc/leads.h"
#include "cc/marks.h"

#include <stdlib.h>

/* The return address, below the stack. */
static int reads_return_address(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	for (uint32_t m = i->op; m < i->op + i->d.n_ops; m++) {
		const struct tw_op *op = &c->op[m].op;
		if (op->kind == TW_OP_REF && op->base == TW_RSP && op->disp == -8 && op->type & TW_READ)
			return 1;
	}
	return 0;
}

/*
 * Is the label at k, behind a call, compared with the return address (-mspeculative-load-hardening)? Inserted code
 * would come in between.
 */
static int compares_return(const struct tw_cc_code *c, uint32_t k)
{
	enum { SOON = 8 };
	if (!k || !(c->insn[k].entry & TW_CC_ENTRY_DATA) || (c->insn[k - 1].d.kind != INSN_CALL && c->insn[k - 1].d.kind != INSN_ICALL))
		return 0;
	for (uint32_t m = k; m < c->n_insns && m < k + SOON && c->insn[m].function == c->insn[k].function; m++)
		if (reads_return_address(c, &c->insn[m]))
			return 1;
	return 0;
}

/* Does inline assembly behind i describe frames in bytes? They depend on distances between instructions. */
static int writes_frames(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	const struct tw_cc_text *t = &c->text;
	for (uint32_t k = i->last + 1; k < t->n_statements && t->statement[k].kind != TW_CC_INSN; k++) {
		const struct tw_cc_statement *s = &t->statement[k];
		const char *name;
		uint32_t at = 0;
		if (s->by_hand && s->kind == TW_CC_DIRECTIVE && (tw_cc_is_word(t, s, ".section") || tw_cc_is_word(t, s, ".pushsection")) &&
		    tw_cc_next_name(t, s, &at, &name) == sizeof ".eh_frame" - 1 && !memcmp(name, ".eh_frame", sizeof ".eh_frame" - 1))
			return 1;
	}
	return 0;
}

/* A branch to a place without a label was written as a distance, which inserted instructions would change. */
static void check_target(struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	if (i->branch >= 0 && !c->insn[i->branch].labelled)
		tw_cc_code_leave(c, i, "a branch leads to a place without a label");
}

static void look_for_trouble(struct tw_cc_code *c)
{
	for (uint32_t k = 0; k < c->n_insns; k++) {
		struct tw_cc_insn *i = &c->insn[k];
		const struct tw_cc_insn *next = i + 1;
		if (!i->d.len)
			tw_cc_code_leave(c, i, "unknown instruction or directive");
		if (i->d.kind == INSN_LOOP)
			tw_cc_code_leave(c, i, "its branch cannot be lengthened");
		if (!i->falls && k + 1 < c->n_insns && next->section == i->section && next->function == i->function)
			tw_cc_code_leave(c, i, "something other than instructions follows it");
		check_target(c, i);
		if (writes_frames(c, i))
			tw_cc_code_leave(c, i, "inline assembly says where its frames are");
		if (compares_return(c, k))
			tw_cc_code_leave(c, i, "it compares where a call came back to with a label");
		if (i->branch >= 0 && i->d.kind != INSN_CALL && !c->insn[i->branch].entry && c->insn[i->branch].function != i->function)
			tw_cc_code_leave(c, i, "it leads into the middle of another function");
		for (uint32_t m = 0; m < i->d.n_ops; m++)
			if (c->op[i->op + m].xcomp)
				tw_cc_code_leave(c, i, "its size is known only when it runs");
	}
}

int tw_cc_code_match(struct tw_cc_code *c)
{
	if (tw_cc_insns_find(c) || tw_cc_functions_find(c) || tw_cc_leads_find(c) || tw_cc_functions_leave_early(c))
		return -1;
	look_for_trouble(c);
	return tw_cc_marks_find(c);
}

void tw_cc_code_free(struct tw_cc_code *c)
{
	tw_cc_text_free(&c->text);
	tw_cc_object_free(&c->object);
	free(c->insn);
	free(c->op);
	free(c->function);
}
