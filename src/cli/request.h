/*
 * Requests on the command line (plugin/request.h): their options, the help about an analyzer, and the answer's file.
 */
#ifndef TW_CLI_REQUEST_H
#define TW_CLI_REQUEST_H

#include "export/outfile.h"
#include "plugin/request.h"

/* How an analyzer is run: options of `analyze` that are not a request's. */
struct tw_run {
	uint64_t jobs;
	const char *state; /* the file that its state is kept in; NULL: none */
	uint64_t every;    /* seconds between two times that it is kept */
};

enum { TW_STATE_EVERY = 30 };

/* Lists options, with one or more lines for each. The last has no name. */
void tw_options_print(FILE *f, const struct tw_option *options);

/*
 * Parses the options of `analyze NAME`; argv[0] is the analyzer. Returns -1 to continue, with optind at the first
 * word after the analyzer that is not an option; or an exit status.
 */
int tw_request_parse(struct tw_request *r, struct tw_run *how, int argc, char **argv);

/*
 * Handles the n words that are not options: the analyzer's own argument, if it has one, and the recording. Returns -1
 * to continue, or an exit status.
 */
int tw_request_arguments(struct tw_request *r, int n, char **words, const char **dir);

/*
 * Opens the answer's file: the requested one, which must not be part of the recording in `dir` (NULL: none), or
 * `standard`. 0: failed, reported on stderr.
 */
int tw_request_open_output(const char *command, const struct tw_request *r, const char *dir, FILE *standard, struct tw_outfile *to);

/*
 * Closes it. A file is kept if it has the answer, or a part of it, and if all went well: `status` is 0. Returns
 * `status`, or 1 if it could not be written, which is reported on stderr. A standard stream stays open.
 */
int tw_request_close_output(const char *command, const struct tw_request *r, struct tw_outfile *to, int status);

/* Ends the answer. Returns 0, or an exit status after reporting an error. */
int tw_request_end_answer(const char *command, const struct tw_request *r, struct tw_answer *answer);

#endif
