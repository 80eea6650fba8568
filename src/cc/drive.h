/* One run of `trackway cc`: what its steps share. */
#ifndef TW_CC_DRIVE_H
#define TW_CC_DRIVE_H

#include "cc/command.h"
#include "cc/wishes.h"

#include <limits.h>

/* Exit statuses that are not the compiler's. */
enum { TW_CC_OUR_FAILURE = 1, TW_CC_NOT_FOUND = 127 };

/* The batch routine's, among the temporary files. */
#define TW_CC_BATCH_OBJECT ".batch.o"

struct tw_cc_drive {
	const struct tw_cc_wishes *wishes;
	struct tw_cc_command command;
	char directory[PATH_MAX]; /* of temporary files */
};

/* A command under construction; the words keep their owners. */
struct tw_cc_words {
	char **at;
	size_t n;
};

void tw_cc_push(struct tw_cc_words *w, const char *word);

/* The compiler's own words, without their arguments. */
void tw_cc_push_compiler(const struct tw_cc_drive *d, struct tw_cc_words *w, int with_cache);

/* Its exit status, or NOT_FOUND, which is reported. A command that is too long for the system is passed in a response file. */
int tw_cc_run(struct tw_cc_words *w);
int tw_cc_run_and_free(struct tw_cc_words *w);

/*
 * From now on SIGHUP, SIGINT, SIGPIPE and SIGTERM, unless ignored, end only what tw_cc_run runs, so that temporary
 * files can be removed: it then runs nothing more, and fails.
 */
void tw_cc_catch_signals(void);
/* Ends the process by the signal that has arrived since; returns if none has. */
void tw_cc_end_by_signal(void);

/* The name of a temporary file, to be freed. */
char *tw_cc_in_directory(const struct tw_cc_drive *d, size_t number, const char *suffix);

#endif
