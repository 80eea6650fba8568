/*
 * State files (`analyze --state`): packed parts of an analysis (parts.h), so that a later run continues where one
 * stopped or was killed.
 *
 * A file names its analyzer, the version of that analyzer's bytes, and the options; for each part, its units and
 * recording. Everything has checksums. A file is written beside its place and then renamed, so there is always a
 * complete one. Parts of several recordings may be in one file.
 */
#ifndef TW_STATE_FILE_H
#define TW_STATE_FILE_H

#include "plugin/parts.h"

struct tw_packed_part {
	uint64_t digest; /* tw_parts_digest() up to its end */
	uint64_t first, end, damaged;
	uint64_t findings; /* tw_views_findings() */
	uint64_t n;
	char *bytes;
};

struct tw_packed_parts {
	struct tw_packed_part *items;
	size_t n, room;
};

/*
 * Reads a file's parts. 0: there is no such file, or the parts are in *out (tw_packed_parts_free in any case); 1:
 * `why` says in one sentence without a full stop what is wrong with it.
 */
int tw_state_read(const char *path, const struct tw_request *request, struct tw_packed_parts *out, char *why, size_t size);

/* Likewise. */
int tw_state_write(const char *path, const struct tw_request *request, const struct tw_packed_parts *parts, char *why, size_t size);

/* Packs a part and adds it. 0, an enum tw_error, or what the analyzer returned. */
int tw_packed_parts_add(struct tw_packed_parts *to, const struct tw_parts *p, const struct tw_part *part, const struct tw_views *views);

void tw_packed_parts_free(struct tw_packed_parts *p);

#endif
