#include "engine/code/records.h"
#include "engine/code/numbers.h"
#include "engine/record/instrumentor.h"

/* An event: it may change the upper half. Returns what tw_record_next returns. */
static bool skip_event(struct tw_reader *r, struct tw_record *out)
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
		return tw_record_next(r, out);
	return h.type != TW_EVENT_PARTIAL;
}

/* Tagged form: skips the values of a block's record, following the statuses. */
static void skip_values(struct tw_reader *r, const struct tw_descriptor *d)
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

/* As tw_record_next, in the tagged form. */
static bool next_tagged(struct tw_reader *r, struct tw_record *out)
{
	u16 unit[3] = {0};
	*out = (struct tw_record){0};
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
	skip_values(r, f->rec.descriptor);
	*out = (struct tw_record){.f = f};
	return true;
}

bool tw_record_next(struct tw_reader *r, struct tw_record *out)
{
	u16 tag, upper;
	if (tw_tags_used())
		return next_tagged(r, out);
	*out = (struct tw_record){0};
	if (r->end - r->p < 4)
		return false;
	memcpy(&tag, r->p, 2);
	memcpy(&upper, r->p + 2, 2);
	if (tag == TW_TAG_EVENT)
		return skip_event(r, out);
	if (tag == TW_TAG_UPPER) {
		r->upper = upper;
		r->p += 4;
		return tw_record_next(r, out);
	}
	struct fragment *f = tag >= TW_TAG_FIRST ? tw_fragment_numbered(r->upper << 16 | tag) : NULL;
	if (!f || f->stale)
		return false;
	*out = (struct tw_record){.f = f, .path = (u8)(tag - (u16)f->rec.number)};
	if (out->path > f->rec.n_sides && r->end - r->p >= LOOP_RECORD_BYTES)
		memcpy(&out->turns, r->p + 2, sizeof out->turns);
	r->p += tw_path_bytes(&f->rec, out->path);
	return true;
}

const struct side_exit *tw_record_side(const struct tw_record *r)
{
	return r->path && !tw_record_is_loop(r) ? &r->f->rec.side[r->path - 1] : NULL;
}

u8 tw_record_end(const struct tw_record *r)
{
	const struct side_exit *side = tw_record_side(r);
	return side ? side->end : r->f->rec.end;
}

/* How many of the fragment's blocks ran. */
static u32 blocks_run(const struct tw_record *r)
{
	const struct side_exit *side = tw_record_side(r);
	u32 n = 0;
	while (n < r->f->rec.n_pieces && (!side || r->f->rec.piece[n].first_insn < side->n_insns))
		n++;
	return n;
}

struct tw_blocks tw_blocks_from(const struct tw_record *first, const struct tw_reader *r)
{
	return (struct tw_blocks){.r = *r, .now = *first, .n = blocks_run(first)};
}

const struct piece *tw_blocks_next(struct tw_blocks *b)
{
	if (b->k == b->n) {
		if (!tw_record_next(&b->r, &b->now) || !b->now.f)
			return NULL;
		b->k = 0;
		b->n = blocks_run(&b->now);
	}
	return &b->now.f->rec.piece[b->k++];
}
