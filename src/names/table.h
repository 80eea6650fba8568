/*
 * Name tables: all that is needed to name addresses of one file, or of the code that one process made while it ran. A
 * table is built from the file (gather.h) or read from the recording that keeps it (kept.h); both are searched the
 * same way.
 *
 * Addresses are the file's own; for code in no file, those in memory. Texts are referred to by number. Arrays are
 * sorted by start after tw_name_table_settle.
 */
#ifndef TW_NAME_TABLE_H
#define TW_NAME_TABLE_H

#include "names/texts.h"

#define TW_NAME_NONE UINT32_MAX /* in place of a text or node: none */

struct tw_name_function {
	uint64_t start, end;
	uint32_t name; /* "": none; only unwind information tells where it is */
	uint32_t plt;  /* enum tw_plt of names/functions.h */
};

/* Code made from one line. Without overlap. */
struct tw_name_line {
	uint64_t start, end;
	uint32_t source, line;
};

/* Code of an inlined function. Pieces do not overlap: each belongs to the innermost function. */
struct tw_name_inlined {
	uint64_t start, end;
	uint32_t node;
	uint32_t reserved;
};

/* A function inlined at one place. */
struct tw_name_node {
	uint32_t name;
	uint32_t parent;       /* the node into which it is inlined, earlier in the array; TW_NAME_NONE: the function itself */
	uint32_t source, line; /* of the call; source may be TW_NAME_NONE */
};

/* A static variable. */
struct tw_name_object {
	uint64_t start, end;
	uint32_t name;
	uint32_t reserved;
};

/* What of the file is mapped where (PT_LOAD). */
struct tw_name_segment {
	uint64_t offset, file_bytes, vaddr, bytes;
	uint64_t prot; /* PF_* */
};

/* Why code of it has no names. */
enum tw_name_why {
	TW_NAME_FINE,
	TW_NAME_MISSING,    /* the file is not there */
	TW_NAME_CHANGED,    /* it holds other code than ran */
	TW_NAME_UNREADABLE, /* it cannot be read, or is not ELF */
	TW_NAME_STRIPPED,   /* it has symbols, or none, but none for this code */
	TW_NAME_MADE,       /* code in no file that nothing tells about */
	TW_N_NAME_WHYS
};

enum tw_name_array {
	TW_NAME_FUNCTIONS,
	TW_NAME_LINES,
	TW_NAME_INLINED,
	TW_NAME_NODES,
	TW_NAME_OBJECTS,
	TW_NAME_SEGMENTS,
	TW_N_NAME_ARRAYS
};

struct tw_name_items {
	void *at;
	size_t n, room;
};

struct tw_name_table {
	char *path;         /* of the file, as mapped; "" for code made by a process */
	uint32_t pid;       /* of that process; else 0 */
	uint32_t why;       /* enum tw_name_why */
	uint32_t has_lines; /* 1: there is debug information */
	struct tw_name_items items[TW_N_NAME_ARRAYS];
	struct tw_texts texts;
	const char **shown; /* by text: as people read it */
};

/* Bytes of one item of an array. */
size_t tw_name_item_bytes(enum tw_name_array array);

/* Adds a copy of *item to an array, or a text. 0: no memory; for texts TW_NO_TEXT. */
int tw_name_table_add(struct tw_name_table *t, enum tw_name_array array, const void *item);
uint32_t tw_name_table_text(struct tw_name_table *t, const char *text);

/* Sorts what was added, and makes the displayed texts (`mangled`: as they are). 0: no memory. */
int tw_name_table_settle(struct tw_name_table *t, int mangled);

void tw_name_table_free(struct tw_name_table *t);

/* What an address is in, or NULL. */
const struct tw_name_function *tw_name_table_function(const struct tw_name_table *t, uint64_t vaddr);
/* For an address in no function: the end of the previous function; 0: none. */
uint64_t tw_name_table_gap(const struct tw_name_table *t, uint64_t vaddr);
const struct tw_name_line *tw_name_table_line(const struct tw_name_table *t, uint64_t vaddr);
const struct tw_name_inlined *tw_name_table_inlined(const struct tw_name_table *t, uint64_t vaddr);
const struct tw_name_object *tw_name_table_object(const struct tw_name_table *t, uint64_t vaddr);

static inline const struct tw_name_node *tw_name_table_node(const struct tw_name_table *t, uint32_t node)
{
	return (const struct tw_name_node *)t->items[TW_NAME_NODES].at + node;
}

/* The file's address of what is at `offset` in it; the offset if its segments are unknown. */
uint64_t tw_name_table_vaddr(const struct tw_name_table *t, uint64_t offset);
struct tw_module;
/* The difference between memory addresses and the file's. The file's pages mapped as the module may also hold parts of other segments. */
uint64_t tw_name_table_shift(const struct tw_name_table *t, const struct tw_module *m);

/* The sentence for a reason; "" for TW_NAME_FINE. */
const char *tw_name_why_text(enum tw_name_why why);

#endif
