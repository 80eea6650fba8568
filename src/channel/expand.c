#include "channel/expand_state.h"

#include <stdlib.h>

/* Reading a piece may read past its end: demux.c. */
enum { PIECE_ROOM = TW_BUFFER_BYTES + 64 };

struct tw_expand *tw_expand_new(uint32_t format, int logged, int count_only)
{
	struct tw_expand *x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	x->format = format;
	x->logged = logged;
	x->count_only = count_only;
	x->piece[0] = calloc(1, PIECE_ROOM);
	x->piece[1] = calloc(1, PIECE_ROOM);
	if (x->piece[0] && x->piece[1])
		return x;
	tw_expand_free(x);
	return NULL;
}

void tw_expand_free(struct tw_expand *x)
{
	if (!x)
		return;
	struct tw_totals unused = {0};
	for (uint32_t program = 0; program < TW_UNIT_PROGRAMS; program++)
		tw_expand_forget(x, program, &unused);
	free(x->piece[0]);
	free(x->piece[1]);
	free(x);
}

/* ---- units ---- */

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

/* A register that is tested twice without having been written is RECORDED the second time: that is no more than nothing. */
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

static int add_unit(struct tw_expand *x, const struct tw_descriptor *d)
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

int tw_expand_descriptors(struct tw_expand *x, const uint8_t *bytes, uint64_t n)
{
	int error = TW_OK;
	for (uint64_t at = 0; at < n && !error; at += ((const struct tw_descriptor *)(bytes + at))->bytes)
		error = add_unit(x, (const struct tw_descriptor *)(bytes + at));
	return error;
}

static void tally_program(struct tw_unit_program *p, struct tw_totals *totals)
{
	for (struct tw_unit *u = p ? p->units : NULL; u; u = u->next) {
		tw_descriptor_add_runs(u->descriptor, u->ran, totals);
		u->ran = 0;
	}
}

void tw_expand_forget(struct tw_expand *x, uint32_t program, struct tw_totals *totals)
{
	struct tw_unit_program **p = &x->programs[program % TW_UNIT_PROGRAMS];
	if (!*p)
		return;
	tally_program(*p, totals);
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

void tw_expand_tally(struct tw_expand *x, struct tw_totals *t)
{
	for (uint32_t program = 0; program < TW_UNIT_PROGRAMS; program++)
		tally_program(x->programs[program], t);
}

/* ---- what is written ---- */

int tw_expand_room(const struct tw_expand *x)
{
	size_t most = x->logged ? TW_EXPAND_LOGGED : TW_EXPAND_MARGIN;
	return (size_t)(x->to - x->piece[x->turn]) + x->slack_bytes + most <= TW_BUFFER_BYTES;
}

static void put(struct tw_expand *x, const void *p, size_t n)
{
	memcpy(x->to, p, n);
	x->to += n;
}

void tw_expand_put_number(struct tw_expand *x, const struct tw_unit *u)
{
	uint32_t number = u->descriptor->number;
	if (number >> 16 != x->to_upper) {
		uint16_t upper[2] = {TW_TAG_UPPER, (uint16_t)(number >> 16)};
		put(x, upper, sizeof upper);
		x->to_upper = number >> 16;
	}
	uint16_t tag = (uint16_t)number;
	put(x, &tag, sizeof tag);
}

const struct tw_event_header *tw_expand_event(const uint8_t *p, const uint8_t *end, struct tw_event_header *head)
{
	size_t left = (size_t)(end - p);
	if (left < sizeof *head)
		return NULL;
	memcpy(head, p, sizeof *head);
	return tw_event_valid(head, p + sizeof *head, left - sizeof *head) ? head : NULL;
}

static void put_keyframe(struct tw_expand *x, const struct tw_keyframe *k)
{
	const struct tw_event_header h = {TW_TAG_EVENT, TW_EVENT_KEYFRAME, sizeof *k};
	struct tw_keyframe plain = *k;
	plain.upper = x->to_upper;
	plain.program = 0;
	put(x, &h, sizeof h);
	put(x, &plain, sizeof plain);
}

/* What a keyframe says of the buffer. */
static void take_keyframe(struct tw_expand *x, const struct tw_keyframe *k)
{
	x->upper = k->upper;
	x->program = k->program;
	x->updated = UINT16_MAX;
	x->keyframe = *k;
	memset(x->keyframe.regs, 0, sizeof x->keyframe.regs);
	x->has_keyframe = 1;
}

/* Keyframes that are put in do not go back in time. */
static void note_time(struct tw_expand *x, const struct tw_event_header *h, const uint8_t *payload)
{
	uint64_t copy[64] = {0};
	memcpy(copy, payload, h->bytes < sizeof copy ? h->bytes : sizeof copy);
	uint64_t time = tw_event_time(h->type, copy);
	if (time > x->keyframe.tsc)
		x->keyframe.tsc = time;
}

void tw_expand_put_event(struct tw_expand *x, const struct tw_event_header *h, const uint8_t *p)
{
	if (h->type == TW_EVENT_KEYFRAME) {
		struct tw_keyframe k;
		memcpy(&k, p + sizeof *h, sizeof k);
		take_keyframe(x, &k);
		put_keyframe(x, &k);
		return;
	}
	if (h->type == TW_EVENT_SEGBASE) {
		struct tw_segbase s;
		memcpy(&s, p + sizeof *h, sizeof s);
		if (s.seg < TW_NSEGS)
			x->keyframe.seg_base[s.seg] = s.base;
	}
	note_time(x, h, p + sizeof *h);
	put(x, p, sizeof *h + h->bytes);
}

/* ---- a buffer ---- */

void tw_expand_begin(struct tw_expand *x, const struct tw_demux_input *in, int torn)
{
	x->data = x->p = in->data;
	x->end = x->data_end = in->data + in->bytes;
	x->walks = 0;
	x->slack = in->slack;
	x->slack_bytes = torn ? 0 : in->slack_end;
	x->torn = torn;
	x->ended = 0;
	x->has_keyframe = 0;
}

int tw_expand_next(struct tw_expand *x, struct tw_demux_input *out, int *last)
{
	if (x->ended)
		return 0;
	x->turn ^= 1;
	x->to = x->piece[x->turn];
	x->to_upper = 0;
	if (x->has_keyframe)
		put_keyframe(x, &x->keyframe);
	int more = tw_form_of(x->format) == TW_FORM_BITS ? tw_expand_bits(x) : tw_expand_tagged(x);
	x->ended = more <= 0;
	*last = x->ended;
	*out = (struct tw_demux_input){.data = x->piece[x->turn], .bytes = (uint32_t)(x->to - x->piece[x->turn])};
	memset(x->to, 0, 64);
	return more < 0 ? more : 1;
}

uint32_t tw_expand_used(const struct tw_expand *x)
{
	return (uint32_t)((x->end == x->data_end ? x->p : x->data_end) - x->data);
}
