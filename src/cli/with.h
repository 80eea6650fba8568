/*
 * record --with: analyzers that look at recorded data as it comes. Analyzers that need names, or all threads in the
 * order of time, cannot do so (tw_request_is_live): a thread that has been silent for a while may later tell of
 * something earlier than everything told by others. For these, the data is kept, or there is a recording, in a
 * directory that is removed if nobody asked for it; they replay it after the program has ended.
 */
#ifndef TW_WITH_H
#define TW_WITH_H

#include "channel/keep.h"
#include "live/live.h"
#include "names/file_store.h"

/* All zeros: there are none. */
struct tw_with {
	struct tw_live_request *requests; /* first those that look at data as it comes, then those for which it is kept */
	size_t n, n_live, n_kept, room;
	struct tw_name_store names; /* where names of files are kept; path NULL: nowhere */
	char place[TW_KEEP_PATH];   /* that path */
	struct tw_feed *feed;
	pid_t pid; /* of the process of analyzers */
};

/* Adds NAME[,OPTION[=VALUE]...]. 0, or an error that has been reported. The text must stay valid, and is cut into pieces. */
int tw_with_add(struct tw_with *w, char *text);

/* What all of them need and want together: enum tw_needs. */
uint32_t tw_with_needs(const struct tw_with *w);

/* The smallest format (enum tw_format) that holds everything they look at. */
int tw_with_format(const struct tw_with *w);

/* Whether recordings of this format hold what all of them need. 0, or not, which has been reported. */
int tw_with_check(const struct tw_with *w, uint32_t format, int order);

/* Keeps buffers for analyzers that do not look at data as it comes, which then need no recording. Before tw_with_start. */
void tw_with_keep(struct tw_with *w);

/*
 * Starts their process; only while this one has a single thread. `yields`: it works when its processors are otherwise
 * idle. 0, an error of enum tw_error, or 1: an error has been reported.
 */
int tw_with_start(struct tw_with *w, const struct tw_recording_info *info, int yields);

/* All has been recorded: has the answers printed that need no recording. */
void tw_with_end(struct tw_with *w, const struct tw_recording_info *end);

/* Whether some need a recording; has their answers printed once it is closed. */
int tw_with_needs_recording(const struct tw_with *w);
void tw_with_replay(const struct tw_with *w, const char *dir);

/* Creates a directory for a temporary recording: 0, or TW_ERR_SYSTEM; removes it with everything in it. */
int tw_with_make_directory(char *dir, size_t size);
void tw_with_remove_directory(const char *dir);

void tw_with_free(struct tw_with *w);

#endif
