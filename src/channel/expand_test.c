/* From the tagged form and from bits to the plain form, which is read here by the demultiplexer. */
#include "channel/expand.h"
#include "recording/recording.h"
#include "unit.h"
#include "unit_fragment.h"

/* Fragments of the tagged form, with their tags. WRITES makes rax UPDATED at its end, AGAIN between two tests of it; ZERO's tag has a lower half of 0. */
enum { NONE = 0x10010, WRITES = 0x10011, TWO = 0x10012, AGAIN = 0x10013, ZERO = 0x20010, HIGH = 0x20, TAGS = HIGH << 16 };

/* Blocks of code that lie behind each other, 64 bytes each. */
enum { HEAD = 0x30010, RETURN, LANDING, TICKS, LAST, UPPER_BITS = HEAD >> 16 };

static struct tw_expand *expand;
static struct tw_demux *demux;
static uint8_t *data, *slack;
static struct unit_buffer to;
static struct tw_chunk chunk;
static _Alignas(8) uint8_t descriptors[1 << 14];
static uint64_t n_descriptors;

/* ---- setting up ---- */

static void add(struct tw_descriptor *d, uint32_t format)
{
	d->format = (uint8_t)format;
	memcpy(descriptors + n_descriptors, d, d->bytes);
	n_descriptors += d->bytes;
	free(d);
}

static void add_tagged(uint32_t number, uint32_t tag, uint16_t n_values, const struct tw_op *op, uint16_t n_ops)
{
	struct tw_descriptor *d = unit_descriptor(number, 2, n_values, op, n_ops);
	d->tag = tag;
	add(d, TW_FORMAT_DEP06);
}

static void make_tagged(void)
{
	const struct tw_op ops[] = {
	    {.kind = TW_OP_RECORD, .base = TW_RAX, .index = TW_NOREG, .value = 0},
	    {.kind = TW_OP_RECORD, .base = TW_RBX, .index = TW_NOREG, .value = 1},
	};
	const struct tw_op writes[] = {
	    {.kind = TW_OP_RECORD, .base = TW_RAX, .index = TW_NOREG, .value = 0},
	    {.kind = TW_OP_WRITTEN, .insn = 1, .base = TW_NOREG, .index = TW_NOREG, .count = 1 << TW_RAX},
	};
	const struct tw_op again[] = {
	    {.kind = TW_OP_RECORD, .base = TW_RAX, .index = TW_NOREG, .value = 0},
	    {.kind = TW_OP_WRITTEN, .base = TW_NOREG, .index = TW_NOREG, .count = 1 << TW_RAX},
	    {.kind = TW_OP_RECORD, .insn = 1, .base = TW_RAX, .index = TW_NOREG, .value = 1},
	};
	add_tagged(NONE, TAGS | 0x40, 0, NULL, 0);
	add_tagged(WRITES, TAGS | 0x80, 1, writes, 2);
	add_tagged(TWO, TAGS | 0xc0, 2, ops, 2);
	add_tagged(AGAIN, TAGS | 0x100, 2, again, 3);
	add_tagged(ZERO, TAGS + 0x10000, 0, NULL, 0);
}

static uint64_t pc_of(uint32_t number)
{
	return 0x1000 + (uint64_t)number * 64;
}

static void add_code(uint32_t number, uint8_t end, uint64_t target, uint8_t flags)
{
	struct tw_descriptor *d = unit_descriptor(number, 16, 0, NULL, 0);
	struct tw_block *b = (struct tw_block *)tw_descriptor_blocks(d);
	b->end = end;
	b->target = target;
	d->flags = flags;
	d->tag = (uint32_t)b->pc;
	add(d, TW_FORMAT_CF_BIT);
}

static void make_code(void)
{
	add_code(HEAD, TW_END_COND, pc_of(HEAD), 0);
	add_code(RETURN, TW_END_RETURN, 0, 0);
	add_code(LANDING, TW_END_FALL, 0, 0);
	add_code(TICKS, TW_END_FALL, 0, TW_DESC_TICK);
	add_code(LAST, TW_END_SYSCALL, 0, 0);
}

static void set_up(uint32_t format, void (*make)(void), int count_only)
{
	uint64_t used;
	n_descriptors = 0;
	make();
	expand = tw_expand_new(format, 0, count_only);
	demux = tw_demux_new(0);
	EQUAL(tw_demux_descriptors(demux, descriptors, n_descriptors, &used), TW_OK);
	EQUAL(tw_expand_descriptors(expand, descriptors, n_descriptors), TW_OK);
}

static void tear_down(void)
{
	tw_expand_free(expand);
	tw_demux_free(demux);
}

/* ---- buffers ---- */

static void put32(uint32_t v)
{
	unit_put(&to, &v, sizeof v);
}

static void begin_tagged(void)
{
	memset(data, 0, TW_BUFFER_BYTES);
	to.p = data;
	unit_tag(&to, TW_ESCAPE_NONE);
	unit_keyframe(&to, HIGH);
}

static void begin_bits(void)
{
	memset(data, 0, TW_BUFFER_BYTES);
	to.p = data;
	unit_keyframe(&to, 0);
}

/* The walk begins at HEAD, with this group of bits. */
static void start_walk(uint32_t group)
{
	put32(TW_MARK_START);
	put32((uint32_t)pc_of(HEAD));
	put32(group);
}

static void stop_walk(uint64_t pc)
{
	put32(TW_MARK_STOP);
	put32(0);
	unit_value(&to, pc);
}

/* Expands the buffer into one piece and that into `chunk`. Returns the first error. */
static int run(int torn, uint32_t slack_end)
{
	struct tw_demux_input in = {.data = data, .slack = slack, .bytes = (uint32_t)(to.p - data), .slack_end = slack_end};
	struct tw_demux_input piece;
	int last = 0, error;
	if (torn)
		in.bytes = TW_BUFFER_BYTES;
	tw_expand_begin(expand, &in, torn);
	int more = tw_expand_next(expand, &piece, &last);
	if (more != 1)
		return more;
	error = tw_demux_buffer(demux, &piece, &chunk);
	return error ? error : !last;
}

/* The fragments in the chunk are these. */
static void ran(const uint32_t *number, unsigned n)
{
	uint32_t upper = chunk.upper;
	unsigned found = 0;
	for (size_t i = 0; i < chunk.n_c; i++) {
		if (chunk.c[i] == TW_TAG_UPPER)
			upper = chunk.c[++i];
		if (chunk.c[i] < TW_TAG_FIRST)
			continue;
		if (found < n)
			EQUAL(upper << 16 | chunk.c[i], number[found]);
		found++;
	}
	EQUAL(found, n);
}

#define RAN(...) ran((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* ---- the tagged form ---- */

/* Values are in the buffer if the status of their register is UPDATED, and are the earlier ones if it is RECORDED. */
static void statuses(void)
{
	const uint64_t expected[] = {1, 2, 5, 2, 5, 2, 5, 2, 6, 6, 7};
	set_up(TW_FORMAT_DEP06, make_tagged, 0);
	begin_tagged();
	unit_tag(&to, 0x80); /* rax, as all at the keyframe, and written in it */
	unit_value(&to, 1);
	unit_tag(&to, 0x40);
	unit_tag(&to, 0xc0); /* rax again; rbx */
	unit_value(&to, 2);
	unit_value(&to, 5);
	unit_tag(&to, 0xc0); /* neither */
	unit_tag(&to, 0xc0);
	unit_tag(&to, 0x100); /* the second one, each time */
	unit_value(&to, 6);
	unit_tag(&to, 0x100);
	unit_value(&to, 7);
	EQUAL(run(0, 0), 0);
	RAN(WRITES, NONE, TWO, TWO, TWO, AGAIN, AGAIN);
	EQUAL(chunk.n_m, sizeof expected / sizeof *expected);
	CHECK(!memcmp(chunk.m, expected, sizeof expected));
	EQUAL(tw_expand_used(expand), to.p - data);
	tear_down();
}

static void escapes(void)
{
	set_up(TW_FORMAT_DEP06, make_tagged, 0);
	begin_tagged();
	unit_tag(&to, 0);
	unit_tag(&to, TW_ESCAPE_ZERO);
	unit_tag(&to, HIGH + 1);
	unit_tag(&to, 0);
	unit_tag(&to, HIGH);
	unit_tag(&to, 0x40);
	EQUAL(run(0, 0), 0);
	RAN(ZERO, NONE);
	unit_tag(&to, 0x41);
	EQUAL(run(0, 0), TW_ERR_FRAGMENT);
	to.p -= 2;
	unit_tag(&to, 0);
	unit_tag(&to, 7);
	EQUAL(run(0, 0), TW_ERR_STREAM);
	tear_down();
}

/* A block that stopped after its first instruction is the last of its buffer. */
static void stopped(void)
{
	struct tw_partial partial = {.insns = 1};
	set_up(TW_FORMAT_DEP06, make_tagged, 0);
	begin_tagged();
	unit_tag(&to, 0x80);
	unit_value(&to, 9);
	EQUAL(run(0, 0), 0);
	EQUAL(chunk.insns, 2);
	struct unit_buffer behind = {slack};
	unit_tag(&behind, TW_ESCAPE_NONE);
	unit_event(&behind, TW_EVENT_PARTIAL, &partial, sizeof partial);
	EQUAL(run(0, (uint32_t)(behind.p - slack)), 0);
	RAN(WRITES);
	EQUAL(chunk.insns, 1);
	EQUAL(chunk.n_m, 1);
	EQUAL(chunk.m[0], 9);
	EQUAL(run(0, 1), TW_ERR_STREAM);
	tear_down();
}

/* Of a torn buffer, a record at the end whose last value is 0 may not be whole. */
static void torn(void)
{
	set_up(TW_FORMAT_DEP06, make_tagged, 0);
	begin_tagged();
	unit_tag(&to, 0x40);
	unit_tag(&to, 0xc0);
	unit_value(&to, 3);
	unit_value(&to, 0);
	EQUAL(run(1, 0), 0);
	RAN(NONE);
	to.p -= 8;
	unit_value(&to, 4);
	EQUAL(run(1, 0), 0);
	RAN(NONE, TWO);
	tear_down();
}

/* A buffer of small records becomes several pieces, each with a keyframe; and counted alone, the same. */
static void pieces(void)
{
	enum { N = 300000 };
	struct tw_demux_input piece, in = {.data = data, .slack = slack};
	struct tw_totals counted = {0};
	uint64_t insns = 0;
	int last = 0, n = 0;
	for (int count_only = 0; count_only < 2; count_only++) {
		set_up(TW_FORMAT_DEP06, make_tagged, count_only);
		begin_tagged();
		unit_tag(&to, 0xc0);
		unit_value(&to, 3);
		unit_value(&to, 4);
		unit_tag(&to, 0x100);
		unit_value(&to, 5);
		for (int i = 0; i < N; i++)
			unit_tag(&to, i % 2 ? 0x40 : 0xc0);
		in.bytes = (uint32_t)(to.p - data);
		tw_expand_begin(expand, &in, 0);
		for (n = 0; tw_expand_next(expand, &piece, &last) == 1; n++) {
			EQUAL(tw_demux_buffer(demux, &piece, &chunk), TW_OK);
			EQUAL(chunk.c[0], TW_TAG_EVENT);
			insns += chunk.insns;
		}
		CHECK(last);
		CHECK(count_only ? n == 1 : n > 2);
		tw_expand_tally(expand, &counted);
		EQUAL(insns + counted.insns, 2 * (N + 2));
		insns = 0;
		tear_down();
	}
}

/* ---- bits ---- */

/* Two iterations of the loop, out of it, back to the target, and on to where the walk stops. */
static void walk(void)
{
	const uint64_t pc = pc_of(LAST) + 64;
	set_up(TW_FORMAT_CF_BIT, make_code, 0);
	begin_bits();
	start_walk(0x1c); /* 1 ahead; jumps twice, falls out, and a tick */
	put32((uint32_t)pc_of(LANDING));
	stop_walk(pc);
	EQUAL(run(0, 0), 0);
	RAN(HEAD, HEAD, HEAD, RETURN, LANDING, TICKS, LAST);
	EQUAL(chunk.insns, 7 * 16);
	tear_down();
}

/* 31 bits make a group; then the next is where it is needed. What does not fit into the data is in the slack. */
static void groups(void)
{
	set_up(TW_FORMAT_CF_BIT, make_code, 0);
	begin_bits();
	start_walk(UINT32_MAX);
	put32(3u); /* one more turn */
	stop_walk(pc_of(HEAD));
	EQUAL(run(0, 0), 0);
	EQUAL(chunk.insns, 32 * 16);
	uint8_t *end = to.p;
	memcpy(slack, end - 16, 16);
	to.p = end - 16;
	EQUAL(run(0, 16), 0);
	EQUAL(chunk.insns, 32 * 16);
	EQUAL(run(0, 0), TW_ERR_STREAM);
	tear_down();
}

/* What a killed thread left: the walk goes as far as its bits. */
static void torn_walk(void)
{
	set_up(TW_FORMAT_CF_BIT, make_code, 0);
	begin_bits();
	start_walk(0x7); /* jumps twice */
	EQUAL(run(1, 0), 0);
	RAN(HEAD, HEAD);
	tear_down();
}

/* ---- damage ---- */

/*
 * Whatever the buffer contains: an error or something that the demultiplexer can read, and no access out of bounds
 * (run this with ASAN=1).
 */
static void damage(uint32_t format, void (*make)(void), void (*begin)(void))
{
	uint64_t seed = 1;
	set_up(format, make, 0);
	for (unsigned i = 0; i < 3000; i++) {
		begin();
		for (unsigned k = 0; k < 40; k++) {
			static const uint16_t likely[] = {0, 1, 2, 3, 4, HIGH, HIGH + 1, 0x40, 0x80, 0xc0, UPPER_BITS, UINT16_MAX};
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			if (seed >> 60 == 0)
				put32((uint32_t)pc_of(HEAD + (seed >> 40) % 5));
			else
				unit_tag(&to, seed >> 63 ? (uint16_t)(seed >> 33) : likely[(seed >> 33) % 12]);
		}
		memcpy(slack, data + (seed >> 34) % 64, 400);
		int found = run(i % 3 == 0, i % 3 == 1 ? (uint32_t)(seed >> 50) % 400 : 0);
		CHECK(found == 0 || found == TW_ERR_FRAGMENT || found == TW_ERR_STREAM);
	}
	tear_down();
}

int main(void)
{
	data = calloc(1, TW_BUFFER_BYTES + 64);
	slack = calloc(1, TW_SLACK_BYTES);
	chunk.c = malloc(TW_DEMUX_C * sizeof *chunk.c);
	chunk.m = malloc(TW_DEMUX_M * sizeof *chunk.m);
	chunk.e = malloc(TW_DEMUX_E);
	statuses();
	escapes();
	stopped();
	torn();
	pieces();
	walk();
	groups();
	torn_walk();
	damage(TW_FORMAT_DEP06, make_tagged, begin_tagged);
	damage(TW_FORMAT_CF_BIT, make_code, begin_bits);
	tw_chunk_release(&chunk);
	free(data);
	free(slack);
	return UNIT_END();
}
