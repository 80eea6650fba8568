/* This module's code, as the recording is told of it. */
#include "parts.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

uint32_t tw_cc_upper;

bool tw_cc_module_ready(void)
{
	const struct tw_cc_part *first = (const struct tw_cc_part *)(const void *)__start_trackway_cc;
	return &__start_trackway_cc[0] != &__stop_trackway_cc[0] && first->magic == TW_CC_MAGIC && first->version == TW_CC_VERSION &&
	       first->first_tag;
}

/* ---- operations ---- */

struct cursor {
	const uint8_t *at;
};

static uint64_t take(struct cursor *c, int bytes)
{
	uint64_t v = 0;
	for (int k = 0; k < bytes; k++)
		v |= (uint64_t)c->at[k] << 8 * k;
	c->at += bytes;
	return v;
}

/* Reads what the linker has put into the instruction at `insn`. False: it has removed the reference. */
static bool take_patch(struct cursor *c, const uint8_t *insn, struct tw_op *op)
{
	const uint8_t what = (uint8_t)take(c, 1), at = (uint8_t)take(c, 1), length = (uint8_t)take(c, 1);
	const bool is_there = !(what & TW_CC_GOT) || insn[at - 2] == (uint8_t)take(c, 1);
	switch (what & ~TW_CC_GOT) {
	case TW_CC_RELATIVE:
		op->disp = (int64_t)(uint64_t)insn + length + tw_cc_signed32(insn + at);
		break;
	case TW_CC_SIGNED:
		op->disp = tw_cc_signed32(insn + at);
		break;
	default:
		tw_cc_copy(&op->disp, insn + at, sizeof op->disp);
		break;
	}
	return is_there;
}

static bool take_op(struct cursor *c, const uint8_t *const *insn, struct tw_op *op)
{
	*op = (struct tw_op){.kind = (uint8_t)take(c, 1), .insn = (uint8_t)take(c, 1), .base = TW_NOREG, .index = TW_NOREG};
	const uint32_t fields = (uint32_t)take(c, 2);
	if (fields & TW_CC_BASE)
		op->base = (uint8_t)take(c, 1);
	if (fields & TW_CC_INDEX) {
		op->index = (uint8_t)take(c, 1);
		op->scale = (uint8_t)take(c, 1);
	}
	if (fields & TW_CC_SEG)
		op->seg = (uint8_t)take(c, 1);
	if (fields & TW_CC_TYPE) {
		op->type = (uint8_t)take(c, 1);
		op->size = (uint16_t)take(c, 2);
	}
	if (fields & TW_CC_FLAGS)
		op->flags = (uint8_t)take(c, 1);
	if (fields & TW_CC_COUNT)
		op->count = (uint16_t)take(c, 2);
	if (fields & TW_CC_VALUE)
		op->value = (uint16_t)take(c, 2);
	if (fields & TW_CC_DISP8)
		op->disp = (int8_t)take(c, 1);
	if (fields & TW_CC_DISP64)
		op->disp = (int64_t)take(c, 8);
	if (fields & TW_CC_LANES) {
		op->mask_value = (uint16_t)take(c, 2);
		op->index_width = (uint8_t)take(c, 1);
		op->mask_width = (uint8_t)take(c, 1);
	}
	return !(fields & TW_CC_PATCHED) || take_patch(c, insn[op->insn], op);
}

/* ---- blocks ---- */

enum { MAX_INSNS = 256 };

static bool is_direct(uint8_t end)
{
	return end == TW_END_JUMP || end == TW_END_COND || end == TW_END_CALL;
}

/* An indirect call or jump that the linker has made direct because it knows the target. */
static uint8_t settle_end(uint8_t end, const uint8_t *insn)
{
	const uint8_t *op = *insn == 0x67 || *insn == 0x66 || *insn == 0xf2 || *insn == 0x3e ? insn + 1 : insn;
	if (end == TW_END_ICALL && *op == 0xe8)
		return TW_END_CALL;
	return end == TW_END_IJUMP && *op == 0xe9 ? TW_END_JUMP : end;
}

extern const uint8_t etext[] __attribute__((weak, visibility("hidden")));

/* A block as it was linked. */
struct linked {
	const uint8_t *pc, *insn[MAX_INSNS];
	uint8_t length[MAX_INSNS], n_insns, end;
	uint8_t kept;  /* so many instructions are as they were: the others are the linker's */
	bool replaced; /* the last ones are a call that it has replaced */
};

/* A call of __tls_get_addr that the linker has replaced, together with the instructions before it. */
static bool is_replaced(const struct tw_cc_block *b, const uint8_t *last)
{
	while (*last == 0x66 || *last == 0x48)
		last++;
	return b->flags & TW_CC_GLUED && *last != 0xe8 && *last != 0xff;
}

/* A call of a descriptor's function (TLSDESC) that the linker has replaced with a no-op of the same length. */
static bool is_gone(uint8_t end, const uint8_t *last)
{
	return end == TW_END_ICALL && last[0] == 0x66 && last[1] == 0x90;
}

/* Length of an instruction that linkers put there: it reads the thread pointer (9 bytes), adds to it (7), or is a no-op, with prefixes. */
static uint8_t length_of(const uint8_t *insn)
{
	uint8_t prefixes = 0;
	while (insn[prefixes] == 0x66)
		prefixes++;
	if (insn[prefixes] == 0x48)
		return 7;
	return (uint8_t)(prefixes + (insn[prefixes] == 0x0f ? 5 : 9));
}

/* The linker's instructions occupy the bytes of what they replace. Code inserted behind them counts to the last of them. */
static void replace(struct linked *l, uint8_t glued)
{
	enum { ALONE = 12, FOUR = 22 };
	const uint8_t *at = l->insn[l->n_insns - glued], *end = l->insn[l->n_insns - 1] + l->length[l->n_insns - 1];
	const uint8_t *own_end = at + (glued == 4 ? FOUR : ALONE);
	l->end = TW_END_FALL;
	l->kept = l->n_insns -= glued;
	while (at < own_end) {
		l->insn[l->n_insns] = at;
		l->length[l->n_insns++] = length_of(at);
		at += length_of(at);
	}
	l->length[l->n_insns - 1] = (uint8_t)(l->length[l->n_insns - 1] + (end - at));
}

static void look_at(const struct tw_cc_block *b, struct linked *l)
{
	const uint8_t *at = l->pc = tw_cc_place(&b->pc);
	tw_cc_copy(l->length, b + 1, b->n_insns);
	l->kept = l->n_insns = b->n_insns;
	for (int k = 0; k < b->n_insns; k++) {
		l->insn[k] = at;
		at += l->length[k];
	}
	l->end = settle_end(b->end, l->insn[b->n_insns - 1]);
	l->replaced = is_replaced(b, l->insn[b->n_insns - 1]);
	if (l->replaced)
		replace(l, b->flags & TW_CC_GLUED_FOUR ? 4 : 2);
	else if (is_gone(b->end, l->insn[b->n_insns - 1])) {
		l->end = TW_END_FALL;
		l->kept--;
	}
}

/* What an instruction of the linker reads: the thread pointer, or the variable's offset from it. False: nothing. */
static bool linkers_op(const struct linked *l, uint8_t k, struct tw_op *op)
{
	const uint8_t *insn = l->insn[k];
	while (*insn == 0x66)
		insn++;
	const bool of_thread = insn[0] == 0x64;
	*op = (struct tw_op){.kind = TW_OP_REF,
	                     .insn = k,
	                     .base = TW_NOREG,
	                     .index = TW_NOREG,
	                     .seg = of_thread ? TW_SEG_FS : 0,
	                     .type = TW_READ,
	                     .size = 8,
	                     .disp = of_thread ? 0 : (int64_t)(uint64_t)insn + 7 + tw_cc_signed32(insn + 3)};
	return of_thread || (insn[0] == 0x48 && insn[1] == 0x03);
}

/* Returns how many there are. */
static uint16_t take_ops(const struct tw_cc_block *b, const struct linked *l, struct tw_op *op)
{
	struct cursor c = {(const uint8_t *)(b + 1) + b->n_insns};
	uint16_t n = 0;
	for (int k = 0; k < b->n_ops; k++) {
		const bool is_there = take_op(&c, l->insn, &op[n]);
		if (is_there && op[n].insn < l->kept)
			n++;
	}
	for (uint8_t k = l->kept; l->replaced && k < l->n_insns; k++)
		n = (uint16_t)(n + linkers_op(l, k, &op[n]));
	return n;
}

/* Makes the descriptor at d. */
static void fill(struct tw_descriptor *d, const struct tw_cc_block *b, uint32_t number, uint32_t pid)
{
	struct linked l;
	look_at(b, &l);
	struct tw_block *block = (struct tw_block *)(d + 1);
	struct tw_op *op = (struct tw_op *)(block + 1);
	const uint16_t n_ops = take_ops(b, &l, op);
	uint16_t bytes = 0;
	for (int k = 0; k < l.n_insns; k++)
		bytes = (uint16_t)(bytes + l.length[k]);
	const uint64_t target = !is_direct(l.end) ? 0
	                        : b->target       ? (uint64_t)tw_cc_place(&b->target)
	                                          : tw_cc_branch_target(l.insn[l.n_insns - 1]);
	*block = (struct tw_block){(uint64_t)l.pc, tw_cc_branch_second(target), 0, l.n_insns, bytes, l.end, 0};
	tw_cc_copy(op + n_ops, l.length, l.n_insns);
	tw_cc_copy((uint8_t *)(op + n_ops) + l.n_insns, l.pc, bytes);
	*d = (struct tw_descriptor){
	    .number = number,
	    .bytes = tw_descriptor_size(1, n_ops, l.n_insns, bytes),
	    .pid = pid,
	    .n_blocks = 1,
	    .n_ops = n_ops,
	    .n_insns = l.n_insns,
	    .n_values = b->n_values,
	    .code_bytes = bytes,
	    .format = TW_FORMAT_DEP,
	    .flags = b->flags & (uint8_t) ~(TW_CC_GLUED | TW_CC_GLUED_FOUR),
	    .context = b->context,
	};
}

static uint32_t most_bytes(const struct tw_cc_block *b)
{
	return tw_descriptor_size(1, b->n_ops + 1u, b->n_insns, b->n_insns * 255u);
}

/* Appends the block's descriptor to the table. False: no room. */
static bool describe(struct tw_cc_process *p, const struct tw_cc_block *b, uint32_t number)
{
	struct tw_descriptor_table *table = p->table;
	const uint64_t used = atomic_load(&table->used), at = tw_table_place(used ? used : sizeof *table, most_bytes(b));
	if (at + most_bytes(b) > p->control->sizes.table_bytes || atomic_load(&p->control->described) > p->control->descriptors_most)
		return false;
	struct tw_descriptor *d = tw_table_descriptor(table, at);
	fill(d, b, number, p->pid);
	d->tag = tw_cc_tallies(p) ? tw_cc_tally_entry(p) : 0;
	if (tw_cc_tallies(p) && !tw_cc_tally_note(p, d))
		return false;
	atomic_fetch_add(&p->control->described, d->bytes);
	atomic_store_explicit(&table->used, at + d->bytes, memory_order_release);
	return true;
}

/* A new upper half. */
static uint32_t draw_upper(struct tw_control *c)
{
	const uint32_t each = 65536 / TW_STRETCH;
	uint32_t next = atomic_load(&c->next_stretch), first;
	do
		first = (next + each - 1) / each * each;
	while (!atomic_compare_exchange_weak(&c->next_stretch, &next, first + each));
	return first / each;
}

/* Takes the lock in the name of the stream's slot: if the thread is killed, the collector releases it. */
static bool lock_table(struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	const uint64_t hold = tw_hold((uint32_t)s->mark, s->number);
	uint64_t nobody = 0;
	while (!atomic_compare_exchange_strong(&p->control->descriptor_lock, &nobody, hold)) {
		if (!tw_channel_collector_alive(p->control))
			return false;
		SYS(__NR_sched_yield);
		nobody = 0;
	}
	return true;
}

/* What the part's file writes from now on. */
static void set_word(const struct tw_cc_part *part, uint32_t upper)
{
	const uint64_t word = TW_TAG_UPPER | (uint64_t)upper << 16;
	tw_cc_copy((void *)tw_cc_place(&part->word), &word, sizeof word);
}

static bool describe_all(struct tw_cc_process *p)
{
	uint32_t upper = tw_cc_upper, group = 0;
	for (const struct tw_cc_part *part = tw_cc_part_first(); part; part = tw_cc_part_next(part)) {
		const struct tw_cc_block *block = tw_cc_block_first(part);
		if (part->group != group)
			upper = draw_upper(p->control);
		group = part->group;
		set_word(part, upper);
		for (uint32_t n = 0; n < part->n_blocks; n++, block = tw_cc_block_next(block))
			if (!describe(p, block, upper << 16 | (part->first_tag + n)))
				return false;
	}
	return true;
}

void tw_cc_module_describe(struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	if (!lock_table(p, s))
		return;
	tw_cc_upper = draw_upper(p->control);
	if (!describe_all(p))
		tw_cc_fail(p, "no more room for descriptors");
	atomic_store(&p->control->descriptor_lock, 0);
}

/* ---- where it is mapped ---- */
