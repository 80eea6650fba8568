#include "analyzers/touch_parts.h"
#include "analyze/packed.h"
#include "base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>
#include <trackway/replay.h>

enum { READS, WRITES, COUNTS, MOST = 1 << 16 };

/* One address, and at last all that have its name. */
struct named {
	char *name;
	uint64_t count[COUNTS];
};

/* ---- counts ---- */

/* Beyond so many addresses none is told. */
static void give_up(struct tw_touch_parts *p)
{
	tw_touch_parts_free(p);
	p->is_full = 1;
}

int tw_touch_parts_add(struct tw_touch_parts *p, uint32_t image, uint64_t addr, uint8_t type)
{
	if (p->is_full)
		return 0;
	p->rows.width = COUNTS;
	uint64_t *count = tw_rows_at(&p->rows, addr, image);
	if (!count)
		return TW_ERR_MEMORY;
	count[READS] += (type & TW_READ) != 0;
	count[WRITES] += (type & TW_WRITE) != 0;
	if (p->rows.n > MOST)
		give_up(p);
	return 0;
}

int tw_touch_parts_merge(struct tw_touch_parts *p, const struct tw_touch_parts *more)
{
	if (p->is_full)
		return 0;
	p->rows.width = COUNTS;
	const int error = tw_rows_merge(&p->rows, &more->rows);
	if (!error && (more->is_full || p->rows.n > MOST))
		give_up(p);
	return error;
}

void tw_touch_parts_free(struct tw_touch_parts *p)
{
	tw_rows_free(&p->rows);
	*p = (struct tw_touch_parts){0};
}

/* ---- as bytes ---- */

enum { ROW_BYTES = (2 + COUNTS) * sizeof(uint64_t) };

int tw_touch_parts_pack(const struct tw_touch_parts *p, FILE *to)
{
	int error = tw_pack_bytes(to, &p->is_full, sizeof p->is_full);
	return error ? error : tw_pack_array(to, p->rows.items, p->rows.n, ROW_BYTES);
}

int tw_touch_parts_unpack(struct tw_touch_parts *p, FILE *from)
{
	struct tw_touch_parts read = {.rows = {.width = COUNTS}};
	size_t room = 0;
	int error = tw_unpack_bytes(from, &read.is_full, sizeof read.is_full);
	if (!error)
		error = tw_unpack_array(from, (void **)&read.rows.items, &read.rows.n, &room, ROW_BYTES);
	if (!error)
		error = tw_touch_parts_merge(p, &read);
	tw_touch_parts_free(&read);
	return error;
}

/* ---- by name ---- */

/* All elements of an array are one: "table[3].next" becomes "table[].next". */
static void leave_out_indexes(char *name)
{
	char *to = name;
	for (const char *from = name; *from; from++) {
		const int digit = isdigit((unsigned char)*from) && to > name;
		if (!digit || to[-1] != '[')
			*to++ = *from;
	}
	*to = 0;
}

/* The names of all rows that have one, in `list`. How many; or TW_ERR_MEMORY. */
static int64_t name_rows(const struct tw_touch_parts *p, struct tw_names *names, struct named *list)
{
	char name[400];
	int64_t n = 0;
	for (size_t i = 0; i < p->rows.n; i++) {
		const uint64_t *row = tw_rows_key(&p->rows, i);
		if (!tw_names_variable(names, (uint32_t)row[1], row[0], name, sizeof name))
			continue;
		leave_out_indexes(name);
		list[n] = (struct named){strdup(name), {row[2 + READS], row[2 + WRITES]}};
		if (!list[n++].name)
			return TW_ERR_MEMORY;
	}
	return n;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int most_first(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	const uint64_t n = x->count[READS] + x->count[WRITES], m = y->count[READS] + y->count[WRITES];
	return n != m ? (n > m ? -1 : 1) : by_name(a, b);
}

/* One of all of a name. How many are left. */
static size_t join(struct named *list, size_t n)
{
	size_t to = 0;
	if (n)
		qsort(list, n, sizeof *list, by_name);
	for (size_t i = 0; i < n; i++) {
		if (!to || by_name(&list[to - 1], &list[i])) {
			list[to++] = list[i];
			continue;
		}
		for (unsigned k = 0; k < COUNTS; k++)
			list[to - 1].count[k] += list[i].count[k];
		free(list[i].name);
	}
	if (to)
		qsort(list, to, sizeof *list, most_first);
	return to;
}

static void print(struct tw_answer *a, const struct named *list, size_t n)
{
	static const struct tw_column columns[] = {
	    {"reads", TW_COLUMN_COUNT}, {"writes", TW_COLUMN_COUNT}, {"part", TW_COLUMN_TEXT}, {NULL, 0}};
	tw_answer_table(a, "parts", "Parts of it", columns);
	for (size_t i = 0; i < n; i++)
		tw_answer_row(
		    a, (struct tw_cell[]){{.count = list[i].count[READS]}, {.count = list[i].count[WRITES]}, {.text = list[i].name}});
}

int tw_touch_parts_print(const struct tw_touch_parts *p, struct tw_names *names, struct tw_answer *a)
{
	struct named *list = calloc(p->rows.n + 1, sizeof *list);
	if (!list)
		return TW_ERR_MEMORY;
	const int64_t named = name_rows(p, names, list);
	const size_t n = named > 0 ? join(list, (size_t)named) : 0;
	if (n > 1)
		print(a, list, n);
	for (size_t i = 0; i < (named < 0 ? p->rows.n : n); i++)
		free(list[i].name);
	free(list);
	return named < 0 ? (int)named : 0;
}
