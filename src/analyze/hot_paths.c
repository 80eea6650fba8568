#include "analyze/hot_paths.h"

#include <stdlib.h>
#include <string.h>

/* Facts about a rule, or about a block, which is a symbol too. */
struct facts {
	uint64_t insns, blocks; /* executed each time */
	uint64_t left;          /* of these instructions, those in no path chosen so far */
	uint64_t times;         /* executed, outside of the paths chosen so far */
	uint64_t turns;         /* it is `base` so often in a row */
	uint32_t base;          /* a symbol; itself, where turns is 1 */
	uint32_t written;       /* terms of kind BLOCK that it takes */
	int chosen;
};

struct finder {
	const struct tw_paths *p;
	struct facts *rules, *blocks;
	unsigned most;
	struct tw_hot_paths *out;
};

static struct facts *facts_of(const struct finder *f, uint32_t symbol)
{
	return symbol < TW_GRAMMAR_RULE ? &f->blocks[symbol] : &f->rules[symbol - TW_GRAMMAR_RULE];
}

/* ---- loops ---- */

/* Symbols of one base that follow each other in a rule. */
struct group {
	uint32_t base;
	uint64_t turns;
};

/* The group that begins at symbol *i; moves *i behind it. */
static struct group next_group(const struct finder *f, const uint32_t *symbols, uint64_t *i, uint64_t end)
{
	const struct facts *first = facts_of(f, symbols[*i]);
	struct group g = {first->base, first->turns};
	for (++*i; *i < end; ++*i) {
		const struct facts *next = facts_of(f, symbols[*i]);
		if (next->base != g.base)
			break;
		g.turns += next->turns;
	}
	return g;
}

/* ---- facts, from the blocks up and from the threads down ---- */

static void learn_block(struct finder *f, uint32_t block)
{
	uint64_t n = block == TW_GRAMMAR_CUT ? 0 : f->p->blocks[block].n_insns;
	f->blocks[block] = (struct facts){.insns = n, .blocks = block != TW_GRAMMAR_CUT, .turns = 1, .base = block, .written = 1};
}

/* Rules that it uses are known. */
static void learn_rule(struct finder *f, uint32_t rule)
{
	const struct tw_grammar *g = &f->p->grammar;
	struct facts *facts = &f->rules[rule];
	uint64_t end = g->first[rule + 1], n_groups = 0;
	struct group group = {0};
	for (uint64_t i = g->first[rule]; i < end; i++) {
		const struct facts *symbol = facts_of(f, g->symbols[i]);
		facts->insns += symbol->insns;
		facts->blocks += symbol->blocks;
	}
	for (uint64_t i = g->first[rule]; i < end; n_groups++) {
		group = next_group(f, g->symbols, &i, end);
		facts->written += facts_of(f, group.base)->written;
		if (facts->written > f->most)
			facts->written = f->most + 1;
	}
	facts->base = n_groups == 1 ? group.base : TW_GRAMMAR_RULE + rule;
	facts->turns = n_groups == 1 ? group.turns : 1;
}

static void learn_all(struct finder *f)
{
	for (uint32_t i = 0; i < f->p->n_blocks; i++)
		learn_block(f, i);
	for (uint32_t i = 0; i < f->p->grammar.n_rules; i++)
		learn_rule(f, i);
}

/* Works out `left` and `times` anew. */
static void look_again(struct finder *f)
{
	const struct tw_grammar *g = &f->p->grammar;
	for (uint32_t i = 0; i < f->p->n_blocks; i++) {
		f->blocks[i].times = 0;
		f->blocks[i].left = f->blocks[i].chosen ? 0 : f->blocks[i].insns;
	}
	for (uint32_t r = 0; r < g->n_rules; r++) {
		f->rules[r].times = f->rules[r].left = 0;
		for (uint64_t i = g->first[r]; i < g->first[r + 1] && !f->rules[r].chosen; i++)
			f->rules[r].left += facts_of(f, g->symbols[i])->left;
	}
	for (size_t t = 0; t < f->p->n_threads; t++)
		for (uint64_t i = 0; i < f->p->threads[t].start.n; i++)
			facts_of(f, f->p->threads[t].start.symbols[i])->times++;
	for (uint32_t r = g->n_rules; r-- > 0;)
		for (uint64_t i = g->first[r]; i < g->first[r + 1] && !f->rules[r].chosen; i++)
			facts_of(f, g->symbols[i])->times += f->rules[r].times;
}

/* ---- choosing ---- */

/* Adds the iterations of single-block loops among these symbols, which are executed `times` times. */
static void add_turns(const struct finder *f, const uint32_t *symbols, uint64_t from, uint64_t end, uint64_t times, uint64_t *turns)
{
	for (uint64_t i = from; i < end;) {
		struct group group = next_group(f, symbols, &i, end);
		if (group.base < TW_GRAMMAR_RULE && group.turns > 1)
			turns[group.base] += times * group.turns;
	}
}

/* For each block, the iterations of its single-block loop outside the paths chosen so far. */
static void count_turns(const struct finder *f, uint64_t *turns)
{
	const struct tw_grammar *g = &f->p->grammar;
	memset(turns, 0, f->p->n_blocks * sizeof *turns);
	for (size_t t = 0; t < f->p->n_threads; t++)
		add_turns(f, f->p->threads[t].start.symbols, 0, f->p->threads[t].start.n, 1, turns);
	for (uint32_t r = 0; r < g->n_rules; r++)
		if (f->rules[r].turns == 1 && !f->rules[r].chosen)
			add_turns(f, g->symbols, g->first[r], g->first[r + 1], f->rules[r].times, turns);
}

struct choice {
	uint32_t symbol;
	uint64_t times, share;
};

static void consider(struct choice *best, uint32_t symbol, uint64_t times, uint64_t share)
{
	if (times >= 2 && share > best->share)
		*best = (struct choice){symbol, times, share};
}

/* Workers number blocks as they meet them; their addresses are the same each time. */
static int stands_before(const struct tw_path_block *a, const struct tw_path_block *b)
{
	if (a->image != b->image)
		return a->image < b->image;
	return a->pc != b->pc ? a->pc < b->pc : a->n_insns < b->n_insns;
}

static void consider_block(const struct finder *f, struct choice *best, uint32_t block, uint64_t turns)
{
	const uint64_t share = turns * f->blocks[block].left;
	if (share && share == best->share && stands_before(&f->p->blocks[block], &f->p->blocks[best->symbol]))
		*best = (struct choice){0};
	consider(best, block, turns, share);
}

/* A share of 0: none. `turns`: room for a number for each block. */
static struct choice choose(struct finder *f, uint64_t *turns)
{
	struct choice best = {0};
	count_turns(f, turns);
	for (uint32_t i = 1; i < f->p->n_blocks; i++)
		consider_block(f, &best, i, turns[i]);
	for (uint32_t r = 0; r < f->p->grammar.n_rules; r++) {
		const struct facts *rule = &f->rules[r];
		if (rule->turns == 1 && rule->written <= f->most)
			consider(&best, TW_GRAMMAR_RULE + r, rule->times, rule->times * rule->left);
	}
	return best;
}

/* ---- writing ---- */

static int add(struct tw_hot_path *path, struct tw_path_term term)
{
	if (path->n_terms == path->room) {
		size_t room = 2 * path->room + 16;
		struct tw_path_term *terms = realloc(path->terms, room * sizeof *terms);
		if (!terms)
			return 0;
		path->terms = terms;
		path->room = room;
	}
	path->terms[path->n_terms++] = term;
	return 1;
}

/* Writes a symbol that is its own base, with so many repetitions. The recursion is no deeper than its number of blocks, which is small. */
static int write_symbol(struct finder *f, struct tw_hot_path *path, uint32_t symbol, uint64_t turns)
{
	if (symbol < TW_GRAMMAR_RULE)
		return add(path, (struct tw_path_term){TW_PATH_BLOCK, symbol, turns});
	const struct tw_grammar *g = &f->p->grammar;
	uint32_t rule = symbol - TW_GRAMMAR_RULE;
	int ok = turns == 1 || add(path, (struct tw_path_term){TW_PATH_LOOP, 0, turns});
	for (uint64_t i = g->first[rule]; ok && i < g->first[rule + 1];) {
		struct group group = next_group(f, g->symbols, &i, g->first[rule + 1]);
		ok = write_symbol(f, path, group.base, group.turns);
	}
	return ok && (turns == 1 || add(path, (struct tw_path_term){TW_PATH_END, 0, 0}));
}

static int take(struct finder *f, const struct choice *c)
{
	struct facts *facts = facts_of(f, c->symbol);
	struct tw_hot_path *path = &f->out->paths[f->out->n++];
	*path = (struct tw_hot_path){.times = c->times, .insns = facts->insns, .blocks = facts->blocks, .share = c->share};
	facts->chosen = 1;
	return write_symbol(f, path, c->symbol, 1);
}

static void sum(struct finder *f)
{
	for (uint32_t i = 1; i < f->p->n_blocks; i++) {
		f->out->blocks += f->blocks[i].times;
		f->out->insns += f->blocks[i].times * f->blocks[i].insns;
	}
}

int tw_hot_paths_find(const struct tw_paths *p, size_t top, unsigned most, struct tw_hot_paths *out)
{
	struct finder f = {.p = p, .most = most, .out = out};
	*out = (struct tw_hot_paths){.paths = calloc(top + 1, sizeof *out->paths)};
	f.rules = calloc(p->grammar.n_rules + 1ull, sizeof *f.rules);
	f.blocks = calloc(p->n_blocks + 1ull, sizeof *f.blocks);
	uint64_t *turns = calloc(p->n_blocks + 1ull, sizeof *turns);
	int ok = out->paths && f.rules && f.blocks && turns;
	if (ok) {
		learn_all(&f);
		look_again(&f);
		sum(&f);
	}
	while (ok && out->n < top) {
		struct choice c = choose(&f, turns);
		if (!c.share)
			break;
		ok = take(&f, &c);
		look_again(&f);
	}
	free(f.rules);
	free(f.blocks);
	free(turns);
	if (!ok)
		tw_hot_paths_free(out);
	return ok ? 0 : TW_ERR_MEMORY;
}

void tw_hot_paths_free(struct tw_hot_paths *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->paths[i].terms);
	free(h->paths);
	memset(h, 0, sizeof *h);
}
