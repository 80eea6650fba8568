/* The section that describes instrumented code (base/cc_section.h), as assembly. */
#ifndef TW_CC_DESCRIBE_H
#define TW_CC_DESCRIBE_H

#include "cc/loops.h"
#include "cc/plan.h"

#include <stdio.h>

/* Labels: of the end of block n's code; behind the tag of block n. */
#define TW_CC_LABEL_END  ".LtwE%u"
#define TW_CC_LABEL_LEAD ".LtwG%u" /* of a block: what is inserted before its first instruction */
#define TW_CC_LABEL_TAG  ".LtwT%u"

/* What became of all blocks. */
struct tw_cc_described {
	const struct tw_cc_flow *flow;
	const struct tw_cc_known *known;
	const struct tw_cc_buffer *buffer;
	const struct tw_cc_loop *loop;
};

/* Blocks [from, to), which are in one section, the current one. -1: no memory. */
int tw_cc_describe(FILE *out, const struct tw_cc_described *d, uint32_t from, uint32_t to);

#endif
