/*
 * What the linker has joined in this module: a part for each object, with its blocks one after another
 * (base/cc_section.h).
 *
 * Fields that refer to a place hold its distance from themselves, so that nothing in them needs relocation.
 */
#ifndef TW_CC_PARTS_H
#define TW_CC_PARTS_H

#include "runtime.h"

extern const uint8_t __start_trackway_cc[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_trackway_cc[] __attribute__((weak, visibility("hidden")));

static inline const uint8_t *tw_cc_place(const void *field)
{
	return (const uint8_t *)field + tw_cc_signed32(field);
}

/* The first part from `at` on, NULL after the last: linkers put bytes between them. */
static inline const struct tw_cc_part *tw_cc_part_from(const uint8_t *at)
{
	for (; at < __stop_trackway_cc; at++) {
		const struct tw_cc_part *part = (const struct tw_cc_part *)(const void *)at;
		if (part->magic == TW_CC_MAGIC)
			return part;
	}
	return 0;
}

static inline const struct tw_cc_part *tw_cc_part_first(void)
{
	return tw_cc_part_from(__start_trackway_cc);
}

static inline const struct tw_cc_part *tw_cc_part_next(const struct tw_cc_part *part)
{
	return tw_cc_part_from((const uint8_t *)part + part->bytes);
}

/* Its blocks are n_blocks from here on. */
static inline const struct tw_cc_block *tw_cc_block_first(const struct tw_cc_part *part)
{
	return (const struct tw_cc_block *)(const void *)(part + 1);
}

static inline const struct tw_cc_block *tw_cc_block_next(const struct tw_cc_block *block)
{
	return (const struct tw_cc_block *)(const void *)((const uint8_t *)block + block->bytes);
}

#endif
