/*
 * Descriptors and buffers built by hand, for the unit tests of channel and recording.
 */
#ifndef TW_UNIT_FRAGMENT_H
#define TW_UNIT_FRAGMENT_H

#include <stdlib.h>
#include <string.h>
#include "base/channel.h"

/* One block of `n_insns` instructions of 4 bytes at `pc`, with these operations. The caller frees it. */
static inline struct tw_descriptor *unit_descriptor(uint32_t number, uint16_t n_insns, uint16_t n_values, const struct tw_op *ops,
                                                    uint16_t n_ops)
{
	uint32_t bytes = tw_descriptor_size(1, n_ops, n_insns, 0);
	struct tw_descriptor *d = calloc(1, bytes);
	d->number = number;
	d->bytes = bytes;
	d->n_blocks = 1;
	d->n_ops = n_ops;
	d->n_insns = n_insns;
	d->n_values = n_values;
	struct tw_block *b = (struct tw_block *)tw_descriptor_blocks(d);
	b->pc = 0x1000 + (uint64_t)number * 64;
	b->n_insns = n_insns;
	b->bytes = (uint16_t)(n_insns * 4);
	if (n_ops)
		memcpy((void *)tw_descriptor_ops(d), ops, n_ops * sizeof *ops);
	memset((void *)tw_descriptor_insn_bytes(d), 4, n_insns);
	for (int i = 0; i < n_ops; i++)
		if (ops[i].kind == TW_OP_REP || ops[i].kind == TW_OP_LANES)
			d->flags = TW_DESC_DYNAMIC;
	return d;
}

/* A place in a buffer that records are appended to. */
struct unit_buffer {
	uint8_t *p;
};

static inline void unit_put(struct unit_buffer *b, const void *bytes, size_t n)
{
	memcpy(b->p, bytes, n);
	b->p += n;
}

static inline void unit_tag(struct unit_buffer *b, uint16_t tag)
{
	unit_put(b, &tag, 2);
}

static inline void unit_value(struct unit_buffer *b, uint64_t value)
{
	unit_put(b, &value, 8);
}

static inline void unit_event(struct unit_buffer *b, uint16_t type, const void *payload, uint32_t n)
{
	struct tw_event_header h = {TW_TAG_EVENT, type, n};
	unit_put(b, &h, sizeof h);
	unit_put(b, payload, n);
}

static inline void unit_keyframe(struct unit_buffer *b, uint32_t upper)
{
	struct tw_keyframe k = {.upper = upper};
	unit_event(b, TW_EVENT_KEYFRAME, &k, sizeof k);
}

#endif
