#include "analyze/by_fragment.h"
#include "base/zeros.h"

#include <stdlib.h>

enum { ROW = 65536 };

int tw_by_fragment_set(struct tw_by_fragment *t, uint32_t number, void *item)
{
	void ***row = &t->row[number / ROW];
	if (!*row)
		*row = tw_zeros_new(ROW * sizeof **row);
	if (!*row)
		return 0;
	(*row)[number % ROW] = item;
	if (!t->last || number < t->first)
		t->first = number;
	if (number > t->last)
		t->last = number;
	return 1;
}

/* The first place of row i that may be used, and the end of those places: memory outside them has never been touched. */
static uint32_t first_place(const struct tw_by_fragment *t, uint32_t i)
{
	return i == t->first / ROW ? t->first % ROW : 0;
}

static uint32_t end_place(const struct tw_by_fragment *t, uint32_t i)
{
	return i == t->last / ROW ? t->last % ROW + 1 : ROW;
}

int tw_by_fragment_each(const struct tw_by_fragment *t, int (*f)(void *context, void *item), void *context)
{
	int result = 0;
	for (uint32_t i = t->first / ROW; i <= t->last / ROW && !result; i++)
		for (uint32_t k = first_place(t, i); t->row[i] && k < end_place(t, i) && !result; k++)
			if (t->row[i][k])
				result = f(context, t->row[i][k]);
	return result;
}

static int free_one(void *free_item, void *item)
{
	(*(void (**)(void *))free_item)(item);
	return 0;
}

void tw_by_fragment_free(struct tw_by_fragment *t, void (*free_item)(void *item))
{
	if (free_item)
		tw_by_fragment_each(t, free_one, &free_item);
	for (uint32_t i = t->first / ROW; i <= t->last / ROW; i++) {
		tw_zeros_free(t->row[i], ROW * sizeof *t->row[i]);
		t->row[i] = NULL;
	}
	t->first = t->last = 0;
}
