/*
 * Block profiles of random programs' streams against a slow and simple reference that reads the stream twice, so that
 * it knows all jumps before it counts. Each stream is also cut into pieces, as by several workers, and joined again.
 */
#include "analyze/profile.h"
#include "unit.h"

#include <stdlib.h>

enum { PROGRAMS = 1000, INSNS = 120, STEPS = 1200, STREAMS = 3, MOST = 2 * INSNS };

/* ---- a random program and what it does ---- */

enum kind { PLAIN, COND, JUMP, INDIRECT, CALL, RETURN, REPEAT, SLIDE, CHANGED };

/* One instruction. Those of an even number stand one behind another; number i + 1 is the tail of i's bytes (its code without a prefix), or if it is
 * CHANGED what stands in its place at times: a longer one, which takes the prefix of the next. */
struct insn {
	uint64_t pc;
	uint8_t length;
	enum kind kind;
	int target[4];
};

struct program {
	struct insn insn[MOST];
	int n;
};

struct stream {
	int insn[STREAMS * STEPS + 1]; /* numbers; -1 between streams */
	int n;
};

static uint64_t seed = 1;

static int below(int n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int)((seed >> 33) % (uint64_t)n);
}

static void make_program(struct program *p)
{
	static const enum kind kinds[] = {PLAIN, PLAIN, PLAIN,    PLAIN, PLAIN,  PLAIN,  COND,  COND,
	                                  COND,  JUMP,  INDIRECT, CALL,  RETURN, REPEAT, SLIDE, CHANGED};
	uint64_t pc = 0x400000;
	p->n = 2 * (4 + below(INSNS - 4));
	for (int i = 0; i < p->n; i += 2) {
		struct insn *insn = &p->insn[i];
		*insn = (struct insn){.pc = pc, .length = (uint8_t)(2 + below(12)), .kind = kinds[below(sizeof kinds / sizeof kinds[0])]};
		for (int k = 0; k < 4; k++)
			insn->target[k] = 2 * below(p->n / 2);
		pc += insn->length;
		p->insn[i + 1] = *insn;
		if (insn->kind == CHANGED) {
			p->insn[i + 1].length++;
		} else {
			p->insn[i + 1].pc++;
			p->insn[i + 1].length--;
		}
		if (below(40) == 0)
			pc += 16; /* nothing stands behind it */
	}
}

/* What stands behind instruction i just now. */
static int behind(const struct program *p, int i)
{
	static int changed;
	int found = 0;
	changed ^= below(20) == 0;
	for (int k = 0; k < p->n; k++)
		if (p->insn[k].pc == p->insn[i].pc + p->insn[i].length && (!found || changed))
			found = k;
	return found;
}

static int successor(const struct program *p, int i, int *stack, int *depth)
{
	const struct insn *insn = &p->insn[i];
	if (below(500) == 0)
		return 2 * below(p->n / 2); /* a signal */
	switch (insn->kind) {
	case COND:
		return below(10) < insn->target[1] % 11 ? insn->target[0] : behind(p, i);
	case JUMP:
		return insn->target[0];
	case INDIRECT:
		return insn->target[below(4)];
	case CALL:
		if (*depth < 8)
			stack[(*depth)++] = behind(p, i);
		return insn->target[0];
	case RETURN:
		return *depth ? stack[--*depth] : behind(p, i);
	case REPEAT:
		return below(3) ? i : behind(p, i);
	case SLIDE:
		return behind(p, i) ^ below(2);
	default:
		return behind(p, i);
	}
}

static void run_program(const struct program *p, struct stream *s)
{
	s->n = 0;
	for (int k = 1 + below(STREAMS); k; k--) {
		int stack[8], depth = 0, at = 2 * below(p->n / 2);
		for (int n = 1 + below(STEPS - 1); n; n--) {
			s->insn[s->n++] = at;
			at = successor(p, at, stack, &depth);
		}
		s->insn[s->n++] = -1;
	}
}

/* ---- the reference ---- */

struct reference_block {
	int last, n_insns;
	uint64_t executions;
	uint64_t edge[MOST]; /* by first instruction of the block that came next */
};

/* By first instruction. */
struct reference {
	struct reference_block fixed[MOST], dynamic[MOST];
	int jump[MOST], leads[MOST];
	int before[MOST], after[MOST]; /* what ran before and after it in memory, first; -1: nothing */
};

static int is_behind(const struct program *p, int a, int b)
{
	return p->insn[b].pc == p->insn[a].pc + p->insn[a].length;
}

/* First pass: finds which instructions are jumps, and from that the starts of static blocks. */
static void find_jumps(const struct program *p, const struct stream *s, struct reference *r)
{
	for (int i = 0; i + 1 < s->n; i++) {
		int a = s->insn[i], b = s->insn[i + 1];
		if (a < 0 || b < 0)
			continue;
		if (is_behind(p, a, b) && r->after[a] < 0)
			r->after[a] = b;
		if (r->after[a] != b)
			r->jump[a] = 1;
	}
	for (int i = 0; i < s->n; i++) {
		int a = i ? s->insn[i - 1] : -1, b = s->insn[i];
		if (b < 0)
			continue;
		if (a < 0 || r->jump[a])
			r->leads[b] = 1;
		else if (r->before[b] >= 0 && r->before[b] != a)
			r->leads[b] = 1;
		else
			r->before[b] = a;
	}
}

/* Second reading. `is_first` says where blocks begin. */
static void count_blocks(const struct stream *s, const struct reference *r, struct reference_block *blocks, int dynamic)
{
	int block = -1, n = 0;
	for (int i = 0; i < s->n; i++) {
		int at = s->insn[i], before = i ? s->insn[i - 1] : -1;
		if (at < 0) {
			block = -1;
			continue;
		}
		int begins = before < 0 || r->jump[before] || (!dynamic && r->leads[at]);
		if (begins && block >= 0)
			blocks[block].edge[at]++;
		if (begins) {
			block = at;
			n = 0;
			blocks[block].executions++;
		}
		n++;
		if (n > blocks[block].n_insns) {
			blocks[block].n_insns = n;
			blocks[block].last = at;
		}
	}
}

static struct reference *make_reference(const struct program *p, const struct stream *s)
{
	struct reference *r = calloc(1, sizeof *r);
	for (int i = 0; i < MOST; i++)
		r->before[i] = r->after[i] = -1;
	find_jumps(p, s, r);
	count_blocks(s, r, r->fixed, 0);
	count_blocks(s, r, r->dynamic, 1);
	return r;
}

/* ---- comparing ---- */

static int number_of(const struct program *p, const struct tw_profile_insn *insn)
{
	for (int i = 0; i < p->n; i++)
		if (p->insn[i].pc == insn->pc && p->insn[i].length == insn->length)
			return i;
	return -1;
}

static enum tw_ending expected_ending(const struct reference *r, const struct reference_block *b)
{
	int fall = 0, other = 0;
	for (int i = 0; i < MOST; i++) {
		if (b->edge[i] && r->after[b->last] == i)
			fall++;
		else
			other += b->edge[i] != 0;
	}
	return !other ? TW_ENDING_NB : other > 1 ? TW_ENDING_IJ : fall ? TW_ENDING_CB : TW_ENDING_UB;
}

static int same_block(const struct program *p, const struct tw_profile *found, const struct tw_profile_blocks *all, uint32_t i,
                      const struct reference *r, const struct reference_block *expected)
{
	const struct tw_profile_block *b = &all->blocks[i];
	const struct reference_block *e = &expected[number_of(p, &found->insns[b->first_insn])];
	uint32_t n_edges = 0;
	for (int k = 0; k < MOST; k++)
		n_edges += e->edge[k] != 0;
	if (b->executions != e->executions || b->n_insns != (uint32_t)e->n_insns || b->n_edges != n_edges ||
	    b->last_pc != p->insn[e->last].pc || b->ending != expected_ending(r, e))
		return 0;
	for (uint32_t k = b->first_edge; k < b->first_edge + n_edges; k++) {
		int to = number_of(p, &found->insns[all->blocks[all->edges[k].to].first_insn]);
		if (all->edges[k].count != e->edge[to] || all->edges[k].fall != (r->after[e->last] == to))
			return 0;
	}
	return 1;
}

static int same_blocks(const struct program *p, const struct tw_profile *found, const struct tw_profile_blocks *all,
                       const struct reference *r, const struct reference_block *expected)
{
	uint32_t n = 0;
	for (int i = 0; i < MOST; i++)
		n += expected[i].executions != 0;
	if (all->n_blocks != n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (!same_block(p, found, all, i, r, expected))
			return 0;
	return 1;
}

/* Every instruction is in exactly one static block, with the stream's execution count. */
static int same_insns(const struct program *p, const struct stream *s, const struct tw_profile *found)
{
	uint64_t executions[MOST] = {0};
	uint32_t n = 0;
	for (int i = 0; i < s->n; i++)
		if (s->insn[i] >= 0)
			n += executions[s->insn[i]]++ == 0;
	for (uint32_t i = 0; i < found->n_insns; i++)
		if (found->insns[i].executions != executions[number_of(p, &found->insns[i])])
			return 0;
	for (uint32_t i = 0; i < found->fixed.n_blocks; i++)
		n -= found->fixed.blocks[i].n_insns;
	return n == 0;
}

/* ---- the flow ---- */

static void feed(struct tw_flow *f, const struct program *p, const struct stream *s, int from, int to)
{
	for (int i = from; i < to; i++) {
		if (s->insn[i] < 0) {
			tw_flow_stop(f);
			continue;
		}
		const struct insn *insn = &p->insn[s->insn[i]];
		uint32_t node = tw_flow_node(f, 0, insn->pc, insn->length);
		int again = 0;
		while (i + again + 1 < to && s->insn[i + again + 1] == s->insn[i])
			again++;
		tw_flow_step(f, node, node);
		tw_flow_repeat(f, (uint64_t)again);
		i += again;
	}
}

/* Cuts the stream into `pieces` and joins what became of them. */
static void feed_pieces(struct tw_flow *f, const struct program *p, const struct stream *s, int pieces)
{
	int at = 0;
	for (int k = 0; k < pieces; k++) {
		struct tw_flow later;
		int to = k + 1 == pieces ? s->n : at + below(s->n - at + 1);
		EQUAL(tw_flow_init(&later, 0), 0);
		feed(&later, p, s, at, to);
		tw_flow_merge(f, &later, to == at || s->insn[at] >= 0);
		tw_flow_fini(&later);
		at = to;
	}
}

static void test_program(struct program *p, struct stream *s)
{
	make_program(p);
	run_program(p, s);
	struct reference *r = make_reference(p, s);
	for (int pieces = 1; pieces < 9; pieces += 1 + pieces / 2) {
		struct tw_flow f;
		struct tw_profile profile;
		EQUAL(tw_flow_init(&f, 0), 0);
		if (pieces == 1)
			feed(&f, p, s, 0, s->n);
		else
			feed_pieces(&f, p, s, pieces);
		EQUAL(tw_flow_profile(&f, NULL, 0, &profile), 0);
		CHECK(same_insns(p, s, &profile));
		CHECK(same_blocks(p, &profile, &profile.fixed, r, r->fixed));
		CHECK(same_blocks(p, &profile, &profile.dynamic, r, r->dynamic));
		tw_profile_free(&profile);
		tw_flow_fini(&f);
	}
	free(r);
}

int main(void)
{
	struct program *p = malloc(sizeof *p);
	struct stream *s = malloc(sizeof *s);
	for (int i = 0; i < PROGRAMS && !unit_failed; i++)
		test_program(p, s);
	free(p);
	free(s);
	return UNIT_END();
}
