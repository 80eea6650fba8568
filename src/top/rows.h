/* The contents of `trackway top`'s screen, as rows of text. */
#ifndef TW_TOP_ROWS_H
#define TW_TOP_ROWS_H

#include "top/snapshot.h"

enum tw_top_list { TW_TOP_FUNCTIONS, TW_TOP_BLOCKS, TW_TOP_LINES, TW_TOP_FUNCTION };

/* By instructions, reads, writes, name. */
enum { TW_TOP_SORTS = 4 };

struct tw_top_row {
	char *text;
	uint32_t function; /* target of Enter, by its place among the listing's functions; UINT32_MAX: none */
	uint64_t keys[3];  /* instructions, reads, writes */
	int name;          /* where the name begins in the text */
	int source;        /* 1: a source line, not an instruction */
};

struct tw_top_rows {
	const char *head;
	struct tw_top_row *items;
	size_t n, room;
	size_t hottest; /* of a function: the row that ran most */
};

/* A list, with the rows that contain `filter`. If memory runs out, the list is shorter. */
void tw_top_list(struct tw_snapshot *s, enum tw_top_list list, unsigned sort, const char *filter, struct tw_top_rows *out);

/* The source and the instructions of a function. */
void tw_top_function(struct tw_snapshot *s, const char *name, const char *module, struct tw_top_rows *out);

void tw_top_rows_free(struct tw_top_rows *rows);

#endif
