/*
 * Items by the number of a fragment: what an analyzer keeps of each fragment it has seen. All zeros is an empty table.
 */
#ifndef TW_BY_FRAGMENT_H
#define TW_BY_FRAGMENT_H

#include <stddef.h>
#include <stdint.h>

struct tw_by_fragment {
	uint32_t first, last; /* the least and the greatest number that was set; 0 and 0: none but 0 was */
	void **row[65536];    /* by the number's upper half, then its lower one */
};

/* The item of a fragment, or NULL. */
static inline void *tw_by_fragment_get(const struct tw_by_fragment *t, uint32_t number)
{
	void *const *row = t->row[number >> 16];
	return row ? row[number & 0xffff] : NULL;
}

/* Sets it. 0: there is no memory. */
int tw_by_fragment_set(struct tw_by_fragment *t, uint32_t number, void *item);

/* Calls f for each item, by number, until it returns something else than 0; returns that. */
int tw_by_fragment_each(const struct tw_by_fragment *t, int (*f)(void *context, void *item), void *context);

/* Frees the table, and each item by free_item, if that is not NULL. */
void tw_by_fragment_free(struct tw_by_fragment *t, void (*free_item)(void *item));

#endif
