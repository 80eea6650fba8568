/*
 * Assembly text, divided into statements: labels, directives, assignments and instructions. Instructions are not
 * interpreted here.
 */
#ifndef TW_CC_TEXT_H
#define TW_CC_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum tw_cc_kind { TW_CC_LABEL, TW_CC_DIRECTIVE, TW_CC_ASSIGNMENT, TW_CC_INSN };

/* text.bytes[begin, end): of a label its name, else the statement without blanks and comments around it. */
struct tw_cc_statement {
	uint32_t begin, end;
	uint32_t line;   /* from 1 */
	uint8_t kind;    /* enum tw_cc_kind */
	uint8_t where;   /* enum tw_cc_where: the section it stands in */
	uint8_t by_hand; /* of inline assembly */
	uint8_t
	    syntax; /* of an instruction: length of the directive, and what separates it, with which it starts if Intel's syntax is used */
};

enum tw_cc_where { TW_CC_OTHER, TW_CC_DEBUG, TW_CC_EXCEPTIONS };

struct tw_cc_text {
	char *bytes;
	size_t n;
	struct tw_cc_statement *statement;
	uint32_t n_statements;
	const char *repeated; /* a directive that may repeat or omit code (repeats.h), so labels cannot be put there; or NULL */
	uint32_t repeated_line;
};

/* Reads the file. 0, or -1 with errno set. */
int tw_cc_text_read(const char *path, struct tw_cc_text *t);
void tw_cc_text_free(struct tw_cc_text *t);

/* Does the statement begin with this word (a directive's name)? */
int tw_cc_is_word(const struct tw_cc_text *t, const struct tw_cc_statement *s, const char *word);

/* Is it a directive whose operands are data? */
int tw_cc_gives_data(const struct tw_cc_text *t, const struct tw_cc_statement *s);

/*
 * The next name in a directive that could be a symbol's, from *at on (initially 0). Returns its length with *name
 * set, or 0 at the end. Skips strings.
 */
size_t tw_cc_next_name(const struct tw_cc_text *t, const struct tw_cc_statement *s, uint32_t *at, const char **name);

#endif
