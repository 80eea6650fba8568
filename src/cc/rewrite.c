#include "cc/rewrite.h"
#include "cc/calls.h"
#include "cc/describe.h"
#include "cc/loops.h"
#include "cc/marks.h"
#include "cc/pointer.h"
#include "base/cc_put.h"
#include "cc/turnings.h"
#include "base/cc_section.h"

#include <stdlib.h>

struct rewriter {
	const struct tw_cc_flow *f;
	struct tw_cc_known *known;
	struct tw_cc_buffer *buffer;
	uint16_t *bytes; /* of each block's record */
	struct tw_cc_loop *loop;
	uint8_t *aside;  /* by block: is it unlikely to run, judging by the compiler's layout? */
	uint8_t *way_in; /* by block: may it be entered from the first version? */
	struct tw_cc_record *record;
	uint32_t planned; /* block that record is of */
	struct tw_cc_writer to;
	FILE *out;   /* to.out */
	size_t done; /* of the text */
	struct tw_cc_counts *counts;
};

static const struct tw_cc_record *record_of(struct rewriter *w, uint32_t n)
{
	if (w->planned != n)
		tw_cc_plan_block(w->f, w->known, n, w->record);
	w->planned = n;
	return w->record;
}

/* Ways into a second version, where the first may continue at unknown code (turnings.h), with registers as the program has them. */
static void write_way_in(struct rewriter *w, uint32_t n)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const uint8_t reg = b->whence == TW_CC_FINDS ? b->reg : TW_CC_BOUNDARY;
	fprintf(w->out, "\t.pushsection .text.trackway_cold,\"ax?\",@progbits\n.LtwSK%u:\n", n);
	if (b->whence == TW_CC_FINDS || b->whence == TW_CC_TAKES)
		tw_cc_load_slot(&w->to, reg);
	if (b->whence == TW_CC_FINDS && b->offset)
		fprintf(w->out, "\tleaq -%u(%%%s),%%%s\n", b->offset, tw_cc_names[reg], tw_cc_names[reg]);
	fprintf(w->out, "\tjmp " TW_CC_LABEL_LEAD "\n\t.popsection\n", n);
	fprintf(w->out, "\t.pushsection " TW_CC_SECTION_TURNINGS ",\"aR?\",@progbits\n\t.long %u,%zu," TW_CC_LABEL_INSN "-.,.LtwSK%u-.\n",
	        TW_CC_WAY_IN_MAGIC, sizeof(struct tw_cc_way_in), w->f->block[n].first, n);
	fputs("\t.popsection\n", w->out);
}

static int is_second(const struct tw_cc_flow *f, uint32_t n)
{
	return !strncmp(f->code->function[f->code->insn[f->block[n].first].function].name, TW_CC_SECOND, sizeof TW_CC_SECOND - 1);
}

/* Finds the blocks that turnings lead to. For a counted loop the way in lies before it. */
static void find_ways_in(struct rewriter *w)
{
	for (uint32_t n = 0; n < w->f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &w->f->block[n];
		if (!is_second(w->f, n))
			continue;
		w->way_in[n] |= tw_cc_has_room(b);
		if (b->end == TW_END_COND && b->target >= 0)
			w->way_in[b->target] = 1;
		if (b->end == TW_END_COND && b->fall >= 0)
			w->way_in[b->fall] = 1;
	}
	for (uint32_t n = 0; n < w->f->n_blocks; n++)
		w->way_in[n] &= w->loop[n].counter == TW_NOREG && is_second(w->f, n);
}

static int is_counted(const struct rewriter *w, uint32_t n)
{
	return w->loop[n].counter != TW_NOREG;
}

/*
 * Compilers place the likely path behind a branch. Unlikely code comes behind a jump or return and is reached only by
 * conditional branches. So are its successors, and exception landing pads.
 */
static void find_aside(struct rewriter *w)
{
	const struct tw_cc_flow *f = w->f;
	uint8_t *jumped = calloc(f->n_blocks + 1, 1);
	for (uint32_t n = 0; jumped && n < f->n_blocks; n++)
		if (f->block[n].target >= 0 && (f->block[n].end != TW_END_COND || tw_cc_goes_back(f, n, (uint32_t)f->block[n].target)))
			jumped[f->block[n].target] = 1;
	for (uint32_t n = 0; jumped && n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		const int follows = n && f->block[n - 1].fall == (int32_t)n;
		if (b->entry & ~TW_CC_ENTRY_LANDING || b->looped)
			continue;
		w->aside[n] = b->entry || (follows ? w->aside[n - 1] : !jumped[n]);
	}
	free(jumped);
}

/* ---- a block ---- */

/*
 * Compilers have nothing below the stack pointer at function entries and where calls return, and nowhere in functions
 * with calls. Loops that lead back to the former may.
 */
static int is_bare(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	const int is_entry = b->entry & TW_CC_ENTRY_FUNCTION && !(b->entry & ~(TW_CC_ENTRY_FUNCTION | TW_CC_ENTRY_TAKEN));
	if (f->by_hand)
		return 0;
	return f->function[f->code->insn[b->first].function].calls ||
	       (!b->looped && !b->reentered && (is_entry || (b->returns_here && !b->entry)));
}

/* Does a short loop, or an interpreter's handler of an instruction, begin with block n? There the cost of the test matters. */
static int is_hot(const struct tw_cc_flow *f, uint32_t n)
{
	enum { SHORT = 40 };
	const uint32_t function = f->code->insn[f->block[n].first].function;
	uint32_t n_insns = 0;
	if (f->block[n].entry & TW_CC_ENTRY_DATA)
		return 1;
	for (uint32_t k = n;
	     f->block[n].looped && n_insns < SHORT && k < f->n_blocks && f->code->insn[f->block[k].first].function == function; k++) {
		n_insns += f->block[k].n;
		if (f->block[k].fall == (int32_t)n || f->block[k].target == (int32_t)n)
			return n_insns < SHORT;
	}
	return 0;
}

/* Brings the pointer to where the block has it, and tests whether the buffer is full. */
static void get_pointer(struct rewriter *w, uint32_t n)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const struct tw_cc_block_info *info = &w->f->block[n];
	const int bare = is_bare(w->f, info);
	const int verifies_too = b->whence == TW_CC_VERIFIES && info->check == TW_CC_CHECK && bare && !b->borrows;
	if (b->whence == TW_CC_LOADS)
		tw_cc_load_slot(&w->to, b->reg);
	if (verifies_too)
		tw_cc_verify_and_check(&w->to);
	else if (b->whence == TW_CC_VERIFIES)
		tw_cc_verify(&w->to, info->live_in, "", n);
	if (b->whence == TW_CC_VERIFIES || b->whence == TW_CC_TAKES)
		tw_cc_move(&w->to, TW_CC_BOUNDARY, b->reg);
	if (info->check && !verifies_too)
		tw_cc_check(&w->to, b->reg,
		            (b->borrows ? TW_CC_IS_BORROWED : 0u) | (info->check == TW_CC_CHECK_KEEPS_FLAGS ? TW_CC_KEEPS_FLAGS : 0u) |
		                (bare ? TW_CC_IS_BARE : 0u) | (is_hot(w->f, n) ? TW_CC_IS_HOT : 0u) |
		                (w->aside[n] || !info->looped ? TW_CC_IS_SHORT : 0u),
		            "", n);
}

/* Possibly entered from another file: as a function, by an exception, or by a return. */
static int comes_from_outside(const struct tw_cc_block_info *info, const struct tw_cc_buffer *b)
{
	const int is_way_in = info->returns_here || info->entry & (TW_CC_ENTRY_FUNCTION | TW_CC_ENTRY_LANDING);
	return b->whence == TW_CC_VERIFIES || (b->whence == TW_CC_LOADS && is_way_in);
}

/* At the head of a second version's loop: returns to the first version if that is wanted, with the pointer in the slot. */
static void go_back(struct rewriter *w, uint32_t n)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const struct tw_cc_block_info *info = &w->f->block[n];
	const uint32_t head = w->f->code->insn[info->first].head;
	fprintf(w->out,
	        "\tcmpb $0," TW_CC_SWITCH "(%%rip)\n\tje .LtwSO%u\n\t.pushsection .text.trackway_cold,\"ax?\",@progbits\n.LtwSO%u:\n", head,
	        head);
	if (b->whence == TW_CC_FINDS && b->offset)
		fprintf(w->out, "\tleaq %u(%%%s),%%%s\n", b->offset, tw_cc_names[b->reg], tw_cc_names[b->reg]);
	if (b->whence == TW_CC_FINDS || b->whence == TW_CC_TAKES)
		tw_cc_store_slot(&w->to, b->whence == TW_CC_FINDS ? b->reg : TW_CC_BOUNDARY, info->live_in);
	fprintf(w->out, "\tjmp " TW_CC_FIRST "%u\n\t.popsection\n", head);
	w->to.inserted += 2;
}

/* Is it where the first version leads to? */
static int is_way_over(const struct tw_cc_code *c, const struct tw_cc_block_info *b)
{
	const struct tw_cc_insn *first = &c->insn[b->first];
	const char *name = c->function[first->function].name;
	const int is_second = !strncmp(name, TW_CC_SECOND, sizeof TW_CC_SECOND - 1);
	return !b->flags_live && (first->joint || (is_second && b->entry & TW_CC_ENTRY_FUNCTION));
}

static void begin_block(struct rewriter *w, uint32_t n)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const struct tw_cc_block_info *info = &w->f->block[n];
	if (w->f->code->insn[info->first].head && !info->flags_live)
		go_back(w, n);
	if (is_way_over(w->f->code, info))
		tw_cc_look_at_switch(&w->to, info->live_in, n, info->first);
	if (is_counted(w, n)) {
		fprintf(w->out, "\tleaq 1(%%%s),%%%s\n", tw_cc_names[w->loop[n].counter], tw_cc_names[w->loop[n].counter]);
		w->counts->blocks++;
		w->to.inserted++;
		return;
	}
	if (b->borrows) {
		tw_cc_put_aside(&w->to, b->reg, TW_CC_SPILL);
		w->counts->borrowed++;
	}
	get_pointer(w, n);
	if (comes_from_outside(info, b))
		tw_cc_write_upper(&w->to, b->reg);
	fprintf(w->out, "\tmovw $0,%u(%%%s)\n" TW_CC_LABEL_TAG ":\n", b->offset, tw_cc_names[b->reg], n);
	w->counts->blocks++;
	w->to.inserted++;
}

static void store_value(struct rewriter *w, uint32_t n, const struct tw_cc_store *s)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const uint32_t at = b->offset + 2 + 8u * s->slot;
	const char *to = tw_cc_names[b->reg];
	switch (s->what) {
	case VEC_NONE:
		fprintf(w->out, "\tmovq %%%s,%u(%%%s)\n", tw_cc_names[s->reg], at, to);
		break;
	case VEC_XMM:
		if (s->reg < 16)
			fprintf(w->out, "\tmovups %%xmm%u,%u(%%%s)\n", s->reg, at, to);
		else
			fprintf(w->out, "\tvmovdqu64 %%xmm%u,%u(%%%s)\n", s->reg, at, to);
		break;
	case VEC_YMM:
		fprintf(w->out, s->reg < 16 ? "\tvmovdqu %%ymm%u,%u(%%%s)\n" : "\tvmovdqu64 %%ymm%u,%u(%%%s)\n", s->reg, at, to);
		break;
	case VEC_ZMM:
		fprintf(w->out, "\tvmovdqu64 %%zmm%u,%u(%%%s)\n", s->reg, at, to);
		break;
	case VEC_K:
		fprintf(w->out, "\tkmovq %%k%u,%u(%%%s)\n", s->reg, at, to);
		break;
	default:
		fprintf(w->out, "\tmovq %%mm%u,%u(%%%s)\n", s->reg, at, to);
	}
	w->to.inserted++;
	w->counts->stores++;
}

static void store_values(struct rewriter *w, uint32_t n, uint32_t insn, int after)
{
	const struct tw_cc_record *r = record_of(w, n);
	for (uint32_t k = 0; k < r->n_stores; k++)
		if (r->store[k].insn == insn && r->store[k].after == after)
			store_value(w, n, &r->store[k]);
}

static void clear_counter(struct rewriter *w, uint32_t n)
{
	if (w->loop[n].borrowed)
		tw_cc_put_aside(&w->to, w->loop[n].counter, TW_CC_COUNTER);
	fprintf(w->out, "\tmovl $0,%%%s\n", tw_cc_names32[w->loop[n].counter]);
	w->to.inserted++;
}

/* Clears the counters of loops that b leads to, except its own; borrowed ones only if nothing else can follow. */
static void clear_counters(struct rewriter *w, uint32_t n)
{
	const struct tw_cc_block_info *b = &w->f->block[n];
	const int32_t next[] = {b->fall, b->target};
	for (int k = 0; k < 2; k++)
		if (next[k] >= 0 && next[k] != (int32_t)n && is_counted(w, (uint32_t)next[k]) && (k || !w->loop[next[k]].borrowed))
			clear_counter(w, (uint32_t)next[k]);
}

/* Behind the last instruction of n, where it falls into a loop. */
static void fall_into_loop(struct rewriter *w, uint32_t n)
{
	const int32_t fall = w->f->block[n].fall;
	if (fall >= 0 && fall != (int32_t)n && is_counted(w, (uint32_t)fall) && w->loop[fall].borrowed)
		clear_counter(w, (uint32_t)fall);
}

static void record_count(struct rewriter *w, uint32_t n, uint8_t b)
{
	const char *to = tw_cc_names[b];
	fprintf(w->out, "\tmovw $0,(%%%s)\n" TW_CC_LABEL_TAG ":\n\tmovq %%%s,2(%%%s)\n\tleaq 10(%%%s),%%%s\n", to, n,
	        tw_cc_names[w->loop[n].counter], to, to, to);
	w->to.inserted += 3;
}

/* Behind the branch of a counted loop: it has ended. */
static void end_loop(struct rewriter *w, uint32_t n)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const uint16_t live = w->f->block[w->f->block[n].fall].live_in | (uint16_t)(1u << w->loop[n].counter);
	if (b->borrows) {
		tw_cc_put_aside(&w->to, b->reg, TW_CC_SPILL);
		tw_cc_load_slot(&w->to, b->reg);
	}
	record_count(w, n, b->reg);
	if (b->stores)
		tw_cc_store_slot(&w->to, b->reg, live);
	if (b->borrows)
		tw_cc_take_back(&w->to, b->reg, TW_CC_SPILL);
	if (w->loop[n].borrowed)
		tw_cc_take_back(&w->to, w->loop[n].counter, TW_CC_COUNTER);
	clear_counters(w, n);
}

/* Its one instruction without operands. */
static int is_plain_return(const struct tw_cc_insn *i)
{
	return i->d.kind == INSN_RETURN && i->d.len == 1 && !i->glued;
}

enum short_end { IN_LINE, CALLED, RETURNED };

/*
 * Can less code than in line move and store the pointer at the block's end? (At calls and returns, the program has
 * nothing below its stack pointer.)
 */
static enum short_end short_end(const struct rewriter *w, uint32_t n)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const struct tw_cc_block_info *info = &w->f->block[n];
	const int can = b->stores && b->reg == TW_CC_BOUNDARY && !b->borrows && !w->f->by_hand && b->adds > 0 && b->adds <= TW_CC_MOST_PUT;
	if (can && info->end == TW_END_RETURN && is_plain_return(tw_cc_last(w->f, info)))
		return RETURNED;
	return can && tw_cc_is_call(info) && b->hands && w->aside[n] ? CALLED : IN_LINE;
}

/* `live`: registers in use where it stands. */
static void end_block(struct rewriter *w, uint32_t n, uint16_t live)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	if (is_counted(w, n))
		return;
	const enum short_end how = short_end(w, n);
	if (how != IN_LINE) {
		tw_cc_put(&w->to, (uint32_t)b->adds, how == RETURNED);
		return;
	}
	if (b->adds) {
		fprintf(w->out, "\tleaq %d(%%%s),%%%s\n", b->adds, tw_cc_names[b->reg], tw_cc_names[b->reg]);
		w->to.inserted++;
	}
	if (b->hands)
		tw_cc_move(&w->to, b->reg, TW_CC_BOUNDARY);
	if (b->stores)
		tw_cc_store_slot(&w->to, b->reg, (uint16_t)(live | (b->hands ? 1u << TW_CC_BOUNDARY : 0)));
	if (b->borrows && !(b->hands && b->reg == TW_CC_BOUNDARY))
		tw_cc_take_back(&w->to, b->reg, TW_CC_SPILL);
	clear_counters(w, n);
}

/* May it be a system call that creates a process: number 56, 57 or 435, or a number not set right before? */
static int may_copy(const struct tw_cc_code *c, uint32_t k)
{
	static const uint8_t syscall_bytes[] = {0x0f, 0x05};
	const struct tw_cc_insn *i = &c->insn[k];
	uint32_t number;
	if (i->d.len != sizeof syscall_bytes || memcmp(i->d.raw, syscall_bytes, sizeof syscall_bytes))
		return 0;
	if (!k || i[-1].d.raw[0] != 0xb8 || i[-1].d.len != 5 || i->entry || i->glued)
		return 1;
	memcpy(&number, i[-1].d.raw + 1, sizeof number);
	return number == 56 || number == 57 || number == 435;
}

/* Instruction k, the last of block n, is reached only from the one before it. */
static void follow_copy(struct rewriter *w, uint32_t n, uint32_t k)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const int32_t fall = w->f->block[n].fall;
	char end[32];
	if (fall < 0 || !may_copy(w->f->code, k))
		return;
	snprintf(end, sizeof end, TW_CC_LABEL_END, n);
	const struct tw_cc_copy copy = {b->borrows ? TW_NOREG : b->reg, w->buffer[fall].offset, n, k};
	tw_cc_follow_copy(&w->to, &copy, end);
}

/* Behind a call: moves the pointer from r11 to where the code that follows has it. */
static void come_back(struct rewriter *w, uint32_t n)
{
	const struct tw_cc_buffer *b = &w->buffer[n];
	const struct tw_cc_block_info *info = &w->f->block[n];
	const uint16_t live = info->fall >= 0 ? w->f->block[info->fall].live_in : 0;
	if (info->fall < 0 || !b->hands || (info->end != TW_END_CALL && info->end != TW_END_ICALL))
		return;
	const int bare = !w->f->by_hand;
	if (b->whence_behind == TW_CC_VERIFIES && info->check_behind && bare)
		tw_cc_verify_and_check(&w->to);
	else if (b->whence_behind == TW_CC_VERIFIES)
		tw_cc_verify(&w->to, live, "B", n);
	if (info->check_behind && !(b->whence_behind == TW_CC_VERIFIES && bare))
		tw_cc_check(&w->to, TW_CC_BOUNDARY, bare ? TW_CC_IS_BARE | TW_CC_IS_SHORT : 0u, "B", n);
	if (b->whence_behind == TW_CC_VERIFIES)
		tw_cc_write_upper(&w->to, TW_CC_BOUNDARY);
	if (b->stores_behind)
		tw_cc_store_slot(&w->to, TW_CC_BOUNDARY, live);
	else
		tw_cc_move(&w->to, TW_CC_BOUNDARY, w->buffer[info->fall].reg);
}

/* ---- instructions ---- */

/* Instruction k and those glued to it stay together: what belongs before any of them goes before the first. */
static void before_insn(struct rewriter *w, uint32_t k)
{
	const struct tw_cc_insn *all = w->f->code->insn;
	const uint32_t n = (uint32_t)w->f->block_of[k], first = w->f->block[n].first, count = w->f->block[n].n;
	if (k == first && w->way_in[n])
		write_way_in(w, n);
	if (k == first)
		fprintf(w->out, TW_CC_LABEL_LEAD ":", n);
	if (!all[k].glued) {
		const uint32_t lead = tw_cc_lead(w->f, &w->f->block[n]);
		if (k == first + lead)
			begin_block(w, n);
		for (uint32_t m = k; m < first + count && (m == k || all[m].glued); m++) {
			store_values(w, n, m - first, 0);
			if (m + 1 == first + count && tw_cc_ends_before(&all[m]) && lead < count)
				end_block(w, n, (uint16_t)(tw_cc_flow_live_before(w->f, n, k) | all[k].touch | all[m].touch));
			if (m == k && k + 1 == first + count)
				follow_copy(w, n, k);
		}
	}
}

/* The last block of those in the same section and function. */
static int is_last_of_part(const struct tw_cc_flow *f, uint32_t n)
{
	const struct tw_cc_insn *i = &f->code->insn[f->block[n].first], *j = &f->code->insn[f->block[n + 1].first];
	return n + 1 == f->n_blocks || i->section != j->section || i->function != j->function;
}

static uint32_t first_of_part(const struct tw_cc_flow *f, uint32_t n)
{
	while (n && !is_last_of_part(f, n - 1))
		n--;
	return n;
}

static int after_insn(struct rewriter *w, uint32_t k)
{
	const struct tw_cc_insn *i = &w->f->code->insn[k];
	const uint32_t n = (uint32_t)w->f->block_of[k], first = w->f->block[n].first, count = w->f->block[n].n;
	fputc('\n', w->out);
	if (k + 1 == first + count && tw_cc_lead(w->f, &w->f->block[n]) == count)
		begin_block(w, n);
	store_values(w, n, k - first, 1);
	w->counts->insns++;
	if (k + 1 != first + count)
		return 0;
	come_back(w, n);
	if (is_counted(w, n))
		end_loop(w, n);
	else if (!tw_cc_ends_before(i))
		end_block(w, n, w->f->block[n].live_out);
	fall_into_loop(w, n);
	fprintf(w->out, TW_CC_LABEL_END ":\n", n);
	const struct tw_cc_described d = {w->f, w->known, w->buffer, w->loop};
	return is_last_of_part(w->f, n) ? tw_cc_describe(w->out, &d, first_of_part(w->f, n), n + 1) : 0;
}

/* ---- the text ---- */

static void copy_to(struct rewriter *w, size_t end)
{
	fwrite(w->f->code->text.bytes + w->done, 1, end - w->done, w->out);
	w->done = end;
}

/* The instruction of each statement, or of a label that is marked. -1: none. */
static int32_t *index_statements(const struct tw_cc_code *c)
{
	int32_t *of = malloc((c->text.n_statements + 1) * sizeof *of);
	for (uint32_t k = 0; of && k < c->text.n_statements; k++)
		of[k] = -1;
	for (uint32_t k = 0; of && k < c->n_insns; k++) {
		of[c->insn[k].first] = (int32_t)k;
		if (c->insn[k].marked)
			of[tw_cc_marks_label(c, k)] = (int32_t)k;
	}
	return of;
}

static int is_rewritten(const struct tw_cc_flow *f, int32_t k)
{
	return k >= 0 && f->block_of[k] >= 0 && !f->code->function[f->code->insn[k].function].why;
}

static int write_text(struct rewriter *w)
{
	const struct tw_cc_code *c = w->f->code;
	int32_t *of = index_statements(c);
	int wrong = !of;
	for (uint32_t s = 0; !wrong && s < c->text.n_statements; s++) {
		if (!is_rewritten(w->f, of[s]))
			continue;
		const struct tw_cc_insn *i = &c->insn[of[s]];
		copy_to(w, c->text.statement[s].begin);
		fputc('\n', w->out);
		if (!i->marked || i->first != s)
			before_insn(w, (uint32_t)of[s]);
		if (i->first != s)
			continue;
		fprintf(w->out, TW_CC_LABEL_INSN ":", (uint32_t)of[s]);
		copy_to(w, c->text.statement[i->last].end);
		wrong = after_insn(w, (uint32_t)of[s]);
	}
	copy_to(w, c->text.n);
	free(of);
	return wrong ? -1 : 0;
}

static void count_functions(const struct tw_cc_code *c, struct tw_cc_counts *counts)
{
	for (uint32_t k = 1; k < c->n_functions; k++)
		if (!c->function[k].same_as)
			*(c->function[k].why ? &counts->left : &counts->functions) += 1;
}

/* Does every execution of the block count the same, with no value to record? */
static int is_plain(const struct tw_cc_record *r)
{
	for (uint32_t k = 0; k < r->n_ops; k++)
		if (r->op[k].kind != TW_OP_REF && r->op[k].kind != TW_OP_BIT && !tw_op_is_update(&r->op[k]))
			return 0;
	return !r->n_values && !(r->flags & TW_DESC_DYNAMIC);
}

static int plan_all(struct rewriter *w, int values)
{
	const uint32_t n_blocks = w->f->n_blocks;
	uint8_t *has_values = calloc(n_blocks + 1, 1);
	w->known = values ? tw_cc_plan_known(w->f) : NULL;
	w->bytes = calloc(n_blocks + 1, sizeof *w->bytes);
	w->record = malloc(sizeof *w->record);
	w->way_in = calloc(n_blocks + 1, 1);
	w->aside = calloc(n_blocks + 1, 1);
	if (!has_values || !w->way_in || !w->aside || !w->bytes || !w->record || (values && !w->known)) {
		free(has_values);
		return -1;
	}
	w->planned = UINT32_MAX;
	for (uint32_t n = 0; n < n_blocks; n++) {
		w->bytes[n] = (uint16_t)(2 + 8 * record_of(w, n)->n_values);
		has_values[n] = !is_plain(record_of(w, n));
	}
	w->buffer = tw_cc_assign(w->f, w->bytes);
	w->loop = w->buffer ? tw_cc_loops(w->f, w->buffer, has_values) : NULL;
	free(has_values);
	if (w->loop) {
		find_ways_in(w);
		find_aside(w);
	}
	return w->loop ? 0 : -1;
}

int tw_cc_rewrite(const struct tw_cc_flow *f, const struct tw_cc_options *o, const char *path, struct tw_cc_counts *counts)
{
	struct rewriter w = {.f = f, .to = {.pic = o->pic, .large = o->large, .guard = o->guard}, .counts = counts};
	int wrong = plan_all(&w, o->values);
	if (!wrong && (w.out = w.to.out = fopen(path, "we"))) {
		count_functions(f->code, counts);
		wrong = write_text(&w);
		tw_cc_print_symbols(&w.to);
		counts->inserted = w.to.inserted;
		wrong |= ferror(w.out);
		wrong |= fclose(w.out);
	} else {
		wrong = -1;
	}
	free(w.known);
	free(w.bytes);
	free(w.record);
	free(w.buffer);
	free(w.loop);
	free(w.way_in);
	free(w.aside);
	return wrong ? -1 : 0;
}
