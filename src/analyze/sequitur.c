#include "analyze/sequitur.h"
#include "base/array.h"

#include <stdlib.h>

/*
 * The place of a symbol in the ring of its rule, which begins and ends with the rule's guard. Place 0 is unused. A
 * guard's symbol is GUARD plus the rule's number. If the index has the digram that begins here, its slot is noted, so
 * that removing it needs no search.
 */
struct place {
	uint32_t symbol, prev, next;
	uint32_t slot; /* + 1; 0: the index does not lead here */
};

#define GUARD 0xc0000000u

/* Places beyond `most`, for what one push makes, and for what a new rule takes before its digrams' places are returned. */
enum { MARGIN = 1024, RULE_PLACES = 4 };

struct rule {
	uint32_t guard; /* free: the next free rule */
	uint32_t uses;
};

/* The index: the place of each digram, by open addressing with linear probing. */
struct slot {
	uint32_t hash;
	uint32_t place; /* of the digram's first symbol; 0: empty */
};

struct tw_sequitur {
	struct place *places;
	struct rule *rules;
	struct slot *slots;
	uint32_t mask;       /* of the index */
	uint32_t most;       /* symbols, guards included */
	uint32_t n_used;     /* places in use */
	uint32_t n_places;   /* that were ever in use, place 0 included */
	uint32_t free_place; /* linked by `next`; 0: none */
	uint32_t n_rules;    /* that were ever in use */
	uint32_t free_rule;  /* 0: none */
};

/* ---- places and rules ---- */

static inline int is_rule(uint32_t symbol)
{
	return symbol >= TW_GRAMMAR_RULE && symbol < GUARD;
}

static inline int is_guard(uint32_t symbol)
{
	return symbol >= GUARD;
}

static uint32_t new_place(struct tw_sequitur *s, uint32_t symbol)
{
	uint32_t at = s->free_place;
	if (at)
		s->free_place = s->places[at].next;
	else
		at = s->n_places++;
	s->n_used++;
	s->places[at] = (struct place){.symbol = symbol};
	if (is_rule(symbol))
		s->rules[symbol - TW_GRAMMAR_RULE].uses++;
	return at;
}

static void free_place(struct tw_sequitur *s, uint32_t at)
{
	s->places[at].next = s->free_place;
	s->free_place = at;
	s->n_used--;
}

static uint32_t new_rule(struct tw_sequitur *s)
{
	uint32_t r = s->free_rule;
	if (r)
		s->free_rule = s->rules[r].guard;
	else
		r = s->n_rules++;
	uint32_t guard = new_place(s, GUARD + r);
	s->places[guard].prev = s->places[guard].next = guard;
	s->rules[r] = (struct rule){guard, 0};
	return r;
}

static void free_rule(struct tw_sequitur *s, uint32_t r)
{
	free_place(s, s->rules[r].guard);
	s->rules[r] = (struct rule){s->free_rule, 0};
	s->free_rule = r;
}

/* ---- the index ---- */

static inline uint32_t hash_of(uint32_t first, uint32_t second)
{
	uint64_t h = ((uint64_t)first << 32 | second) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

/* Where the search for a digram begins; a caller that will need it soon prefetches it. */
static inline struct slot *first_slot(const struct tw_sequitur *s, uint32_t first, uint32_t second)
{
	return &s->slots[hash_of(first, second) & s->mask];
}

/* Digrams with a guard or a cut are not indexed. */
static inline int counts(const struct tw_sequitur *s, uint32_t at)
{
	uint32_t first = s->places[at].symbol, second = s->places[s->places[at].next].symbol;
	return !is_guard(first) && !is_guard(second) && first != TW_GRAMMAR_CUT && second != TW_GRAMMAR_CUT;
}

/* The slot of the digram at `at`, or the empty one for it. */
static struct slot *find(const struct tw_sequitur *s, uint32_t at)
{
	uint32_t first = s->places[at].symbol, second = s->places[s->places[at].next].symbol, hash = hash_of(first, second);
	for (uint32_t i = hash & s->mask;; i = (i + 1) & s->mask) {
		struct slot *slot = &s->slots[i];
		if (!slot->place)
			return slot;
		if (slot->hash != hash)
			continue;
		const struct place *p = &s->places[slot->place];
		if (p->symbol == first && s->places[p->next].symbol == second)
			return slot;
	}
}

/* Points an empty slot, or one of the same digram, to this place. */
static void lead(struct tw_sequitur *s, struct slot *slot, uint32_t at)
{
	s->places[slot->place].slot = 0; /* place 0 is nobody's */
	*slot = (struct slot){hash_of(s->places[at].symbol, s->places[s->places[at].next].symbol), at};
	s->places[at].slot = (uint32_t)(slot - s->slots) + 1;
}

static void enter(struct tw_sequitur *s, uint32_t at)
{
	if (counts(s, at))
		lead(s, find(s, at), at);
}

/* Empties a slot, and moves up later slots that could no longer be found. */
static void empty(struct tw_sequitur *s, struct slot *slot)
{
	uint32_t hole = (uint32_t)(slot - s->slots);
	for (uint32_t i = (hole + 1) & s->mask; s->slots[i].place; i = (i + 1) & s->mask) {
		uint32_t wanted = s->slots[i].hash & s->mask;
		if (((i - wanted) & s->mask) < ((i - hole) & s->mask))
			continue;
		s->slots[hole] = s->slots[i];
		s->places[s->slots[hole].place].slot = hole + 1;
		hole = i;
	}
	s->slots[hole].place = 0;
}

/* The digram at `at` is about to disappear. In a run of three equal symbols, the index then gets the overlapping digram. */
static void forget(struct tw_sequitur *s, uint32_t at)
{
	const struct place *p = &s->places[at], *next = &s->places[p->next];
	if (!p->slot)
		return;
	struct slot *slot = &s->slots[p->slot - 1];
	if (p->symbol == next->symbol && s->places[p->prev].symbol == p->symbol) {
		lead(s, slot, p->prev);
	} else if (p->symbol == next->symbol && s->places[next->next].symbol == p->symbol) {
		lead(s, slot, p->next);
	} else {
		s->places[at].slot = 0;
		empty(s, slot);
	}
}

/* ---- the algorithm ---- */

static void join(struct tw_sequitur *s, uint32_t left, uint32_t right)
{
	s->places[left].next = right;
	s->places[right].prev = left;
}

static void insert_behind(struct tw_sequitur *s, uint32_t left, uint32_t at)
{
	forget(s, left);
	join(s, at, s->places[left].next);
	join(s, left, at);
}

/* Takes a symbol out of its rule. */
static void take_out(struct tw_sequitur *s, uint32_t at)
{
	uint32_t left = s->places[at].prev, symbol = s->places[at].symbol;
	forget(s, left);
	forget(s, at);
	join(s, left, s->places[at].next);
	if (is_rule(symbol))
		s->rules[symbol - TW_GRAMMAR_RULE].uses--;
	free_place(s, at);
}

static int check(struct tw_sequitur *s, uint32_t at);

/* The digram at `at` becomes a use of the rule. */
static void substitute(struct tw_sequitur *s, uint32_t at, uint32_t rule)
{
	uint32_t left = s->places[at].prev, right = s->places[s->places[at].next].next;
	__builtin_prefetch(first_slot(s, s->places[left].symbol, TW_GRAMMAR_RULE + rule), 1);
	__builtin_prefetch(first_slot(s, TW_GRAMMAR_RULE + rule, s->places[right].symbol), 1);
	take_out(s, s->places[at].next);
	take_out(s, at);
	insert_behind(s, left, new_place(s, TW_GRAMMAR_RULE + rule));
	if (!check(s, left))
		check(s, s->places[left].next);
}

/* Replaces the only use of a rule with its contents. */
static void write_out(struct tw_sequitur *s, uint32_t at)
{
	uint32_t rule = s->places[at].symbol - TW_GRAMMAR_RULE, guard = s->rules[rule].guard;
	uint32_t left = s->places[at].prev, right = s->places[at].next;
	uint32_t first = s->places[guard].next, last = s->places[guard].prev;
	forget(s, left);
	forget(s, at);
	join(s, left, first);
	join(s, last, right);
	free_place(s, at);
	free_rule(s, rule);
	enter(s, left);
	enter(s, last);
}

/* The rule that consists only of the digram at `at`, or 0. */
static uint32_t whole_rule(const struct tw_sequitur *s, uint32_t at)
{
	const struct place *p = &s->places[at];
	uint32_t before = s->places[p->prev].symbol;
	return is_guard(before) && is_guard(s->places[s->places[p->next].next].symbol) ? before - GUARD : 0;
}

/* The digram at `old` becomes a rule of its own. */
static uint32_t make_rule(struct tw_sequitur *s, uint32_t old)
{
	uint32_t rule = new_rule(s), guard = s->rules[rule].guard;
	uint32_t first = new_place(s, s->places[old].symbol), second = new_place(s, s->places[s->places[old].next].symbol);
	join(s, guard, first);
	join(s, first, second);
	join(s, second, guard);
	s->rules[rule].uses++; /* so that nobody takes it for one of no use */
	substitute(s, old, rule);
	s->rules[rule].uses--;
	enter(s, first);
	return rule;
}

/* The digram at `at` stands at `old` too. */
static void matches(struct tw_sequitur *s, uint32_t at, uint32_t old)
{
	uint32_t rule = whole_rule(s, old);
	if (!rule)
		rule = make_rule(s, old);
	s->rules[rule].uses++;
	substitute(s, at, rule);
	s->rules[rule].uses--;
	uint32_t first = s->places[s->rules[rule].guard].next, symbol = s->places[first].symbol;
	if (is_rule(symbol) && s->rules[symbol - TW_GRAMMAR_RULE].uses == 1)
		write_out(s, first);
}

/*
 * Checks whether the digram at `at` occurs elsewhere too; if so, makes both one rule, and returns true. If one push
 * has made so many rules that there is no room for another, both occurrences stay.
 */
static int check(struct tw_sequitur *s, uint32_t at)
{
	if (!counts(s, at) || s->n_used + RULE_PLACES > s->most + MARGIN)
		return 0;
	struct slot *slot = find(s, at);
	uint32_t old = slot->place;
	if (!old) {
		lead(s, slot, at);
		return 0;
	}
	if (old != at && s->places[old].next != at && s->places[at].next != old)
		matches(s, at, old);
	return 1;
}

void tw_sequitur_push(struct tw_sequitur *s, uint32_t terminal)
{
	uint32_t last = s->places[s->rules[0].guard].prev;
	__builtin_prefetch(first_slot(s, s->places[last].symbol, terminal), 1);
	insert_behind(s, last, new_place(s, terminal));
	check(s, last);
}

/* ---- from outside ---- */

struct tw_sequitur *tw_sequitur_new(uint32_t most)
{
	struct tw_sequitur *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	uint32_t n = 64;
	while (n < 2 * most)
		n *= 2;
	s->mask = n - 1;
	s->most = most;
	s->places = tw_array_table(most + MARGIN + 1, sizeof *s->places);
	s->rules = tw_array_table(most / 2 + MARGIN, sizeof *s->rules);
	size_t bytes = n * sizeof *s->slots;
	s->slots = tw_array_huge(&bytes);
	if (!s->places || !s->rules || !s->slots) {
		tw_sequitur_free(s);
		return NULL;
	}
	tw_sequitur_clear(s);
	return s;
}

void tw_sequitur_free(struct tw_sequitur *s)
{
	if (!s)
		return;
	free(s->places);
	free(s->rules);
	free(s->slots);
	free(s);
}

void tw_sequitur_clear(struct tw_sequitur *s)
{
	for (uint32_t i = 0; i <= s->mask; i++)
		s->slots[i].place = 0;
	s->n_used = 0;
	s->n_places = 1;
	s->n_rules = s->free_rule = s->free_place = 0;
	new_rule(s);
}

int tw_sequitur_full(const struct tw_sequitur *s)
{
	return s->n_used >= s->most;
}

uint32_t tw_sequitur_rules(const struct tw_sequitur *s)
{
	return s->n_rules;
}

uint32_t tw_sequitur_uses(const struct tw_sequitur *s, uint32_t rule)
{
	return s->rules[rule].uses;
}

uint32_t tw_sequitur_first(const struct tw_sequitur *s, uint32_t rule)
{
	return tw_sequitur_next(s, s->rules[rule].guard);
}

uint32_t tw_sequitur_next(const struct tw_sequitur *s, uint32_t place)
{
	uint32_t next = s->places[place].next;
	return is_guard(s->places[next].symbol) ? 0 : next;
}

uint32_t tw_sequitur_symbol(const struct tw_sequitur *s, uint32_t place)
{
	return s->places[place].symbol;
}
