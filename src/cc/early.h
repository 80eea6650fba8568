/*
 * Functions in other files that IFUNC resolvers call while a program is being linked: no file's compilation knows
 * that they run before there is thread-local memory. In the linked file, what was inserted into them is removed
 * again. The same applies to all of a program that never has such memory.
 */
#ifndef TW_CC_EARLY_H
#define TW_CC_EARLY_H

/*
 * After tw_cc_plain(), from whose copy it takes the code; reports which functions are left alone. NULL: done, or
 * there are none; otherwise an error.
 */
const char *tw_cc_early(const char *path);

#endif
