#include "engine/code/make.h"
#include "engine/code/cache.h"
#include "engine/heap.h"
#include "engine/record/instrumentor.h"
#include "engine/x86_64/block.h"

static struct emit emit; /* of the fragment that is being made */

struct fragment *tw_make_new(u8 kind, u64 pc)
{
	struct fragment *f = tw_heap(tw_recorder.whole->records ? sizeof *f : FRAGMENT_UNRECORDED_BYTES);
	f->kind = kind;
	f->rec.pc = f->pc_fall = pc;
	f->rec.map.t_reg = f->rec.map.c_reg = TW_NOREG;
	return f;
}

struct emit *tw_make_begin(struct fragment *f, struct exit *x)
{
	f->rec.map.code = tw_cache_room(f, x);
	emit.start = emit.at = f->rec.map.code;
	emit.n_states = 0;
	emit.now = (struct state_entry){0};
	emit.f = f;
	emit.rec = &f->rec;
	emit.path = 0;
	emit.passed = 0;
	return f->rec.map.code ? &emit : NULL;
}

void tw_make_finish(struct fragment *f, const struct block *b)
{
	u8 lengths[BLOCK_MAX_INSNS];
	for (u16 k = 0; k < f->rec.n_insns; k++)
		lengths[k] = b->insn[k].span;
	f->rec.map.code_bytes = (u16)(emit.at - emit.start);
	f->rec.map.kept = tw_state_keep(emit.state, emit.n_states, lengths, f->rec.n_insns);
	tw_cache_commit(f);
}
