/*
 * The code of a program or library without what is inserted: a section of the file (base/cc_section.h: struct
 * tw_cc_plain) as long as the code, byte for byte the same except that inserted code is replaced by no-ops, or a jump
 * over it. So all addresses stay the same. In functions with two versions the tests of the first count as inserted,
 * too.
 *
 * What must hold:
 *  - Inserted code changes no register or flag that the program's own code can read, and only inserted code reads
 *    what it writes. So leaving out all of it is correct.
 *  - If a branch, a return or an exception may lead into an inserted range, an instruction starts there.
 *
 * A module has no such section if its code is not one read-only segment, or if its own description does not match its
 * code.
 */
#ifndef TW_CC_PLAIN_H
#define TW_CC_PLAIN_H

/* Adds it to the file, whose blocks have their tags. NULL: done, or there is none; otherwise an error. */
const char *tw_cc_plain(const char *path);

#endif
