/* What the tool itself wants of the names besides <trackway/names.h>. */
#ifndef TW_NAMES_INTERNAL_H
#define TW_NAMES_INTERNAL_H

#include "names/file_store.h"
#include "names/own_variables.h"
#include "names/members.h"
#include "names/places.h"
#include "names/ran.h"

#include <trackway/names.h>

/* As tw_names_open, also for code without a descriptor: the code in `more` ran too. All names come from the files as they are. */
struct tw_names *tw_names_open_with(const struct tw_recording *r, const struct tw_ran_block *more, size_t n);

/* As tw_names_open, for a recording without names: names of files come from `store`, and new ones go to it. NULL: no store. */
struct tw_names *tw_names_open_storing(const struct tw_recording *r, const struct tw_names_options *options,
                                       const struct tw_name_store *store);

/* Which recording they are of. */
const struct tw_recording *tw_names_recording(const struct tw_names *n);

/*
 * Whether the bounds of the function at pc are known, from a symbol or from unwind information. If not, *least is
 * where the code outside such functions begins, in the file's own addresses; 0: unknown. `pid` as below.
 */
int tw_names_is_bounded(struct tw_names *n, uint32_t pid, uint64_t pc, uint64_t *least);

/*
 * Whether the function that tw_names_code calls `name` begins at pc. In code instrumented by trackway cc, a function
 * begins at its first recorded instruction.
 */
int tw_names_begins(const struct tw_names *n, uint64_t pc, const struct tw_code_name *name);

/* Whether some of these bytes may belong to a thread-local variable. */
int tw_names_has_own(struct tw_names *n, uint32_t image, uint64_t start, uint64_t bytes);

/*
 * The position of the part named by `path` (".nodes[3].next") in the variable that begins at `start`, or in a
 * thread-local one. As tw_types_find.
 */
int tw_names_part(struct tw_names *n, uint32_t image, uint64_t start, const char *path, struct tw_type_part *out, char *why, size_t size);
int tw_names_own_part(struct tw_names *n, const struct tw_own_variable *v, const char *path, struct tw_type_part *out, char *why,
                      size_t size);

/* Where a piece of code stands on disk. */
struct tw_name_place {
	const char *path;   /* of the file, as mapped; "" if it is in none */
	const char *object; /* the same; for code in no file the name of its mapping (anonymous.h), "[anon]" if unknown */
	uint64_t vaddr;     /* the file's own address for it; `pc` if it is in none */
};

/* `pid`: a process or an image, as in places.h. */
void tw_names_place(struct tw_names *n, uint32_t pid, uint64_t pc, struct tw_name_place *out);

/* Calls `each` for the source files of lines that ran, once for each file with code. 0: no memory. */
int tw_names_sources(const struct tw_names *n, void (*each)(void *context, const char *path), void *context);

#endif
