#include "analyzers/by_place.h"
#include "base/array.h"
#include "names/places.h"

#include <stdlib.h>
#include <string.h>

int tw_by_place_add_named(struct tw_by_place *p, struct tw_names *names, uint32_t image, uint64_t pc, const uint64_t *count)
{
	struct tw_place *items = tw_array_room(p->items, p->n, &p->room, sizeof *items);
	struct tw_code_name name;
	if (!items)
		return TW_ERR_MEMORY;
	p->items = items;
	tw_names_code(names, image, pc, &name);
	struct tw_place *to = &items[p->n++];
	*to = (struct tw_place){.function = name.function, .module = name.module, .file = name.line ? name.file : NULL};
	to->line = to->file ? name.line : 0;
	memcpy(to->count, count, sizeof to->count);
	return 0;
}

int tw_by_place_add(struct tw_by_place *p, uint32_t thread, uint64_t pc, const uint64_t *count)
{
	struct tw_names *names = tw_context_names(p->context);
	return names ? tw_by_place_add_named(p, names, tw_names_image(names, thread), pc, count) : TW_ERR_MEMORY;
}

static int by_function(const void *a, const void *b)
{
	const struct tw_place *x = a, *y = b;
	int order = strcmp(x->module, y->module);
	return order ? order : strcmp(x->function, y->function);
}

static int by_line(const void *a, const void *b)
{
	const struct tw_place *x = a, *y = b;
	int order = by_function(a, b);
	if (!order && x->file && y->file)
		order = strcmp(x->file, y->file);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int by_count(const void *a, const void *b, void *number)
{
	const struct tw_place *x = a, *y = b;
	unsigned k = *(unsigned *)number;
	if (x->count[k] != y->count[k])
		return x->count[k] > y->count[k] ? -1 : 1;
	return by_line(a, b);
}

static void join(struct tw_by_place *p, tw_compare *compare, unsigned by)
{
	size_t n = 0;
	if (p->n)
		qsort(p->items, p->n, sizeof *p->items, compare);
	for (size_t i = 0; i < p->n; i++) {
		if (n && !compare(&p->items[n - 1], &p->items[i]))
			for (unsigned k = 0; k < TW_PLACE_COUNTS; k++)
				p->items[n - 1].count[k] += p->items[i].count[k];
		else
			p->items[n++] = p->items[i];
	}
	p->n = n;
	if (n)
		qsort_r(p->items, n, sizeof *p->items, by_count, &by);
}

void tw_by_place_lines(struct tw_by_place *p, unsigned by)
{
	join(p, by_line, by);
}

void tw_by_place_functions(struct tw_by_place *p, unsigned by)
{
	join(p, by_function, by);
}

void tw_place_put(char *to, size_t size, const char *function, const char *file, unsigned line)
{
	char place[128];
	const size_t n = (size_t)snprintf(place, sizeof place, " %s:%u", tw_base_name(file), line);
	if (n < sizeof place && n + 8 < size && strlen(function) + n + 1 > size)
		snprintf(to, size, "%.*s..%s", (int)(size - n - 3), function, place);
	else
		snprintf(to, size, "%s %s:%u", function, tw_base_name(file), line);
}

void tw_place_text(const struct tw_place *p, char *to, size_t size)
{
	if (p->file)
		tw_place_put(to, size, p->function, p->file, p->line);
	else
		snprintf(to, size, "%s", p->function);
}

void tw_place_of_code(struct tw_names *names, uint32_t image, uint64_t pc, char *to, size_t size)
{
	struct tw_code_name name;
	tw_names_code(names, image, pc, &name);
	if (name.line && name.file)
		tw_place_put(to, size, name.function, name.file, name.line);
	else if (name.known)
		snprintf(to, size, "%s+0x%llx", name.function, (unsigned long long)name.offset);
	else
		snprintf(to, size, "%s+0x%llx", name.module, (unsigned long long)name.vaddr);
}

void tw_by_place_free(struct tw_by_place *p)
{
	free(p->items);
	p->items = NULL;
	p->n = p->room = 0;
}
