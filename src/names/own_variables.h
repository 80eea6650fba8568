/*
 * Thread-local variables of files loaded at program start: in every thread, each has the same distance from the base
 * of fs. Libraries loaded later (dlopen) have theirs elsewhere, in memory that a thread gets when it first asks.
 *
 * The distances follow glibc's loader: below the base, first the executable's, then the libraries' in the order in
 * which they were mapped. The variables come from the files as they are now.
 */
#ifndef TW_OWN_VARIABLES_H
#define TW_OWN_VARIABLES_H

#include <trackway/recording.h>

struct tw_own_variable {
	uint32_t image;
	int64_t at; /* from the base of fs */
	uint64_t bytes;
	size_t file;         /* its number (symbols.h), */
	uint64_t in_segment; /* and where it stands in that file's thread-local segment */
};

/* Variables of this name, with the meaning of names in tw_names_find. Fills at most `room`; returns how many there are. */
size_t tw_own_variables_find(const struct tw_recording *r, const char *module, const char *name, struct tw_own_variable *out, size_t room);

/* All of them, to be named by offset. NULL: no memory; then none has a name. `mangled`: names as the linker knows them. */
struct tw_own_names;
struct tw_own_names *tw_own_names_new(const struct tw_recording *r, int mangled);
void tw_own_names_free(struct tw_own_names *o);

struct tw_own_name {
	struct tw_own_variable variable;
	const char *name, *module; /* module: the file's name */
};

/* The one that covers this distance from the base of fs. NULL: none. */
const struct tw_own_name *tw_own_names_at(const struct tw_own_names *o, uint32_t image, int64_t at);

/* The lowest of an image; 0: it has none. */
int64_t tw_own_names_lowest(const struct tw_own_names *o, uint32_t image);

#endif
