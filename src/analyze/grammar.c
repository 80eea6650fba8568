#include "analyze/grammar.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void tw_grammar_free(struct tw_grammar *g)
{
	free(g->symbols);
	free(g->first);
	free(g->index);
	memset(g, 0, sizeof *g);
}

void tw_symbol_list_free(struct tw_symbol_list *l)
{
	free(l->symbols);
	memset(l, 0, sizeof *l);
}

int tw_symbol_list_add(struct tw_symbol_list *l, uint32_t symbol)
{
	uint32_t *symbols = tw_array_room(l->symbols, l->n, &l->room, sizeof *symbols);
	if (!symbols)
		return 0;
	l->symbols = symbols;
	l->symbols[l->n++] = symbol;
	return 1;
}

/* ---- rules by what they expand to ---- */

static uint32_t hash_of(const uint32_t *symbols, uint64_t n)
{
	uint64_t h = n;
	for (uint64_t i = 0; i < n; i++)
		h = (h ^ symbols[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
	return (uint32_t)h;
}

static int is_rule(const struct tw_grammar *g, uint32_t rule, const uint32_t *symbols, uint64_t n)
{
	return tw_grammar_length(g, rule) == n && !memcmp(g->symbols + g->first[rule], symbols, n * sizeof *symbols);
}

/* The place of the rule in the index, or the empty one for it. */
static uint32_t *find(const struct tw_grammar *g, const uint32_t *symbols, uint64_t n)
{
	uint32_t mask = g->index_size - 1;
	for (uint32_t i = hash_of(symbols, n) & mask;; i = (i + 1) & mask)
		if (!g->index[i] || is_rule(g, g->index[i] - 1, symbols, n))
			return &g->index[i];
}

static int grow_index(struct tw_grammar *g)
{
	if (2 * ((uint64_t)g->n_rules + 1) <= g->index_size)
		return 1;
	uint32_t size = g->index_size ? 2 * g->index_size : 256;
	uint32_t *index = calloc(size, sizeof *index);
	if (!index)
		return 0;
	free(g->index);
	g->index = index;
	g->index_size = size;
	for (uint32_t r = 0; r < g->n_rules; r++)
		*find(g, g->symbols + g->first[r], tw_grammar_length(g, r)) = r + 1;
	return 1;
}

/* Room for one rule more, of n symbols. */
static int grow_rules(struct tw_grammar *g, uint64_t n)
{
	uint32_t *symbols = tw_array_room(g->symbols, g->n_symbols + n, &g->room_symbols, sizeof *symbols);
	uint64_t *first = tw_array_room(g->first, g->n_rules + 1ull, &g->room_rules, sizeof *first);
	if (symbols)
		g->symbols = symbols;
	if (first)
		g->first = first;
	return symbols && first;
}

uint32_t tw_grammar_rule(struct tw_grammar *g, const uint32_t *symbols, uint64_t n)
{
	if (g->n_rules >= 1u << 30 || !grow_index(g) || !grow_rules(g, n))
		return TW_NO_RULE;
	g->first[0] = 0;
	uint32_t *place = find(g, symbols, n);
	if (*place)
		return *place - 1;
	memcpy(g->symbols + g->n_symbols, symbols, n * sizeof *symbols);
	g->n_symbols += n;
	g->first[g->n_rules + 1] = g->n_symbols;
	*place = ++g->n_rules;
	return g->n_rules - 1;
}

/* ---- from Sequitur ---- */

/* A rule of Sequitur's whose symbols are being collected. */
struct frame {
	uint32_t rule, place; /* the next one; 0: all are there */
	uint64_t begin;       /* of its symbols in the list */
	int inline_;          /* it is used once: its symbols stay in the list */
};

struct taking {
	struct tw_grammar *g;
	const struct tw_sequitur *s;
	uint32_t *symbol; /* of each of Sequitur's rules, here; 0: not known yet */
	struct tw_symbol_list list;
	struct frame *frames;
	size_t n_frames, room;
};

static int enter(struct taking *t, uint32_t rule)
{
	struct frame *frames = tw_array_room(t->frames, t->n_frames, &t->room, sizeof *frames);
	if (!frames)
		return 0;
	t->frames = frames;
	t->frames[t->n_frames++] = (struct frame){rule, tw_sequitur_first(t->s, rule), t->list.n, tw_sequitur_uses(t->s, rule) == 1};
	return 1;
}

/* All of the rule's symbols are there. */
static int leave(struct taking *t)
{
	const struct frame *f = &t->frames[--t->n_frames];
	if (f->inline_)
		return 1;
	uint32_t rule = tw_grammar_rule(t->g, t->list.symbols + f->begin, t->list.n - f->begin);
	if (rule == TW_NO_RULE)
		return 0;
	t->list.n = f->begin;
	t->symbol[f->rule] = TW_GRAMMAR_RULE + rule;
	return tw_symbol_list_add(&t->list, TW_GRAMMAR_RULE + rule);
}

static int step(struct taking *t)
{
	struct frame *f = &t->frames[t->n_frames - 1];
	if (!f->place)
		return leave(t);
	uint32_t symbol = tw_sequitur_symbol(t->s, f->place);
	f->place = tw_sequitur_next(t->s, f->place);
	if (symbol < TW_GRAMMAR_PHRASE)
		return tw_symbol_list_add(&t->list, symbol);
	if (symbol < TW_GRAMMAR_RULE)
		return tw_symbol_list_add(&t->list, symbol - TW_GRAMMAR_PHRASE + TW_GRAMMAR_RULE);
	uint32_t known = t->symbol[symbol - TW_GRAMMAR_RULE];
	return known ? tw_symbol_list_add(&t->list, known) : enter(t, symbol - TW_GRAMMAR_RULE);
}

int tw_grammar_take(struct tw_grammar *g, const struct tw_sequitur *s, struct tw_symbol_list *start)
{
	struct taking t = {.g = g, .s = s, .list = *start, .symbol = calloc(tw_sequitur_rules(s), sizeof *t.symbol)};
	int ok = t.symbol && enter(&t, 0);
	if (ok)
		t.frames[0].inline_ = 1;
	while (ok && t.n_frames)
		ok = step(&t);
	*start = t.list;
	free(t.symbol);
	free(t.frames);
	return ok;
}

/* ---- from another grammar ---- */

static uint32_t mapped(const uint32_t *map, uint32_t symbol)
{
	return symbol < TW_GRAMMAR_RULE ? symbol : map[symbol - TW_GRAMMAR_RULE];
}

int tw_grammar_add(struct tw_grammar *g, const struct tw_grammar *from, uint32_t **map)
{
	struct tw_symbol_list list = {0};
	*map = malloc((from->n_rules + 1ull) * sizeof **map);
	int ok = *map != NULL;
	for (uint32_t r = 0; ok && r < from->n_rules; r++) {
		list.n = 0;
		for (uint64_t i = from->first[r]; ok && i < from->first[r + 1]; i++)
			ok = tw_symbol_list_add(&list, mapped(*map, from->symbols[i]));
		uint32_t rule = ok ? tw_grammar_rule(g, list.symbols, list.n) : TW_NO_RULE;
		ok = rule != TW_NO_RULE;
		(*map)[r] = TW_GRAMMAR_RULE + rule;
	}
	tw_symbol_list_free(&list);
	return ok;
}

/* ---- back to the sequence ---- */

/* Symbols still to be expanded, for each open rule. */
struct span {
	uint64_t at, end;
};

struct open {
	struct span *spans;
	size_t n, room;
};

static int open_rule(struct open *o, const struct tw_grammar *g, uint32_t rule)
{
	struct span *spans = tw_array_room(o->spans, o->n, &o->room, sizeof *spans);
	if (!spans)
		return -1;
	o->spans = spans;
	o->spans[o->n++] = (struct span){g->first[rule], g->first[rule + 1]};
	return 0;
}

int tw_grammar_expand(const struct tw_grammar *g, uint32_t symbol, int (*f)(void *context, uint32_t terminal), void *context)
{
	struct open o = {0};
	int result;
	for (;;) {
		result = symbol < TW_GRAMMAR_RULE ? f(context, symbol) : open_rule(&o, g, symbol - TW_GRAMMAR_RULE);
		while (o.n && o.spans[o.n - 1].at == o.spans[o.n - 1].end)
			o.n--;
		if (result || !o.n)
			break;
		symbol = g->symbols[o.spans[o.n - 1].at++];
	}
	free(o.spans);
	return result;
}
