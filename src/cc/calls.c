#include "cc/calls.h"

#include <stdlib.h>

/* Of what a function may write without a check. */
enum { BOUND = TW_CC_PATH_BYTES / 2 };

static uint32_t function_of(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return f->code->insn[b->first].function;
}

/* Is a reference to this symbol settled by the file itself? */
static int is_settled(const struct tw_cc_flow *f, uint32_t symbol)
{
	const uint8_t binding = f->code->object.symbol[symbol].binding;
	return !symbol || binding == STB_LOCAL || (binding == STB_GLOBAL && !f->pic);
}

static int is_near_call(const struct tw_cc_insn *i)
{
	return i->d.kind == INSN_CALL && i->d.len == 5 && i->d.raw[0] == 0xe8 && !i->glued && !i->keeps_all;
}

/* ---- which are known, and private ---- */

static void begin(struct tw_cc_flow *f)
{
	for (uint32_t k = 0; k < f->code->n_functions; k++)
		f->function[k] = (struct tw_cc_callee){.is_private = 1, .returns = 1, .entry = -1};
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		struct tw_cc_callee *own = &f->function[function_of(f, b)];
		if (!(b->entry & TW_CC_ENTRY_FUNCTION))
			continue;
		own->is_known =
		    own->entry < 0 && !(b->entry & ~(TW_CC_ENTRY_FUNCTION | TW_CC_ENTRY_TAKEN)) && !(b->live_in >> TW_CC_BOUNDARY & 1);
		own->is_private &= own->is_known && !(b->entry & TW_CC_ENTRY_TAKEN);
		own->entry = (int32_t)n;
	}
}

/* A function that is entered in any other way than by calls from instrumented functions is not private. */
static void note_branches(struct tw_cc_flow *f, uint8_t *is_called)
{
	const struct tw_cc_code *c = f->code;
	for (uint32_t k = 0; k < c->n_insns; k++) {
		const struct tw_cc_insn *i = &c->insn[k];
		if (i->branch < 0 || !(c->insn[i->branch].entry & TW_CC_ENTRY_FUNCTION))
			continue;
		const uint32_t to = c->insn[i->branch].function;
		const int is_own_call = is_near_call(i) && !c->function[i->function].why && is_settled(f, i->symbol);
		f->function[to].is_private &= is_own_call;
		is_called[to] = 1;
	}
}

static void set_callees(struct tw_cc_flow *f)
{
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		struct tw_cc_block_info *b = &f->block[n];
		const struct tw_cc_insn *last = tw_cc_last(f, b);
		b->callee = -1;
		if (!is_near_call(last) || last->branch < 0 || !is_settled(f, last->symbol) || f->block_of[last->branch] < 0)
			continue;
		const uint32_t to = f->code->insn[last->branch].function;
		if (f->function[to].is_known && f->function[to].entry == f->block_of[last->branch])
			b->callee = (int32_t)to;
	}
}

/* Compilers use memory below the stack pointer only in functions without calls. They do not see calls in inline assembly. */
static void find_callers(struct tw_cc_flow *f)
{
	const struct tw_cc_code *c = f->code;
	for (uint32_t k = 0; k < c->n_insns; k++) {
		const struct tw_cc_insn *i = &c->insn[k];
		const int is_call = (i->d.kind == INSN_CALL || i->d.kind == INSN_ICALL) && !i->glued && !i->keeps_all;
		if (is_call && i->function && !c->text.statement[i->first].by_hand)
			f->function[i->function].calls = 1;
	}
}

/* A branch out of the function that is not a call may return to the caller from somewhere else. */
static void find_exits(struct tw_cc_flow *f)
{
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		if (b->leaves)
			f->function[function_of(f, b)].returns = 0;
	}
}

/* ---- what they write ---- */

struct sum {
	uint32_t bytes;
	uint16_t changes;
	uint8_t is_bounded, is_closed; /* closed: it is known all that runs in it */
};

static void add_block(const struct tw_cc_flow *f, const struct tw_cc_block_info *b, struct sum *s)
{
	const struct tw_cc_callee *to = tw_cc_callee_of(f, b);
	s->bytes += b->bytes + (to ? to->bytes : 0);
	s->is_bounded &= !b->looped && (!tw_cc_is_call(b) || (to && to->is_bounded));
	s->is_closed &=
	    (!tw_cc_is_call(b) || (to && to->returns && to->changes != 0xffff)) && b->end != TW_END_SYSCALL && b->end != TW_END_TRAP;
	for (uint32_t k = b->first; k < b->first + b->n; k++)
		s->changes |= f->code->insn[k].d.defs;
	s->changes |= to ? to->changes : 0;
}

/* From what is known of those they call; true: there is news. */
static int sum_up(struct tw_cc_flow *f, struct sum *sum)
{
	int changed = 0;
	for (uint32_t k = 0; k < f->code->n_functions; k++)
		sum[k] = (struct sum){.is_bounded = 1, .is_closed = 1};
	for (uint32_t n = 0; n < f->n_blocks; n++)
		add_block(f, &f->block[n], &sum[function_of(f, &f->block[n])]);
	for (uint32_t k = 0; k < f->code->n_functions; k++) {
		struct tw_cc_callee *own = &f->function[k];
		if (own->is_private && own->returns && !own->is_bounded && sum[k].is_bounded && sum[k].bytes <= BOUND) {
			own->is_bounded = changed = 1;
			own->bytes = sum[k].bytes;
		}
		if (own->is_known && own->returns && own->changes == 0xffff && sum[k].is_closed && sum[k].changes != 0xffff) {
			own->changes = sum[k].changes;
			changed = 1;
		}
	}
	return changed;
}

int tw_cc_calls_find(struct tw_cc_flow *f)
{
	uint8_t *is_called = calloc(f->code->n_functions + 1, 1);
	struct sum *sum = calloc(f->code->n_functions + 1, sizeof *sum);
	const int is_there = is_called && sum;
	if (is_there) {
		begin(f);
		note_branches(f, is_called);
		for (uint32_t k = 0; k < f->code->n_functions; k++) {
			f->function[k].is_private &= f->function[k].is_known & is_called[k];
			f->function[k].changes = 0xffff;
		}
		set_callees(f);
		find_exits(f);
		find_callers(f);
		while (sum_up(f, sum))
			;
	}
	free(is_called);
	free(sum);
	return is_there ? 0 : -1;
}

int tw_cc_stores_at_return(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	const struct tw_cc_callee *own = &f->function[function_of(f, b)];
	return !own->is_private || !own->returns;
}

int tw_cc_hands(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	const struct tw_cc_insn *last = tw_cc_last(f, b);
	const int is_way_out =
	    tw_cc_is_call(b) || b->end == TW_END_RETURN || b->end == TW_END_IJUMP || (b->end == TW_END_JUMP && b->leaves);
	const uint16_t taken = last->touch | (tw_cc_is_call(b) ? 0 : b->live_out); /* what is live behind a call is not in it meanwhile */
	return is_way_out && !(taken >> TW_CC_BOUNDARY & 1) && !last->keeps_all && !last->glued;
}
