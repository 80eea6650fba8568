/*
 * How often each part of a variable is accessed: each member of a structure; the elements of an array together
 * ("table[].next"). By address while batches come, by name at the end.
 */
#ifndef TW_TOUCH_PARTS_H
#define TW_TOUCH_PARTS_H

#include "analyzers/rows.h"
#include "plugin/answer.h"

#include <stdio.h>
#include <trackway/names.h>

/* All zeros at first. */
struct tw_touch_parts {
	struct tw_rows rows; /* by address and image: reads, writes */
	uint64_t is_full;    /* 1: there are too many addresses to name them all, and none is reported */
};

/* An access of `type`. 0 or TW_ERR_MEMORY. */
int tw_touch_parts_add(struct tw_touch_parts *p, uint32_t image, uint64_t addr, uint8_t type);
int tw_touch_parts_merge(struct tw_touch_parts *p, const struct tw_touch_parts *more);
int tw_touch_parts_pack(const struct tw_touch_parts *p, FILE *to);
int tw_touch_parts_unpack(struct tw_touch_parts *p, FILE *from);
void tw_touch_parts_free(struct tw_touch_parts *p);

/* The table `parts`, most accessed first; empty if only one part is accessed. 0 or TW_ERR_MEMORY. */
int tw_touch_parts_print(const struct tw_touch_parts *p, struct tw_names *names, struct tw_answer *a);

#endif
