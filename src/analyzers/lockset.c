#include "analyzers/lockset.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* The addresses of what is held, sorted. NULL: no memory. */
static uint64_t *list(const struct tw_held *held)
{
	uint64_t *addr = malloc(held->n * sizeof *addr + 1);
	for (size_t i = 0; i < held->n && addr; i++)
		addr[i] = held->items[i].addr;
	if (addr && held->n)
		qsort(addr, held->n, sizeof *addr, tw_by_number);
	return addr;
}

/* Keeps the list, or frees it. */
static uint16_t add(struct tw_locksets *s, uint64_t *addr, size_t n)
{
	struct tw_lockset *sets = s->n < UINT16_MAX ? tw_array_room(s->sets, s->n, &s->room, sizeof *sets) : NULL;
	if (!sets) {
		free(addr);
		return 0;
	}
	s->sets = sets;
	sets[s->n++] = (struct tw_lockset){addr, n};
	return (uint16_t)s->n;
}

uint16_t tw_locksets_number(struct tw_locksets *s, const struct tw_held *held)
{
	uint64_t *addr = held->n ? list(held) : NULL;
	if (!addr)
		return 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->sets[i].n == held->n && !memcmp(s->sets[i].addr, addr, held->n * sizeof *addr)) {
			free(addr);
			return (uint16_t)(i + 1);
		}
	return add(s, addr, held->n);
}

const struct tw_lockset *tw_locksets_get(const struct tw_locksets *s, uint16_t number)
{
	static const struct tw_lockset empty;
	return number ? &s->sets[number - 1] : &empty;
}

int tw_locksets_meet(const struct tw_locksets *s, uint16_t a, uint16_t b)
{
	const struct tw_lockset *x = tw_locksets_get(s, a), *y = tw_locksets_get(s, b);
	for (size_t i = 0, k = 0; i < x->n && k < y->n;) {
		if (x->addr[i] == y->addr[k])
			return 1;
		if (x->addr[i] < y->addr[k])
			i++;
		else
			k++;
	}
	return 0;
}

void tw_locksets_free(struct tw_locksets *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->sets[i].addr);
	free(s->sets);
	memset(s, 0, sizeof *s);
}
