/*
 * The functions of an assembly file that get second versions (twice.h): their statements, their labels, and how
 * statements of a second version are written.
 */
#ifndef TW_CC_VERSIONS_H
#define TW_CC_VERSIONS_H

#include "cc/flow.h"

#include <stdio.h>

/* Names of the second versions, by number; of their loops' heads; of the ways there; and of the first versions' heads. */
#define TW_CC_SECOND ".LtwSF"
#define TW_CC_HEAD   ".LtwSH"
#define TW_CC_JOINT  ".LtwSJ"
#define TW_CC_FIRST  ".LtwSP"

#define TW_CC_SWITCH "trackway_cc_switch"

/* A function's statements: after its label up to the one that gives its size. */
struct tw_cc_unit {
	uint32_t function, from, to;
	const char *name; /* that which the label has, of several */
	const char *cold; /* the suffix of its part that was split off, and its length; or NULL */
	uint32_t cold_length;
};

/* Statements after a label outside all units that are addresses of one unit's labels, to which nothing else refers: for computed goto. */
struct tw_cc_table {
	uint32_t label, from, to, unit;
	uint8_t is_shared; /* something else does */
	uint8_t is_lsda;   /* it is the table of exceptions, with what labels it has */
};

struct tw_cc_own_label {
	const char *name;
	uint32_t length, unit;
};

struct tw_cc_twice {
	const struct tw_cc_flow *f;
	struct tw_cc_code *code;
	struct tw_cc_unit *unit;
	uint32_t n_units;
	int32_t *unit_of; /* by statement; -1: none */
	struct tw_cc_own_label *label;
	uint32_t n_labels;
	struct tw_cc_table *table;
	uint32_t n_tables;
	int32_t *mark;    /* by statement: 0, MARK_ENTRY, or 1 and the number of a joint */
	uint8_t *turning; /* by statement: enum tw_cc_turning (turnings.h) */
	uint32_t n_joints;
	FILE *out;
	size_t done; /* of the text */
};

/* The statement's text, and whether it is this. */
static inline const char *tw_cc_text_of(const struct tw_cc_twice *w, const struct tw_cc_statement *s)
{
	return w->code->text.bytes + s->begin;
}
int tw_cc_is_text(const struct tw_cc_twice *w, const struct tw_cc_statement *s, const char *name);

/* The label of this name; NULL: it is no unit's. They are sorted. */
void tw_cc_sort_labels(struct tw_cc_twice *w);
const struct tw_cc_own_label *tw_cc_find_label(const struct tw_cc_twice *w, const char *name, size_t length);

/* Does it get a second version? */
static inline int tw_cc_is_whole(const struct tw_cc_twice *w, const struct tw_cc_unit *u)
{
	return !w->code->function[u->function].why;
}

/* Is it the part of the function that was split off? */
int tw_cc_is_cold_part(const struct tw_cc_unit *u, const char *name, size_t length);

/* Does the directive tell something of a symbol? */
int tw_cc_is_about_symbols(const struct tw_cc_twice *w, const struct tw_cc_statement *s);

/* As it is in the second version of the unit. */
void tw_cc_write_statement(struct tw_cc_twice *w, const struct tw_cc_unit *u, const struct tw_cc_statement *s);

#endif
