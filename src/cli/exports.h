/*
 * Profiles for other tools: the options of `trackway blocks` that write them.
 */
#ifndef TW_CLI_EXPORTS_H
#define TW_CLI_EXPORTS_H

#include "analyze/profile.h"
#include "names/symbols.h"

#include <trackway/names.h>

/* The requested outputs: names of files to write, NULL: not wanted. */
struct tw_exports {
	const char *callgrind, *lcov, *simpoint, *fdata, *autofdo;
	const char *module; /* the ELF file for fdata, autofdo and lcov; NULL: the program (lcov: all files) */
	uint64_t interval;  /* instructions of a simpoint vector; 0: TW_INTERVAL */
};

enum { TW_INTERVAL = 100000000 };

/* Values of the options, above all characters. */
enum tw_export_option {
	TW_EXPORT_CALLGRIND = 1000,
	TW_EXPORT_LCOV,
	TW_EXPORT_SIMPOINT,
	TW_EXPORT_FDATA,
	TW_EXPORT_AUTOFDO,
	TW_EXPORT_MODULE,
	TW_EXPORT_INTERVAL,
};

/* Entries for the table of getopt_long, and lines for the help text. */
#define TW_EXPORT_OPTIONS                                                                                                                  \
	{"callgrind", 1, NULL, TW_EXPORT_CALLGRIND}, {"lcov", 1, NULL, TW_EXPORT_LCOV}, {"simpoint", 1, NULL, TW_EXPORT_SIMPOINT},         \
	    {"fdata", 1, NULL, TW_EXPORT_FDATA}, {"autofdo", 1, NULL, TW_EXPORT_AUTOFDO}, {"module", 1, NULL, TW_EXPORT_MODULE},           \
	{                                                                                                                                  \
		"interval", 1, NULL, TW_EXPORT_INTERVAL                                                                                    \
	}

#define TW_EXPORT_HELP                                                                                                                     \
	"Profiles for other tools (from recordings; FILE can be -, standard output):\n"                                                    \
	"  --callgrind=FILE  for KCachegrind and callgrind_annotate\n"                                                                     \
	"  --lcov=FILE       line and branch coverage, for genhtml\n"                                                                      \
	"  --simpoint=FILE   basic block vectors; further threads: FILE.THREAD\n"                                                          \
	"  --interval N      instructions per vector (default 100000000)\n"                                                                \
	"  --fdata=FILE      for llvm-bolt -data\n"                                                                                        \
	"  --autofdo=FILE    for clang -fprofile-sample-use and llvm-profdata\n"                                                           \
	"  --module=ELF      the file to profile with --fdata and --autofdo (default: the\n"                                               \
	"                    program) and --lcov (default: all files)\n"

/* Handles one option with its argument. 1; 0 if it is another option; -1 if the argument is invalid, which has been reported on stderr. */
int tw_exports_option(struct tw_exports *e, const char *command, int option, const char *argument);

/* Whether any output is wanted; whether that needs a block profile. */
int tw_exports_wanted(const struct tw_exports *e);
int tw_exports_need_profile(const struct tw_exports *e);

/* How many of them go to standard output. */
int tw_exports_to_stdout(const struct tw_exports *e);

/* Reports on stderr an option that has no effect without another. Returns -1 if there is none, or the exit status. */
int tw_exports_check(const struct tw_exports *e, const char *command);

/* What they are made from. */
struct tw_exports_source {
	const char *dir; /* where the recording is */
	const struct tw_recording *recording;
	struct tw_profile *profile;
	int needs_profile;          /* the profile has not been made: it will be, in the one replay that all outputs share */
	struct tw_symbols *symbols; /* of whole files */
	struct tw_names *names;     /* of the code that ran */
	struct tw_replay_options replay;
	struct shared_replay *shared; /* exports.c's own */
};

/*
 * Writes all outputs, after making the profile if necessary. 0, a negative enum tw_error, or what replay.damage
 * returned; the detail says what was wrong.
 */
int tw_exports_write(const struct tw_exports *e, const struct tw_exports_source *source);

#endif
