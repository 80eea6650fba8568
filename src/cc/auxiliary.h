/*
 * Auxiliary files: what a compiler writes, or looks for, next to the object, and names after it: counters and notes
 * of --coverage, profiles, .dwo, .su, dumps, what -save-temps keeps. The compiler is told these names, since its
 * assembly output here is elsewhere.
 */
#ifndef TW_CC_AUXILIARY_H
#define TW_CC_AUXILIARY_H

#include "cc/drive.h"

/* What is before the suffix, for word k. To be freed. */
char *tw_cc_auxiliary_stem(const struct tw_cc_drive *d, size_t k);

/*
 * Adds options for this to the compiler's words for source k. Only if the command asks for such files: compilers
 * before gcc 11 have no option for it.
 */
void tw_cc_push_auxiliary(const struct tw_cc_drive *d, struct tw_cc_words *w, size_t k);

/* Is the word replaced by those options? */
int tw_cc_is_replaced(const struct tw_cc_drive *d, const char *word);

/* Copies those among the temporary files of source k to their place. */
void tw_cc_auxiliary_keep(const struct tw_cc_drive *d, size_t k);

#endif
