/*
 * Auxiliary files: what a compiler writes, or looks for, beside the object, and names after it: counters and notes of --coverage, profiles, .dwo, .su, dumps, what -save-temps keeps. It
 * is told those names, as the assembly that it makes here stands elsewhere.
 */
#ifndef TW_CC_AUXILIARY_H
#define TW_CC_AUXILIARY_H

#include "cc/drive.h"

/* What is before the suffix, for word k. To be freed. */
char *tw_cc_auxiliary_stem(const struct tw_cc_drive *d, size_t k);

/* Adds what says so to the compiler's words for source k. Only where the command asks for such files: compilers from before gcc 11 have no option for it. */
void tw_cc_push_auxiliary(const struct tw_cc_drive *d, struct tw_cc_words *w, size_t k);

/* Is the word among those in the place of which that says what is wanted? */
int tw_cc_is_replaced(const struct tw_cc_drive *d, const char *word);

/* Copies those that stand among the temporary files of source k to where they belong. */
void tw_cc_auxiliary_keep(const struct tw_cc_drive *d, size_t k);

#endif
