#include "engine/x86_64/decode_cache.h"
#include "engine/x86_64/shape.h"

#define MOST_OPS 3
#define BITS     12

struct entry {
	u64 bytes;          /* the rest 0, and so the displacement */
	struct shape shape; /* len 0: nothing here */
	u8 moved;           /* ops whose address is the target, as a mask */
	struct insn insn;
	struct memop op[MOST_OPS];
};

/* Under the engine's lock. They stand in the order in which they were first taken, so that a short program touches few pages. */
static TW_SPARSE struct entry entries[1u << BITS];
static u16 entry_of[1u << BITS]; /* by hash, plus 1; 0: none */
static u32 n_entries;

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

/* The instruction copied from e, at pc, is made that which stands there. */
static void move(struct insn *i, struct memop *op, const struct entry *e, u64 v)
{
	i->target = i->pc + i->len + displacement(v, e->shape);
	memcpy(i->raw + e->shape.rel_at, (const u8 *)&v + e->shape.rel_at, e->shape.rel_bytes);
	if (i->kind == INSN_IJUMP || i->kind == INSN_ICALL)
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
	*i = e->insn;
	i->pc = pc;
	i->first_op = b->n_ops;
	for (u16 k = 0; k < i->n_ops; k++) {
		struct memop *m = &b->op[b->n_ops++];
		*m = e->op[k];
		m->op.insn = (u8)b->n_insns;
	}
	if (s.rel_bytes)
		move(i, &b->op[i->first_op], e, v);
	b->n_insns++;
	return true;
}

/* Can it be found again: is its shape what is told from its first bytes? */
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

/* Which ops have the target of a rip-relative operand as their address. False: there is something else about the instruction that depends on where it stands. */
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
	e->bytes = key;
	e->shape = s;
	e->moved = moved;
	e->insn = *i;
	memcpy(e->op, op, i->n_ops * sizeof *e->op);
}
