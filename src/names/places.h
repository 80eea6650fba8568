/*
 * Places: the mapped file to which the code at an address belongs, according to the recording's list of modules.
 *
 * Code is distinguished by process or by image (analyze/profile.h); images separate what a process ran before and
 * after execve. Where `pid` is expected below, TW_SYMBOLS_IMAGE(image) may be given too.
 */
#ifndef TW_PLACES_H
#define TW_PLACES_H

#include "names/texts.h"

#include <trackway/recording.h>

#define TW_SYMBOLS_IMAGE(image) (0x80000000u | (image))

#define TW_NO_MODULE SIZE_MAX

struct tw_places {
	const struct tw_recording *recording;
	struct tw_texts files; /* the paths of all files, as mapped, in the order of their first mapping */
	uint32_t *file_of;     /* for each module of the recording */
	uint32_t *image_of;    /* for each thread */
	uint32_t *image_pid;   /* the process each image began in */
	size_t n_images;
	struct tw_place_span *spans; /* sorted, without overlap */
	size_t n_spans, spans_room;
};

/* The recording must outlive it. 0: no memory; tw_places_free in any case. */
int tw_places_init(struct tw_places *p, const struct tw_recording *r);
void tw_places_free(struct tw_places *p);

/* The newest module that covers pc, of the image, or of the process or an ancestor from which it was forked; TW_NO_MODULE: none. */
size_t tw_places_find(const struct tw_places *p, uint32_t pid, uint64_t pc);

/* The process meant by `pid`: for an image, the one in which it began. */
uint32_t tw_places_pid(const struct tw_places *p, uint32_t pid);

/* A path without its directories. */
const char *tw_base_name(const char *path);

/*
 * Whether `wanted` means the file at `path`: by its path; by its name; or by its name without what follows ".so", and
 * without ".so" ("libc", "libc.so", "libc.so.6").
 */
int tw_is_module(const char *path, const char *wanted);

/*
 * Whether `wanted` means the function with this name: the whole name; a C++ name without its parameters; or a symbol
 * with a version, as in memcpy@@GLIBC_2.14, if one of the two has no version, or has one with @.
 */
int tw_name_is(const char *name, const char *wanted);

#endif
