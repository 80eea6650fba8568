/*
 * Requests on the command line (plugin/request.h): their options, the help about an analyzer, and the file that an answer goes to.
 */
#ifndef TW_CLI_REQUEST_H
#define TW_CLI_REQUEST_H

#include "export/outfile.h"
#include "plugin/request.h"

/* How an analyzer is run: what `analyze` has of options besides those of requests. */
struct tw_run {
	uint64_t jobs;
	const char *state; /* the file that its state is kept in; NULL: none */
	uint64_t every;    /* seconds between two times that it is kept */
};

enum { TW_STATE_EVERY = 30 };

/* What options there are, a line or more for each. The last has no name. */
void tw_options_print(FILE *f, const struct tw_option *options);

/* Parses the options of `analyze NAME`; argv[0] is the analyzer. Returns -1 to go on, with optind at the first word that is no option, behind the analyzer; or an exit status. */
int tw_request_parse(struct tw_request *r, struct tw_run *how, int argc, char **argv);

/* Takes what is not an option, n words: the analyzer's own argument if it has one, and the recording. Returns -1 to go on, or an exit status. */
int tw_request_arguments(struct tw_request *r, int n, char **words, const char **dir);

/* Opens what the answer goes to: the file that was asked for, which is not to be one of the recording in `dir` (NULL: there is none), or `standard`. 0: not; said on stderr. */
int tw_request_open_output(const char *command, const struct tw_request *r, const char *dir, FILE *standard, struct tw_outfile *to);

/* Closes it. A file is kept if the answer, or a part of it, is in it, and if all went well: `status` is 0. Returns `status`, or 1 if it could not be written; said on stderr. Leaves a standard
   stream open. */
int tw_request_close_output(const char *command, const struct tw_request *r, struct tw_outfile *to, int status);

/* Ends the answer. Returns 0, or an exit status after having said what is wrong. */
int tw_request_end_answer(const char *command, const struct tw_request *r, struct tw_answer *answer);

#endif
