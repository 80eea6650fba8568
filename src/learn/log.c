#include "learn/log.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* An entry of a log. All logs keep them sorted; for the hash the order does not matter. */
struct entry {
	uint64_t from, to;
};

struct kind {
	const char *name;
	int (*knows)(const struct tw_log *l, uint64_t from, uint64_t to);
	int merges; /* entries that touch become one */
};

struct tw_log {
	const struct kind *kind;
	struct entry *of;
	size_t n, room;
};

/* The last entry that begins at or before this; NULL: none. */
static const struct entry *before(const struct tw_log *l, uint64_t at)
{
	const size_t k = tw_array_until(&at, l->of, l->n, sizeof *l->of, tw_by_number);
	return k ? &l->of[k - 1] : NULL;
}

static int hash_knows(const struct tw_log *l, uint64_t from, uint64_t to)
{
	const struct entry *e = before(l, from);
	(void)to;
	return e && e->from == from;
}

static int tree_knows(const struct tw_log *l, uint64_t from, uint64_t to)
{
	const struct entry *e = before(l, from);
	(void)to;
	return e && from < e->to;
}

static int merging_knows(const struct tw_log *l, uint64_t from, uint64_t to)
{
	const struct entry *e = before(l, from);
	return e && from < e->to && to < e->to;
}

static int exact_knows(const struct tw_log *l, uint64_t from, uint64_t to)
{
	const struct entry *e = before(l, from);
	return e && to <= e->to;
}

static const struct kind kinds[] = {
    {"hash", hash_knows, 0}, {"tree", tree_knows, 0}, {"merging", merging_knows, 1}, {"exact", exact_knows, 1}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

const char *tw_log_name(unsigned k)
{
	return k < N_KINDS ? kinds[k].name : NULL;
}

struct tw_log *tw_log_new(const char *name)
{
	for (unsigned k = 0; k < N_KINDS; k++) {
		if (strcmp(kinds[k].name, name))
			continue;
		struct tw_log *l = calloc(1, sizeof *l);
		if (l)
			l->kind = &kinds[k];
		return l;
	}
	return NULL;
}

void tw_log_free(struct tw_log *l)
{
	if (l)
		free(l->of);
	free(l);
}

int tw_log_knows(const struct tw_log *l, uint64_t address, uint64_t bytes)
{
	return l->kind->knows(l, address, address + bytes);
}

size_t tw_log_entries(const struct tw_log *l)
{
	return l->n;
}

uint64_t tw_log_bytes(const struct tw_log *l)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->of[i].to - l->of[i].from;
	return n;
}

static void remove_at(struct tw_log *l, size_t k, size_t n)
{
	memmove(&l->of[k], &l->of[k + n], (l->n - k - n) * sizeof *l->of);
	l->n -= n;
}

/* Entries that touch this one become part of it. */
static struct entry take_in(struct tw_log *l, struct entry e)
{
	size_t k = tw_array_until(&e.from, l->of, l->n, sizeof *l->of, tw_by_number), n = 0;
	k -= k && l->of[k - 1].to >= e.from;
	for (; k + n < l->n && l->of[k + n].from <= e.to; n++) {
		e.from = l->of[k + n].from < e.from ? l->of[k + n].from : e.from;
		e.to = l->of[k + n].to > e.to ? l->of[k + n].to : e.to;
	}
	remove_at(l, k, n);
	return e;
}

int tw_log_add(struct tw_log *l, uint64_t address, uint64_t bytes)
{
	struct entry e = {address, address + bytes};
	struct entry *of = tw_array_room(l->of, l->n, &l->room, sizeof *of);
	if (!of)
		return tw_fail(TW_ERR_MEMORY, "log");
	l->of = of;
	if (l->kind->merges)
		e = take_in(l, e);
	const size_t k = tw_array_before(&e.from, of, l->n, sizeof *of, tw_by_number);
	if (k < l->n && of[k].from == e.from) { /* the same address: the newer length */
		of[k] = e;
		return TW_OK;
	}
	memmove(&of[k + 1], &of[k], (l->n - k) * sizeof *of);
	of[k] = e;
	l->n++;
	return TW_OK;
}
