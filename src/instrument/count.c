/*
 * count: the bare engine with an instruction count, for windows that open at a count (engine/record/window.h).
 * Nothing is recorded and no register is taken. The test of the count, before each block, is that of
 * engine/code/version.h.
 */
#include "engine/code/stub.h"
#include "engine/code/version.h"
#include "engine/record/instrumentor.h"

static void count_entry(struct emit *e, const struct block *b)
{
	struct exit *x = tw_exit_new(EXIT_CHECK, b->pc, e->f);
	x->context = COUNT_CONTEXT;
	tw_count_test(e, x, b->n_insns);
}

const struct instrumentor tw_instrument_count = {
    .name = "count",
    .format = TW_FORMAT_NONE,
    .context = COUNT_CONTEXT,
    .entry = count_entry,
};
