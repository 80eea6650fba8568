/*
 * Counts by data object: by the variable that contains an address, or the place where the block of memory was
 * allocated (allocations.h), or the file mapped there, or the kind of memory (kinds.h).
 *
 * Names are asked about a page when it is first met, and about a line of a file's page likewise: whether it belongs
 * to one variable, several, or none. So they are not asked again for each access; an analyzer that uses this needs
 * names (TW_NEEDS_NAMES).
 */
#ifndef TW_OBJECTS_H
#define TW_OBJECTS_H

#include "analyzers/allocations.h"
#include "analyzers/kinds.h"
#include "analyzers/pages.h"
#include "analyzers/rows.h"

enum { TW_OBJECT_COUNTS = 4 };

struct tw_object_page;

/* tw_objects_init; tw_objects_free in any case. */
struct tw_objects {
	const struct tw_context *context;
	struct tw_allocations allocations;
	struct tw_kinds kinds;
	struct tw_rows rows; /* by an address and program: of the object; with a mark, of the page or of the call that allocated it */
	char **texts;        /* that the list has, by row; NULL: none */
	size_t n_texts;
	struct tw_rows pages;         /* by page key: where in `page` */
	struct tw_object_page **page; /* NULL: not known yet */
	size_t n_pages, pages_room;
	uint64_t newest_key; /* of the newest page, and 1 */
	struct tw_object_page *newest;
};

/* One object, or what has no name, in one module. */
struct tw_object {
	const char *name,
	    *module; /* as in the names; of allocated blocks: the place, and "[heap]"; for other memory of no file: the kind, and "" */
	uint64_t count[TW_OBJECT_COUNTS];
};

/* 0 or TW_ERR_MEMORY. */
int tw_objects_init(struct tw_objects *o, const struct tw_context *context);

/* An event of a thread of a program (tw_process_program), before what follows it. 0 or TW_ERR_MEMORY. */
int tw_objects_event(struct tw_objects *o, uint32_t thread, uint32_t program, const struct tw_event *e);

/*
 * The counts of the object at an address of a program (tw_process_program); its kinds use the same numbers. Valid
 * until the next call. NULL: no memory.
 */
uint64_t *tw_objects_at(struct tw_objects *o, uint32_t program, uint64_t address);

/* All objects, those with most of count number `by` first. The caller frees *out; its texts last until the next call. 0 or TW_ERR_MEMORY. */
int tw_objects_list(struct tw_objects *o, unsigned by, struct tw_object **out, size_t *n);

void tw_objects_free(struct tw_objects *o);

#endif
