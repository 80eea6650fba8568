/*
 * What functions that choose others while a program is being linked (IFUNC) call in other files: no file's compilation knows that they run before there is thread-local memory. In the linked file what was inserted into
 * them is taken out again. So it is in all of a program that never has such memory.
 */
#ifndef TW_CC_EARLY_H
#define TW_CC_EARLY_H

/* After tw_cc_plain(), whose copy it takes the code from; says which functions are left alone so. NULL: done, or there are none; else what went wrong. */
const char *tw_cc_early(const char *path);

#endif
