/*
 * Text that the assembler repeats or leaves out: macros, .rept, .irp, conditions. Where code may be, there must be none, as labels could not be put there, but for .rept with a number, which is
 * written out. In sections without code (notes, tables) it stays as it is.
 */
#ifndef TW_CC_REPEATS_H
#define TW_CC_REPEATS_H

#include <stddef.h>
#include <stdint.h>

enum { TW_CC_MACROS = 64, TW_CC_MACRO_NAME = 64, TW_CC_CONDITIONS = 32 };

struct tw_cc_repeats {
	char macro[TW_CC_MACROS][TW_CC_MACRO_NAME]; /* defined by now */
	uint32_t n_macros;
	uint32_t pushed;                             /* sections */
	uint32_t open[TW_CC_CONDITIONS], conditions; /* .if that are open: how many sections were pushed there */
};

/* What the statement at [begin, *end) of a text is, which has n bytes, with a zero behind them; is_data: no code can be there. */
enum tw_cc_repeat {
	TW_CC_AS_IT_IS, /* a statement as any other */
	TW_CC_WHOLE,    /* one statement up to *end, which nothing of code is in */
	TW_CC_WRITTEN,  /* is written out: the text has changed, and is looked at again from begin on */
	TW_CC_REPEATED, /* code is repeated, or left out: *what says by what */
	TW_CC_NO_MEMORY,
};
enum tw_cc_repeat tw_cc_repeat(struct tw_cc_repeats *r, char **bytes, size_t *n, size_t begin, size_t *end, int is_data, const char **what);

#endif
