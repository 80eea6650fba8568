/*
 * Places where the first version of a function in two versions may reach unknown code: its conditional branches, and
 * what indirect jumps and exceptions lead to. The program patches these ways, when the rest of the function is known,
 * so that nothing new is missed while the first version runs (twice/known.c). So branches have the long form, and
 * such blocks start with room for a jump.
 */
#ifndef TW_CC_TURNINGS_H
#define TW_CC_TURNINGS_H

#include "cc/versions.h"

enum tw_cc_turning { TW_CC_TURNING_NONE, TW_CC_TURNING_BRANCH, TW_CC_TURNING_ROOM };

/*
 * Labels, by statement: of a test and of a turning in the first version, and of the turning in the second: after a
 * branch, before a block.
 */
#define TW_CC_LABEL_TEST    ".LtwST"
#define TW_CC_LABEL_TURNING ".LtwSA"
#define TW_CC_LABEL_SECOND  ".LtwSB"

/* Do ways lead to the block that are not seen? */
static inline int tw_cc_has_room(const struct tw_cc_block_info *b)
{
	return b->entry & (TW_CC_ENTRY_DATA | TW_CC_ENTRY_LANDING | TW_CC_ENTRY_UNKNOWN) && !(b->entry & TW_CC_ENTRY_FUNCTION);
}

/* Sets `turning` of all statements. */
void tw_cc_turnings_find(struct tw_cc_twice *w);

/* The label of this kind; that in the second version; the room. */
void tw_cc_turnings_first(const struct tw_cc_twice *w, uint32_t statement, const char *label);
void tw_cc_turnings_second(const struct tw_cc_twice *w, uint32_t statement);
void tw_cc_turnings_room(const struct tw_cc_twice *w);

/* The unit's struct tw_cc_turnings (base/cc_section.h). */
void tw_cc_turnings_write(const struct tw_cc_twice *w, const struct tw_cc_unit *u);

#endif
