/*
 * Sequitur: the grammar expands to what was pushed, no digram occurs twice, rules are used at least twice; segments
 * and merging preserve the sequence.
 */
#include "analyze/grammar.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH = 20000 };

struct expected {
	const uint32_t *sequence;
	size_t n, at;
};

static int compare(void *context, uint32_t terminal)
{
	struct expected *e = context;
	return e->at >= e->n || e->sequence[e->at++] != terminal;
}

/* A sequence that repeats itself at several scales; without repetition: random. */
static void make(uint32_t *to, size_t n, uint32_t letters, unsigned repeat, unsigned seed)
{
	srand(seed);
	for (size_t i = 0; i < n; i++) {
		size_t back = (size_t)rand() % (i + 1), length = (size_t)rand() % 50;
		if ((unsigned)rand() % 100 < repeat)
			for (size_t k = 0; k < length && i + 1 < n; k++, i++)
				to[i] = to[i - back];
		to[i] = 1 + (uint32_t)rand() % letters;
	}
}

static int is_overlap(const struct tw_sequitur *s, uint32_t a, uint32_t b)
{
	return tw_sequitur_next(s, a) == b || tw_sequitur_next(s, b) == a;
}

/* Digrams that stand twice and rules used less than twice. */
static void check_rules(const struct tw_sequitur *s)
{
	static struct {
		uint64_t digram;
		uint32_t place;
	} seen[1 << 17];
	memset(seen, 0, sizeof seen);
	for (uint32_t r = 0; r < tw_sequitur_rules(s); r++) {
		if (r && !tw_sequitur_uses(s, r))
			continue;
		for (uint32_t p = tw_sequitur_first(s, r); p && tw_sequitur_next(s, p); p = tw_sequitur_next(s, p)) {
			uint64_t digram = (uint64_t)tw_sequitur_symbol(s, p) << 32 | tw_sequitur_symbol(s, tw_sequitur_next(s, p));
			if ((uint32_t)digram == TW_GRAMMAR_CUT || digram >> 32 == TW_GRAMMAR_CUT)
				continue;
			size_t i = digram * 0x9e3779b97f4a7c15u >> 47;
			while (seen[i].place && seen[i].digram != digram)
				i = (i + 1) % (1 << 17);
			CHECK(!seen[i].place || is_overlap(s, seen[i].place, p));
			seen[i].digram = digram;
			seen[i].place = p;
		}
	}
}

static uint64_t symbols_of(const struct tw_grammar *g, const struct tw_symbol_list *start)
{
	return g->n_symbols + start->n;
}

static void check_expands(const struct tw_grammar *g, const struct tw_symbol_list *start, const uint32_t *sequence, size_t n)
{
	struct expected e = {sequence, n, 0};
	for (uint64_t i = 0; i < start->n; i++)
		CHECK(!tw_grammar_expand(g, start->symbols[i], compare, &e));
	EQUAL(e.at, n);
}

/* In segments of at most `most` symbols each. */
static void push_all(struct tw_grammar *g, struct tw_symbol_list *start, const uint32_t *sequence, size_t n, uint32_t most)
{
	struct tw_sequitur *s = tw_sequitur_new(most);
	for (size_t i = 0; i < n; i++) {
		tw_sequitur_push(s, sequence[i]);
		if (!tw_sequitur_full(s))
			continue;
		check_rules(s);
		CHECK(tw_grammar_take(g, s, start));
		tw_sequitur_clear(s);
	}
	check_rules(s);
	CHECK(tw_grammar_take(g, s, start));
	tw_sequitur_free(s);
}

static void check_sequence(uint32_t letters, unsigned repeat, unsigned seed, size_t n)
{
	static uint32_t sequence[LENGTH];
	static const uint32_t sizes[] = {1 << 16, 1000, 16};
	make(sequence, n, letters, repeat, seed);
	for (unsigned i = 0; i < 3; i++) {
		struct tw_grammar g = {0};
		struct tw_symbol_list start = {0};
		push_all(&g, &start, sequence, n, sizes[i]);
		check_expands(&g, &start, sequence, n);
		tw_grammar_free(&g);
		tw_symbol_list_free(&start);
	}
}

/* (ab)^1024: a rule for each doubling. */
static void check_power(void)
{
	uint32_t sequence[2048];
	struct tw_grammar g = {0};
	struct tw_symbol_list start = {0};
	for (int i = 0; i < 2048; i++)
		sequence[i] = 1 + (uint32_t)i % 2;
	push_all(&g, &start, sequence, 2048, 1 << 10);
	check_expands(&g, &start, sequence, 2048);
	CHECK(symbols_of(&g, &start) <= 24);
	tw_grammar_free(&g);
	tw_symbol_list_free(&start);
}

/* No rule crosses a cut: ab CUT ab gives a rule, CUT stays in the start. */
static void check_cut(void)
{
	static const uint32_t sequence[] = {1, 2, TW_GRAMMAR_CUT, 1, 2, TW_GRAMMAR_CUT, 1, 2, TW_GRAMMAR_CUT};
	struct tw_grammar g = {0};
	struct tw_symbol_list start = {0};
	push_all(&g, &start, sequence, 9, 64);
	check_expands(&g, &start, sequence, 9);
	EQUAL(g.n_rules, 1);
	EQUAL(start.n, 6);
	tw_grammar_free(&g);
	tw_symbol_list_free(&start);
}

/* Two grammars of parts of a sequence become one. */
static void check_merge(void)
{
	static uint32_t sequence[LENGTH];
	struct tw_grammar g = {0}, later = {0};
	struct tw_symbol_list start = {0}, rest = {0};
	uint32_t *map;
	make(sequence, LENGTH, 20, 10, 7);
	push_all(&g, &start, sequence, LENGTH / 2, 500);
	push_all(&later, &rest, sequence + LENGTH / 2, LENGTH / 2, 700);
	CHECK(tw_grammar_add(&g, &later, &map));
	for (uint64_t i = 0; i < rest.n; i++) {
		uint32_t symbol = rest.symbols[i];
		CHECK(tw_symbol_list_add(&start, symbol < TW_GRAMMAR_RULE ? symbol : map[symbol - TW_GRAMMAR_RULE]));
	}
	check_expands(&g, &start, sequence, LENGTH);
	free(map);
	tw_grammar_free(&g);
	tw_grammar_free(&later);
	tw_symbol_list_free(&start);
	tw_symbol_list_free(&rest);
}

int main(void)
{
	for (unsigned seed = 0; seed < 12; seed++) {
		check_sequence(1 + seed % 5, 0, seed, LENGTH / 4);
		check_sequence(2 + seed * 10, seed % 30, seed, LENGTH);
	}
	check_power();
	check_cut();
	check_merge();
	return UNIT_END();
}
