/*
 * The text of source lines: from the sources stored in the recording (trackway bundle --sources), else from the files
 * as they are now.
 */
#ifndef TW_SOURCE_H
#define TW_SOURCE_H

#include "names/texts.h"

#include <trackway/recording.h>

struct tw_source_file;

struct tw_sources {
	const struct tw_recording *recording;
	struct tw_texts paths;
	struct tw_source_file *files; /* beside the paths */
	size_t room;
};

void tw_sources_init(struct tw_sources *s, const struct tw_recording *r);
void tw_sources_free(struct tw_sources *s);

/* Line number `line`, from 1, without its end; NULL if it cannot be read. Lives as long as the sources. */
const char *tw_source_line(struct tw_sources *s, const char *path, uint32_t line);

#endif
