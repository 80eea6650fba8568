/*
 * record --with: analyzers that look at what is recorded as it comes. Those cannot that want all threads in the order of time, or names (tw_request_is_live): what a
 * thread that has not told anything for a while has done is not known, and may have been before all that the others have told. For them what comes is kept, or there is a recording, in a
 * directory that is removed if nobody asked for it, and they replay that when the program has ended.
 */
#ifndef TW_WITH_H
#define TW_WITH_H

#include "channel/keep.h"
#include "live/live.h"
#include "names/file_store.h"

/* All zeros: there are none. */
struct tw_with {
	struct tw_live_request *requests; /* first those that look at what comes, then those for which it is kept */
	size_t n, n_live, n_kept, room;
	struct tw_name_store names; /* where names of files are kept; path NULL: nowhere */
	char place[TW_KEEP_PATH];   /* that path */
	struct tw_feed *feed;
	pid_t pid; /* of the process of analyzers */
};

/* Adds NAME[,OPTION[=VALUE]...]. 0, or it is wrong, which has been said. The text must stay, and is cut to pieces. */
int tw_with_add(struct tw_with *w, char *text);

/* What all of them need and want together: enum tw_needs. */
uint32_t tw_with_needs(const struct tw_with *w);

/* The format (enum tw_format) that holds what they look at, and no more. */
int tw_with_format(const struct tw_with *w);

/* Whether recordings of this format hold what all of them need. 0, or not, which has been said. */
int tw_with_check(const struct tw_with *w, uint32_t format, int order);

/* For those that look at nothing as it comes buffers are kept: they need no recording. Before tw_with_start. */
void tw_with_keep(struct tw_with *w);

/* Starts their process, while this one has one thread. `yields`: it works when nobody else wants its processors. 0, an error of enum tw_error, or 1: what is wrong has been said. */
int tw_with_start(struct tw_with *w, const struct tw_recording_info *info, int yields);

/* All has been recorded: has the answers printed of those that need no recording. */
void tw_with_end(struct tw_with *w, const struct tw_recording_info *end);

/* Whether there are others, which need a recording; and has their answers printed, when it is closed. */
int tw_with_needs_recording(const struct tw_with *w);
void tw_with_replay(const struct tw_with *w, const char *dir);

/* A directory for a recording that is not to stay. 0, or TW_ERR_SYSTEM; and removes it with all that is in it. */
int tw_with_make_directory(char *dir, size_t size);
void tw_with_remove_directory(const char *dir);

void tw_with_free(struct tw_with *w);

#endif
