/*
 * What ran: the pieces of code that a recording's descriptors name, by file; and those in no file, by process.
 */
#ifndef TW_RAN_H
#define TW_RAN_H

#include "names/places.h"

struct tw_ran_piece {
	uint64_t start, end; /* offsets in the file; of code in no file, addresses */
};

/* Sorted by start, each start once. They may overlap. */
struct tw_ran_list {
	struct tw_ran_piece *pieces;
	size_t n, room;
};

/* Code that a process made. */
struct tw_ran_made {
	uint32_t pid;
	struct tw_ran_list list;
};

struct tw_ran {
	struct tw_ran_list *files; /* as the places number them */
	size_t n_files;
	struct tw_ran_made *made; /* sorted by pid */
	size_t n_made, made_room;
};

/* A block that ran though no descriptor tells of it. */
struct tw_ran_block {
	uint32_t pid, bytes;
	uint64_t pc;
};

/*
 * Fills *out from the descriptors and n more blocks; tw_ran_free in any case. A descriptor names its process, not its
 * image: if several files were mapped at an address one after another, code there counts for each. 0: no memory.
 */
int tw_ran_find(const struct tw_places *places, const struct tw_ran_block *more, size_t n, struct tw_ran *out);
void tw_ran_free(struct tw_ran *r);

/* Whether something in [start, end) ran. The list must be joined. */
int tw_ran_any(const struct tw_ran_list *joined, uint64_t start, uint64_t end);

/* The sorted list without overlaps. 0: no memory. */
int tw_ran_join(const struct tw_ran_list *list, struct tw_ran_list *out);

/* Appends a piece. The list owns it. 0: no memory. */
int tw_ran_add(struct tw_ran_list *list, uint64_t start, uint64_t end);

/* Sorts what was added by start; pieces with the same start are in any order. */
void tw_ran_order(struct tw_ran_list *list);

/* Sorts and joins what was added: no piece overlaps or touches another. */
void tw_ran_sort(struct tw_ran_list *list);

/* The part of one list that is not in the other; both must be joined, and *out is. 0: no memory. */
int tw_ran_without(const struct tw_ran_list *joined, const struct tw_ran_list *other, struct tw_ran_list *out);

#endif
