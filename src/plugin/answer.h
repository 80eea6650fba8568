/*
 * Making and ending answers (include/trackway/answer.h). An answer holds the rows of one table at a time.
 */
#ifndef TW_PLUGIN_ANSWER_H
#define TW_PLUGIN_ANSWER_H

#include <trackway/answer.h>

enum tw_answer_form { TW_ANSWER_TEXT, TW_ANSWER_JSON, TW_ANSWER_CSV };

struct tw_answer_options {
	FILE *f;
	enum tw_answer_form form;
	const char *table; /* CSV: which one; NULL: the first */
	int64_t top;       /* rows of a table; 0: all; -1: all, but in text no more than TW_ANSWER_TOP */
	const char *analyzer;
	unsigned columns; /* text: as wide as this, 80 at least; 0: as the terminal that f is, else 80 */
};

enum { TW_ANSWER_TOP = 20 };

/* NULL: no memory. The strings must stay. */
struct tw_answer *tw_answer_new(const struct tw_answer_options *options);

/* Prints what is left. Returns 0, TW_ERR_MEMORY, or 1: there was no table of the name that was wanted; then *known are the names of those there are, to be
 * freed. Whether the stream could be written is the caller's to see. Frees the answer. */
int tw_answer_end(struct tw_answer *a, char **known);

/* Frees it without printing more. */
void tw_answer_free(struct tw_answer *a);

#endif
