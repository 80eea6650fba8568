/*
 * Profiles that other tools take: the options of `trackway blocks` that write them.
 */
#ifndef TW_CLI_EXPORTS_H
#define TW_CLI_EXPORTS_H

#include "analyze/profile.h"
#include "names/symbols.h"

#include <trackway/names.h>

/* What was asked for: names of files to write, NULL: not wanted. */
struct tw_exports {
	const char *callgrind, *lcov, *simpoint, *fdata, *autofdo;
	const char *module; /* the ELF file that fdata, autofdo and lcov are about; NULL: the program (lcov: all) */
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

/* Takes one option with its argument. 1, 0 if it is none of these, -1 if the argument makes no sense (it has been said so on stderr). */
int tw_exports_option(struct tw_exports *e, const char *command, int option, const char *argument);

/* Whether anything is wanted at all; and whether that needs a block profile. */
int tw_exports_wanted(const struct tw_exports *e);
int tw_exports_need_profile(const struct tw_exports *e);

/* How many of them go to standard output. */
int tw_exports_to_stdout(const struct tw_exports *e);

/* Says on stderr which option is of no use without another. Returns -1 if there is none, or the exit status. */
int tw_exports_check(const struct tw_exports *e, const char *command);

/* What they are made from. */
struct tw_exports_source {
	const char *dir; /* where the recording is */
	const struct tw_recording *recording;
	struct tw_profile *profile;
	int needs_profile;          /* it has not been made: it is, in the one replay that all outputs take */
	struct tw_symbols *symbols; /* of whole files */
	struct tw_names *names;     /* of the code that ran */
	struct tw_replay_options replay;
	struct shared_replay *shared; /* exports.c's own */
};

/* Writes all of them, and makes the profile first if it is needed. 0, or a negative enum tw_error or what replay.damage returned; the detail says what was the matter. */
int tw_exports_write(const struct tw_exports *e, const struct tw_exports_source *source);

#endif
