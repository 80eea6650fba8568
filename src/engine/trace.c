#include "engine/trace.h"
#include "engine/fragment.h"
#include "instrument/instrumentor.h"

#define RECORDS_LOOKED_AT 2000u
#define LOOKS_IN_VAIN     4u
#define MOST_PASSED_OVER  7u
#define LOOP_PASSES       3u /* a path that is taken so often in a row is a loop */
#define MAX_HOT           (sizeof((struct thread *)0)->hot / sizeof *((struct thread *)0)->hot)

_Static_assert(TW_TRACE_BLOCKS == BLOCK_MAX_PARTS, "a path is as long as a superblock can be");

/* How often a fragment was come by with `context` known, in what was looked at. */
struct tw_passes {
	struct tw_passes *next;
	u32 context;
	u32 n;
};

/* Reads records. */
struct reader {
	const u8 *p, *end;
	u32 upper;
	u16 updated; /* tagged form: registers whose status is UPDATED */
};

/* One execution of a fragment, by one of its ways out. */
struct record {
	struct fragment *f; /* NULL: something else */
	u8 path;
};

static const struct record none = {NULL, 0};

static bool next_record(struct reader *r, struct record *out);

/* An event: the upper half may change with it. What next_record returns. */
static bool skip_event(struct reader *r, struct record *out)
{
	struct tw_event_header h;
	if (r->end - r->p < (i64)sizeof h)
		return false;
	memcpy(&h, r->p, sizeof h);
	if ((u64)(r->end - r->p) < sizeof h + h.bytes)
		return false;
	if (h.type == TW_EVENT_KEYFRAME) {
		memcpy(&r->upper, r->p + sizeof h + offsetof(struct tw_keyframe, upper), sizeof r->upper);
		r->updated = 0xffff;
	}
	r->p += sizeof h + h.bytes;
	if (h.type == TW_EVENT_REFS) /* of the record before: --verify */
		return next_record(r, out);
	return h.type != TW_EVENT_PARTIAL;
}

/* Tagged form: passes over the values of a block's record, following the statuses. */
static void skip_values(struct reader *r, const struct tw_descriptor *d)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	u32 n = d->n_values;
	for (u32 k = 0; k < d->n_ops; k++) {
		const u16 bit = (u16)(1u << (op[k].base & 15));
		if (op[k].kind == TW_OP_WRITTEN)
			r->updated |= op[k].count;
		if (op[k].kind != TW_OP_RECORD)
			continue;
		n -= !(r->updated & bit);
		r->updated &= (u16)~bit;
	}
	r->p += 8 * n;
}

/* As next_record, in the tagged form. */
static bool next_tagged(struct reader *r, struct record *out)
{
	u16 unit[3] = {0};
	*out = none;
	for (;; r->p += TW_ESCAPE_BYTES) {
		if (r->end - r->p < (i64)sizeof unit)
			return false;
		memcpy(unit, r->p, sizeof unit);
		if (unit[0] || unit[1] < TW_ESCAPE_FIRST)
			break;
		r->upper = unit[1];
	}
	if (!unit[0] && unit[1] == TW_ESCAPE_EVENT) {
		r->p += 2;
		return skip_event(r, out);
	}
	if (!unit[0] && unit[1] != TW_ESCAPE_ZERO)
		return false;
	if (!unit[0])
		r->upper = unit[2];
	r->p += unit[0] ? 2 : TW_ZERO_BYTES;
	struct fragment *f = tw_fragment_tagged(r->upper << 16 | unit[0]);
	if (!f || f->stale)
		return false;
	skip_values(r, f->descriptor);
	*out = (struct record){f, 0};
	return true;
}

/* The next record; none: it is not of a fragment. False: there is nothing more to read. */
static bool next_record(struct reader *r, struct record *out)
{
	u16 tag, upper;
	if (tw_tags_used())
		return next_tagged(r, out);
	*out = none;
	if (r->end - r->p < 4)
		return false;
	memcpy(&tag, r->p, 2);
	memcpy(&upper, r->p + 2, 2);
	if (tag == TW_TAG_EVENT)
		return skip_event(r, out);
	if (tag == TW_TAG_UPPER) {
		r->upper = upper;
		r->p += 4;
		return next_record(r, out);
	}
	struct fragment *f = tag >= TW_TAG_FIRST ? tw_fragment_numbered(r->upper << 16 | tag) : NULL;
	if (!f || f->stale)
		return false;
	*out = (struct record){f, (u8)(tag - (u16)f->number)};
	r->p += tw_path_bytes(f, out->path);
	return true;
}

/* Is it the record of a loop? */
static bool is_loop(const struct record *r)
{
	return r->path > r->f->n_sides;
}

/* The side exit it left by; NULL: it ran to the end of the path. */
static const struct side_exit *side_of(const struct record *r)
{
	return r->path && !is_loop(r) ? &r->f->side[r->path - 1] : NULL;
}

static u8 end_of(const struct record *r)
{
	const struct side_exit *side = side_of(r);
	return side ? side->end : r->f->end;
}

static bool is_direct(u8 end)
{
	return end == TW_END_FALL || end == TW_END_JUMP || end == TW_END_COND || end == TW_END_CALL;
}

/* The registers known where r leaves. */
static u32 known_after(const struct record *r)
{
	const struct side_exit *side = side_of(r);
	if (!is_direct(end_of(r)))
		return tw_engine.instr->context;
	return side ? side->context : r->f->end_context;
}

/* Can a path begin with f when it comes after r? */
static bool is_head(const struct record *r, const struct fragment *f)
{
	const struct piece *last = &r->f->piece[r->f->n_pieces - 1];
	return r->f->is_superblock || !is_direct(end_of(r)) || f->pc < last->pc + last->bytes;
}

/* A path being read. */
struct follow {
	struct tw_path *path;
	u64 returns[TW_TRACE_BLOCKS]; /* of its calls that have not returned */
	u32 n_returns;
};

/* Does the path go on from `last` with f? */
static bool goes_on(struct follow *w, const struct record *last, const struct fragment *f)
{
	u8 end = end_of(last);
	if (f->is_superblock || f->superseded || w->path->n == TW_TRACE_BLOCKS || f->pc == w->path->pc[0])
		return false;
	if (end == TW_END_CALL)
		w->returns[w->n_returns++] = last->f->pc_fall;
	if (end == TW_END_RETURN)
		return w->n_returns && w->returns[--w->n_returns] == f->pc;
	return is_direct(end);
}

/* Reads the path that begins with `last`; r stands behind that, and then behind the path. */
static void read_path(struct tw_path *path, struct record last, struct reader *r)
{
	struct follow w = {.path = path};
	struct reader ahead = *r;
	struct record next;
	path->pc[path->n++] = last.f->pc;
	while (next_record(&ahead, &next) && next.f && goes_on(&w, &last, next.f)) {
		path->pc[path->n++] = next.f->pc;
		last = next;
		*r = ahead;
	}
}

/* The path of a superblock, for another version of it. */
static void copy_path(struct tw_path *path, const struct fragment *f)
{
	for (; path->n < f->n_pieces; path->n++)
		path->pc[path->n] = f->piece[path->n].pc;
}

/* Comes the path, which began with `now`, again and again, with nothing in between? r stands behind it. */
static bool loops(const struct tw_path *path, const struct record *now, struct reader r)
{
	struct record next;
	if (is_loop(now))
		return true;
	for (u32 k = 0; k < LOOP_PASSES; k++)
		for (u32 i = 0; i < path->n;) {
			if (!next_record(&r, &next) || !next.f || next.f->pc != path->pc[i])
				return false;
			if (is_loop(&next))
				return true;
			if (next.path)
				return false;
			i += next.f->n_pieces;
		}
	return true;
}

static struct tw_passes *passes_of(struct fragment *f, u32 context)
{
	struct tw_passes *p = f->passes;
	while (p && p->context != context)
		p = p->next;
	if (p)
		return p;
	p = tw_heap(sizeof *p);
	p->context = context;
	p->next = f->passes;
	f->passes = p;
	return p;
}

/* The thread came by `now` after `before`; r stands behind it. */
static void count_pass(struct thread *t, const struct record *before, const struct record *now, const struct reader *r)
{
	struct fragment *f = now->f;
	u32 context = f->is_superblock ? known_after(before) : tw_engine.instr->context;
	if (t->n_hot == MAX_HOT || (f->is_superblock ? context == f->context : !is_head(before, f)))
		return;
	struct tw_passes *p = passes_of(f, context);
	if (++p->n != tw_engine.control->hot)
		return;
	struct tw_path *path = &t->hot[t->n_hot++];
	*path = (struct tw_path){.context = context};
	struct reader behind = *r;
	if (f->is_superblock)
		copy_path(path, f);
	else
		read_path(path, *now, &behind);
	path->loops = loops(path, now, behind);
	if (path->n == 1)
		path->context = known_after(before);
}

/*
 * Tagged form: superblocks are not seen in records. Follows one that is entered; in->f, if not NULL, is the one that has been followed up to block in->k. True:
 * `now` was run in it. Where one has been left, *before becomes that.
 */
struct inside {
	struct fragment *f;
	u32 k;
};
static bool within_superblock(struct inside *in, struct record *before, const struct record *now)
{
	if (in->f && in->k < in->f->n_pieces && now->f && in->f->piece[in->k].pc == now->f->pc) {
		in->k++;
		return true;
	}
	if (in->f)
		*before = (struct record){in->f, 0};
	*in = (struct inside){now->f && now->f->superseded ? now->f->superblock : NULL, 1};
	return in->f;
}

/* Is this full buffer to be looked at? */
static bool is_turn(struct tw_looks *l)
{
	if (l->passed_over < l->pass_over) {
		l->passed_over++;
		return false;
	}
	l->passed_over = 0;
	return true;
}

/*
 * A look found this many paths, and this many records of plain fragments. Paths were found, or clearly more of these records than in the looks before, which is
 * other code: fewer buffers are passed over. Nothing new, again and again: more.
 */
static void weigh(struct tw_looks *l, u32 found, u32 plain)
{
	const bool other_code = plain > 2 * l->usual_plain + RECORDS_LOOKED_AT / 64;
	l->usual_plain = (7 * l->usual_plain + plain) / 8;
	if (other_code || found) {
		l->pass_over = other_code ? 0 : l->pass_over / 2;
		l->in_vain = 0;
	} else if (++l->in_vain == LOOKS_IN_VAIN) {
		l->pass_over = l->pass_over < MOST_PASSED_OVER ? 2 * l->pass_over + 1 : MOST_PASSED_OVER;
		l->in_vain = 0;
	}
}

void tw_trace_look(struct thread *t, const u8 *from, u64 to)
{
	u32 plain = 0;
	const u32 before_look = t->n_hot;
	struct reader r = {from, (const u8 *)to, 0, 0};
	struct record before = none, now;
	struct inside in = {NULL, 0};
	const bool tagged = tw_tags_used();
	if (!tw_engine.instr->superblocks || !tw_engine.control->hot || !is_turn(&t->looks))
		return;
	for (u32 n = 0; n < RECORDS_LOOKED_AT && t->n_hot < MAX_HOT && next_record(&r, &now); n++) {
		if (!(tagged && within_superblock(&in, &before, &now)) && before.f && now.f)
			count_pass(t, &before, &now, &r);
		plain += now.f && !now.f->is_superblock;
		before = now;
	}
	weigh(&t->looks, t->n_hot - before_look, plain);
}

bool tw_trace_found(const struct thread *t)
{
	return t->n_hot;
}

void tw_trace_join(struct thread *t)
{
	for (u32 k = 0; tw_engine.instr->superblocks && k < t->n_hot; k++) /* else the window has closed since */
		tw_fragment_join(&t->hot[k]);
	t->n_hot = 0;
}
