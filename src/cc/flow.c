#include "cc/flow.h"
#include "cc/keeps.h"
#include "cc/marks.h"

#include <stdlib.h>

enum {
	CALLER_SAVED =
	    1 << TW_RAX | 1 << TW_RCX | 1 << TW_RDX | 1 << TW_RSI | 1 << TW_RDI | 1 << TW_R8 | 1 << TW_R9 | 1 << TW_R10 | 1 << TW_R11,
	ALL_REGISTERS = 0xffff,
	CALLEE_SAVED = ALL_REGISTERS & ~CALLER_SAVED, /* rsp among them */
	CHAIN = 1 << TW_R10,
	ARGUMENTS = CALLER_SAVED & ~(1 << TW_R11 | CHAIN), /* rax: how many vector registers */
	RESULTS = 1 << TW_RAX | 1 << TW_RDX,
	SCRATCH = 1 << TW_R11, /* that no function keeps */
	ALL_FLAGS = 63,
};

static const struct tw_cc_function *function_of(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	return &c->function[i->function];
}

static int is_wanted(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	return !function_of(c, i)->why;
}

/* ---- finding blocks ---- */

static uint8_t *find_leaders(const struct tw_cc_code *c)
{
	uint8_t *leads = calloc(c->n_insns + 1, 1);
	for (uint32_t k = 0; leads && k < c->n_insns; k++) {
		const struct tw_cc_insn *i = &c->insn[k];
		if (i->entry || !k || i[-1].section != i->section || !i[-1].falls || i[-1].function != i->function)
			leads[k] = 1;
		if (tw_cc_ends_before(i))
			leads[k + 1] = 1;
		if ((i->d.kind == INSN_BAD || i->d.kind == INSN_EMULATED) && !i->glued)
			leads[k] = 1;
		if (i->branch >= 0)
			leads[i->branch] = 1;
	}
	return leads;
}

/* Values that instruction i can want recorded at most. */
static uint32_t value_bound(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < i->d.n_ops; k++) {
		const struct tw_op *op = &c->op[i->op + k].op;
		n += op->kind == TW_OP_LANES ? 18 : tw_op_is_update(op) ? 0 : 4;
	}
	return n;
}

static uint8_t end_of(const struct tw_cc_insn *i)
{
	static const uint8_t end[] = {
	    [INSN_PLAIN] = TW_END_FALL,      [INSN_JUMP] = TW_END_JUMP,     [INSN_COND] = TW_END_COND,   [INSN_LOOP] = TW_END_COND,
	    [INSN_CALL] = TW_END_CALL,       [INSN_RETURN] = TW_END_RETURN, [INSN_IJUMP] = TW_END_IJUMP, [INSN_ICALL] = TW_END_ICALL,
	    [INSN_SYSCALL] = TW_END_SYSCALL, [INSN_EMULATED] = TW_END_TRAP, [INSN_BAD] = TW_END_TRAP,
	};
	return end[i->d.kind];
}

enum { GENERAL = ALL_REGISTERS & ~(1 << TW_RSP) };

/* Gathers instructions from k on into a block. */
static void gather(const struct tw_cc_code *c, const uint8_t *leads, uint32_t k, int values, struct tw_cc_block_info *b)
{
	*b = (struct tw_cc_block_info){.first = k, .fall = -1, .target = -1, .entry = c->insn[k].entry};
	uint32_t n_values = 0;
	do {
		const struct tw_cc_insn *i = &c->insn[k];
		n_values += values ? value_bound(c, i) : 0;
		b->touch |= i->touch;
		b->n++;
		k++;
	} while (k < c->n_insns && !leads[k] &&
	         (c->insn[k].glued || (b->n < TW_CC_MAX_INSNS - 1 && n_values < TW_CC_MAX_VALUES - 40 &&
	                               ((b->touch | c->insn[k].touch) & GENERAL) != GENERAL)));
	b->bytes = 2 + 8 * n_values;
	b->end = end_of(&c->insn[k - 1]);
}

static int find_blocks(struct tw_cc_flow *f, int values)
{
	const struct tw_cc_code *c = f->code;
	uint8_t *leads = find_leaders(c);
	f->block = calloc(c->n_insns + 1, sizeof *f->block);
	f->block_of = malloc((c->n_insns + 1) * sizeof *f->block_of);
	if (!leads || !f->block || !f->block_of) {
		free(leads);
		return -1;
	}
	for (uint32_t k = 0; k < c->n_insns;) {
		f->block_of[k] = -1;
		if (!is_wanted(c, &c->insn[k])) {
			k++;
			continue;
		}
		struct tw_cc_block_info *b = &f->block[f->n_blocks];
		gather(c, leads, k, values, b);
		for (uint32_t i = 0; i < b->n; i++)
			f->block_of[k + i] = (int32_t)f->n_blocks;
		f->n_blocks++;
		k += b->n;
	}
	free(leads);
	return 0;
}

/* ---- edges ---- */

/* Can it come to what stands behind it? */
static int runs_on(const struct tw_cc_insn *last)
{
	switch (last->d.kind) {
	case INSN_JUMP:
	case INSN_RETURN:
	case INSN_IJUMP:
	case INSN_BAD:
		return 0;
	default:
		return last->falls;
	}
}

static void set_edges(struct tw_cc_flow *f, uint32_t n)
{
	struct tw_cc_block_info *b = &f->block[n];
	const struct tw_cc_insn *last = tw_cc_last(f, b), *next = last + 1;
	const int is_branch = last->d.kind == INSN_JUMP || last->d.kind == INSN_COND;
	if (is_branch) {
		const int32_t to = last->branch >= 0 ? f->block_of[last->branch] : -1;
		const int stays = to >= 0 && f->code->insn[last->branch].function == last->function;
		if (stays && !(f->block[to].entry & TW_CC_ENTRY_FUNCTION))
			b->target = to;
		else
			b->leaves = 1;
		if (stays && b->leaves)
			f->block[to].reentered = 1;
	}
	if (last->d.kind == INSN_IJUMP)
		b->leaves = 1;
	if (!runs_on(last) || next >= f->code->insn + f->code->n_insns || next->section != last->section)
		return;
	if (next->function == last->function && !(next->entry & TW_CC_ENTRY_FUNCTION)) {
		b->fall = f->block_of[last - f->code->insn + 1];
		if (tw_cc_is_call(b))
			f->block[b->fall].returns_here = 1;
	} else if (b->end != TW_END_CALL && b->end != TW_END_ICALL) {
		b->leaves = 1;
		if (next->function == last->function)
			f->block[f->block_of[last - f->code->insn + 1]].reentered = 1;
	}
}

void tw_cc_flow_each(const struct tw_cc_flow *f, uint32_t n, void (*fn)(void *, uint32_t), void *arg)
{
	const struct tw_cc_block_info *b = &f->block[n];
	if (b->fall >= 0)
		fn(arg, (uint32_t)b->fall);
	if (b->target >= 0)
		fn(arg, (uint32_t)b->target);
}

/* ---- liveness ---- */

static void call_effect(const struct tw_cc_flow *f, const struct tw_cc_insn *i, uint16_t *use, uint16_t *kill)
{
	if (i->d.kind != INSN_CALL && i->d.kind != INSN_ICALL)
		return;
	*use = i->keeps_all ? ALL_REGISTERS : (uint16_t)(i->use | ARGUMENTS | f->chain | CALLEE_SAVED);
	*kill = i->keeps_all ? 0 : SCRATCH;
}

static void effect(const struct tw_cc_flow *f, const struct tw_cc_insn *i, uint16_t *use, uint16_t *kill)
{
	*use = i->use;
	*kill = i->kill;
	call_effect(f, i, use, kill);
}

static void flags_effect(const struct tw_cc_flow *f, const struct tw_cc_insn *i, uint8_t *use, uint8_t *kill)
{
	const int is_call = i->d.kind == INSN_CALL || i->d.kind == INSN_ICALL;
	*use = is_call && f->by_hand ? ALL_FLAGS : i->flags_use;
	*kill = is_call && !i->keeps_all ? ALL_FLAGS : i->flags_kill;
}

static void sum_up(const struct tw_cc_flow *f, struct tw_cc_block_info *b)
{
	b->use = b->kill = 0;
	b->flags_use = b->flags_kill = 0;
	for (uint32_t k = b->n; k-- > 0;) {
		const struct tw_cc_insn *i = &f->code->insn[b->first + k];
		uint16_t use, kill;
		uint8_t flags_use, flags_kill;
		effect(f, i, &use, &kill);
		flags_effect(f, i, &flags_use, &flags_kill);
		b->use = (uint16_t)(use | (b->use & ~kill));
		b->kill |= kill;
		b->flags_use = (uint8_t)(flags_use | (b->flags_use & ~flags_kill));
		b->flags_kill |= flags_kill;
	}
}

/* Registers read after the function is left, if block b leaves it. */
static uint16_t live_outside(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	const struct tw_cc_insn *last = tw_cc_last(f, b);
	if (last->d.kind == INSN_BAD || last->keeps_all || (f->by_hand && (b->end == TW_END_RETURN || b->leaves)))
		return ALL_REGISTERS;
	if (b->end == TW_END_RETURN)
		return RESULTS | CALLEE_SAVED | f->keeps[last->function];
	return b->leaves ? (uint16_t)(ARGUMENTS | f->chain | CALLEE_SAVED | f->keeps[last->function]) : 0;
}

/* By function: live where data or exceptions lead. */
struct hidden {
	uint16_t data, landing;
	uint8_t data_flags;
};

static void note_hidden(const struct tw_cc_flow *f, struct hidden *hidden)
{
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		struct hidden *h = &hidden[f->code->insn[b->first].function];
		if (b->entry & (TW_CC_ENTRY_DATA | TW_CC_ENTRY_UNKNOWN)) {
			h->data |= b->live_in;
			h->data_flags |= b->flags_live;
		}
		if (b->entry)
			h->landing |= b->live_in;
	}
}

static int update(const struct tw_cc_flow *f, struct tw_cc_block_info *b, const struct hidden *h)
{
	uint16_t out = live_outside(f, b) | (b->ends ? 0 : CALLEE_SAVED);
	uint8_t flags = f->by_hand && (b->end == TW_END_RETURN || b->leaves) ? ALL_FLAGS : 0;
	const int is_call = tw_cc_is_call(b);
	const int32_t next[] = {b->fall, b->target};
	for (int k = 0; k < 2; k++)
		if (next[k] >= 0) {
			out |= f->block[next[k]].live_in;
			flags |= f->block[next[k]].flags_live;
		}
	if (b->end == TW_END_IJUMP || tw_cc_last(f, b)->marked) {
		out |= h->data;
		flags |= h->data_flags;
	}
	if (tw_cc_last(f, b)->marked)
		out |= f->outside;
	if (is_call)
		out |= (uint16_t)(h->landing & CALLEE_SAVED);
	const uint16_t in = (uint16_t)(b->use | (out & ~b->kill));
	const uint8_t flags_in = (uint8_t)(b->flags_use | (flags & ~b->flags_kill));
	const int changed = in != b->live_in || out != b->live_out || flags_in != b->flags_live;
	b->live_in = in;
	b->live_out = out;
	b->flags_live = flags_in;
	return changed;
}

static void find_ends(struct tw_cc_flow *f)
{
	for (int changed = 1; changed;) {
		changed = 0;
		for (uint32_t n = f->n_blocks; n-- > 0;) {
			struct tw_cc_block_info *b = &f->block[n];
			const int ends = b->end == TW_END_RETURN || b->leaves || (b->fall >= 0 && f->block[b->fall].ends) ||
			                 (b->target >= 0 && f->block[b->target].ends);
			changed |= ends && !b->ends;
			b->ends |= (uint8_t)ends;
		}
	}
}

static int settle_live(struct tw_cc_flow *f)
{
	struct hidden *hidden = calloc(f->code->n_functions + 1, sizeof *hidden);
	if (!hidden)
		return -1;
	for (uint32_t n = 0; n < f->n_blocks; n++)
		sum_up(f, &f->block[n]);
	for (int changed = 1; changed;) {
		changed = 0;
		note_hidden(f, hidden);
		for (uint32_t n = f->n_blocks; n-- > 0;)
			changed |= update(f, &f->block[n], &hidden[f->code->insn[f->block[n].first].function]);
	}
	free(hidden);
	return 0;
}

/*
 * Nested functions find the enclosing function by r10. If no function reads r10 at its start, it is no argument of
 * any: a nested function is in the same file.
 */
static int find_live(struct tw_cc_flow *f)
{
	if (settle_live(f))
		return -1;
	for (uint32_t n = 0; n < f->n_blocks; n++)
		if (f->block[n].entry & TW_CC_ENTRY_FUNCTION)
			f->chain |= f->block[n].live_in & CHAIN;
	return tw_cc_keeps_find(f->code, f->keeps) || f->chain ? settle_live(f) : 0;
}

uint16_t tw_cc_flow_live_before(const struct tw_cc_flow *f, uint32_t n, uint32_t insn)
{
	const struct tw_cc_block_info *b = &f->block[n];
	uint16_t live = b->live_out;
	for (uint32_t k = b->first + b->n; k-- > insn;) {
		uint16_t use, kill;
		effect(f, &f->code->insn[k], &use, &kill);
		live = (uint16_t)(use | (live & ~kill));
	}
	return live;
}

static void find_free(const struct tw_cc_flow *f, struct tw_cc_block_info *b)
{
	uint16_t live = b->live_out, all = 1 << TW_RSP;
	const struct tw_cc_insn *last = tw_cc_last(f, b);
	const int is_call = tw_cc_is_call(b);
	/* What is live only behind a call is not in the way. */
	if (is_call && !last->keeps_all)
		live &= (uint16_t)~SCRATCH;
	for (uint32_t k = b->n; k-- > 0;) {
		const struct tw_cc_insn *i = &f->code->insn[b->first + k];
		uint16_t use, kill;
		effect(f, i, &use, &kill);
		all |= live | i->touch;
		live = (uint16_t)(use | (live & ~kill));
	}
	b->free = (uint16_t) ~(all | live);
}

/* mov %rsp,%rbp: from here on, rbp is the frame pointer, which debuggers and handlers use. */
static int makes_frame(const struct tw_cc_insn *i)
{
	return i->d.len == 3 && (!memcmp(i->d.raw, "\x48\x89\xe5", 3) || !memcmp(i->d.raw, "\x48\x8b\xec", 3));
}

static int is_pop_rbp(const struct tw_cc_insn *i)
{
	return i->d.len == 1 && i->d.raw[0] == 0x5d;
}

/* In functions with a frame pointer, a pop of rbp counts as a read of it: rbp has no other value until then. */
static int keep_frames(struct tw_cc_code *c)
{
	uint8_t *has_frame = calloc(c->n_functions + 1, 1);
	if (!has_frame)
		return -1;
	for (uint32_t k = 0; k < c->n_insns; k++)
		has_frame[c->insn[k].function] |= (uint8_t)makes_frame(&c->insn[k]);
	for (uint32_t k = 0; k < c->n_insns; k++)
		if (has_frame[c->insn[k].function] && is_pop_rbp(&c->insn[k]))
			c->insn[k].use |= 1 << TW_RBP;
	free(has_frame);
	return 0;
}

int tw_cc_flow_make(struct tw_cc_code *c, const struct tw_cc_options *o, struct tw_cc_flow *f)
{
	*f = (struct tw_cc_flow){.code = c, .pic = o->pic, .large = o->large, .guard = o->guard, .by_hand = o->by_hand};
	if (keep_frames(c) || find_blocks(f, o->values))
		return -1;
	f->jumps = calloc(c->n_functions + 1, 1);
	f->keeps = calloc(c->n_functions + 1, sizeof *f->keeps);
	f->function = calloc(c->n_functions + 1, sizeof *f->function);
	if (!f->jumps || !f->keeps || !f->function)
		return -1;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		set_edges(f, n);
		f->jumps[c->insn[f->block[n].first].function] |= f->block[n].end == TW_END_IJUMP;
	}
	for (uint32_t k = 0; k < c->n_insns; k++)
		f->outside |= c->insn[k].function ? 0 : c->insn[k].use;
	find_ends(f);
	for (uint32_t k = 0; f->by_hand && k < c->n_insns; k++)
		c->insn[k].keeps_all |= c->insn[k].d.kind == INSN_CALL || c->insn[k].d.kind == INSN_ICALL;
	if (find_live(f))
		return -1;
	for (uint32_t n = 0; n < f->n_blocks; n++)
		find_free(f, &f->block[n]);
	return 0;
}

void tw_cc_flow_free(struct tw_cc_flow *f)
{
	free(f->block);
	free(f->block_of);
	free(f->jumps);
	free(f->keeps);
	free(f->function);
	free(f->order);
	free(f->rank);
}

/* ---- what stays first ---- */

static int is_endbr(const struct tw_cc_insn *i)
{
	return i->d.len == 4 && !memcmp(i->d.raw, "\xf3\x0f\x1e\xfa", 4);
}

static int is_nop(const struct tw_cc_insn *i)
{
	uint32_t at = 0;
	while (i->d.raw[at] == 0x66 || i->d.raw[at] == 0x2e)
		at++;
	return i->d.raw[at] == 0x90 || (i->d.raw[at] == 0x0f && i->d.raw[at + 1] == 0x1f);
}

uint32_t tw_cc_lead(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	const struct tw_cc_insn *first = &f->code->insn[b->first];
	uint32_t n = is_endbr(first) ? 1 : 0;
	while (b->entry && n < b->n && is_nop(&first[n]))
		n++;
	while (n && n < b->n && first[n].glued)
		n--;
	return n;
}
