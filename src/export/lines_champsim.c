/* A thread's instructions as ChampSim's records. */
#include "analyze/batch_walk.h"
#include "export/lines_state.h"

/* Writes the record that waits: the next instruction is at this pc. */
static void tell_pc(struct tw_lines_state *s, uint64_t pc)
{
	struct tw_lines_waiting *w = &s->waiting;
	if (!w->has_first)
		w->first_pc = pc;
	w->has_first = 1;
	if (!w->is_there)
		return;
	if (w->not_taken)
		w->record.is_taken = pc && pc != w->not_taken;
	tw_text_put(&s->text, (const char *)&w->record, sizeof w->record);
	w->is_there = 0;
}

static void put_record(struct tw_lines_state *s, const struct tw_champsim_insn *insn, const struct tw_champsim_record *record)
{
	tell_pc(s, record->pc);
	s->waiting.record = *record;
	s->waiting.not_taken = insn->flags & TW_CHAMPSIM_CONDITIONAL ? record->pc + insn->length : 0;
	s->waiting.is_there = 1;
}

/* The references of one record, from `ref` on; returns the next one. */
static const struct tw_ref *take_refs(struct tw_champsim_record *record, const struct tw_champsim_insn *insn, const struct tw_ref *ref,
                                      const struct tw_ref *end)
{
	const unsigned number = ref < end ? ref->insn : 0;
	const unsigned most = !(insn->flags & TW_CHAMPSIM_REPEATED) ? UINT32_MAX : insn->flags & TW_CHAMPSIM_PAIRS ? 2 : 1;
	for (unsigned n = 0; n < most && ref < end && ref->insn == number && tw_champsim_add(record, ref); n++)
		ref++;
	return ref;
}

/* The records of one instruction, at least one; returns the reference after its own. */
static const struct tw_ref *put_records(struct tw_lines_state *s, const struct tw_champsim_insn *insn, uint64_t pc,
                                        const struct tw_ref *ref, const struct tw_ref *end, int is_visible)
{
	do {
		struct tw_champsim_record record = tw_champsim_record(insn, pc);
		ref = take_refs(&record, insn, ref, end);
		if (is_visible)
			put_record(s, insn, &record);
		else
			tell_pc(s, pc);
	} while (ref < end);
	return ref;
}

/* Where the references of this instruction end. */
static const struct tw_ref *refs_end(const struct tw_ref *ref, const struct tw_ref *end, unsigned number)
{
	while (ref < end && ref->insn == number)
		ref++;
	return ref;
}

/*
 * As put_piece: first the references that the instruction before the piece still makes, last those of one that did not
 * complete.
 */
static void put_champsim_piece(struct tw_lines_state *s, const struct tw_block_run *run, const struct tw_piece *piece,
                               const struct tw_ref *ref, const struct tw_ref *end)
{
	const struct tw_champsim_insn *insns = tw_champsim_insns(s->shared->champsim, run->descriptor);
	const struct tw_block *b = tw_descriptor_blocks(run->descriptor) + run->block;
	uint64_t pc = b->pc;
	for (unsigned i = b->first_insn; i < (unsigned)b->first_insn + b->n_insns && (i < piece->end || ref < end); i++) {
		const struct tw_ref *own_end = refs_end(ref, end, i);
		const int is_fresh = i >= piece->first && i < piece->end;
		const uint64_t position = piece->position + i - piece->first;
		if (is_fresh || ref < own_end)
			ref = put_records(s, &insns[i], pc, ref, own_end, tw_lines_visible(s, position));
		pc += insns[i].length;
	}
}

/* Where it goes on after a signal's handler, or that nothing was recorded. */
static void take_champsim_event(struct tw_lines_state *s, const struct tw_event *e)
{
	if (e->type == TW_EVENT_SIGNAL)
		tell_pc(s, ((const struct tw_signal *)e->payload)->pc);
	else if (tw_event_breaks(e->type))
		tell_pc(s, 0);
}

void tw_lines_champsim(struct tw_lines_state *s, const struct tw_batch *b, uint64_t base)
{
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	const struct tw_ref *refs = tw_batch_refs(b);
	uint64_t position = base + b->first_insn;
	struct tw_batch_walk walk = {.b = b};
	for (; walk.block <= b->n_blocks; walk.block++) {
		for (const struct tw_event *e; (e = tw_batch_walk_event(&walk));)
			take_champsim_event(s, e);
		if (walk.block == b->n_blocks)
			break;
		const struct tw_block_run *run = &blocks[walk.block];
		const size_t end = walk.block + 1 < b->n_blocks ? run[1].first_ref : b->n_refs;
		const struct tw_piece piece = tw_piece_of(&s->pieces, b, walk.block, position);
		put_champsim_piece(s, run, &piece, refs + run->first_ref, refs + end);
		position += run->n_insns;
	}
}

void tw_lines_champsim_merge(struct tw_lines_state *s, const struct tw_lines_state *later)
{
	if (!later->waiting.has_first)
		return;
	tell_pc(s, later->waiting.first_pc);
	s->waiting.record = later->waiting.record;
	s->waiting.not_taken = later->waiting.not_taken;
	s->waiting.is_there = later->waiting.is_there;
}

void tw_lines_champsim_end(struct tw_lines_state *s)
{
	tell_pc(s, 0);
}
