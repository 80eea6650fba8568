/* What the tool itself wants of the names besides <trackway/names.h>. */
#ifndef TW_NAMES_INTERNAL_H
#define TW_NAMES_INTERNAL_H

#include "names/file_store.h"
#include "names/own_variables.h"
#include "names/members.h"
#include "names/places.h"
#include "names/ran.h"

#include <trackway/names.h>

/* As tw_names_open, of code of which no descriptor tells, too: what stands in `more` ran. All names are those of the files as they are. */
struct tw_names *tw_names_open_with(const struct tw_recording *r, const struct tw_ran_block *more, size_t n);

/* As tw_names_open, of a recording without names: what `store` has of a file is taken from there, and it gets what is found; NULL: there is none. */
struct tw_names *tw_names_open_storing(const struct tw_recording *r, const struct tw_names_options *options,
                                       const struct tw_name_store *store);

/* Which recording they are of. */
const struct tw_recording *tw_names_recording(const struct tw_names *n);

/*
 * Whether it is known where the function at pc begins and ends: by a symbol, or by unwind information alone. If not, *least is where code begins that is in no such
 * function, by the file's own addresses; 0: that is not known. `pid` as below.
 */
int tw_names_is_bounded(struct tw_names *n, uint32_t pid, uint64_t pc, uint64_t *least);

/* Whether a function begins at pc, of which tw_names_code says `name`. In code that trackway cc has instrumented that is where the first of its instructions is that was recorded. */
int tw_names_begins(const struct tw_names *n, uint64_t pc, const struct tw_code_name *name);

/* Whether some of these bytes may be of a variable that a thread has of its own. */
int tw_names_has_own(struct tw_names *n, uint32_t image, uint64_t start, uint64_t bytes);

/*
 * Where the part that `path` names (".nodes[3].next") stands in the variable that begins at `start`, or in one that threads have of their own. As tw_types_find.
 */
int tw_names_part(struct tw_names *n, uint32_t image, uint64_t start, const char *path, struct tw_type_part *out, char *why, size_t size);
int tw_names_own_part(struct tw_names *n, const struct tw_own_variable *v, const char *path, struct tw_type_part *out, char *why,
                      size_t size);

/* Where a piece of code stands on disk. */
struct tw_name_place {
	const char *path;   /* of the file, as mapped; "" if it is in none */
	const char *object; /* the same; of code in no file what its mapping is called (anonymous.h), "[anon]" if it is not known */
	uint64_t vaddr;     /* the file's own address for it; `pc` if it is in none */
};

/* `pid`: a process or an image, as in places.h. */
void tw_names_place(struct tw_names *n, uint32_t pid, uint64_t pc, struct tw_name_place *out);

/* Calls `each` for the source files of lines that ran, once for each file with code. 0: there is no memory. */
int tw_names_sources(const struct tw_names *n, void (*each)(void *context, const char *path), void *context);

#endif
