#include "cc/marks.h"

#include <stdlib.h>

static int goes_elsewhere(const struct tw_cc_text *t, const struct tw_cc_statement *s)
{
	static const char *const words[] = {".section", ".previous", ".text", ".data", ".bss", ".subsection"};
	for (size_t w = 0; w < sizeof words / sizeof *words; w++)
		if (tw_cc_is_word(t, s, words[w]))
			return 1;
	return 0;
}

/* Labels between .pushsection and .popsection are of something else. */
uint32_t tw_cc_marks_label(const struct tw_cc_code *c, uint32_t k)
{
	const struct tw_cc_text *t = &c->text;
	uint32_t label = c->insn[k].first;
	int within = 0;
	for (uint32_t s = label; s-- > 0;) {
		const struct tw_cc_statement *at = &t->statement[s];
		within += at->kind == TW_CC_DIRECTIVE && tw_cc_is_word(t, at, ".popsection");
		within -= at->kind == TW_CC_DIRECTIVE && tw_cc_is_word(t, at, ".pushsection");
		if (within < 0 || (!within && (at->kind == TW_CC_INSN || (at->kind == TW_CC_DIRECTIVE && goes_elsewhere(t, at)))))
			break;
		if (!within && at->kind == TW_CC_LABEL)
			label = s;
	}
	return label;
}

/*
 * An instruction of inline assembly that data, or something that may be data, can refer to, and that execution also
 * reaches from the instruction before.
 */
static int may_be_marked(const struct tw_cc_code *c, uint32_t k, const uint8_t *jumps)
{
	const struct tw_cc_insn *i = &c->insn[k];
	if (!k || i->glued || !(i->entry & (TW_CC_ENTRY_DATA | TW_CC_ENTRY_UNKNOWN)) ||
	    i->entry & ~(TW_CC_ENTRY_DATA | TW_CC_ENTRY_UNKNOWN))
		return 0;
	if (i[-1].section != i->section || i[-1].function != i->function || !i[-1].falls || i[-1].d.kind == INSN_JUMP ||
	    i[-1].d.kind == INSN_IJUMP || i[-1].d.kind == INSN_RETURN || i[-1].d.kind == INSN_BAD)
		return 0;
	return c->text.statement[i->first].by_hand && (i->entry & TW_CC_ENTRY_UNKNOWN || !jumps[i->function]) &&
	       tw_cc_marks_label(c, k) != i->first;
}

int tw_cc_marks_find(struct tw_cc_code *c)
{
	uint8_t *jumps = calloc(c->n_functions + 1, 1), *led = calloc(c->n_insns + 1, 1);
	const int is_there = jumps && led;
	for (uint32_t k = 0; is_there && k < c->n_insns; k++) {
		jumps[c->insn[k].function] |= c->insn[k].d.kind == INSN_IJUMP;
		if (c->insn[k].branch >= 0)
			led[c->insn[k].branch] = 1;
	}
	for (uint32_t k = 0; is_there && k < c->n_insns; k++)
		c->insn[k].marked = !led[k] && may_be_marked(c, k, jumps);
	for (uint32_t k = 0; is_there && k < c->n_insns; k++) {
		if (c->insn[k].marked && !c->insn[k - 1].marked)
			c->insn[k].entry = 0;
		if (c->insn[k].marked && k + 1 < c->n_insns)
			c->insn[k + 1].entry |= TW_CC_ENTRY_UNKNOWN;
	}
	free(jumps);
	free(led);
	return is_there ? 0 : -1;
}
