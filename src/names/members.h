/*
 * Names of parts of variables, members and elements (types.h), for the files of a recording. They come from the files
 * as they are now: a file that is gone or has changed has none. A file's debug information is read when one of its
 * variables is first asked for.
 *
 * Any number of threads may ask at once.
 */
#ifndef TW_MEMBERS_H
#define TW_MEMBERS_H

#include "names/types.h"

#include <trackway/recording.h>

struct tw_members;

/* The recording must outlive it. NULL: no memory. */
struct tw_members *tw_members_new(const struct tw_recording *r);
void tw_members_free(struct tw_members *p);

/* As tw_types_name and tw_types_find, for a variable in file number `file` (symbols.h). `p` may be NULL: nothing is known. */
uint64_t tw_members_name(struct tw_members *p, size_t file, struct tw_typed variable, uint64_t offset, char *text, size_t size);
int tw_members_find(struct tw_members *p, size_t file, struct tw_typed variable, const char *path, struct tw_type_part *out, char *why,
                    size_t size);

#endif
