/* cache: misses of each instruction. */
#include "analyzers/cache_state.h"
#include "base/array.h"

#include <stdlib.h>

static int add(struct tw_cache_misses *m, uint32_t image, uint64_t pc, uint64_t first, uint64_t last)
{
	struct tw_cache_miss *items = tw_array_room(m->items, m->n, &m->room, sizeof *items);
	if (!items)
		return TW_ERR_MEMORY;
	m->items = items;
	items[m->n++] = (struct tw_cache_miss){pc, image, first, last};
	return 0;
}

static int add_fragment(void *context, void *item)
{
	const struct tw_cache_state *s = context;
	const struct tw_cache_fragment *f = item;
	const uint8_t *bytes = tw_descriptor_insn_bytes(f->descriptor);
	uint32_t image = tw_names_image(s->out->names, f->thread);
	int error = 0;
	for (unsigned k = 0; k < f->descriptor->n_blocks; k++) {
		const struct tw_block *b = &tw_descriptor_blocks(f->descriptor)[k];
		uint64_t pc = b->pc;
		for (unsigned i = b->first_insn; i < (unsigned)b->first_insn + b->n_insns && !error; pc += bytes[i++])
			if (f->count[i][TW_CACHE_MISS])
				error = add(s->out, image, pc, f->count[i][TW_CACHE_MISS], f->count[i][tw_cache_last_miss(s)]);
	}
	return error;
}

static int by_place(const void *a, const void *b)
{
	const struct tw_cache_miss *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

int tw_cache_list(struct tw_cache_state *s)
{
	struct tw_cache_misses *m = s->out;
	int error = tw_by_fragment_each(&s->fragments, add_fragment, s);
	size_t n = m->n;
	if (n)
		qsort(m->items, n, sizeof *m->items, by_place);
	m->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (m->n && !by_place(&m->items[m->n - 1], &m->items[i])) {
			m->items[m->n - 1].first += m->items[i].first;
			m->items[m->n - 1].last += m->items[i].last;
		} else {
			m->items[m->n++] = m->items[i];
		}
	}
	return error;
}

const struct tw_cache_miss *tw_cache_miss_of(const struct tw_cache_misses *m, uint32_t image, uint64_t pc)
{
	const struct tw_cache_miss key = {.pc = pc, .image = image};
	return m->n ? bsearch(&key, m->items, m->n, sizeof key, by_place) : NULL;
}

void tw_cache_misses_free(struct tw_cache_misses *m)
{
	free(m->items);
	*m = (struct tw_cache_misses){0};
}
