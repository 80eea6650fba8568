/*
 * Creating and finishing answers (include/trackway/answer.h). An answer holds the rows of one table at a time.
 */
#ifndef TW_PLUGIN_ANSWER_H
#define TW_PLUGIN_ANSWER_H

#include <trackway/answer.h>

enum tw_answer_form { TW_ANSWER_TEXT, TW_ANSWER_JSON, TW_ANSWER_CSV };

struct tw_answer_options {
	FILE *f;
	enum tw_answer_form form;
	const char *table; /* CSV: which one; NULL: the first */
	int64_t top;       /* rows of a table; 0: all; -1: all, but in text at most TW_ANSWER_TOP */
	const char *analyzer;
	unsigned columns; /* text: its width, at least 80; 0: that of the terminal f, or 80 */
};

enum { TW_ANSWER_TOP = 20 };

/* NULL: no memory. The strings must stay. */
struct tw_answer *tw_answer_new(const struct tw_answer_options *options);

/*
 * Prints the rest, and frees the answer. Returns 0, TW_ERR_MEMORY, or 1 if no table had the wanted name; then *known,
 * to be freed, names those there are. The caller checks the stream for errors.
 */
int tw_answer_end(struct tw_answer *a, char **known);

/* Frees it without printing more. */
void tw_answer_free(struct tw_answer *a);

#endif
