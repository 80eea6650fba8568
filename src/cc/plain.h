/*
 * The code of a program or library without what is inserted: a section of the file (base/cc_section.h: struct tw_cc_plain) that is as long as the code, byte for byte the same but for what was inserted, in
 * the place of which stand instructions that do nothing, or a jump over it. So all places are what they were. Of functions in two versions the tests of the first are inserted, too.
 *
 * What must hold:
 *  - It changes no register and no flag that the program's own code can see, and only inserted code reads what it writes. So leaving all of it out is right.
 *  - Where a branch, a call that comes back or an exception may lead within what is inserted, an instruction begins.
 *
 * A module has none if its code is not one segment that nobody writes, or if what its section says does not go with its code.
 */
#ifndef TW_CC_PLAIN_H
#define TW_CC_PLAIN_H

/* Adds it to the file, whose blocks have their tags. NULL: done, or there is none; else what went wrong. */
const char *tw_cc_plain(const char *path);

#endif
