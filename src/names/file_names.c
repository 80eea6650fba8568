#include "names/file_names.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { NESTING = 16 };

/* All arrays that are searched begin with this. */
struct span {
	uint64_t start, end;
};

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* ---- where things are ---- */

struct view {
	const uint8_t *items[TW_N_NAME_ARRAYS];
	size_t last[TW_N_NAME_ARRAYS]; /* what `until` found */
	struct tw_ran_list known;
	const uint32_t *text_at;
	const char *texts;
};

/* Returns the total number of bytes. The numbers in `f` must be small enough. */
static size_t view_of(const struct tw_file_names *f, struct view *v)
{
	const uint8_t *at = (const uint8_t *)(f + 1);
	for (int i = 0; i < TW_N_NAME_ARRAYS; i++) {
		v->items[i] = at;
		v->last[i] = 0;
		at += f->n[i] * tw_name_item_bytes((enum tw_name_array)i);
	}
	v->known = (struct tw_ran_list){(struct tw_ran_piece *)at, f->n_known, f->n_known};
	at += f->n_known * sizeof(struct tw_ran_piece);
	v->text_at = (const uint32_t *)at;
	at += padded(f->n_texts * sizeof(uint32_t));
	v->texts = (const char *)at;
	return (size_t)(at - (const uint8_t *)f) + padded(f->text_bytes);
}

static const char *text_of(const struct view *v, uint32_t number)
{
	return v->texts + v->text_at[number];
}

/* ---- making ---- */

static uint64_t bytes_of_texts(const struct tw_texts *texts)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < texts->n; i++)
		n += strlen(texts->items[i]) + 1;
	return n;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end); /* what is within comes behind */
}

static void sort(struct tw_name_table *t)
{
	static const enum tw_name_array sorted[] = {TW_NAME_LINES, TW_NAME_INLINED, TW_NAME_OBJECTS};
	for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++)
		if (t->items[sorted[i]].n)
			qsort(t->items[sorted[i]].at, t->items[sorted[i]].n, tw_name_item_bytes(sorted[i]), by_start);
}

static void fill_texts(const struct view *v, const struct tw_texts *texts)
{
	char *to = (char *)v->texts;
	for (uint32_t i = 0; i < texts->n; i++) {
		((uint32_t *)v->text_at)[i] = (uint32_t)(to - v->texts);
		to = stpcpy(to, texts->items[i]) + 1;
	}
}

struct tw_file_names *tw_file_names_new(struct tw_name_table *t, const struct tw_ran_list *known)
{
	struct view v;
	struct tw_file_names head = {
	    .n_known = known->n, .n_texts = t->texts.n, .text_bytes = bytes_of_texts(&t->texts), .has_lines = t->has_lines};
	for (int i = 0; i < TW_N_NAME_ARRAYS; i++)
		head.n[i] = t->items[i].n;
	if (head.text_bytes > UINT32_MAX)
		return NULL;
	head.bytes = view_of(&head, &v);
	struct tw_file_names *f = calloc(1, head.bytes);
	if (!f)
		return NULL;
	sort(t);
	*f = head;
	view_of(f, &v);
	for (int i = 0; i < TW_N_NAME_ARRAYS; i++)
		if (head.n[i])
			memcpy((void *)v.items[i], t->items[i].at, head.n[i] * tw_name_item_bytes((enum tw_name_array)i));
	if (known->n)
		memcpy(v.known.pieces, known->pieces, known->n * sizeof *known->pieces);
	fill_texts(&v, &t->texts);
	return f;
}

/* ---- looking over ---- */

static int is_text(const struct tw_file_names *f, uint32_t number)
{
	return number < f->n_texts;
}

static int items_are_sound(const struct tw_file_names *f, const struct view *v)
{
	const struct tw_name_function *function = (const void *)v->items[TW_NAME_FUNCTIONS];
	const struct tw_name_line *line = (const void *)v->items[TW_NAME_LINES];
	const struct tw_name_inlined *inlined = (const void *)v->items[TW_NAME_INLINED];
	const struct tw_name_node *node = (const void *)v->items[TW_NAME_NODES];
	const struct tw_name_object *object = (const void *)v->items[TW_NAME_OBJECTS];
	int ok = 1;
	for (size_t i = 0; i < f->n[TW_NAME_FUNCTIONS]; i++)
		ok &= is_text(f, function[i].name);
	for (size_t i = 0; i < f->n[TW_NAME_LINES]; i++)
		ok &= is_text(f, line[i].source);
	for (size_t i = 0; i < f->n[TW_NAME_INLINED]; i++)
		ok &= inlined[i].node < f->n[TW_NAME_NODES];
	for (size_t i = 0; i < f->n[TW_NAME_NODES]; i++)
		ok &= is_text(f, node[i].name) && (is_text(f, node[i].source) || node[i].source == TW_NAME_NONE) &&
		      (node[i].parent < i || node[i].parent == TW_NAME_NONE);
	for (size_t i = 0; i < f->n[TW_NAME_OBJECTS]; i++)
		ok &= is_text(f, object[i].name);
	return ok;
}

int tw_file_names_are_sound(const struct tw_file_names *f, uint64_t n)
{
	struct view v;
	if (n < sizeof *f || f->bytes != n || f->n_known > n || f->n_texts > n || f->text_bytes > n)
		return 0;
	for (int i = 0; i < TW_N_NAME_ARRAYS; i++)
		if (f->n[i] > n)
			return 0;
	if (n > UINT32_MAX * 16ull || view_of(f, &v) != n || (f->n_texts && (!f->text_bytes || v.texts[f->text_bytes - 1])))
		return 0;
	for (size_t i = 0; i < f->n_texts; i++)
		if (v.text_at[i] >= f->text_bytes)
			return 0;
	return items_are_sound(f, &v);
}

/* ---- searching ---- */

/*
 * How many items of an array begin at or before an address. Most queries come in order of addresses: then the result
 * is the previous one, or slightly larger.
 */
static size_t until(const struct tw_file_names *f, struct view *v, enum tw_name_array array, uint64_t address)
{
	enum { FEW = 8 };
	const size_t n = f->n[array], bytes = tw_name_item_bytes(array);
	const uint8_t *items = v->items[array];
	size_t at = v->last[array], most = n - at < FEW ? n : at + FEW;
	if (!at || ((const struct span *)(const void *)(items + (at - 1) * bytes))->start <= address) {
		while (at < most && ((const struct span *)(const void *)(items + at * bytes))->start <= address)
			at++;
		if (at < most || at == n)
			return v->last[array] = at;
	}
	return v->last[array] = tw_array_until(&address, items, n, bytes, tw_by_number);
}

/* The function at an address. The nearest start before it may belong to a small function within or beside the right one. */
static size_t function_at(const struct tw_file_names *f, struct view *v, uint64_t address)
{
	const struct tw_name_function *functions = (const void *)v->items[TW_NAME_FUNCTIONS];
	const size_t n = until(f, v, TW_NAME_FUNCTIONS, address);
	for (size_t i = n; i-- > 0 && n - i <= NESTING;)
		if (address < functions[i].end)
			return i;
	return SIZE_MAX;
}

static uint64_t vaddr_of(const struct tw_name_segment *s, size_t n, uint64_t offset)
{
	for (size_t i = 0; i < n; i++)
		if (offset >= s[i].offset && offset - s[i].offset < s[i].file_bytes)
			return offset - s[i].offset + s[i].vaddr;
	return offset;
}

int tw_file_names_by_vaddr(const struct tw_file_names *f, const struct tw_ran_list *ran, struct tw_ran_list *out)
{
	struct view v;
	int ok = 1;
	view_of(f, &v);
	for (size_t i = 0; ok && i < ran->n; i++) {
		const uint64_t start = vaddr_of((const void *)v.items[TW_NAME_SEGMENTS], f->n[TW_NAME_SEGMENTS], ran->pieces[i].start);
		ok = tw_ran_add(out, start, start + ran->pieces[i].end - ran->pieces[i].start);
	}
	tw_ran_order(out);
	return ok;
}

/* ---- what is wanted ---- */

int tw_file_names_wanted(const struct tw_file_names *f, const struct tw_ran_list *ran, struct tw_ran_list *out)
{
	struct view v;
	view_of(f, &v);
	const struct tw_name_function *functions = (const void *)v.items[TW_NAME_FUNCTIONS];
	int ok = 1;
	for (size_t i = 0, last = SIZE_MAX; ok && i < ran->n; i++) {
		const size_t at = function_at(f, &v, ran->pieces[i].start);
		ok = tw_ran_add(out, ran->pieces[i].start, ran->pieces[i].end);
		if (ok && at != SIZE_MAX && at != last)
			ok = tw_ran_add(out, functions[at].start, functions[at].start + 1);
		last = at;
	}
	if (ok)
		tw_ran_sort(out);
	return ok;
}

int tw_file_names_known(const struct tw_file_names *f, struct tw_ran_list *out)
{
	struct view v;
	view_of(f, &v);
	return tw_ran_join(&v.known, out);
}

int tw_file_names_missing(const struct tw_file_names *f, const struct tw_ran_list *wanted, struct tw_ran_list *out)
{
	struct view v;
	view_of(f, &v);
	return tw_ran_without(wanted, &v.known, out);
}

/* ---- a part of it ---- */

struct part {
	const struct tw_file_names *f;
	struct view v;
	uint32_t *texts, *nodes; /* by number in the whole: the number in the part plus 1; 0: not included */
	struct tw_name_table *out;
};

static int take_text(struct part *p, uint32_t *number)
{
	uint32_t *as = &p->texts[*number];
	if (!*as)
		*as = tw_name_table_text(p->out, text_of(&p->v, *number)) + 1; /* TW_NO_TEXT + 1 is 0 */
	*number = *as - 1;
	return *as != 0;
}

static int take_functions(struct part *p, const struct tw_ran_list *ran)
{
	const struct tw_name_function *functions = (const void *)p->v.items[TW_NAME_FUNCTIONS];
	size_t n = p->f->n[TW_NAME_FUNCTIONS];
	uint8_t *taken = calloc(n + 1, 1);
	int ok = taken != NULL;
	for (size_t i = 0; ok && i < ran->n; i++) {
		size_t at = function_at(p->f, &p->v, ran->pieces[i].start);
		if (at == SIZE_MAX || !*text_of(&p->v, functions[at].name))
			p->out->why = TW_NAME_STRIPPED;
		if (at == SIZE_MAX)
			at = until(p->f, &p->v, TW_NAME_FUNCTIONS, ran->pieces[i].start) - 1; /* where it ends what is in none begins */
		if (at == SIZE_MAX || taken[at])
			continue;
		struct tw_name_function item = functions[at];
		taken[at] = 1;
		ok = take_text(p, &item.name) && tw_name_table_add(p->out, TW_NAME_FUNCTIONS, &item);
	}
	free(taken);
	return ok;
}

/* Calls `take` for each item of an array that has some of the wanted code, in order. */
static int each_wanted(struct part *p, enum tw_name_array array, const struct tw_ran_list *wanted, int (*take)(struct part *, const void *))
{
	const size_t bytes = tw_name_item_bytes(array);
	size_t next = 0;
	for (size_t k = 0; k < wanted->n; k++) {
		const struct tw_ran_piece *piece = &wanted->pieces[k];
		const size_t first = until(p->f, &p->v, array, piece->start);
		for (size_t i = first > next + NESTING ? first - NESTING : next; i < p->f->n[array]; i++) {
			const struct span *span = (const void *)(p->v.items[array] + i * bytes);
			if (span->start >= piece->end)
				break;
			if (span->end <= piece->start)
				continue;
			next = i + 1;
			if (!take(p, span))
				return 0;
		}
	}
	return 1;
}

static int take_line(struct part *p, const void *of)
{
	struct tw_name_line item = *(const struct tw_name_line *)of;
	return take_text(p, &item.source) && tw_name_table_add(p->out, TW_NAME_LINES, &item);
}

/* Takes a node, and the nodes into which it is inlined. *number becomes its number in the part. */
static int take_node(struct part *p, uint32_t *number)
{
	uint32_t *as = &p->nodes[*number];
	struct tw_name_node item = ((const struct tw_name_node *)p->v.items[TW_NAME_NODES])[*number];
	if (!*as) {
		if ((item.parent != TW_NAME_NONE && !take_node(p, &item.parent)) || !take_text(p, &item.name) ||
		    (item.source != TW_NAME_NONE && !take_text(p, &item.source)) || !tw_name_table_add(p->out, TW_NAME_NODES, &item))
			return 0;
		*as = (uint32_t)p->out->items[TW_NAME_NODES].n;
	}
	*number = *as - 1;
	return 1;
}

static int take_inlined(struct part *p, const void *of)
{
	struct tw_name_inlined item = *(const struct tw_name_inlined *)of;
	return take_node(p, &item.node) && tw_name_table_add(p->out, TW_NAME_INLINED, &item);
}

static int take_rest(struct part *p)
{
	const struct tw_name_object *objects = (const void *)p->v.items[TW_NAME_OBJECTS];
	const struct tw_name_segment *segments = (const void *)p->v.items[TW_NAME_SEGMENTS];
	int ok = 1;
	for (size_t i = 0; ok && i < p->f->n[TW_NAME_OBJECTS]; i++) {
		struct tw_name_object item = objects[i];
		ok = take_text(p, &item.name) && tw_name_table_add(p->out, TW_NAME_OBJECTS, &item);
	}
	for (size_t i = 0; ok && i < p->f->n[TW_NAME_SEGMENTS]; i++)
		ok = tw_name_table_add(p->out, TW_NAME_SEGMENTS, &segments[i]);
	return ok;
}

int tw_file_names_extract(const struct tw_file_names *f, const struct tw_ran_list *ran, const struct tw_ran_list *wanted,
                          struct tw_name_table *out)
{
	struct part p = {.f = f, .out = out};
	view_of(f, &p.v);
	p.texts = calloc(f->n_texts + 1, sizeof *p.texts);
	p.nodes = calloc(f->n[TW_NAME_NODES] + 1, sizeof *p.nodes);
	out->has_lines = f->has_lines;
	const int ok = p.texts && p.nodes && take_functions(&p, ran) && each_wanted(&p, TW_NAME_LINES, wanted, take_line) &&
	               each_wanted(&p, TW_NAME_INLINED, wanted, take_inlined) && take_rest(&p);
	free(p.texts);
	free(p.nodes);
	return ok;
}

/* All of it, in the same order. */
int tw_file_names_unpack(const struct tw_file_names *f, struct tw_name_table *out)
{
	struct view v;
	view_of(f, &v);
	int ok = 1;
	out->has_lines = f->has_lines;
	for (uint32_t i = 0; ok && i < f->n_texts; i++)
		ok = tw_name_table_text(out, text_of(&v, i)) == i;
	for (int a = 0; a < TW_N_NAME_ARRAYS; a++)
		for (size_t i = 0; ok && i < f->n[a]; i++)
			ok = tw_name_table_add(out, (enum tw_name_array)a, v.items[a] + i * tw_name_item_bytes((enum tw_name_array)a));
	return ok;
}
