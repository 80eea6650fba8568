#include "analyze/by_fragment.h"

#include <stdlib.h>

enum { ROW = 65536 };

int tw_by_fragment_set(struct tw_by_fragment *t, uint32_t number, void *item)
{
	void ***row = &t->row[number >> 16];
	if (!*row)
		*row = calloc(ROW, sizeof **row);
	if (!*row)
		return 0;
	(*row)[number % ROW] = item;
	return 1;
}

int tw_by_fragment_each(const struct tw_by_fragment *t, int (*f)(void *context, void *item), void *context)
{
	int result = 0;
	for (int i = 0; i < ROW && !result; i++)
		for (int k = 0; t->row[i] && k < ROW && !result; k++)
			if (t->row[i][k])
				result = f(context, t->row[i][k]);
	return result;
}

void tw_by_fragment_free(struct tw_by_fragment *t, void (*free_item)(void *item))
{
	for (int i = 0; i < ROW; i++) {
		for (int k = 0; free_item && t->row[i] && k < ROW; k++)
			if (t->row[i][k])
				free_item(t->row[i][k]);
		free(t->row[i]);
		t->row[i] = NULL;
	}
}
