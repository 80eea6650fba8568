/*
 * Hand-made descriptors and chunks, for unit tests of what replays them. Everything made here lives until the test ends.
 */
#ifndef TW_TEST_CHUNK_H
#define TW_TEST_CHUNK_H

#include "base/channel.h"
#include "replay/walk.h"

#include <stdlib.h>
#include <string.h>

enum { MADE_C = 4096, MADE_M = 4096, MADE_E = 1 << 16, MADE_DESCRIPTORS = 256 };

/* Descriptors made so far: kept, since programs point into them. */
static struct tw_descriptor *made[MADE_DESCRIPTORS];
static unsigned n_made;

/* A chunk under construction; its counts are the test's to set. */
struct made_chunk {
	struct tw_chunk chunk;
	uint16_t c[MADE_C];
	uint64_t m[MADE_M];
	_Alignas(8) uint8_t e[MADE_E];
};

static inline struct made_chunk *make_chunk(void)
{
	struct made_chunk *k = calloc(1, sizeof *k);
	k->chunk.c = k->c;
	k->chunk.m = k->m;
	k->chunk.e = k->e;
	return k;
}

static inline void put_tag(struct made_chunk *k, uint16_t tag)
{
	k->c[k->chunk.n_c++] = tag;
}

static inline void put_value(struct made_chunk *k, uint64_t value)
{
	k->m[k->chunk.n_m++] = value;
}

/* An event with two pieces of payload. */
static inline void put_event2(struct made_chunk *k, uint16_t type, const void *a, size_t n_a, const void *b, size_t n_b)
{
	struct tw_event_header h = {TW_TAG_EVENT, type, (uint32_t)(n_a + n_b)};
	uint8_t *to = k->e + k->chunk.n_e;
	put_tag(k, TW_TAG_EVENT);
	memcpy(to, &h, sizeof h);
	if (n_a)
		memcpy(to + sizeof h, a, n_a);
	if (n_b)
		memcpy(to + sizeof h + n_a, b, n_b);
	k->chunk.n_e += (sizeof h + n_a + n_b + 7) & ~(size_t)7;
}

static inline void put_event(struct made_chunk *k, uint16_t type, const void *payload, size_t n)
{
	put_event2(k, type, payload, n, NULL, 0);
}

/* A keyframe in which register r is 0x1000 * (r + 1), fs 0x700000, gs 0x800000. */
static inline void put_keyframe(struct made_chunk *k, uint32_t upper)
{
	struct tw_keyframe f = {.upper = upper, .seg_base = {0, 0x700000, 0x800000}};
	for (unsigned r = 0; r < TW_NREGS; r++)
		f.regs[r] = 0x1000 * (r + 1);
	put_event(k, TW_EVENT_KEYFRAME, &f, sizeof f);
}

static inline void put_refs(struct made_chunk *k, uint64_t pc, const struct tw_logged_ref *refs, uint32_t n)
{
	struct tw_refs head = {.pc = pc, .n = n};
	put_event2(k, TW_EVENT_REFS, &head, sizeof head, refs, n * sizeof *refs);
}

/* What a descriptor is made of. Blocks are adjacent, every instruction has 4 bytes, all of them NOPs. */
struct made_fragment {
	uint32_t number;
	uint64_t pc;
	uint16_t insns[4]; /* of each block, ended by 0 */
	const struct tw_op *ops;
	uint16_t n_ops, n_values;
	uint8_t format;
};

static inline struct tw_descriptor *make_descriptor(const struct made_fragment *f)
{
	uint16_t n_blocks = 0, n_insns = 0;
	while (n_blocks < 4 && f->insns[n_blocks])
		n_insns = (uint16_t)(n_insns + f->insns[n_blocks++]);
	uint32_t bytes = tw_descriptor_size(n_blocks, f->n_ops, n_insns, n_insns * 4u);
	struct tw_descriptor *d = made[n_made++ % MADE_DESCRIPTORS] = calloc(1, bytes);
	*d = (struct tw_descriptor){.number = f->number,
	                            .bytes = bytes,
	                            .n_blocks = n_blocks,
	                            .n_ops = f->n_ops,
	                            .n_insns = n_insns,
	                            .n_values = f->n_values,
	                            .code_bytes = (uint16_t)(n_insns * 4),
	                            .format = f->format};
	struct tw_block *b = (struct tw_block *)(d + 1);
	for (unsigned i = 0, insn = 0; i < n_blocks; insn += f->insns[i++])
		b[i] = (struct tw_block){
		    .pc = f->pc + 4 * insn, .first_insn = (uint16_t)insn, .n_insns = f->insns[i], .bytes = (uint16_t)(4 * f->insns[i])};
	if (f->n_ops)
		memcpy(b + n_blocks, f->ops, f->n_ops * sizeof *f->ops);
	uint8_t *lengths = (uint8_t *)((struct tw_op *)(b + n_blocks) + f->n_ops);
	memset(lengths, 4, n_insns);
	for (unsigned i = 0; i < n_insns; i++)
		memcpy(lengths + n_insns + 4 * i, "\x0f\x1f\x40", 4);
	return d;
}

#endif
