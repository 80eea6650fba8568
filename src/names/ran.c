#include "names/ran.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* A mapping, for one process, or for all if it is the same. */
struct mapping {
	uint32_t pid;
	uint64_t start, end, offset;
	uint32_t file;
};

struct mappings {
	struct mapping *items;
	size_t n;
	size_t first; /* found by add_mapped: the next block is mostly of the same process */
};

static int by_process(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return memcmp(&x->start, &y->start, sizeof *x - offsetof(struct mapping, start));
}

static int by_pid(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void drop_repeated(struct mappings *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->n; i++)
		if (!n || by_process(&m->items[n - 1], &m->items[i]))
			m->items[n++] = m->items[i];
	m->n = n;
}

/* `apart`: whether processes are told apart. */
static int list_mappings(const struct tw_places *p, int apart, struct mappings *out)
{
	size_t n = tw_recording_n_modules(p->recording);
	out->items = calloc(n + 1, sizeof *out->items);
	for (size_t i = 0; out->items && i < n; i++) {
		const struct tw_module *m = tw_recording_module(p->recording, i);
		struct mapping *to = &out->items[out->n++];
		to->pid = apart ? m->pid : 0;
		to->start = m->address;
		to->end = m->address + m->length;
		to->offset = m->offset;
		to->file = p->file_of[i];
	}
	if (out->n)
		qsort(out->items, out->n, sizeof *out->items, by_process);
	drop_repeated(out);
	return out->items != NULL;
}

int tw_ran_add(struct tw_ran_list *l, uint64_t start, uint64_t end)
{
	struct tw_ran_piece *pieces = tw_array_room(l->pieces, l->n, &l->room, sizeof *pieces);
	if (!pieces)
		return 0;
	l->pieces = pieces;
	l->pieces[l->n++] = (struct tw_ran_piece){start, end};
	return 1;
}

/* Adds a block to each file that was mapped at its address. -1: to none; 0: no memory. */
static int add_mapped(struct tw_ran *r, struct mappings *m, uint32_t pid, uint64_t pc, uint64_t bytes)
{
	const struct mapping key = {.pid = pid};
	int found = -1;
	if (m->first == m->n || m->items[m->first].pid != pid)
		m->first = tw_array_before(&key, m->items, m->n, sizeof key, by_pid);
	for (size_t i = m->first; i < m->n && m->items[i].pid == pid; i++) {
		const struct mapping *at = &m->items[i];
		if (pc < at->start || pc >= at->end)
			continue;
		found = tw_ran_add(&r->files[at->file], pc - at->start + at->offset, pc - at->start + at->offset + bytes);
		if (!found)
			break;
	}
	return found;
}

static int by_made(const void *a, const void *b)
{
	const struct tw_ran_made *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int add_made(struct tw_ran *r, uint32_t pid, uint64_t pc, uint64_t bytes)
{
	struct tw_ran_made key = {.pid = pid};
	size_t at = tw_array_before(&key, r->made, r->n_made, sizeof key, by_made);
	if (at == r->n_made || r->made[at].pid != pid) {
		struct tw_ran_made *made = tw_array_room(r->made, r->n_made, &r->made_room, sizeof *made);
		if (!made)
			return 0;
		r->made = made;
		memmove(r->made + at + 1, r->made + at, (r->n_made++ - at) * sizeof *r->made);
		r->made[at] = key;
	}
	return tw_ran_add(&r->made[at].list, pc, pc + bytes);
}

static int add_block(struct tw_ran *r, struct mappings *own, struct mappings *all, const struct tw_ran_block *b)
{
	int ok = add_mapped(r, own, b->pid, b->pc, b->bytes);
	if (ok < 0)
		ok = add_mapped(r, all, 0, b->pc, b->bytes); /* of a process it was forked from */
	return ok < 0 ? add_made(r, b->pid, b->pc, b->bytes) : ok;
}

static int add_descriptor(struct tw_ran *r, struct mappings *own, struct mappings *all, const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	int ok = 1;
	for (unsigned i = 0; i < d->n_blocks && ok; i++)
		ok = add_block(r, own, all, &(struct tw_ran_block){d->pid, b[i].bytes, b[i].pc});
	return ok;
}

/* ---- sorting: a large program has several hundred thousand pieces; comparing them would take longer than everything else ---- */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW = 512 };

static int is_sorted(const struct tw_ran_list *l)
{
	size_t i = 1;
	while (i < l->n && l->pieces[i - 1].start <= l->pieces[i].start)
		i++;
	return i >= l->n;
}

/* Moves items from one array to another in the order of these bits of `start`; equal ones keep their order. */
static void sort_digit(struct tw_ran_piece *to, const struct tw_ran_piece *from, size_t n, unsigned shift)
{
	size_t place[DIGITS] = {0}, sum = 0;
	for (size_t i = 0; i < n; i++)
		place[from[i].start >> shift & (DIGITS - 1)]++;
	for (size_t k = 0; k < DIGITS; k++) {
		const size_t all = place[k];
		place[k] = sum;
		sum += all;
	}
	for (size_t i = 0; i < n; i++)
		to[place[from[i].start >> shift & (DIGITS - 1)]++] = from[i];
}

/* 0: no memory; then nothing has changed. */
static int sort_by_digits(struct tw_ran_list *l)
{
	struct tw_ran_piece *from = l->pieces, *to = malloc(l->n * sizeof *to), *other = to;
	uint64_t bits = 0;
	if (!to)
		return 0;
	for (size_t i = 0; i < l->n; i++)
		bits |= from[i].start;
	for (unsigned shift = 0; shift < 64 && bits >> shift; shift += DIGIT_BITS) {
		sort_digit(to, from, l->n, shift);
		struct tw_ran_piece *sorted = to;
		to = from;
		from = sorted;
	}
	if (from != l->pieces)
		memcpy(l->pieces, from, l->n * sizeof *from);
	free(other);
	return 1;
}

void tw_ran_order(struct tw_ran_list *l)
{
	if (!is_sorted(l) && (l->n < FEW || !sort_by_digits(l)))
		qsort(l->pieces, l->n, sizeof *l->pieces, tw_by_number);
}

/* Of those with the same start the shortest is kept. */
static void settle(struct tw_ran_list *l)
{
	size_t n = 0;
	tw_ran_order(l);
	for (size_t i = 0; i < l->n; i++) {
		const struct tw_ran_piece piece = l->pieces[i];
		if (!n || l->pieces[n - 1].start != piece.start)
			l->pieces[n++] = piece;
		else if (piece.end < l->pieces[n - 1].end)
			l->pieces[n - 1].end = piece.end;
	}
	l->n = n;
}

int tw_ran_find(const struct tw_places *places, const struct tw_ran_block *more, size_t n, struct tw_ran *out)
{
	struct mappings own = {0}, all = {0};
	*out = (struct tw_ran){.n_files = places->files.n};
	out->files = calloc(out->n_files + 1, sizeof *out->files);
	int ok = out->files && list_mappings(places, 1, &own) && list_mappings(places, 0, &all);
	for (size_t i = 0; ok && i < tw_recording_n_descriptors(places->recording); i++)
		ok = add_descriptor(out, &own, &all, tw_recording_descriptor_at(places->recording, i));
	for (size_t i = 0; ok && i < n; i++)
		ok = add_block(out, &own, &all, &more[i]);
	for (size_t i = 0; ok && i < out->n_files; i++)
		settle(&out->files[i]);
	for (size_t i = 0; ok && i < out->n_made; i++)
		settle(&out->made[i].list);
	free(own.items);
	free(all.items);
	return ok;
}

void tw_ran_free(struct tw_ran *r)
{
	for (size_t i = 0; r->files && i < r->n_files; i++)
		free(r->files[i].pieces);
	for (size_t i = 0; i < r->n_made; i++)
		free(r->made[i].list.pieces);
	free(r->files);
	free(r->made);
	memset(r, 0, sizeof *r);
}

/* Merges pieces that overlap or touch; the list is sorted. */
static void join(struct tw_ran_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct tw_ran_piece piece = l->pieces[i];
		if (n && l->pieces[n - 1].end >= piece.start)
			l->pieces[n - 1].end = piece.end > l->pieces[n - 1].end ? piece.end : l->pieces[n - 1].end;
		else
			l->pieces[n++] = piece;
	}
	l->n = n;
}

int tw_ran_join(const struct tw_ran_list *list, struct tw_ran_list *out)
{
	*out = (struct tw_ran_list){calloc(list->n + 1, sizeof *out->pieces), list->n, list->n + 1};
	if (!out->pieces)
		return 0;
	if (list->n)
		memcpy(out->pieces, list->pieces, list->n * sizeof *list->pieces);
	join(out);
	return 1;
}

void tw_ran_sort(struct tw_ran_list *list)
{
	tw_ran_order(list);
	join(list);
}

int tw_ran_without(const struct tw_ran_list *joined, const struct tw_ran_list *other, struct tw_ran_list *out)
{
	int ok = 1;
	*out = (struct tw_ran_list){0};
	for (size_t i = 0, k = 0; i < joined->n; i++) {
		uint64_t at = joined->pieces[i].start;
		const uint64_t end = joined->pieces[i].end;
		while (k < other->n && other->pieces[k].end <= at)
			k++;
		for (size_t m = k; ok && m < other->n && other->pieces[m].start < end; m++) {
			if (at < other->pieces[m].start)
				ok = tw_ran_add(out, at, other->pieces[m].start);
			at = other->pieces[m].end;
		}
		if (ok && at < end)
			ok = tw_ran_add(out, at, end);
	}
	return ok;
}

int tw_ran_any(const struct tw_ran_list *joined, uint64_t start, uint64_t end)
{
	size_t n = tw_array_until(&start, joined->pieces, joined->n, sizeof *joined->pieces, tw_by_number);
	return (n && joined->pieces[n - 1].end > start) || (n < joined->n && joined->pieces[n].start < end);
}
