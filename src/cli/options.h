/*
 * Common to subcommands that read recordings and traces: numbers in options, and messages about damaged chunks and
 * bad lines.
 */
#ifndef TW_OPTIONS_H
#define TW_OPTIONS_H

#include "import/trace.h"
#include <getopt.h>
#include <trackway/names.h>
#include <trackway/replay.h>

enum { TW_MAX_JOBS = 256 };

/* A decimal number of at most `most`; 0 if the text is anything else. */
int tw_parse_number(const char *text, uint64_t most, uint64_t *out);

/* The options of a command, for getopt_long; `letters` begin with ':' or "+:", so that getopt_long tells what was wrong. */
struct tw_option_set {
	const char *command, *letters;
	const struct option *words;
};

/*
 * Reports what is wrong with the option for which getopt_long returned '?' or ':'; for an unknown one, lists the
 * options. Returns TW_EXIT_USAGE.
 */
int tw_wrong_option(const struct tw_option_set *set, int returned, char **argv);

/* The directory named by an option, without slashes at its end. 0: empty, too long, or "-", which would be standard output. */
int tw_parse_directory(const char *text, char *to, size_t size);

/* Number of processors that this process may use: the number of replay threads without -j. */
uint64_t tw_default_jobs(void);

/* For tw_replay_options.damage, with a struct tw_damage as context: names each damaged chunk on stderr, and lets the replay continue. */
struct tw_damage {
	const char *command;
	const struct tw_recording *recording;
	unsigned long chunks; /* damaged so far */
};
int tw_damage_report(void *damage, size_t thread, size_t chunk, int error);

/* Reports on stderr the damage found when the recording was opened; returns the number of places. */
size_t tw_problems_report(const char *command, const struct tw_recording *r);

/* "2 threads were cut off at exit" */
void tw_tell_cut(FILE *f, const struct tw_totals *totals);

/* Says on stderr which files give no names, and why. */
void tw_names_report(const char *command, const struct tw_names *names);

/* The error for a trace without instructions, as one sentence. */
extern const char tw_no_insns[];

/* Reports on stderr which lines of the trace `name` were skipped, and whether it was truncated. */
void tw_trace_report(const char *command, const char *name, const struct tw_trace_facts *facts);

#endif
