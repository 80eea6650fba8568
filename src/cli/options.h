/*
 * What the subcommands that read recordings and traces have in common: numbers in options, and what to say of damaged chunks and bad lines.
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

/* The options of a command, as getopt_long wants them; `letters` begin with ':', or "+:", which has it say what was wrong. */
struct tw_option_set {
	const char *command, *letters;
	const struct option *words;
};

/* Says what is wrong with the option for which getopt_long returned '?' or ':'; of an unknown one, which there are. Returns TW_EXIT_USAGE. */
int tw_wrong_option(const struct tw_option_set *set, int returned, char **argv);

/* The directory named by an option, without slashes at its end. 0: it is no name, a very long one, or -, which would be standard output. */
int tw_parse_directory(const char *text, char *to, size_t size);

/* Processors that this process may use: as many threads replay where -j does not say otherwise. */
uint64_t tw_default_jobs(void);

/* For tw_replay_options.damage, with a struct tw_damage for its context: names each damaged chunk on stderr and has replay go on. */
struct tw_damage {
	const char *command;
	const struct tw_recording *recording;
	unsigned long chunks; /* damaged so far */
};
int tw_damage_report(void *damage, size_t thread, size_t chunk, int error);

/* Says on stderr what was found damaged when the recording was opened; returns how many such places there are. */
size_t tw_problems_report(const char *command, const struct tw_recording *r);

/* "2 threads were cut off at exit" */
void tw_tell_cut(FILE *f, const struct tw_totals *totals);

/* Says on stderr which files give no names, and why. */
void tw_names_report(const char *command, const struct tw_names *names);

/* What is wrong with a trace that has no instructions, in one sentence. */
extern const char tw_no_insns[];

/* Says on stderr which lines of the trace `name` were passed over, and whether it was cut off. */
void tw_trace_report(const char *command, const char *name, const struct tw_trace_facts *facts);

#endif
