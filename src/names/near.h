/* Finds, among many names, those most similar to a mistyped one. */
#ifndef TW_NEAR_H
#define TW_NEAR_H

#include <stddef.h>

enum { TW_NEAR = 3 };

/* All zeros but `wanted`, to begin with. */
struct tw_near {
	const char *wanted;
	char *name[TW_NEAR]; /* copies, the nearest first; NULL: none */
	unsigned distance[TW_NEAR];
};

/* Keeps a name that is near enough, unless there are nearer ones. Without memory it is skipped. */
void tw_near_note(struct tw_near *n, const char *name);

/* The names with commas between; "" if there are none. */
void tw_near_tell(const struct tw_near *n, char *to, size_t size);
void tw_near_free(struct tw_near *n);

/*
 * The number of letters to change, insert, delete or swap with a neighbour to turn one name into the other; `most` +
 * 1 if more than `most`.
 */
unsigned tw_near_distance(const char *a, const char *b, unsigned most);

#endif
