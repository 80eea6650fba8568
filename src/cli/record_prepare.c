#include "cli/record_prepare.h"
#include "cli/record_options.h"
#include "cli/attached.h"
#include "cli/cli.h"
#include "cli/learned.h"
#include "cc/finish.h"
#include "cli/window.h"
#include "replay/verify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

const char *tw_record_place_to_keep(const struct record *r, char path[TW_KEEP_PATH])
{
	if (r->keep)
		return strcmp(r->keep, "none") ? r->keep : NULL;
	return tw_keep_default(path) ? path : NULL;
}

uint64_t tw_record_bytes_to_keep(const struct record *r)
{
	char path[TW_KEEP_PATH];
	const char *place = r->share_asked ? NULL : tw_record_place_to_keep(r, path);
	return place ? tw_keep_usual_bytes(place) : (uint64_t)r->share << 20;
}

int tw_record_own_error(const struct record *r, int error)
{
	tw_recording_error("record", r->dir[0] ? r->dir : r->command_argv[0], error);
	return EXIT_OURS;
}

static bool is_limited(int resource)
{
	struct rlimit limit;
	return !getrlimit((__rlimit_resource_t)resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

int tw_record_too_little(const struct tw_sizes *least)
{
	const bool of_memory = is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA), of_files = is_limited(RLIMIT_FSIZE);
	fprintf(stderr, "trackway record: a limit is too low: recording needs ");
	if (of_memory || !of_files)
		fprintf(stderr, "%llu MB of memory in addition to the program's own (ulimit -v, -d)%s",
		        (unsigned long long)(least->space >> 20), of_files ? " and " : "");
	if (of_files)
		fprintf(stderr, "shared memory of %llu MB (ulimit -f)", (unsigned long long)(least->memfd_bytes >> 20));
	fputc('\n', stderr);
	return EXIT_OURS;
}

static int not_for_instrumented(const struct record *r, const char *what, const char *value)
{
	char sentence[128];
	snprintf(sentence, sizeof sentence, "%s: %s",
	         r->native ? "--native records only what trackway cc instrumented" : "the program was instrumented by trackway cc", what);
	return tw_record_bad_usage(sentence, value);
}

/* The recorder counts what it receives and can stop at a count, but nothing can wait for a count. */
static int can_be_switched(const struct record *r, const struct tw_where *at)
{
	if (!at->kind || (at->kind == TW_WHERE_COUNT && at == &r->stop))
		return 1;
	return r->windows && (at->kind == TW_WHERE_TIME || (at->kind == TW_WHERE_FUNCTION && at->function[0]));
}

/* Programs can be recorded for a time, or between functions; those in two versions also in bursts, and within a budget. */
static int check_switchable(const struct record *r)
{
	if (!can_be_switched(r, &r->start))
		return r->windows ? not_for_instrumented(r, "--start can only be a function or a time, not", r->start_at)
		                  : not_for_instrumented(r, "it does not support", "--start");
	if (!can_be_switched(r, &r->stop))
		return not_for_instrumented(
		    r, r->windows ? "--stop can only be a function, a count or a time, not" : "--stop can only be a count, not",
		    r->stop_at);
	if (r->burst.burst && !r->switchable)
		return not_for_instrumented(r, "trackway cc --switchable is required for", "--burst");
	if (r->budget_as_given && !r->switchable)
		return not_for_instrumented(r, "trackway cc --switchable is required for", "--budget");
	if (r->budget_as_given && (r->budget.per_thread || r->burst.burst))
		return not_for_instrumented(r, "a budget is the whole program's: it cannot be combined with",
		                            r->burst.burst ? "--burst" : "--budget-per=thread");
	return 0;
}

/* What an instrumented program writes has one form, from beginning to end. */
static int check_instrumented(const struct record *r)
{
	if (r->format != TW_FORMAT_DEP)
		return not_for_instrumented(r, "it can only be recorded in format dep, not", tw_format_name((uint32_t)r->format));
	if (r->verify || r->with.n)
		return not_for_instrumented(r, "it does not support", r->verify ? "--verify" : "--with");
	if (r->calls)
		return not_for_instrumented(r, "it does not support", "--calls");
	if (r->ending.size || r->ending.time)
		return tw_record_bad_usage("the program was instrumented by trackway cc: it does not support",
		                           r->ending.size ? "--max-size" : "--max-time");
	if (r->order)
		return not_for_instrumented(r, "it does not support", "--order");
	if (r->switch_as_given || r->log_as_given)
		return not_for_instrumented(r, "it does not support", r->switch_as_given ? "--switch" : "--log");
	if (r->learn && r->learn_what & TW_LEARN_CONTEXTS)
		return not_for_instrumented(r, "it does not support", "--learn-what=cct");
	return check_switchable(r);
}

/* What is to be recorded: a command, or a running process. */
static int find_program(struct record *r)
{
	if (!r->pid)
		return tw_command_resolve(r->command_argc, r->command_argv, &r->program);
	const int status = tw_attached_program(r->pid, &r->program) ? EXIT_OURS : 0;
	r->command_argc = r->program.argc;
	r->command_argv = r->program.argv;
	r->plain = 1;
	return status;
}

/* May a program started from here have memory that is both written and executed? (PR_GET_MDWE: Linux 6.3.) */
static int may_make_code(void)
{
	enum { GET_MDWE = 66, REFUSES = 1, NOT_INHERITED = 2, PAGE = 4096 };
	const int denied = prctl(GET_MDWE, 0, 0, 0, 0);
	if (denied > 0 && (denied & REFUSES))
		return (denied & NOT_INHERITED) != 0;
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page != MAP_FAILED && !munmap(page, PAGE);
}

int tw_record_prepare_program(struct record *r)
{
	int status;
	if (access("/proc/self/fd", X_OK)) {
		fprintf(stderr, "trackway record: recording needs /proc, which is not mounted here (mount -t proc proc /proc)\n");
		return EXIT_OURS;
	}
	status = find_program(r);
	if (status) {
		fprintf(stderr, "trackway record: %s\n", r->program.why);
		return status;
	}
	if (!r->pid && (tw_window_before("--start", r->program.path, r->start_at, &r->start, r->quiet) ||
	                tw_window_before(r->keep_when ? "--keep-when" : "--stop", r->program.path, r->stop_at, &r->stop, r->quiet)))
		return EXIT_OURS;
	if (r->rest) /* the run-time part of instrumented programs belongs to the rest, and is idle */
		setenv("TRACKWAY", "off", 1);
	r->instrumented = r->native || (!r->plain && !r->with.n && tw_cc_is_instrumented(r->program.path));
	if (r->instrumented && !r->native && !tw_cc_is_current(r->program.path)) {
		fprintf(stderr,
		        "trackway record: %s was compiled by another version of trackway cc: compile it again, or record it with --plain\n",
		        r->program.path);
		return EXIT_OURS;
	}
	if (r->instrumented && r->learns_bare && !r->budget_as_given)
		r->budget.period = 0;
	if (r->instrumented && !r->has_format)
		r->format = TW_FORMAT_DEP;
	r->switchable = !r->native && r->instrumented && tw_cc_is_switchable(r->program.path);
	r->windows = r->switchable || (!r->native && r->instrumented && !tw_cc_is_guarded(r->program.path));
	if (r->instrumented)
		return check_instrumented(r);
	if (r->burst.burst)
		return tw_record_bad_usage("only programs compiled with trackway cc --switchable can be recorded in", "bursts");
	r->engine = tw_launch_engine();
	if (!r->engine) {
		fprintf(stderr, "trackway record: the engine, trackway-engine, was found neither next to trackway nor in ../lib/trackway "
		                "relative to it\n");
		return EXIT_OURS;
	}
	if (r->program.wants_place_of_engine) {
		fprintf(stderr, "trackway record: %s is linked to addresses from %#llx to %#llx, which the engine needs\n", r->program.path,
		        TW_ENGINE_PLACE, TW_ENGINE_PLACE_END);
		return TW_COMMAND_CANNOT;
	}
	if (!r->pid && !may_make_code()) {
		fprintf(
		    stderr,
		    "trackway record: recording needs memory that is both written and executed, which is denied here (PR_SET_MDWE, or a "
		    "filter of system calls, as by MemoryDenyWriteExecute= of systemd)\n");
		return EXIT_OURS;
	}
	return 0;
}

static void default_directory(struct record *r)
{
	const char *command = r->pid ? r->program.name : r->command_argv[0], *name = strrchr(command, '/');
	name = name ? name + 1 : command;
	snprintf(r->dir, sizeof r->dir, "%.*s.tw", NAME_MAX - 8, name);
}

/* What is known of the recording before it begins; the strings belong to *r. */
static void fill_info(struct record *r, struct tw_recording_info *info)
{
	uname(&r->uts);
	tw_machine_cpu(r->cpu);
	if (r->pid ? tw_attached_directory(r->pid, r->cwd, sizeof r->cwd) : !getcwd(r->cwd, sizeof r->cwd))
		r->cwd[0] = 0;
	snprintf(r->kernel, sizeof r->kernel, "%s %s", r->uts.sysname, r->uts.release);
	*info = (struct tw_recording_info){
	    .format = (uint32_t)r->format,
	    .sink = (uint32_t)r->sink,
	    .follow = (uint32_t)r->follow,
	    .attached = (uint32_t)r->pid,
	    .instrumented = r->instrumented != 0,
	    .burst = r->burst.in_ns.on,
	    .every = r->burst.in_ns.every,
	    .start_at = (char *)r->start_at,
	    .stop_at = (char *)(r->stop_at ? r->stop_at : tw_ending_text(&r->ending)),
	    .start = time(NULL),
	    .tsc_start = r->begun.tsc,
	    .tsc_hz = tw_machine_tsc_hz(&r->came, &r->begun),
	    .tsc_invariant = (uint32_t)tw_machine_tsc_invariant(),
	    .order = (uint32_t)r->order,
	    .calls = r->calls,
	    .argc = r->command_argc,
	    .argv = r->command_argv,
	    .program = r->program.path,
	    .cwd = r->cwd,
	    .host = r->uts.nodename,
	    .cpu = r->cpu,
	    .kernel = r->kernel,
	};
	tw_machine_xstate(&info->xstate);
}

static int create_recording(struct record *r, const struct tw_recording_info *info)
{
	int error = tw_directory_prepare(r->dir);
	if (error)
		return error;
	error = tw_writer_create(r->dir, info, &r->writer);
	if (error)
		tw_directory_abandon(r->dir);
	else
		r->dir_fd = fcntl(tw_writer_directory(r->writer), F_DUPFD_CLOEXEC, 0);
	return error;
}

int tw_record_prepare_recording(struct record *r)
{
	struct tw_recording_info info;
	r->begun = tw_machine_now();
	fill_info(r, &info);
	const int is_kept = !r->learn || r->learn_what == TW_LEARN_REFS;
	if (!r->has_dir && r->format != TW_FORMAT_NONE && !r->with.n && is_kept)
		default_directory(r);
	if ((!r->has_dir || r->with.n_live) && !r->budget_as_given && is_kept)
		tw_with_keep(&r->with);
	r->temporary = !r->has_dir && (!is_kept || tw_with_needs_recording(&r->with));
	r->with.names = (struct tw_name_store){tw_record_place_to_keep(r, r->with.place), tw_record_bytes_to_keep(r)};
	int error = r->with.n ? tw_with_start(&r->with, &info, r->budget_as_given != NULL) : 0;
	if (!error && r->temporary)
		error = tw_with_make_directory(r->dir, sizeof r->dir);
	if (!error && r->dir[0])
		error = create_recording(r, &info);
	return error < 0 ? tw_record_own_error(r, error) : error ? EXIT_OURS : 0;
}

static const struct tw_descriptor *look_up(void *context, uint32_t number)
{
	const struct record *r = context;
	return tw_collector_descriptor(r->collector, number);
}

int tw_record_check_chunk(void *context, const struct tw_chunk *chunk)
{
	struct record *r = context;
	return tw_verify_chunk(r->comparator, chunk);
}

int tw_record_prepare_verify(struct record *r)
{
	struct tw_xstate xstate;
	if (!r->verify)
		return 0;
	tw_machine_xstate(&xstate);
	r->comparator = tw_verify_new(&xstate, look_up, r);
	return r->comparator ? 0 : tw_record_own_error(r, TW_ERR_MEMORY);
}
