#include "replay/slots.h"

#include <trackway/descriptor.h>
#include <trackway/recording.h>

uint32_t tw_slot_find(const struct tw_ref_shape *refs, uint32_t first, uint32_t end, unsigned insn, uint8_t type)
{
	for (uint32_t i = end; i-- > first && refs[i].insn == insn;)
		if (refs[i].type == type)
			return i;
	return UINT32_MAX;
}

static const struct tw_block *block_of(const struct tw_block_run *run)
{
	return &tw_descriptor_blocks(run->descriptor)[run->block];
}

static int type_of_slot(const struct tw_block *b)
{
	switch (b->end) {
	case TW_END_CALL:
	case TW_END_ICALL:
		return TW_WRITE;
	case TW_END_RETURN:
		return TW_READ;
	default:
		return 0;
	}
}

uint32_t tw_slot_of_block(const struct tw_stretch *s, uint32_t block)
{
	const struct tw_block_run *run = &s->blocks[block];
	const struct tw_block *b = block_of(run);
	const int type = type_of_slot(b);
	const uint32_t end = block + 1 < s->n_blocks ? run[1].first_ref : s->n_refs;
	return type ? tw_slot_find(s->refs, run->first_ref, end, b->first_insn + b->n_insns - 1u, (uint8_t)type) : UINT32_MAX;
}

int tw_slot_is(const struct tw_stretch *s, uint32_t ref)
{
	const uint32_t lead = s->n_blocks ? s->blocks[0].first_ref : s->n_refs;
	uint32_t block = 0;
	if (ref < lead) {
		const unsigned insn = s->refs[lead - 1].insn;
		return ref == tw_slot_find(s->refs, 0, lead, insn, TW_READ) || ref == tw_slot_find(s->refs, 0, lead, insn, TW_WRITE);
	}
	while (block + 1 < s->n_blocks && s->blocks[block + 1].first_ref <= ref)
		block++;
	return ref == tw_slot_of_block(s, block);
}

uint32_t tw_slot_summary(const struct tw_stretch *s)
{
	uint32_t found = TW_SLOT_NONE;
	if (!s->n_blocks || s->blocks[0].first_ref)
		return TW_SLOT_ASK;
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const uint32_t slot = tw_slot_of_block(s, i);
		if (s->blocks[i].n_insns != block_of(&s->blocks[i])->n_insns || (slot != UINT32_MAX && found != TW_SLOT_NONE))
			return TW_SLOT_ASK;
		if (slot != UINT32_MAX)
			found = TW_SLOT_FIRST + slot;
	}
	return found;
}
