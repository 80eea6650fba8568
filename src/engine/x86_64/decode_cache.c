#include "engine/x86_64/decode_cache.h"
#include "engine/x86_64/shape.h"

#define MOST_OPS 3
#define BITS     13
#define OPS      12288u

/* Everything about an instruction except its place, its bytes, and its target or operand. */
#define KEPT_AT    offsetof(struct insn, len)
#define KEPT_BYTES (offsetof(struct insn, ea) - KEPT_AT)

/* Smaller than a line of the processor's caches. */
struct entry {
	u64 bytes;          /* the rest 0, and so the displacement */
	struct shape shape; /* len 0: nothing here */
	u8 moved;           /* ops whose address is the target, as a mask */
	u8 room;            /* for so many ops from first_op on: the instruction's, and its operand if it is an indirect branch */
	u16 first_op;
	u8 insn[KEPT_BYTES];
};

/* Under the engine's lock. Both are in order of first use, so that a short program touches few pages. */
static TW_SPARSE struct entry entries[1u << BITS];
static TW_SPARSE struct memop ops[OPS];
static u16 entry_of[1u << BITS]; /* by hash, plus 1; 0: none */
static u32 n_entries, n_ops;

static u64 first_bytes(u64 v, u8 n)
{
	return v & ~0ull >> (64 - 8 * n);
}

/* The bytes that an entry is found by. */
static u64 key_of(u64 v, struct shape s)
{
	u64 hole = s.rel_bytes ? ~0ull >> (64 - 8 * s.rel_bytes) << 8 * s.rel_at : 0;
	return first_bytes(v, s.len) & ~hole;
}

static u64 displacement(u64 v, struct shape s)
{
	v >>= 8 * s.rel_at;
	return s.rel_bytes == 1 ? (u64)(int8_t)v : (u64)(i32)v;
}

static bool has_operand(const struct insn *i)
{
	return i->kind == INSN_IJUMP || i->kind == INSN_ICALL;
}

/* Turns the instruction copied from e into the one at pc. */
static void move(struct insn *i, struct memop *op, const struct entry *e, u64 v)
{
	i->target = i->pc + i->len + displacement(v, e->shape);
	if (has_operand(i))
		i->ea.disp = (i64)i->target;
	for (u16 k = 0; k < i->n_ops; k++)
		if (e->moved >> k & 1)
			op[k].op.disp = (i64)i->target;
}

bool tw_decode_cache_take(struct block *b, u64 pc, u64 room)
{
	u64 v;
	if (room < sizeof v)
		return false;
	memcpy(&v, (const void *)pc, sizeof v);
	const struct shape s = tw_shape(v);
	if (!s.len)
		return false;
	u64 key = key_of(v, s);
	const u16 n = entry_of[tw_hash(key, BITS)];
	const struct entry *e = &entries[n ? n - 1 : 0];
	if (!n || e->bytes != key || e->shape.len != s.len || e->shape.rel_at != s.rel_at)
		return false;
	struct insn *i = &b->insn[b->n_insns];
	const struct memop *from = &ops[e->first_op];
	const u64 raw[2] = {first_bytes(v, s.len)};
	memcpy((u8 *)i + KEPT_AT, e->insn, KEPT_BYTES);
	memcpy(i->raw, raw, sizeof i->raw);
	i->pc = pc;
	i->target = 0;
	i->first_op = b->n_ops;
	for (u16 k = 0; k < i->n_ops; k++) {
		struct memop *m = &b->op[b->n_ops++];
		*m = *from++;
		m->op.insn = (u8)b->n_insns;
	}
	if (has_operand(i))
		i->ea = from->op;
	if (s.rel_bytes)
		move(i, &b->op[i->first_op], e, v);
	b->n_insns++;
	return true;
}

/* Can it be found again: is its shape the one that its first bytes tell? */
static bool is_found_by(const struct insn *i, struct shape s)
{
	if (s.len != i->len)
		return false;
	switch (i->kind) {
	case INSN_JUMP:
	case INSN_COND:
	case INSN_CALL:
		return s.rel_bytes && s.rel_at + s.rel_bytes == s.len;
	case INSN_PLAIN:
	case INSN_RETURN:
	case INSN_IJUMP:
	case INSN_ICALL:
		return i->disp_at ? s.rel_at == i->disp_at && s.rel_bytes == 4 : !s.rel_bytes;
	default:
		return false;
	}
}

/* Which ops have the target of a rip-relative operand as address. False: something else depends on the instruction's place. */
static bool find_moved(const struct insn *i, const struct memop *op, u8 *moved)
{
	*moved = 0;
	if (!i->disp_at)
		return true;
	if (i->uses_gs)
		return false;
	for (u16 k = 0; k < i->n_ops; k++) {
		const struct tw_op *o = &op[k].op;
		if ((o->kind != TW_OP_REF && o->kind != TW_OP_SET) || (o->flags & TW_OPF_ADDR32) || o->seg != TW_SEG_NONE)
			return false;
		if (o->base == TW_NOREG && o->index == TW_NOREG && o->disp == (i64)i->target)
			*moved |= (u8)(1 << k);
		else if (o->base == TW_NOREG)
			return false;
	}
	return true;
}

/* Room for n ops: the previous instruction's, or new. False: none; the entry stays as it is. */
static bool take_room(struct entry *e, u32 n)
{
	if (n <= e->room)
		return true;
	if (n > OPS - n_ops)
		return false;
	e->first_op = (u16)n_ops;
	e->room = (u8)n;
	n_ops += n;
	return true;
}

void tw_decode_cache_keep(const struct block *b, u64 room)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	const struct memop *op = &b->op[i->first_op];
	u64 v;
	u8 moved;
	if (room < sizeof v || i->n_ops > MOST_OPS || b->unrecorded)
		return;
	memcpy(&v, (const void *)i->pc, sizeof v);
	const struct shape s = tw_shape(v);
	if (!is_found_by(i, s) || !find_moved(i, op, &moved))
		return;
	u64 key = key_of(v, s);
	u16 *n = &entry_of[tw_hash(key, BITS)];
	if (!*n)
		*n = (u16)++n_entries;
	struct entry *e = &entries[*n - 1];
	if (!take_room(e, i->n_ops + (has_operand(i) ? 1 : 0)))
		return;
	e->bytes = key;
	e->shape = s;
	e->moved = moved;
	memcpy(e->insn, (const u8 *)i + KEPT_AT, KEPT_BYTES);
	memcpy(&ops[e->first_op], op, i->n_ops * sizeof *op);
	if (has_operand(i))
		ops[e->first_op + i->n_ops].op = i->ea;
}
