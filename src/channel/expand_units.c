/* The blocks of programs, and how they are found. */
#include "channel/expand_units.h"

#include <stdlib.h>

/* What a unit is found by in the map. */
static uint64_t key_of(const struct tw_unit_program *p, const struct tw_unit_map *m, const struct tw_unit *u)
{
	return m == &p->by_pc ? tw_descriptor_blocks(u->descriptor)->pc : u->tag;
}

static size_t place_of(const struct tw_unit_program *p, const struct tw_unit_map *m, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(h >> 32) & (m->size - 1);
	for (; m->slot[i]; i = (i + 1) & (m->size - 1))
		if (key_of(p, m, m->slot[i]) == key)
			break;
	return i;
}

static int grow(const struct tw_unit_program *p, struct tw_unit_map *m)
{
	enum { FIRST_SIZE = 1024 };
	struct tw_unit_map old = *m;
	struct tw_unit **slot = calloc(old.size ? old.size * 2 : FIRST_SIZE, sizeof *slot);
	if (!slot)
		return tw_fail(TW_ERR_MEMORY, "table of blocks");
	m->size = old.size ? old.size * 2 : FIRST_SIZE;
	m->slot = slot;
	for (size_t i = 0; i < old.size; i++)
		if (old.slot[i])
			m->slot[place_of(p, m, key_of(p, m, old.slot[i]))] = old.slot[i];
	free(old.slot);
	return TW_OK;
}

/* Puts u in, unless there is one with its key. */
static int put_unit(const struct tw_unit_program *p, struct tw_unit_map *m, struct tw_unit *u)
{
	if (m->n * 2 >= m->size && grow(p, m))
		return TW_ERR_MEMORY;
	struct tw_unit **slot = &m->slot[place_of(p, m, key_of(p, m, u))];
	m->n += !*slot;
	*slot = *slot ? *slot : u;
	return TW_OK;
}

/* The first value slot of an operation that has one, else -1. */
static int first_slot(const struct tw_op *op)
{
	switch (op->kind) {
	case TW_OP_RECORD:
	case TW_OP_REP:
	case TW_OP_XSAVE:
		return op->value;
	case TW_OP_LANES:
		return op->index_width ? op->value : op->mask_value;
	default:
		return -1;
	}
}

/* A register that is tested twice without having been written is RECORDED the second time: the second test has no effect. */
static void find_spans(struct tw_unit *u)
{
	struct tw_value_span *span = u->span;
	for (const struct tw_value_step *s = u->step;; s++) {
		if (s->written && span->tested)
			span++;
		span->written |= s->written;
		if (s->kind == TW_VALUE_END)
			break;
		if (s->kind == TW_VALUE_TESTED)
			span->tested |= (uint16_t)(1u << s->reg);
		else
			u->n_placed++;
	}
	u->n_spans = (uint16_t)(span - u->span + (span->written || span->tested));
}

static struct tw_unit *new_unit(const struct tw_descriptor *d)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	struct tw_unit *u = calloc(1, sizeof *u + (d->n_values + 1u) * (sizeof *u->step + sizeof *u->span));
	uint16_t written = 0;
	if (!u)
		return NULL;
	*u = (struct tw_unit){.descriptor = d, .tag = d->tag, .dynamic = (d->flags & TW_DESC_DYNAMIC) != 0};
	u->step = (struct tw_value_step *)(u->span + d->n_values + 1);
	for (unsigned i = 0; i < d->n_ops; i++) {
		int slot = first_slot(&op[i]);
		if (op[i].kind == TW_OP_WRITTEN)
			written |= op[i].count;
		if (slot < 0)
			continue;
		u->step[slot].written = written;
		written = 0;
		if (op[i].kind == TW_OP_RECORD)
			u->step[slot] = (struct tw_value_step){TW_VALUE_TESTED, op[i].base, u->step[slot].written};
		if (op[i].kind == TW_OP_REP)
			u->step[op[i].mask_value] = (struct tw_value_step){TW_VALUE_AFTER, tw_op_counter(&op[i]), 0};
	}
	u->step[d->n_values] = (struct tw_value_step){TW_VALUE_END, 0, written};
	find_spans(u);
	return u;
}

int tw_expand_add_unit(struct tw_expand *x, const struct tw_descriptor *d)
{
	struct tw_unit_program **p = &x->programs[d->program];
	if (!*p)
		*p = calloc(1, sizeof **p);
	struct tw_unit *u = *p ? new_unit(d) : NULL;
	if (!u)
		return tw_fail(TW_ERR_MEMORY, "table of blocks");
	u->next = (*p)->units;
	(*p)->units = u;
	int error = put_unit(*p, &(*p)->by_tag, u);
	if (!error && !(d->flags & TW_DESC_ANNOUNCED) && d->tag != tw_descriptor_blocks(d)->pc)
		error = put_unit(*p, &(*p)->by_pc, u);
	return error;
}

static void tally(struct tw_unit_program *p, struct tw_totals *totals)
{
	for (struct tw_unit *u = p ? p->units : NULL; u; u = u->next) {
		tw_descriptor_add_runs(u->descriptor, u->ran, totals);
		u->ran = 0;
	}
}

void tw_expand_forget_units(struct tw_expand *x, uint32_t program, struct tw_totals *totals)
{
	struct tw_unit_program **p = &x->programs[program % TW_UNIT_PROGRAMS];
	if (!*p)
		return;
	tally(*p, totals);
	for (struct tw_unit *u = (*p)->units, *next; u; u = next) {
		next = u->next;
		free(u);
	}
	free((*p)->by_tag.slot);
	free((*p)->by_pc.slot);
	free(*p);
	*p = NULL;
}

/* In the program of now; NULL: not there. */
static struct tw_unit *find_by_tag(const struct tw_expand *x, uint32_t tag)
{
	const struct tw_unit_program *p = x->programs[x->program % TW_UNIT_PROGRAMS];
	return p && p->by_tag.size ? p->by_tag.slot[place_of(p, &p->by_tag, tag)] : NULL;
}

static struct tw_unit *find_by_pc(const struct tw_expand *x, uint64_t pc)
{
	const struct tw_unit_program *p = x->programs[x->program % TW_UNIT_PROGRAMS];
	return p && p->by_pc.size ? p->by_pc.slot[place_of(p, &p->by_pc, pc)] : NULL;
}

struct tw_unit *tw_expand_unit(struct tw_expand *x, uint32_t tag)
{
	struct tw_unit_cache *c = &x->cache[(tag ^ tag >> 14) % TW_UNIT_CACHE];
	if (c->tag == tag && c->program == x->program && c->unit)
		return c->unit;
	struct tw_unit *u = find_by_tag(x, tag);
	*c = (struct tw_unit_cache){tag, x->program, u};
	return u;
}

const struct tw_unit *tw_expand_unit_at(struct tw_expand *x, uint64_t pc)
{
	const struct tw_unit *u = pc <= UINT32_MAX ? tw_expand_unit(x, (uint32_t)pc) : NULL;
	if (u && tw_descriptor_blocks(u->descriptor)->pc == pc)
		return u;
	return find_by_pc(x, pc);
}

void tw_expand_tally_units(struct tw_expand *x, struct tw_totals *totals)
{
	for (uint32_t program = 0; program < TW_UNIT_PROGRAMS; program++)
		tally(x->programs[program], totals);
}
