/*
 * Shared by the parts of `trackway record`: record_options (the request), record_prepare (the program, the recording,
 * data for comparison), record_run (the collector and the program), record_end (what is written and said at the end),
 * record (one run in the foreground or aside, or several). No other file includes this.
 */
#ifndef TW_RECORD_STATE_H
#define TW_RECORD_STATE_H

#include "cli/burst.h"
#include "cli/ending.h"
#include "cli/with.h"
#include "channel/aside.h"
#include "channel/launch.h"
#include "channel/machine.h"
#include "names/ahead.h"

#include <limits.h>
#include <sys/utsname.h>

/* Our own exit statuses, as in env(1) and timeout(1); all others are the program's. */
enum { EXIT_MISMATCH = 3, EXIT_OURS = 125 };

#define DEFAULT_PERIOD_NS 1000000000u
#define LONG_PERIOD_NS    10000000000u /* for a single burst per period, long enough for analyzers of references to warm up */
#define MOST_RUNS         100u         /* with --until alone */
#define UNLIMITED         10000000u    /* a budget that records alone could never use up: ten times the program's own time */

struct record {
	/* options */
	char dir[PATH_MAX];
	int has_dir, quiet, verify, order, wait_first;
	int format, sink, follow;
	char *calls; /* NULL: they are not told; else as in struct tw_recording_info */
	const char *start_at, *stop_at;
	struct tw_ending ending;
	int progress;
	struct tw_where start, stop;
	const char *budget_as_given, *period_as_given, *per_as_given;
	const char *switch_as_given;
	uint32_t switches; /* enum tw_switch */
	struct tw_budget_asked budget;
	const char *learn; /* the file */
	unsigned learn_what;
	const char *log_as_given;
	uint32_t log;    /* enum tw_region_log */
	int learns_bare; /* nothing is recorded: blocks and branches are told when first reached */
	uint32_t runs;
	double until; /* share of new facts below which there is no further run */
	int has_format, learn_failed;
	uint64_t dump_pc;
	int dump_all;
	uint32_t hot, versions, share;
	int share_asked;  /* it was given */
	const char *keep; /* as given */
	struct tw_with with;
	int temporary; /* the recording does not stay */
	int names_later;
	struct tw_ring_size ring;
	const char *ring_as_given, *keep_when;
	const char *spool_as_given;
	int small;
	uint64_t spool;
	pid_t pid; /* of a process that is already running; 0: a command is run */
	/* the run */
	int command_argc;
	char **command_argv;
	struct tw_command program;
	int plain;  /* under the engine, whatever it is */
	int rest;   /* ... with what trackway cc has inserted left out */
	int native; /* without the engine, whatever it is */
	struct tw_burst_asked burst;
	int switchable;   /* by `trackway cc --switchable` */
	int windows;      /* by `trackway cc`: it follows --start and --stop */
	int instrumented; /* by `trackway cc`: the engine is not needed */
	char *engine;
	struct tw_aside aside; /* with wait_first */
	struct tw_sizes sizes;
	struct tw_writer *writer;
	int dir_fd; /* of the recording, which may be renamed; -1: none */
	struct tw_verify *comparator;
	struct tw_collector *collector;
	struct tw_ahead *ahead; /* NULL: nothing is opened ahead */
	int not_attached;
	int left; /* file descriptor that becomes readable when the recorded processes continue natively */
	struct tw_asked *asked;
	struct tw_output_result result;
	struct tw_recording_info end;
	struct tw_moment came, begun; /* when the command began, and recording */
	struct utsname uts;
	char cpu[64], cwd[PATH_MAX], kernel[sizeof((struct utsname *)0)->release + sizeof((struct utsname *)0)->sysname + 2];
	struct tw_collector_shares shares;
};

#endif
