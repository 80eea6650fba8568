/* Random fragments, run as machine code and step by step, with plain and encoded values: the results are the same. */
#include "chunk.h"
#include "recording/recording.h"
#include "recording/transform.h"
#include "replay/code.h"
#include "replay/count.h"
#include "replay/slots.h"
#include "replay/state.h"
#include "unit.h"

enum { FRAGMENTS = 12, MAX_OPS = 100, TAGS = 3000, ROUNDS = 30 };

static uint64_t state = 1;

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static uint8_t any_reg(void)
{
	return (uint8_t)rnd(TW_NREGS);
}

static uint8_t any_reg_or_none(void)
{
	return rnd(3) ? any_reg() : TW_NOREG;
}

static int64_t any_disp(void)
{
	static const int64_t far[] = {0x7fffffff, -0x80000000ll, 0x123456789ab, -0x123456789abcdef0, 0x40000000, -0x40000001};
	return rnd(8) ? (int64_t)rnd(400) - 200 : far[rnd(6)];
}

/* ---- random fragments ---- */

/* What every fragment may have, loops too. */
static struct tw_op common_op(void)
{
	static const uint8_t flags[] = {0, 0, 0, TW_OPF_ADDR32, TW_OPF_INDEX8, TW_OPF_LINE};
	struct tw_op op = {
	    .base = any_reg_or_none(),
	    .index = any_reg_or_none(),
	    .scale = (uint8_t)rnd(4),
	    .seg = (uint8_t)rnd(TW_NSEGS),
	    .type = (uint8_t)(1 + rnd(3)),
	    .size = 1u << rnd(4),
	    .count = any_reg(),
	    .disp = any_disp(),
	    .flags = flags[rnd(6)],
	};
	uint32_t kind = rnd(10);
	op.kind = kind < 4 ? TW_OP_REF : kind < 7 ? TW_OP_SET : kind < 9 ? TW_OP_CALC : TW_OP_BIT;
	if (op.kind == TW_OP_CALC) {
		op.type = (uint8_t)rnd(TW_NCALCS);
		op.flags &= TW_OPF_ADDR32;
	} else if (op.kind == TW_OP_BIT || op.kind == TW_OP_SET) {
		op.flags &= (uint8_t)~TW_OPF_LINE;
	}
	return op;
}

static struct tw_op move_op(void)
{
	return (struct tw_op){.kind = rnd(3) ? TW_OP_SET : TW_OP_REF,
	                      .base = any_reg(),
	                      .index = TW_NOREG,
	                      .type = TW_READ,
	                      .size = 8,
	                      .count = any_reg(),
	                      .disp = any_disp()};
}

/* What takes values, of which there are 4. */
static struct tw_op value_op(void)
{
	struct tw_op op = {.base = any_reg(), .index = TW_NOREG, .type = (uint8_t)(1 + rnd(3)), .size = 4, .value = (uint16_t)rnd(4)};
	switch (rnd(8)) {
	case 0:
		op.kind = TW_OP_REP;
		op.base = TW_RDI;
		op.mask_value = (uint16_t)rnd(4);
		if (rnd(2)) {
			op.base = TW_RSI;
			op.index = TW_RDI;
			op.flags = TW_OPF_SECOND;
			op.count = TW_WRITE;
		}
		break;
	case 1:
		op.kind = TW_OP_LANES;
		op.count = (uint16_t)(rnd(4) ? 1 + rnd(16) : 64);
		op.size = 1u << rnd(5);
		op.index = rnd(2) ? TW_NOREG : any_reg();
		op.seg = rnd(4) ? TW_SEG_NONE : TW_SEG_FS;
		op.disp = any_disp();
		op.mask_value = (uint16_t)rnd(4);
		break;
	case 2:
		op.kind = TW_OP_XSAVE;
		break;
	default:
		op.kind = TW_OP_RECORD;
	}
	return op;
}

static struct tw_descriptor *random_descriptor(uint32_t number)
{
	struct tw_op ops[MAX_OPS];
	struct made_fragment f = {.number = number, .pc = 0x400000 + 0x1000ull * number, .ops = ops, .format = TW_FORMAT_DEP};
	int loop = rnd(4) == 0;
	unsigned n_insns = 0, n_blocks = 1 + rnd(4);
	for (unsigned b = 0; b < n_blocks; b++)
		n_insns += f.insns[b] = (uint16_t)(1 + rnd(6));
	f.n_values = loop ? 1 : rnd(4) ? 4 : 0;
	f.n_ops = (uint16_t)rnd(rnd(2) ? 6 : MAX_OPS);
	int moves = rnd(3) == 0; /* many registers that are others plus constants */
	for (unsigned i = 0; i < f.n_ops; i++) {
		ops[i] = moves ? move_op() : !loop && f.n_values && rnd(3) == 0 ? value_op() : common_op();
		ops[i].insn = (uint8_t)(i * n_insns / f.n_ops);
	}
	struct tw_descriptor *d = make_descriptor(&f);
	d->flags = loop ? TW_DESC_LOOP : 0;
	for (unsigned b = 0; b < n_blocks; b++)
		((struct tw_block *)tw_descriptor_blocks(d))[b].end = (uint8_t)(rnd(2) ? TW_END_CALL : TW_END_RETURN);
	return d;
}

/* ---- what comes out ---- */

struct result {
	uint64_t hash, refs, blocks, reads, writes;
	enum tw_addresses addresses; /* those that are looked at */
};

static void fold(struct result *r, const void *bytes, size_t n)
{
	for (size_t at = 0; at < n; at += sizeof(uint64_t)) {
		uint64_t word = 0;
		memcpy(&word, (const uint8_t *)bytes + at, n - at < sizeof word ? n - at : sizeof word);
		r->hash = (r->hash ^ word ^ r->hash >> 31) * 0x9e3779b97f4a7c15u;
	}
}

static int is_looked_at(const struct result *r, const struct tw_stretch *s, uint32_t ref)
{
	return r->addresses == TW_ADDRESSES_ALL || (r->addresses == TW_ADDRESSES_OF_CALLS && tw_slot_is(s, ref));
}

/* Of references, by their stretches. */
static void fold_addresses(struct result *r, const struct tw_batch *b)
{
	const uint64_t *addr = b->addr;
	for (size_t i = 0; i < b->n_stretches; addr += b->stretches[i++]->n_refs)
		for (uint32_t k = 0; k < b->stretches[i]->n_refs; k++)
			if (is_looked_at(r, b->stretches[i], k))
				fold(r, &addr[k], sizeof addr[k]);
}

/* References with the block each is of, and blocks; whatever the batches are. */
static int take(void *context, const struct tw_batch *b)
{
	struct result *r = context;
	uint64_t insns = 0, executions = 0, reads = 0, writes = 0;
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	const struct tw_ref *refs = tw_batch_refs(b);
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct tw_block_run *run = &blocks[i];
		size_t end = i + 1 < b->n_blocks ? run[1].first_ref : b->n_refs;
		if (run->n_insns) {
			fold(r, &run->pc, sizeof run->pc);
			fold(r, &run->descriptor->number, sizeof run->descriptor->number);
			fold(r, &run->block, sizeof run->block + sizeof run->n_insns);
		}
		insns += run->n_insns;
		executions += run->n_insns != 0;
		for (size_t k = run->first_ref; k < end; k++) {
			struct tw_ref ref = refs[k];
			ref.addr = r->addresses == TW_ADDRESSES_ALL ? ref.addr : 0;
			fold(r, &ref, sizeof ref);
			reads += refs[k].type & 1;
			writes += refs[k].type >> 1;
		}
	}
	if (r->addresses != TW_ADDRESSES_ALL)
		fold_addresses(r, b);
	EQUAL(b->n_reads, reads);
	EQUAL(b->n_writes, writes);
	EQUAL(b->n_insns, insns);
	EQUAL(b->n_blocks - b->n_continued, executions);
	EQUAL(b->first_ref, r->refs);
	EQUAL(b->first_block, r->blocks);
	r->refs += b->n_refs;
	r->reads += reads;
	r->writes += writes;
	r->blocks += executions;
	return 0;
}

static const struct tw_xstate xstate = {.xcr0 = 7, .component = {[2] = {576, 256, 0, 0}}};

/* The M section of a chunk; n bytes. at NULL: values as they are. */
struct section {
	uint8_t *at;
	size_t n;
};

/* Walks the chunk twice, the second time with the code that the first has made. */
static int walk_twice(struct tw_programs *p, const struct made_chunk *k, struct section section, struct result *r,
                      struct tw_walk_counts *counts)
{
	struct tw_walk *w = tw_walk_new(&(struct tw_walk_options){.programs = p, .xstate = &xstate, .batch = take, .context = r});
	int error = 0;
	for (int i = 0; i < 2; i++) {
		*r = (struct result){.hash = 1, .addresses = r->addresses};
		const int again =
		    section.at ? tw_walk_coded(w, &k->chunk, section.at, section.n, counts) : tw_walk_chunk(w, &k->chunk, counts);
		EQUAL(i ? error : again, again); /* whether there is code from the beginning on, or not */
		error = again;
	}
	tw_walk_free(w);
	return error;
}

/* ---- what is counted ---- */

/* What a chunk's executions amount to in any order, and the lines that each period touched. */
struct touched {
	uint64_t period, line;
};

struct tally {
	uint64_t period; /* its length */
	int marks;       /* lines are wanted */
	uint64_t executions, refs, odd, insns;
	struct touched *touched;
	size_t n, room;
	uint64_t end; /* of the last batch */
};

static uint64_t hash_of(const void *bytes, size_t n)
{
	struct result r = {.hash = 1};
	fold(&r, bytes, n);
	return r.hash;
}

static void touch(struct tally *t, uint64_t period, uint64_t line)
{
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->touched = realloc(t->touched, t->room * sizeof *t->touched);
	}
	t->touched[t->n++] = (struct touched){period, line % (1ull << TW_COUNTED_LINE_BITS)};
}

static int is_odd(uint64_t addr, uint32_t size)
{
	return !size || size > 64 || (size & (size - 1)) || addr % size;
}

static void tally_ref(struct tally *t, const struct tw_ref_shape *shape, uint64_t addr, uint64_t period)
{
	const uint64_t last = shape->size ? addr + shape->size - 1 : addr;
	if (is_odd(addr, shape->size))
		t->odd += hash_of(shape, sizeof *shape) * hash_of(&addr, sizeof addr);
	if (!t->marks)
		return;
	for (uint64_t line = addr >> TW_COUNTED_LINE; line <= last >> TW_COUNTED_LINE; line++)
		touch(t, period, line);
}

static void tally_block(struct tally *t, const struct tw_block_run *run, uint64_t times)
{
	if (run->n_insns)
		t->executions += times * (run->pc ^ hash_of(&run->n_insns, sizeof run->n_insns)) * (run->descriptor->number + run->block);
	t->insns += times * run->n_insns;
}

/* What a batch lists: a reference belongs to the period in which its block starts. */
static uint64_t tally_listed(struct tally *t, const struct tw_batch *b)
{
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	const struct tw_ref *refs = tw_batch_refs(b);
	uint64_t at = 0;
	for (size_t i = 0; i < b->n_blocks; at += blocks[i++].n_insns) {
		const uint64_t period = (b->first_insn + at) / t->period;
		const size_t end = i + 1 < b->n_blocks ? blocks[i + 1].first_ref : b->n_refs;
		tally_block(t, &blocks[i], 1);
		for (size_t k = blocks[i].first_ref; k < end; k++) {
			const struct tw_ref_shape shape = {
			    .pc = refs[k].pc, .size = refs[k].size, .insn = refs[k].insn, .type = refs[k].type};
			t->refs += hash_of(&shape, sizeof shape);
			tally_ref(t, &shape, refs[k].addr, period);
		}
	}
	return at;
}

static int take_tally(void *context, const struct tw_batch *b)
{
	struct tally *t = context;
	const uint64_t period = b->first_insn / t->period, listed = tally_listed(t, b);
	CHECK(listed == b->n_insns || (b->first_insn + b->n_insns - 1) / t->period == period);
	for (size_t i = 0; i < b->n_counted; i++) {
		const struct tw_stretch *s = b->counted[i].stretch;
		for (uint32_t k = 0; k < s->n_blocks; k++)
			tally_block(t, &s->blocks[k], b->counted[i].times);
		for (uint32_t k = 0; k < s->n_refs; k++)
			t->refs += b->counted[i].times * hash_of(&s->refs[k], sizeof s->refs[k]);
	}
	for (size_t i = 0; i < b->n_odd; i++)
		tally_ref(t, b->odd[i].shape, b->odd[i].addr, period);
	for (size_t i = 0; i < b->n_touched; i++)
		for (uint64_t lines = b->touched[i].lines; lines; lines &= lines - 1)
			touch(t, period, (b->touched[i].addr >> TW_COUNTED_LINE) + (unsigned)__builtin_ctzll(lines));
	CHECK(b->first_insn == t->end || !t->end);
	t->end = b->first_insn + b->n_insns;
	return 0;
}

static int by_period(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct touched));
}

/* Those touched, in one order, each once. */
static void sort_touched(struct tally *t)
{
	size_t n = 0;
	if (t->n)
		qsort(t->touched, t->n, sizeof *t->touched, by_period);
	for (size_t i = 0; i < t->n; i++)
		if (!i || by_period(&t->touched[i], &t->touched[n - 1]))
			t->touched[n++] = t->touched[i];
	t->n = n;
}

static int walk_tally(struct tw_programs *p, const struct made_chunk *k, struct section section, struct tally *t)
{
	const struct tw_walk_options options = {.programs = p, .xstate = &xstate, .batch = take_tally, .context = t, .period = t->period};
	struct tw_walk *w = tw_walk_new(&options);
	int error = 0;
	for (int i = 0; i < 2; i++) {
		*t = (struct tally){.period = t->period, .marks = t->marks, .touched = t->touched, .room = t->room};
		error = section.at ? tw_walk_coded(w, &k->chunk, section.at, section.n, NULL) : tw_walk_chunk(w, &k->chunk, NULL);
	}
	tw_walk_free(w);
	sort_touched(t);
	return error;
}

static struct tw_programs *programs_of(struct tw_descriptor *const *d, const struct tw_value_map *map, uint32_t hot,
                                       enum tw_addresses addresses)
{
	struct tw_programs *p = tw_programs_new(hot, map);
	tw_programs_set_addresses(p, addresses);
	for (unsigned i = 0; i < FRAGMENTS; i++)
		EQUAL(tw_programs_add(p, d[i]), 0);
	return p;
}

/* Code that computes only some addresses: the results are the same except for the others. */
static void compare_addresses(struct tw_descriptor *const *d, const struct tw_value_map *map, const struct made_chunk *k,
                              struct section section, enum tw_addresses addresses)
{
	struct tw_programs *all = programs_of(d, map, 1, TW_ADDRESSES_ALL), *some = programs_of(d, map, 1, addresses);
	struct result of_all = {.addresses = addresses}, of_some = {.addresses = addresses};
	int error = walk_twice(all, k, section, &of_all, NULL);
	EQUAL(walk_twice(some, k, section, &of_some, NULL), error);
	EQUAL(of_some.hash, of_all.hash);
	tw_programs_free(all);
	tw_programs_free(some);
}

/* A chunk that is only counted is good if it can be walked, and its header says what a walk has found. */
static void compare_counted(struct tw_descriptor *const *d, const struct tw_value_map *map, const struct made_chunk *k,
                            struct section section, const struct result *found, const struct tw_walk_counts *counts, int error)
{
	struct tw_count_map *of = tw_count_map_new((const struct tw_descriptor *const *)d, FRAGMENTS, map);
	struct tw_counter *c = tw_counter_new(of);
	struct tw_coded_chunk told = {.chunk = k->chunk, .values = section.at, .n_values = section.n};
	struct tw_chunk *chunk = &told.chunk;
	CHECK(c != NULL);
	EQUAL(tw_counter_holds(c, &told), 0); /* its header tells something else */
	chunk->insns = counts->insns;
	chunk->blocks = counts->blocks;
	chunk->refs = counts->refs;
	chunk->reads = found->reads;
	chunk->writes = found->writes;
	for (int i = 0; i < 2; i++)
		EQUAL(tw_counter_holds(c, &told), !error);
	chunk->writes++;
	EQUAL(tw_counter_holds(c, &told), 0);
	tw_counter_free(c);
	tw_count_map_free(of);
}

/* Executions counted, or their lines marked: the same as going step by step. */
static void compare_tallies(struct tw_descriptor *const *d, const struct tw_value_map *map, const struct made_chunk *k,
                            struct section section, enum tw_addresses addresses)
{
	struct tw_programs *steps = programs_of(d, map, 0, TW_ADDRESSES_ALL), *code = programs_of(d, map, 1, addresses);
	const uint64_t period = rnd(3) ? 1100 + rnd(20000) : 1u << 30;
	const int marks = addresses == TW_ADDRESSES_LINES;
	struct tally by_steps = {.period = period, .marks = marks}, by_code = {.period = period, .marks = marks};
	const int error = walk_tally(steps, k, section, &by_steps), error_by_code = walk_tally(code, k, section, &by_code);
	if (error) /* a string instruction with more references than the header says: those of executions that are counted are not known */
		goto done;
	EQUAL(error_by_code, 0);
	EQUAL(by_code.end, by_steps.end);
	EQUAL(by_code.odd, by_steps.odd);
	if (!marks) {
		EQUAL(by_code.executions, by_steps.executions);
		EQUAL(by_code.refs, by_steps.refs);
		EQUAL(by_code.insns, by_steps.insns);
	} else {
		EQUAL(by_code.n, by_steps.n);
		CHECK(by_code.n != by_steps.n || !memcmp(by_code.touched, by_steps.touched, by_code.n * sizeof *by_code.touched));
	}
done:
	free(by_steps.touched);
	free(by_code.touched);
	tw_programs_free(steps);
	tw_programs_free(code);
}

/* Step by step and as machine code: the same comes out, which is left in *r. Returns the error there was. */
static int compare(struct tw_descriptor *const *d, const struct tw_value_map *map, const struct made_chunk *k, struct section section,
                   struct result *r)
{
	struct tw_programs *steps = programs_of(d, map, 0, TW_ADDRESSES_ALL), *code = programs_of(d, map, 1, TW_ADDRESSES_ALL);
	struct tw_walk_counts counts = {0}, code_counts = {0};
	struct result by_code = {0};
	CHECK(tw_programs_code(code) != NULL);
	*r = (struct result){0};
	int error = walk_twice(steps, k, section, r, &counts);
	EQUAL(walk_twice(code, k, section, &by_code, &code_counts), error);
	EQUAL(by_code.hash, r->hash);
	EQUAL(by_code.refs, r->refs);
	EQUAL(code_counts.insns, counts.insns);
	EQUAL(code_counts.blocks, counts.blocks);
	EQUAL(code_counts.refs, counts.refs);
	if (section.at)
		compare_counted(d, map, k, section, r, &counts, error);
	tw_programs_free(steps);
	tw_programs_free(code);
	return error;
}

/* ---- chunks ---- */

/* Values that keep string instructions short, and whose lowest bits are masks as they often are; and others. */
static uint64_t any_value(void)
{
	return rnd(5000) ? 0x10000 + (rnd(2) ? 4 * rnd(16) : (1u << rnd(rnd(16) ? 6 : 10)) - 1)
	       : rnd(2)  ? ~0ull - rnd(100)
	                 : (uint64_t)rnd(1u << 31) << 16;
}

/* Values that are predicted in one way or another, most of the time. */
static uint64_t regular_value(unsigned fragment, unsigned v)
{
	static const uint64_t chain[] = {0x10000, 0x10030, 0x10010, 0x10020, 0x10038};
	static uint64_t at[FRAGMENTS][4];
	uint64_t *a = &at[fragment % FRAGMENTS][v % 4];
	if (rnd(20) == 0)
		return any_value();
	switch ((fragment + v) % 3) {
	case 0:
		return 0x10000 + (*a += 8) % 64;
	case 1:
		return chain[++*a % 5];
	default:
		return 0x10008 + 8 * (rnd(100) == 0);
	}
}

static void put_execution(struct made_chunk *k, const struct tw_descriptor *d, int regular)
{
	static uint32_t upper;
	if (k->chunk.n_c == 1)
		upper = 0;
	if (d->number >> 16 != upper) {
		upper = d->number >> 16;
		put_tag(k, TW_TAG_UPPER);
		put_tag(k, (uint16_t)upper);
	}
	put_tag(k, (uint16_t)d->number);
	if (d->flags & TW_DESC_LOOP)
		put_value(k, rnd(50) ? rnd(9) : rnd(9000));
	else
		for (unsigned v = 0; v < d->n_values; v++)
			put_value(k, regular ? regular_value(d->number & 0xffff, v) : any_value());
}

/* The next execution stops early. */
static void put_partial(struct made_chunk *k)
{
	struct tw_partial partial = {.insns = rnd(8), .in_rep = rnd(4) == 0};
	for (unsigned i = 0; i < TW_NREGS; i++)
		partial.regs[i] = 0x10000 + 4 * rnd(16);
	put_event(k, TW_EVENT_PARTIAL, &partial, sizeof partial);
}

static struct made_chunk *random_chunk(struct tw_descriptor *const *d)
{
	struct made_chunk *k = make_chunk();
	int regular = rnd(2) != 0;
	put_keyframe(k, 0);
	while (k->chunk.n_c < TAGS && k->chunk.n_m < MADE_M - 8) {
		if (rnd(1000) == 0)
			put_partial(k);
		put_execution(k, d[rnd(rnd(3) ? FRAGMENTS : 2)], regular);
	}
	k->chunk.insns = rnd(8) ? 1ull << 40 : 5000;
	k->chunk.refs = rnd(8) ? 1u << 18 : 5000; /* bounds what a string instruction may do */
	return k;
}

/* Something in it is wrong: both ways say so at the same place. */
static void test_damage(struct tw_descriptor *const *d, const struct tw_value_map *map, struct made_chunk *k, struct section section)
{
	struct result r;
	struct section damaged = {malloc(section.n), section.n};
	memcpy(damaged.at, section.at, section.n);
	damaged.at[24 + rnd((uint32_t)section.n - 24)] ^= (uint8_t)(1 + rnd(255));
	compare(d, map, k, damaged, &r);
	free(damaged.at);
	k->c[1 + rnd((uint32_t)k->chunk.n_c - 1)] ^= (uint16_t)(1 << rnd(16));
	compare(d, NULL, k, (struct section){0}, &r);
	compare(d, map, k, section, &r);
}

static void test_round(void)
{
	struct tw_descriptor *d[FRAGMENTS];
	struct tw_value_map *map = tw_value_map_new(0);
	struct tw_encoder *encoder = tw_encoder_new(map, NULL);
	struct tw_bytes bytes = {0};
	struct result plain, decoded;
	for (unsigned i = 0; i < FRAGMENTS; i++) {
		d[i] = random_descriptor((i < FRAGMENTS / 2 ? 0 : 0x10000) + 16 + i);
		EQUAL(tw_value_map_add(map, NULL, d[i]), 0);
	}
	struct made_chunk *k = random_chunk(d);
	tw_encoder_begin(encoder, k->chunk.upper, TW_NO_THREAD);
	EQUAL(tw_encoder_add(encoder, &k->chunk), 0);
	EQUAL(tw_encoder_end(encoder), 0);
	EQUAL(tw_coded_section(tw_encoder_coded(encoder), TW_STREAM_M, &bytes), 0);
	struct section section = {bytes.at, bytes.n};
	EQUAL(compare(d, NULL, k, (struct section){0}, &plain), compare(d, map, k, section, &decoded));
	EQUAL(plain.hash, decoded.hash);
	compare_addresses(d, map, k, section, TW_ADDRESSES_OF_CALLS);
	compare_addresses(d, map, k, section, TW_ADDRESSES_NONE);
	const enum tw_addresses how = rnd(2) && tw_counted_can_mark(1) ? TW_ADDRESSES_LINES : TW_ADDRESSES_COUNTED;
	if (rnd(2))
		compare_tallies(d, map, k, section, how);
	else
		compare_tallies(d, NULL, k, (struct section){0}, how);
	test_damage(d, map, k, section);
	free(bytes.at);
	tw_encoder_free(encoder);
	tw_value_map_free(map);
	free(k);
	for (unsigned i = 0; i < FRAGMENTS; i++)
		free(d[i]);
}

/* A loop that runs so often in a row that code is made of it at once; or none can be made of it, since it is too long. */
static void test_long_loop(uint16_t n_insns, int has_code)
{
	struct tw_op ops[] = {move_op(), move_op()};
	struct made_fragment f = {.number = 16, .pc = 0x400000, .ops = ops, .n_ops = 2, .n_values = 1, .format = TW_FORMAT_DEP};
	f.insns[0] = n_insns;
	struct tw_descriptor *d = make_descriptor(&f);
	d->flags = TW_DESC_LOOP;
	struct made_chunk *k = make_chunk();
	struct tw_programs *steps = tw_programs_new(0, NULL), *code = tw_programs_new(1u << 20, NULL);
	struct result by_steps = {0}, by_code = {0};
	EQUAL(tw_programs_add(steps, d), 0);
	EQUAL(tw_programs_add(code, d), 0);
	put_keyframe(k, 0);
	for (int i = 0; i < 3; i++) {
		put_tag(k, 16);
		put_value(k, i == 1 ? 7 : 20000);
	}
	k->chunk.insns = 1ull << 40;
	EQUAL(walk_twice(steps, k, (struct section){0}, &by_steps, NULL), 0);
	EQUAL(walk_twice(code, k, (struct section){0}, &by_code, NULL), 0);
	EQUAL(by_code.blocks, 40007);
	EQUAL(by_code.hash, by_steps.hash);
	EQUAL(tw_code_has(tw_programs_code(code), 16), has_code);
	tw_programs_free(steps);
	tw_programs_free(code);
	free(k);
	free(d);
}

int main(void)
{
	test_long_loop(3, 1);
	test_long_loop(TW_CODE_INSNS + 1, 0);
	for (int round = 0; round < ROUNDS && !unit_failed; round++)
		test_round();
	return UNIT_END();
}
