/*
 * The types of a file's static variables, from its DWARF: the name of a part of a variable (".nodes[3].next"), and
 * the position of the part with a name.
 *
 * Not safe for several threads at once, since libdw is not. Source: DWARF 5, sections 4.1 (variables), 5.5 (arrays),
 * 5.7 (structures, unions, classes, members, bases).
 */
#ifndef TW_TYPES_H
#define TW_TYPES_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct tw_types;

/* A variable: its address in the file; if it is thread-local, its offset in the file's thread-local segment. */
struct tw_typed {
	uint64_t at;
	uint32_t is_own;
};

/*
 * Visits all variables of a file. `bias` as in tw_symbols_dwfl. The module must outlive it. NULL: no memory. A file
 * without DWARF has no types.
 */
struct tw_types *tw_types_new(Dwfl_Module *module, uint64_t bias);
void tw_types_free(struct tw_types *t);

/*
 * The name of the part of a variable at `offset`: the smallest part whose name a user may write. Names reserved for
 * the implementation (two underscores, or one and a capital letter) are not descended into. The rest of the offset
 * follows as "+4". "" if the variable has no parts and the offset is 0. Cut to `size` bytes, including the NUL.
 * Returns the number of bytes from the offset to the end of the part; 0: unknown.
 */
uint64_t tw_types_name(const struct tw_types *t, struct tw_typed variable, uint64_t offset, char *text, size_t size);

/* Where the part named by `path` (".nodes[3].next") is in its variable. */
struct tw_type_part {
	uint64_t offset, bytes;
};

/* 1: found. 0: there is none; `why`, cut to `size` bytes, is the second half of a sentence about it: "struct list has no member 'nxt'". */
int tw_types_find(const struct tw_types *t, struct tw_typed variable, const char *path, struct tw_type_part *out, char *why, size_t size);

#endif
