#include "engine/x86_64/memo.h"

#define LONGEST  8 /* bytes of an instruction that is kept */
#define MOST_OPS 3
#define BITS     11

struct entry {
	u64 bytes; /* the rest 0 */
	u8 len;    /* 0: nothing here */
	struct insn insn;
	struct memop op[MOST_OPS];
};

/* Under the engine's lock. */
static struct entry entries[1u << BITS];
static u8 lengths[1u << BITS]; /* of the instruction last seen where these three bytes were */

static u64 first_bytes(u64 v, u8 n)
{
	return v & ~0ull >> (64 - 8 * n);
}

bool tw_memo_take(struct block *b, u64 pc, u64 room)
{
	u64 v;
	if (room < sizeof v)
		return false;
	memcpy(&v, (const void *)pc, sizeof v);
	u8 len = lengths[tw_hash(first_bytes(v, 3), BITS)];
	if (!len)
		return false;
	u64 bytes = first_bytes(v, len);
	const struct entry *e = &entries[tw_hash(bytes, BITS)];
	if (e->len != len || e->bytes != bytes)
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
	b->n_insns++;
	return true;
}

static bool depends_on_place(const struct insn *i)
{
	return i->disp_at || i->target || i->lea_reg != TW_NOREG || (i->kind != INSN_PLAIN && i->kind != INSN_RETURN);
}

void tw_memo_keep(const struct block *b, u64 room)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	u64 v;
	if (room < sizeof v || i->len > LONGEST || i->n_ops > MOST_OPS || b->unrecorded || depends_on_place(i))
		return;
	memcpy(&v, (const void *)i->pc, sizeof v);
	u64 bytes = first_bytes(v, i->len);
	struct entry *e = &entries[tw_hash(bytes, BITS)];
	lengths[tw_hash(first_bytes(v, 3), BITS)] = i->len;
	e->bytes = bytes;
	e->len = i->len;
	e->insn = *i;
	memcpy(e->op, &b->op[i->first_op], i->n_ops * sizeof *e->op);
}
