#include "names/texts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint32_t *find_slot(const struct tw_texts *n, const char *text)
{
	uint32_t mask = 2 * n->room - 1;
	uint32_t at = (uint32_t)XXH64(text, strlen(text), 0) & mask;
	while (n->slots[at] && strcmp(n->items[n->slots[at] - 1], text))
		at = (at + 1) & mask;
	return &n->slots[at];
}

static int grow(struct tw_texts *n)
{
	uint32_t room = n->room ? 2 * n->room : 256;
	char **items = realloc(n->items, room * sizeof *items);
	if (!items)
		return 0;
	n->items = items;
	uint32_t *slots = calloc(2 * (size_t)room, sizeof *slots);
	if (!slots)
		return 0;
	free(n->slots);
	n->slots = slots;
	n->room = room;
	for (uint32_t i = 0; i < n->n; i++)
		*find_slot(n, items[i]) = i + 1;
	return 1;
}

uint32_t tw_texts_number(struct tw_texts *n, const char *text)
{
	if (n->n == n->room && !grow(n))
		return TW_NO_TEXT;
	uint32_t *slot = find_slot(n, text);
	if (*slot)
		return *slot - 1;
	n->items[n->n] = strdup(text);
	if (!n->items[n->n])
		return TW_NO_TEXT;
	*slot = ++n->n;
	return n->n - 1;
}

void tw_texts_free(struct tw_texts *n)
{
	for (uint32_t i = 0; i < n->n; i++)
		free(n->items[i]);
	free(n->items);
	free(n->slots);
	memset(n, 0, sizeof *n);
}
