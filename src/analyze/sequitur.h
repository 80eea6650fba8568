/*
 * Sequitur: a sequence of symbols as a small context-free grammar, built symbol by symbol in linear time
 * (Nevill-Manning and Witten, "Identifying Hierarchical Structure in Sequences: A linear-time algorithm", JAIR 7,
 * 1997).
 *
 * Between two calls these invariants hold:
 *  - *digram uniqueness*: no pair of neighbouring symbols occurs twice in the grammar, except where the two places
 *    overlap (aaa);
 *  - *rule utility*: a rule is used at least twice. (In rare cases a substitution leaves a rule with a single use,
 *    inside another rule after its first symbol. This is not looked for; whoever takes the rules out expands it in
 *    place, see grammar.h.)
 *  - the start rule, rule 0, expands to what was pushed.
 *
 * A symbol is a terminal, a number below TW_GRAMMAR_RULE, or TW_GRAMMAR_RULE plus a rule's number. The terminal
 * TW_GRAMMAR_CUT is never part of a rule other than the start: no repetition extends across it.
 *
 * Memory: 16 bytes per symbol of the grammar, 8 bytes for each of twice as many index entries, 8 bytes per rule;
 * released only by tw_sequitur_free.
 */
#ifndef TW_SEQUITUR_H
#define TW_SEQUITUR_H

#include <stddef.h>
#include <stdint.h>

#define TW_GRAMMAR_RULE 0x80000000u
#define TW_GRAMMAR_CUT  0u

struct tw_sequitur;

/* For a grammar of at most about `most` symbols, from 16 to 2^29. NULL: no memory. */
struct tw_sequitur *tw_sequitur_new(uint32_t most);
void tw_sequitur_free(struct tw_sequitur *s);

/* Adds a terminal to the sequence. The grammar must not be full. */
void tw_sequitur_push(struct tw_sequitur *s, uint32_t terminal);

/* Does the grammar have as many symbols as it may? Then its rules must be taken out and it must be cleared before the next push. */
int tw_sequitur_full(const struct tw_sequitur *s);

/* Forgets all. */
void tw_sequitur_clear(struct tw_sequitur *s);

/* Rules are numbered below this; some numbers are free. */
uint32_t tw_sequitur_rules(const struct tw_sequitur *s);

/* How often the rule is used; 0: it is free, or the start rule. */
uint32_t tw_sequitur_uses(const struct tw_sequitur *s, uint32_t rule);

/* The rule's symbols one by one: the place of the first, then of the one after a place; 0 at the end. */
uint32_t tw_sequitur_first(const struct tw_sequitur *s, uint32_t rule);
uint32_t tw_sequitur_next(const struct tw_sequitur *s, uint32_t place);
uint32_t tw_sequitur_symbol(const struct tw_sequitur *s, uint32_t place);

#endif
