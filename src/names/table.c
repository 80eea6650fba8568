#include "names/table.h"
#include "names/demangle.h"
#include "base/array.h"
#include <trackway/recording.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NESTING = 16 };

/* All of the arrays that are searched begin with this. */
struct span {
	uint64_t start, end;
};

size_t tw_name_item_bytes(enum tw_name_array array)
{
	static const size_t bytes[TW_N_NAME_ARRAYS] = {
	    [TW_NAME_FUNCTIONS] = sizeof(struct tw_name_function), [TW_NAME_LINES] = sizeof(struct tw_name_line),
	    [TW_NAME_INLINED] = sizeof(struct tw_name_inlined),    [TW_NAME_NODES] = sizeof(struct tw_name_node),
	    [TW_NAME_OBJECTS] = sizeof(struct tw_name_object),     [TW_NAME_SEGMENTS] = sizeof(struct tw_name_segment),
	};
	return bytes[array];
}

/* ---- filling ---- */

int tw_name_table_add(struct tw_name_table *t, enum tw_name_array array, const void *item)
{
	struct tw_name_items *items = &t->items[array];
	size_t bytes = tw_name_item_bytes(array);
	char *at = tw_array_room(items->at, items->n, &items->room, bytes);
	if (!at)
		return 0;
	items->at = at;
	memcpy(at + items->n++ * bytes, item, bytes);
	return 1;
}

uint32_t tw_name_table_text(struct tw_name_table *t, const char *text)
{
	return tw_texts_number(&t->texts, text);
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end); /* what is within comes behind */
}

static int show(struct tw_name_table *t, int mangled)
{
	t->shown = calloc(t->texts.n + 1, sizeof *t->shown);
	for (uint32_t i = 0; t->shown && i < t->texts.n; i++) {
		char *readable = mangled ? NULL : tw_demangle(t->texts.items[i]);
		t->shown[i] = readable ? readable : t->texts.items[i];
	}
	return t->shown != NULL;
}

int tw_name_table_settle(struct tw_name_table *t, int mangled)
{
	static const enum tw_name_array sorted[] = {TW_NAME_FUNCTIONS, TW_NAME_LINES, TW_NAME_INLINED, TW_NAME_OBJECTS};
	for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++)
		if (t->items[sorted[i]].n)
			qsort(t->items[sorted[i]].at, t->items[sorted[i]].n, tw_name_item_bytes(sorted[i]), by_start);
	return show(t, mangled);
}

void tw_name_table_free(struct tw_name_table *t)
{
	for (uint32_t i = 0; t->shown && i < t->texts.n; i++)
		if (t->shown[i] != t->texts.items[i])
			free((void *)t->shown[i]);
	for (int i = 0; i < TW_N_NAME_ARRAYS; i++)
		free(t->items[i].at);
	free(t->shown);
	free(t->path);
	tw_texts_free(&t->texts);
	memset(t, 0, sizeof *t);
}

/* ---- searching ---- */

/*
 * The innermost item at an address. The nearest start before it may belong to an item that ends before it, beside or
 * within the right one.
 */
static const void *find(const struct tw_name_table *t, enum tw_name_array array, uint64_t vaddr)
{
	const struct tw_name_items *items = &t->items[array];
	size_t bytes = tw_name_item_bytes(array), n = tw_array_until(&vaddr, items->at, items->n, bytes, tw_by_number);
	for (size_t i = n; i-- > 0 && n - i <= NESTING;) {
		const struct span *span = (const void *)((const char *)items->at + i * bytes);
		if (vaddr < span->end)
			return span;
	}
	return NULL;
}

const struct tw_name_function *tw_name_table_function(const struct tw_name_table *t, uint64_t vaddr)
{
	return find(t, TW_NAME_FUNCTIONS, vaddr);
}

uint64_t tw_name_table_gap(const struct tw_name_table *t, uint64_t vaddr)
{
	const struct tw_name_items *items = &t->items[TW_NAME_FUNCTIONS];
	const struct tw_name_function *f = items->at;
	uint64_t gap = 0;
	size_t n = tw_array_until(&vaddr, items->at, items->n, sizeof *f, tw_by_number);
	for (size_t i = n; i-- > 0 && n - i <= NESTING;)
		gap = f[i].end > gap ? f[i].end : gap;
	return gap;
}

const struct tw_name_line *tw_name_table_line(const struct tw_name_table *t, uint64_t vaddr)
{
	return find(t, TW_NAME_LINES, vaddr);
}

const struct tw_name_inlined *tw_name_table_inlined(const struct tw_name_table *t, uint64_t vaddr)
{
	return find(t, TW_NAME_INLINED, vaddr);
}

const struct tw_name_object *tw_name_table_object(const struct tw_name_table *t, uint64_t vaddr)
{
	return find(t, TW_NAME_OBJECTS, vaddr);
}

uint64_t tw_name_table_vaddr(const struct tw_name_table *t, uint64_t offset)
{
	const struct tw_name_segment *s = t->items[TW_NAME_SEGMENTS].at;
	for (size_t i = 0; i < t->items[TW_NAME_SEGMENTS].n; i++)
		if (offset >= s[i].offset && offset - s[i].offset < s[i].file_bytes)
			return offset - s[i].offset + s[i].vaddr;
	return offset;
}

/* How many bytes of a segment are mapped as the module: 0 unless both are executable, or neither is. */
static uint64_t mapped_bytes(const struct tw_name_segment *s, const struct tw_module *m)
{
	const uint64_t from = s->offset > m->offset ? s->offset : m->offset, mapped = m->offset + m->length;
	const uint64_t end = s->offset + s->file_bytes, to = end < mapped ? end : mapped;
	return !(s->prot & PF_X) == !(m->prot & PROT_EXEC) && from < to ? to - from : 0;
}

uint64_t tw_name_table_shift(const struct tw_name_table *t, const struct tw_module *m)
{
	const struct tw_name_segment *s = t->items[TW_NAME_SEGMENTS].at;
	uint64_t vaddr = tw_name_table_vaddr(t, m->offset), most = 0;
	for (size_t i = 0; i < t->items[TW_NAME_SEGMENTS].n; i++) {
		const uint64_t bytes = mapped_bytes(&s[i], m);
		if (bytes > most) {
			most = bytes;
			vaddr = m->offset - s[i].offset + s[i].vaddr;
		}
	}
	return m->address - vaddr;
}

const char *tw_name_why_text(enum tw_name_why why)
{
	static const char *const texts[TW_N_NAME_WHYS] = {
	    [TW_NAME_FINE] = "",
	    [TW_NAME_MISSING] = "the file is missing",
	    [TW_NAME_CHANGED] = "the file has changed since it was recorded",
	    [TW_NAME_UNREADABLE] = "the file cannot be read as ELF",
	    [TW_NAME_STRIPPED] = "the file has no symbol for this code and there is no separate debug file",
	    [TW_NAME_MADE] = "the code was made while the program ran, and there is no perf-PID.map or jitdump file of it",
	};
	return texts[why];
}
