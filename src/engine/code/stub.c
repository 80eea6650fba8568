#include "engine/code/stub.h"
#include "engine/code/translations.h"
#include "engine/heap.h"
#include "engine/x86_64/glue.h"

static struct tw_translations *const tr = &tw_translations;

struct exit *tw_exit_new(u8 kind, u64 pc, struct fragment *from)
{
	struct exit *x = tw_heap(sizeof *x);
	x->kind = kind;
	x->pc = pc;
	x->from = from;
	x->upper = from ? from->rec.upper_out : 0;
	return x;
}

/* An emitter for the stub area. */
static struct emit stub_emit;

struct emit *tw_stub_begin(void)
{
	if (tr->stubs_at + 128 > tw_arena_stubs_end()) {
		tw_engine_fail(TW_FAILURE_ENGINE, "no more room for exit stubs");
		__builtin_trap();
	}
	stub_emit.start = stub_emit.at = (u8 *)tr->stubs_at;
	return &stub_emit;
}

u8 *tw_stub_end(const struct emit *e)
{
	tr->stubs_at = (u64)e->at;
	return e->start;
}

u8 *tw_stub_new(struct exit *x)
{
	struct emit *e = tw_stub_begin();
	emit_mov_gs_imm(e, T_EXIT, (u32)(u64)x);
	emit_jmp(e, (const u8 *)tw_exit_cache);
	u8 *stub = tw_stub_end(e);
	x->stub = (u32)(u64)stub;
	return stub;
}

void tw_exit_unlink(struct exit *x)
{
	emit_patch(x->patch, (const u8 *)(u64)x->stub);
	x->linked = 0;
}
