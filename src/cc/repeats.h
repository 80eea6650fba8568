/*
 * Text that the assembler repeats or leaves out: macros, .rept, .irp, conditions. Where code may be, there must be
 * none, since labels could not be put there; except .rept with a number, which is expanded. In sections without code
 * (notes, tables) it stays as it is.
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

/* Kind of the statement at [begin, *end) of a text of n bytes, followed by a zero; is_data: there can be no code. */
enum tw_cc_repeat {
	TW_CC_AS_IT_IS, /* a statement as any other */
	TW_CC_WHOLE,    /* one statement up to *end, with no code in it */
	TW_CC_WRITTEN,  /* is expanded: the text has changed, and must be examined again from begin on */
	TW_CC_REPEATED, /* code is repeated, or left out: *what says by what */
	TW_CC_NO_MEMORY,
};
enum tw_cc_repeat tw_cc_repeat(struct tw_cc_repeats *r, char **bytes, size_t *n, size_t begin, size_t *end, int is_data, const char **what);

#endif
