/*
 * A complete grammar: rules as arrays, each expanding to a path, and for each of several sequences its start symbols.
 *
 * Sequitur's grammar (sequitur.h) of a long sequence is made in segments, each as large as memory allows; here their
 * rules are combined. A rule that already exists, symbol by symbol, replaces the new one, so what segments, threads
 * and workers have in common is stored once.
 *
 * A rule's number is higher than those of the rules it uses: one upward pass computes lengths, one downward pass
 * computes how often each is used.
 *
 * Memory: 4 bytes per symbol, 8 bytes per rule, and 4 bytes for each of at least twice as many index entries.
 */
#ifndef TW_GRAMMAR_H
#define TW_GRAMMAR_H

#include "analyze/sequitur.h"

struct tw_grammar {
	uint32_t *symbols; /* of all rules, one rule after another */
	uint64_t *first;   /* of each rule; one more for the end of the last */
	uint32_t n_rules;
	uint64_t n_symbols;
	uint32_t *index;     /* rule + 1 by the hash of its symbols; 0: empty */
	uint32_t index_size; /* a power of 2, or 0 */
	size_t room_rules, room_symbols;
};

/* A growing list of symbols. */
struct tw_symbol_list {
	uint32_t *symbols;
	uint64_t n;
	size_t room;
};

/* All zeros is an empty grammar, an empty list. */
void tw_grammar_free(struct tw_grammar *g);
void tw_symbol_list_free(struct tw_symbol_list *l);

/* 0: there is no memory. */
int tw_symbol_list_add(struct tw_symbol_list *l, uint32_t symbol);

/* The number of the rule that expands to these symbols, added if necessary. TW_NO_RULE: no memory, or 2^30 rules exist. */
#define TW_NO_RULE UINT32_MAX
uint32_t tw_grammar_rule(struct tw_grammar *g, const uint32_t *symbols, uint64_t n);

/* A symbol of a grammar as seen by Sequitur, to which all of them are terminals: its own terminals are below TW_GRAMMAR_PHRASE. */
#define TW_GRAMMAR_PHRASE 0x40000000u

static inline uint32_t tw_grammar_phrase(uint32_t symbol)
{
	return symbol < TW_GRAMMAR_RULE ? symbol : symbol - TW_GRAMMAR_RULE + TW_GRAMMAR_PHRASE;
}

/*
 * Takes the rules out of `s`, to which symbols of this grammar were pushed as phrases, and appends the symbols of its
 * start rule to *start. Rules that are used once are expanded in place. 0: no memory.
 */
int tw_grammar_take(struct tw_grammar *g, const struct tw_sequitur *s, struct tw_symbol_list *start);

/* Adds the rules of `from`: (*map)[i] becomes the symbol of its rule i here. The caller frees *map. 0: no memory. */
int tw_grammar_add(struct tw_grammar *g, const struct tw_grammar *from, uint32_t **map);

static inline uint64_t tw_grammar_length(const struct tw_grammar *g, uint32_t rule)
{
	return g->first[rule + 1] - g->first[rule];
}

/* Calls f for each terminal of `symbol`'s expansion, in order, until it returns a value other than 0, which is returned. -1: no memory. */
int tw_grammar_expand(const struct tw_grammar *g, uint32_t symbol, int (*f)(void *context, uint32_t terminal), void *context);

#endif
