/* Every operation, flag and event, against what descriptor.h and event.h say of them. */
#include "chunk.h"
#include "unit.h"

enum { MOST = 20000 };

/* What came out of a walk. */
static struct tw_ref refs[MOST];
static struct tw_block_run blocks[MOST];
static uint32_t hot;
static size_t n_refs, n_blocks, n_batches, n_events;
static uint32_t event_types[64];

static int take(void *context, const struct tw_batch *b)
{
	(void)context;
	n_batches++;
	EQUAL(b->first_ref, n_refs);
	memcpy(refs + n_refs, tw_batch_refs(b), b->n_refs * sizeof *refs);
	memcpy(blocks + n_blocks, tw_batch_blocks(b), b->n_blocks * sizeof *blocks);
	for (size_t i = 0; i < b->n_blocks; i++)
		blocks[n_blocks + i].first_ref += (uint32_t)n_refs;
	for (size_t i = 0; i < b->n_events && n_events < 64; i++)
		event_types[n_events++] = b->events[i].type;
	n_refs += b->n_refs;
	n_blocks += b->n_blocks;
	return 0;
}

static const struct tw_xstate xstate = {
    .xcr0 = 0xe7,
    .component = {[2] = {576, 256, 0, 0}, [5] = {1088, 64, 0, 0}, [6] = {1152, 512, 1, 0}, [7] = {1664, 1024, 0, 0}},
};

static struct tw_walk_counts counts;

static int walk(struct tw_programs *p, struct made_chunk *k)
{
	struct tw_walk *w = tw_walk_new(&(struct tw_walk_options){.programs = p, .xstate = &xstate, .batch = take});
	n_refs = n_blocks = n_batches = n_events = 0;
	if (hot)
		tw_walk_chunk(w, &k->chunk, &counts); /* makes the code */
	n_refs = n_blocks = n_batches = n_events = 0;
	int error = tw_walk_chunk(w, &k->chunk, &counts);
	tw_walk_free(w);
	return error;
}

static struct tw_programs *programs_of(const struct made_fragment *f)
{
	struct tw_programs *p = tw_programs_new(hot, NULL);
	EQUAL(tw_programs_add(p, make_descriptor(f)), 0);
	return p;
}

/* Runs operations of one four-instruction fragment at 0x400000 once, with these values, after a keyframe. */
static int run_ops(const struct tw_op *ops, unsigned n_ops, const uint64_t *values, unsigned n_values)
{
	struct made_fragment f = {16, 0x400000, {4}, ops, (uint16_t)n_ops, (uint16_t)n_values, TW_FORMAT_DEP};
	struct tw_programs *p = programs_of(&f);
	struct made_chunk *k = make_chunk();
	put_keyframe(k, 0);
	put_tag(k, 16);
	for (unsigned i = 0; i < n_values; i++)
		put_value(k, values[i]);
	k->chunk.refs = MOST;
	int error = walk(p, k);
	tw_programs_free(p);
	free(k);
	return error;
}

#define RUN(ops, values) run_ops(ops, sizeof ops / sizeof *ops, values, sizeof values / sizeof *values)

static void is_ref(size_t i, uint64_t pc, uint64_t addr, uint32_t size, uint8_t type)
{
	CHECK(i < n_refs);
	EQUAL(refs[i].pc, pc);
	EQUAL(refs[i].addr, addr);
	EQUAL(refs[i].size, size);
	EQUAL(refs[i].type, type);
	EQUAL(refs[i].insn, (pc - 0x400000) / 4);
}

#define NOREG .base = TW_NOREG, .index = TW_NOREG

static void test_plain(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_REF, .insn = 0, .base = TW_RAX, .index = TW_NOREG, .size = 8, .type = TW_READ, .disp = -8},
	    {.kind = TW_OP_RECORD, .insn = 1, .base = TW_R15, .index = TW_NOREG, .value = 1},
	    {.kind = TW_OP_REF, .insn = 1, .base = TW_R15, .index = TW_RCX, .scale = 3, .size = 4, .type = TW_WRITE},
	    {.kind = TW_OP_SET, .insn = 2, .base = TW_RSP, .index = TW_NOREG, .count = TW_RSP, .disp = -8},
	    {.kind = TW_OP_REF, .insn = 2, .base = TW_RSP, .index = TW_NOREG, .size = 8, .type = TW_WRITE},
	    {.kind = TW_OP_SET, .insn = 2, .base = TW_RAX, .index = TW_RCX, .scale = 1, .count = TW_RBX, .disp = 5},
	    {.kind = TW_OP_REF, .insn = 3, .base = TW_RBX, .index = TW_NOREG, .seg = TW_SEG_FS, .size = 2, .type = TW_MODIFY},
	    {.kind = TW_OP_REF, .insn = 3, NOREG, .seg = TW_SEG_GS, .size = 1, .type = TW_READ, .disp = 0x28},
	    {.kind = TW_OP_SET, .insn = 3, NOREG, .count = TW_RDX, .disp = 0x1234567890},
	    {.kind = TW_OP_REF, .insn = 3, .base = TW_RDX, .index = TW_NOREG, .size = 16, .type = TW_READ},
	};
	const uint64_t values[] = {7, 0xffff800000000000};
	EQUAL(RUN(ops, values), 0);
	EQUAL(n_refs, 6);
	is_ref(0, 0x400000, 0x1000 - 8, 8, TW_READ);
	is_ref(1, 0x400004, 0xffff800000010000, 4, TW_WRITE);
	is_ref(2, 0x400008, 0x5000 - 8, 8, TW_WRITE);
	is_ref(3, 0x40000c, 0x700000 + 0x1000 + 0x4000 + 5, 2, TW_MODIFY);
	is_ref(4, 0x40000c, 0x800028, 1, TW_READ);
	is_ref(5, 0x40000c, 0x1234567890, 16, TW_READ);
	EQUAL(n_blocks, 1);
	EQUAL(blocks[0].pc, 0x400000);
	EQUAL(blocks[0].n_insns, 4);
	EQUAL(counts.insns, 4);
	EQUAL(counts.blocks, 1);
	EQUAL(counts.refs, 6);
}

static void test_flags(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_RECORD, .base = TW_RAX, .index = TW_NOREG, .value = 0},
	    {.kind = TW_OP_REF,
	     .base = TW_RAX,
	     .index = TW_NOREG,
	     .flags = TW_OPF_ADDR32,
	     .seg = TW_SEG_FS,
	     .size = 4,
	     .type = TW_READ,
	     .disp = 16},
	    {.kind = TW_OP_REF, .base = TW_RBX, .index = TW_RAX, .flags = TW_OPF_INDEX8, .size = 1, .type = TW_READ},
	    {.kind = TW_OP_REF, .base = TW_RBX, .index = TW_NOREG, .flags = TW_OPF_LINE, .size = 64, .type = TW_WRITE, .disp = 0x7f},
	    {.kind = TW_OP_SET, .base = TW_RAX, .index = TW_NOREG, .flags = TW_OPF_ADDR32, .count = TW_RDX, .disp = 0x20},
	    {.kind = TW_OP_REF, .base = TW_RDX, .index = TW_NOREG, .size = 4, .type = TW_READ},
	};
	const uint64_t values[] = {0x12345678fffffff4};
	EQUAL(RUN(ops, values), 0);
	EQUAL(n_refs, 4);
	is_ref(0, 0x400000, 0x700004, 4, TW_READ);
	is_ref(1, 0x400000, 0x4000 + 0xf4, 1, TW_READ);
	is_ref(2, 0x400000, 0x4040, 64, TW_WRITE);
	is_ref(3, 0x400000, 0x14, 4, TW_READ);
}

static void test_bit(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_RECORD, .base = TW_RCX, .index = TW_NOREG, .value = 0},
	    {.kind = TW_OP_BIT, .base = TW_RAX, .index = TW_NOREG, .count = TW_RCX, .size = 8, .type = TW_MODIFY},
	    {.kind = TW_OP_BIT, .base = TW_RAX, .index = TW_NOREG, .count = TW_RCX, .size = 4, .type = TW_READ},
	    {.kind = TW_OP_BIT, .base = TW_RAX, .index = TW_NOREG, .count = TW_RCX, .size = 2, .type = TW_READ},
	};
	const uint64_t values[] = {0x00000040ffffffd0}; /* as a dword -48, as a word -48 */
	EQUAL(RUN(ops, values), 0);
	is_ref(0, 0x400000, 0x1000 + 8 * (0x00000040ffffffd0 >> 6), 8, TW_MODIFY);
	is_ref(1, 0x400000, 0x1000 - 4 * 2, 4, TW_READ);
	is_ref(2, 0x400000, 0x1000 - 2 * 3, 2, TW_READ);
}

static void test_rep(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_REP,
	     .insn = 0,
	     .base = TW_RSI,
	     .index = TW_RDI,
	     .seg = TW_SEG_FS,
	     .flags = TW_OPF_SECOND,
	     .size = 8,
	     .type = TW_READ,
	     .count = TW_WRITE,
	     .value = 0,
	     .mask_value = 1},
	    {.kind = TW_OP_REF, .insn = 1, .base = TW_RSI, .index = TW_NOREG, .size = 1, .type = TW_READ},
	    {.kind = TW_OP_REF, .insn = 1, .base = TW_RDI, .index = TW_NOREG, .size = 1, .type = TW_READ},
	};
	const uint64_t up[] = {0x8000, 0x8010}, down[] = {0x8000, 0x8000 - 24}, none[] = {0x8000, 0x8000};
	EQUAL(RUN(ops, up), 0);
	EQUAL(n_refs, 6);
	is_ref(0, 0x400000, 0x707000, 8, TW_READ);
	is_ref(1, 0x400000, 0x8000, 8, TW_WRITE);
	is_ref(2, 0x400000, 0x707008, 8, TW_READ);
	is_ref(3, 0x400000, 0x8008, 8, TW_WRITE);
	is_ref(4, 0x400004, 0x7010, 1, TW_READ);
	is_ref(5, 0x400004, 0x8010, 1, TW_READ);
	EQUAL(RUN(ops, down), 0);
	EQUAL(n_refs, 8);
	is_ref(4, 0x400000, 0x707000 - 16, 8, TW_READ);
	is_ref(5, 0x400000, 0x8000 - 16, 8, TW_WRITE);
	is_ref(6, 0x400004, 0x7000 - 24, 1, TW_READ);
	EQUAL(RUN(ops, none), 0);
	EQUAL(n_refs, 2);
	is_ref(0, 0x400004, 0x7000, 1, TW_READ);
}

static void test_rep_addr32(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_RECORD, .base = TW_RDI, .index = TW_NOREG, .value = 0},
	    {.kind = TW_OP_REP,
	     .base = TW_RDI,
	     .index = TW_NOREG,
	     .flags = TW_OPF_ADDR32,
	     .size = 4,
	     .type = TW_WRITE,
	     .value = 0,
	     .mask_value = 1},
	};
	const uint64_t values[] = {0xfffffffc, 4};
	EQUAL(RUN(ops, values), 0);
	EQUAL(n_refs, 2);
	is_ref(0, 0x400000, 0xfffffffc, 4, TW_WRITE);
	is_ref(1, 0x400000, 0, 4, TW_WRITE);
}

/* More iterations than a batch holds: the block goes on in the next batch. */
static void test_rep_long(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_REP, .base = TW_RDI, .index = TW_NOREG, .size = 1, .type = TW_WRITE, .value = 0, .mask_value = 1},
	    {.kind = TW_OP_REF, .insn = 1, .base = TW_RDI, .index = TW_NOREG, .size = 1, .type = TW_READ},
	};
	const uint64_t values[] = {0x8000, 0x8000 + 10000}, absurd[] = {0x8000, 0x7fffffffffff};
	EQUAL(RUN(ops, values), 0);
	EQUAL(n_refs, 10001);
	is_ref(9999, 0x400000, 0x8000 + 9999, 1, TW_WRITE);
	is_ref(10000, 0x400004, 0x8000 + 10000, 1, TW_READ);
	CHECK(n_batches > 1);
	CHECK(n_blocks > 1);
	EQUAL(blocks[0].n_insns, 4);
	EQUAL(blocks[1].n_insns, 0);
	EQUAL(counts.blocks, 1);
	EQUAL(counts.insns, 4);
	EQUAL(RUN(ops, absurd), TW_ERR_STREAM);
}

static void test_lanes(void)
{
	const struct tw_op op = {.kind = TW_OP_LANES, .base = TW_RBX, .index = TW_NOREG, .size = 4, .type = TW_READ, .count = 8, .disp = 4};
	struct tw_op ops[6] = {op, op, op, op, op, op};
	ops[1].flags = TW_OPF_PACKED;
	ops[2].flags = TW_OPF_BROADCAST;
	ops[3].flags = TW_OPF_ANY;
	ops[3].size = 32;
	ops[4].index_width = 4; /* gather with a mask of vector elements */
	ops[4].scale = 2;
	ops[4].count = 4;
	ops[4].value = 1;
	ops[4].mask_value = 3;
	ops[4].mask_width = 4;
	ops[5].mask_value = 5; /* no active lane */
	ops[5].flags = TW_OPF_ANY;
	const uint64_t values[] = {0x8a, 0xfffffffe00000001, 0x7fffffff00000003, 0x7fffffff80000000, 0x80000000ffffffff, 0x100};
	EQUAL(RUN(ops, values), 0);
	EQUAL(n_refs, 3 + 3 + 1 + 1 + 3);
	is_ref(0, 0x400000, 0x4004 + 4, 4, TW_READ);
	is_ref(1, 0x400000, 0x4004 + 12, 4, TW_READ);
	is_ref(2, 0x400000, 0x4004 + 28, 4, TW_READ);
	is_ref(3, 0x400000, 0x4004, 4, TW_READ);
	is_ref(5, 0x400000, 0x4004 + 8, 4, TW_READ);
	is_ref(6, 0x400000, 0x4004, 4, TW_READ);
	is_ref(7, 0x400000, 0x4004, 32, TW_READ);
	is_ref(8, 0x400000, 0x4004 + 4, 4, TW_READ);
	is_ref(9, 0x400000, 0x4004 + 12, 4, TW_READ);
	is_ref(10, 0x400000, 0x4004 + 4 * 0x7fffffffll, 4, TW_READ);
}

static void test_xsave(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_XSAVE, .base = TW_RBX, .index = TW_NOREG, .type = TW_WRITE, .value = 0},
	    {.kind = TW_OP_XSAVE, .base = TW_RBX, .index = TW_NOREG, .type = TW_WRITE, .value = 0, .flags = TW_OPF_COMPACT},
	    {.kind = TW_OP_XSAVE, .base = TW_RBX, .index = TW_NOREG, .type = TW_READ, .value = 0, .mask_value = 1, .flags = TW_OPF_SECOND},
	    {.kind = TW_OP_XSAVE, .base = TW_RBX, .index = TW_NOREG, .type = TW_READ, .value = 0, .mask_value = 2, .flags = TW_OPF_SECOND},
	};
	const uint64_t values[] = {0xffffffff00000063, 0, 1ull << 63}; /* x87, SSE, and components 5 and 6 */
	EQUAL(RUN(ops, values), 0);
	is_ref(0, 0x400000, 0x4000, 1664, TW_WRITE);
	is_ref(1, 0x400000, 0x4000, 640 + 512, TW_WRITE);
	is_ref(2, 0x400000, 0x4000, 1664, TW_READ);
	is_ref(3, 0x400000, 0x4000, 640 + 512, TW_READ);
}

/* Two blocks of two instructions; a value recorded by each instruction, a reference by each. */
static const struct tw_op two_blocks[] = {
    {.kind = TW_OP_RECORD, .insn = 0, .base = TW_RAX, .index = TW_NOREG, .value = 0},
    {.kind = TW_OP_REF, .insn = 0, .base = TW_RAX, .index = TW_NOREG, .size = 1, .type = TW_READ},
    {.kind = TW_OP_REF, .insn = 1, .base = TW_RAX, .index = TW_NOREG, .size = 2, .type = TW_READ},
    {.kind = TW_OP_RECORD, .insn = 2, .base = TW_RDI, .index = TW_NOREG, .value = 1},
    {.kind = TW_OP_REP, .insn = 2, .base = TW_RDI, .index = TW_NOREG, .size = 4, .type = TW_WRITE, .value = 1, .mask_value = 2},
    {.kind = TW_OP_REF, .insn = 3, .base = TW_RDI, .index = TW_NOREG, .size = 8, .type = TW_READ},
};
static const struct made_fragment two = {0x30020, 0x400000, {2, 2}, two_blocks, 6, 3, TW_FORMAT_DEP};

static struct made_chunk *chunk_of_two(const struct tw_partial *partial)
{
	struct made_chunk *k = make_chunk();
	put_keyframe(k, 3);
	if (partial)
		put_event(k, TW_EVENT_PARTIAL, partial, sizeof *partial);
	put_tag(k, 0x20);
	put_value(k, 0x100);
	put_value(k, 0x200);
	put_value(k, 0x208);
	k->chunk.refs = MOST;
	return k;
}

static void test_blocks(void)
{
	struct tw_programs *p = programs_of(&two);
	struct made_chunk *k = chunk_of_two(NULL);
	EQUAL(walk(p, k), 0);
	EQUAL(n_blocks, 2);
	EQUAL(blocks[0].first_ref, 0);
	EQUAL(blocks[1].first_ref, 2);
	EQUAL(blocks[1].pc, 0x400008);
	EQUAL(blocks[1].block, 1);
	EQUAL(n_refs, 5);
	is_ref(2, 0x400008, 0x200, 4, TW_WRITE);
	is_ref(4, 0x40000c, 0x208, 8, TW_READ);
	EQUAL(n_events, 1);
	EQUAL(event_types[0], TW_EVENT_KEYFRAME);
	tw_programs_free(p);
	free(k);
}

/* Walks one partial execution of `two`, then a whole one of a fragment that refers to [rax] and [rdi] as the partial one left them. */
static void walk_partial(struct tw_partial partial)
{
	const struct tw_op after[] = {
	    {.kind = TW_OP_REF, .base = TW_RAX, .index = TW_NOREG, .size = 1, .type = TW_READ},
	    {.kind = TW_OP_REF, .base = TW_RDI, .index = TW_NOREG, .size = 1, .type = TW_READ},
	};
	const struct made_fragment f = {0x30021, 0x500000, {1}, after, 2, 0, TW_FORMAT_DEP};
	struct tw_programs *p = programs_of(&two);
	EQUAL(tw_programs_add(p, make_descriptor(&f)), 0);
	struct made_chunk *k = chunk_of_two(&partial);
	put_tag(k, 0x21);
	EQUAL(walk(p, k), 0);
	CHECK(n_refs >= 2);
	EQUAL(refs[n_refs - 2].addr, partial.regs[TW_RAX]);
	EQUAL(refs[n_refs - 1].addr, partial.regs[TW_RDI]);
	tw_programs_free(p);
	free(k);
}

static void test_partial(void)
{
	struct tw_partial partial = {.insns = 1, .regs = {[TW_RAX] = 0xaaa, [TW_RDI] = 0xddd}};
	walk_partial(partial);
	EQUAL(n_refs, 1 + 2);
	EQUAL(blocks[0].n_insns, 1);
	EQUAL(n_blocks, 2);
	EQUAL(counts.insns, 2);
	partial.insns = 0;
	walk_partial(partial);
	EQUAL(n_refs, 2);
	EQUAL(n_blocks, 1);
	partial.insns = 3;
	walk_partial(partial);
	EQUAL(n_refs, 2 + 2 + 2);
	EQUAL(n_blocks, 3);
	EQUAL(blocks[1].n_insns, 1);
	partial.insns = 100; /* no more than it has */
	walk_partial(partial);
	EQUAL(n_refs, 5 + 2);
	EQUAL(counts.insns, 5);
}

static void test_partial_in_rep(void)
{
	const struct tw_partial partial = {.insns = 2, .in_rep = 1, .regs = {[TW_RAX] = 0xaaa, [TW_RDI] = 0x204}};
	walk_partial(partial);
	EQUAL(n_refs, 2 + 1 + 2);
	is_ref(2, 0x400008, 0x200, 4, TW_WRITE);
	EQUAL(n_blocks, 3);
	EQUAL(blocks[1].n_insns, 0);
	EQUAL(blocks[1].first_ref, 2);
	EQUAL(counts.blocks, 2);
	EQUAL(counts.insns, 3);
}

static void test_upper(void)
{
	const struct tw_op op = {.kind = TW_OP_REF, .base = TW_RAX, .index = TW_NOREG, .size = 1, .type = TW_READ};
	struct made_fragment f = {0x00010, 0x400000, {1}, &op, 1, 0, TW_FORMAT_DEP};
	struct tw_programs *p = programs_of(&f);
	f.number = 0x10010;
	f.pc = 0x500000;
	EQUAL(tw_programs_add(p, make_descriptor(&f)), 0);
	struct made_chunk *k = make_chunk();
	put_keyframe(k, 0);
	put_tag(k, 0x10);
	put_tag(k, TW_TAG_UPPER);
	put_tag(k, 1);
	put_tag(k, 0x10);
	put_keyframe(k, 0);
	put_tag(k, 0x10);
	const struct tw_segbase fs = {.seg = TW_SEG_FS, .base = 0x12345};
	put_event(k, TW_EVENT_SEGBASE, &fs, sizeof fs);
	EQUAL(walk(p, k), 0);
	EQUAL(n_blocks, 3);
	EQUAL(blocks[0].pc, 0x400000);
	EQUAL(blocks[1].pc, 0x500000);
	EQUAL(blocks[2].pc, 0x400000);
	EQUAL(n_events, 3);
	put_tag(k, TW_TAG_UPPER);
	EQUAL(walk(p, k), TW_ERR_STREAM);
	put_tag(k, 7);
	put_tag(k, 0x10);
	EQUAL(walk(p, k), TW_ERR_FRAGMENT);
	EQUAL(n_blocks, 3);
	tw_programs_free(p);
	free(k);
}

static void test_segbase(void)
{
	const struct tw_op op = {.kind = TW_OP_REF, NOREG, .seg = TW_SEG_GS, .size = 1, .type = TW_READ, .disp = 1};
	const struct made_fragment f = {16, 0x400000, {1}, &op, 1, 0, TW_FORMAT_DEP};
	const struct tw_segbase gs = {.seg = TW_SEG_GS, .base = 0x12300};
	struct tw_programs *p = programs_of(&f);
	struct made_chunk *k = make_chunk();
	put_keyframe(k, 0);
	put_tag(k, 16);
	put_event(k, TW_EVENT_SEGBASE, &gs, sizeof gs);
	put_tag(k, 16);
	EQUAL(walk(p, k), 0);
	is_ref(0, 0x400000, 0x800001, 1, TW_READ);
	is_ref(1, 0x400000, 0x12301, 1, TW_READ);
	tw_programs_free(p);
	free(k);
}

static void test_call(void)
{
	const struct made_fragment f = {16, 0x400000, {2, 2}, NULL, 0, 0, TW_FORMAT_CALL};
	const struct tw_logged_ref log[] = {{0x10, 8, TW_READ, 0, 1}, {0x20, 4, TW_WRITE, 2, 1}, {0x30, 4, TW_WRITE, 3, 1}};
	const struct tw_syscall call = {.number = 1};
	struct tw_programs *p = programs_of(&f);
	struct made_chunk *k = make_chunk();
	put_keyframe(k, 0);
	put_tag(k, 16);
	put_event(k, TW_EVENT_SYSCALL, &call, sizeof call);
	put_refs(k, 0x400000, log, 3);
	put_tag(k, 16);
	put_refs(k, 0x400000, log, 1);
	put_refs(k, 0x400000, log + 1, 1);
	put_tag(k, 16);
	EQUAL(walk(p, k), 0);
	EQUAL(n_refs, 5);
	is_ref(0, 0x400000, 0x10, 8, TW_READ);
	is_ref(1, 0x400008, 0x20, 4, TW_WRITE);
	is_ref(4, 0x400008, 0x20, 4, TW_WRITE);
	EQUAL(n_blocks, 6);
	EQUAL(blocks[1].first_ref, 1);
	EQUAL(blocks[3].first_ref, 4);
	EQUAL(counts.insns, 12);
	struct made_chunk *back = malloc(sizeof *back);
	*back = *k;
	back->chunk.c = back->c;
	back->chunk.e = back->e;
	put_refs(back, 0x400000, log + 2, 1);
	EQUAL(walk(p, back), 0);
	put_refs(back, 0x400000, log + 1, 1); /* from instruction 3 back to 2 */
	EQUAL(walk(p, back), TW_ERR_STREAM);
	free(back);
	put_tag(k, 16);
	put_refs(k, 0x400004, log, 1);
	EQUAL(walk(p, k), TW_ERR_STREAM);
	tw_programs_free(p);
	free(k);
}

static void test_malformed(void)
{
	struct tw_programs *p = programs_of(&two);
	struct made_chunk *k = make_chunk();
	EQUAL(walk(p, k), 0);
	k->chunk.upper = 3;
	put_tag(k, 0x20);
	EQUAL(walk(p, k), TW_ERR_STREAM); /* no keyframe */
	free(k);
	k = chunk_of_two(NULL);
	k->chunk.n_m--;
	EQUAL(walk(p, k), TW_ERR_STREAM);
	k->chunk.n_m += 2;
	EQUAL(walk(p, k), TW_ERR_STREAM);
	k->chunk.n_m--;
	k->chunk.n_e -= 8;
	EQUAL(walk(p, k), TW_ERR_STREAM);
	k->chunk.n_e = 4;
	EQUAL(walk(p, k), TW_ERR_STREAM);
	k->chunk.n_e = 8 + sizeof(struct tw_keyframe);
	EQUAL(walk(p, k), 0);
	put_tag(k, 9);
	EQUAL(walk(p, k), TW_ERR_STREAM);
	CHECK(strstr(tw_recording_detail(), "chunk 0"));
	tw_programs_free(p);
	free(k);
}

static int take_all(void *context, const struct tw_batch *b)
{
	uint64_t *sum = context;
	for (size_t i = 0; i < b->n_refs; i++)
		*sum += tw_batch_refs(b)[i].addr;
	for (size_t i = 0; i < b->n_blocks; i++)
		*sum += tw_batch_blocks(b)[i].pc + tw_batch_blocks(b)[i].descriptor->number;
	for (size_t i = 0; i < b->n_events; i++)
		*sum += b->events[i].type + (b->events[i].bytes ? *(const uint8_t *)b->events[i].payload : 0);
	return 0;
}

/* Whatever the streams hold, a walk ends, with a result or an error. */
static void test_noise(void)
{
	const struct tw_partial partial = {.insns = 2, .in_rep = 1, .regs = {[TW_RDI] = 0x204}};
	const struct made_fragment call = {0x30022, 0x600000, {2}, NULL, 0, 0, TW_FORMAT_CALL};
	const struct tw_logged_ref log[] = {{0x10, 8, TW_READ, 0, 1}};
	struct tw_programs *p = programs_of(&two);
	uint64_t sum = 0;
	EQUAL(tw_programs_add(p, make_descriptor(&call)), 0);
	struct tw_walk *w = tw_walk_new(&(struct tw_walk_options){.programs = p, .xstate = &xstate, .batch = take_all, .context = &sum});
	srand(1);
	for (int round = 0; round < 20000; round++) {
		struct made_chunk *k = chunk_of_two(round % 3 ? &partial : NULL);
		put_tag(k, 0x22);
		put_refs(k, 0x600000, log, 1);
		put_tag(k, 0x22);
		for (int i = rand() % 4; i >= 0; i--) {
			k->c[rand() % k->chunk.n_c] ^= (uint16_t)(1 << rand() % 16);
			k->m[rand() % k->chunk.n_m] ^= 1ull << rand() % 64;
			k->e[(unsigned)rand() % k->chunk.n_e] ^= (uint8_t)(1 << rand() % 8);
		}
		CHECK(tw_walk_chunk(w, &k->chunk, NULL) <= 0);
		free(k);
	}
	tw_walk_free(w);
	tw_programs_free(p);
}

static int refused(const struct tw_op *op, unsigned n_values)
{
	struct made_fragment f = {16, 0x400000, {1}, op, 1, (uint16_t)n_values, TW_FORMAT_DEP};
	struct tw_programs *p = tw_programs_new(hot, NULL);
	int error = tw_programs_add(p, make_descriptor(&f));
	tw_programs_free(p);
	return error == TW_ERR_DAMAGED;
}

static void test_refused(void)
{
	struct tw_op op = {.kind = TW_OP_REF, .base = 16, .index = TW_NOREG, .size = 1, .type = TW_READ};
	CHECK(refused(&op, 0));
	op.base = TW_RAX;
	CHECK(!refused(&op, 0));
	op.insn = 1;
	CHECK(refused(&op, 0));
	op = (struct tw_op){.kind = TW_OP_RECORD, .base = TW_RAX, .index = TW_NOREG, .value = 2};
	CHECK(refused(&op, 2));
	CHECK(!refused(&op, 3));
	op = (struct tw_op){.kind = TW_OP_BIT, .base = TW_RAX, .index = TW_NOREG, .type = TW_READ, .size = 3};
	CHECK(refused(&op, 0));
	op = (struct tw_op){.kind = TW_OP_REP, .base = TW_RDI, .index = TW_NOREG, .type = TW_READ, .size = 0};
	CHECK(refused(&op, 2));
	op = (struct tw_op){.kind = TW_OP_LANES,
	                    .base = TW_RDI,
	                    .index = TW_NOREG,
	                    .type = TW_READ,
	                    .size = 4,
	                    .count = 16,
	                    .index_width = 4,
	                    .mask_value = 8};
	CHECK(refused(&op, 8));
	CHECK(!refused(&op, 9));
	op = (struct tw_op){
	    .kind = TW_OP_XSAVE, .base = TW_RDI, .index = TW_NOREG, .type = TW_READ, .flags = TW_OPF_SECOND, .mask_value = 1};
	CHECK(refused(&op, 1));
	op = (struct tw_op){.kind = TW_NOPS};
	CHECK(refused(&op, 1));
}

static void test_all(void)
{
	test_plain();
	test_flags();
	test_bit();
	test_rep();
	test_rep_addr32();
	test_rep_long();
	test_lanes();
	test_xsave();
	test_blocks();
	test_partial();
	test_partial_in_rep();
	test_upper();
	test_segbase();
	test_call();
	test_malformed();
	test_noise();
	test_refused();
}

int main(void)
{
	test_all();
	hot = 1; /* as machine code */
	test_all();
	return UNIT_END();
}
