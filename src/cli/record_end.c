#include "cli/record_end.h"
#include "cli/record_prepare.h"
#include "cli/record_run.h"
#include "cli/budget.h"
#include "cli/died.h"
#include "cli/learned.h"
#include "cli/pack.h"
#include "cli/options.h"
#include "learn/file.h"
#include "names/kept.h"
#include "replay/verify.h"
#include "report/printable.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/wait.h>

/* Reports why a requested window never opened, or could not close. */
static void look_at_window(struct record *r)
{
	struct tw_collector_window w;
	tw_collector_window(r->collector, &w);
	r->end.windows = w.opened;
	if (!r->quiet)
		tw_ending_tell(&r->ending, tw_collector_limit(r->collector));
	if (r->start.kind == TW_WHERE_TIME && !w.opened)
		fprintf(stderr, "trackway: nothing was recorded: no code of the program ran after %s%s%s\n", r->start_at,
		        r->stop_at ? " and before " : "", r->stop_at ? r->stop_at : "");
	else if (r->start.kind && !w.opened)
		fprintf(stderr, "trackway: nothing was recorded: %s was not %s\n", r->start_at, w.start_found ? "reached" : "found");
	else if (!w.stop_found)
		fprintf(stderr, "trackway: recording went on to the end: %s was not found\n", r->stop_at);
}

/* By which the recording can be opened under whatever name it has. */
enum { DIRECTORY_PATH = 64 };
static const char *directory_path(const struct record *r, char path[DIRECTORY_PATH])
{
	snprintf(path, DIRECTORY_PATH, "/proc/self/fd/%d", r->dir_fd);
	return path;
}

/*
 * Stores the names of the code that ran with the recording. If encoding was interrupted, not all of that code is
 * known yet. Without stored names, they come from the files as they are when asked for.
 */
static void keep_names(const struct record *r)
{
	char dir[DIRECTORY_PATH], why[1024], place[TW_KEEP_PATH];
	const struct tw_name_store store = {tw_record_place_to_keep(r, place), tw_record_bytes_to_keep(r)};
	if (!tw_record_keeps_names(r))
		return;
	tw_ahead_end(r->ahead);
	if (r->result.abandoned)
		return;
	const struct tw_name_store *kept = store.path ? &store : NULL;
	const struct tw_recording *written = tw_writer_written(r->writer);
	const int error = written ? tw_names_keep_of(written, kept, r->ahead) : tw_names_keep(directory_path(r, dir), kept, r->ahead);
	if (error)
		fprintf(stderr, "trackway: names could not be stored with the recording: %s\n",
		        tw_failure_sentence(error, why, sizeof why));
}

/* Packs what has been closed once more, if that is asked for. */
static void make_small(struct record *r)
{
	struct tw_totals packed;
	char why[1024];
	flock(r->dir_fd, LOCK_UN); /* the writer's lock, which lasts as long as there is this descriptor */
	const int error = tw_pack_in_place(r->dir, TW_CODER_SMALL, &packed);
	if (error) {
		fprintf(stderr, "trackway: the recording could not be made smaller: %s\n", tw_failure_sentence(error, why, sizeof why));
	} else if (r->end.complete) {
		memcpy(r->result.totals.stored, packed.stored, sizeof packed.stored);
		r->result.totals.code_stored = packed.code_stored;
	}
}

/*
 * If everything told by translations has reached the learn file, and nobody has replaced the file meanwhile, later
 * runs that start with this file may use these translations.
 */
static void learn(struct record *r)
{
	char dir[DIRECTORY_PATH];
	struct tw_learn_saved saved = {0};
	r->learn_failed = tw_learned_take(directory_path(r, dir), r->learn, r->learn_what, r->quiet, &saved) != 0;
	if (!r->learn_failed && r->learns_bare && r->end.complete && saved.before == tw_collector_learned(r->collector))
		tw_collector_keep_translations(r->collector, saved.now);
}

static void close_recording(struct record *r)
{
	look_at_window(r);
	keep_names(r);
	tw_collector_given_back(r->collector);
	r->end.complete = !r->result.failure[0];
	r->end.failure = r->result.failure;
	r->end.totals = r->result.totals;
	r->end.dropped = r->result.dropped;
	tw_collector_counts(r->collector, r->end.engine);
	const struct tw_moment ended = tw_machine_now();
	r->end.tsc_hz = tw_machine_tsc_hz(&r->begun, &ended);
	if (r->result.failure[0] && !r->result.said) {
		fputs("trackway: the recording is incomplete: ", stderr);
		tw_print_safe(stderr, r->result.failure);
		fputc('\n', stderr);
	}
	tw_with_end(&r->with, &r->end);
	int error = r->writer ? tw_writer_close(r->writer, &r->end) : TW_OK;
	if (error)
		tw_record_own_error(r, error);
	else if (r->writer)
		tw_with_replay(&r->with, r->dir);
	if (r->small && r->writer && !error && !r->temporary)
		make_small(r);
	if (r->learn && !error)
		learn(r);
	if (r->temporary)
		tw_with_remove_directory(r->dir);
}

static void print_stored(const struct record *r)
{
	const struct tw_totals *t = &r->result.totals;
	uint64_t stored = t->stored[TW_STREAM_C] + t->stored[TW_STREAM_M] + t->stored[TW_STREAM_E] + t->code_stored;
	fprintf(stderr, ", %llu bytes stored", (unsigned long long)stored);
	if (r->end.complete && t->refs)
		fprintf(stderr, " (%.3f per reference)", (double)stored / (double)t->refs);
	fprintf(stderr, " in %s%s", r->dir, r->end.complete ? "" : ", incomplete");
}

/* Of a recording that stopped early: what can be read of it. */
static void print_kept(const struct record *r)
{
	struct tw_recording *recording;
	char dir[DIRECTORY_PATH];
	if (tw_recording_open(directory_path(r, dir), &recording))
		return;
	const struct tw_totals *kept = tw_recording_totals(recording);
	fprintf(stderr, "; in it are %llu instructions, %llu references", (unsigned long long)kept->insns, (unsigned long long)kept->refs);
	tw_recording_close(recording);
}

static void print_summary(const struct record *r)
{
	const struct tw_totals *t = &r->result.totals;
	if (r->quiet)
		return;
	if (r->format == TW_FORMAT_NONE)
		fprintf(stderr, "trackway: nothing recorded (format none)");
	else if (r->learns_bare)
		fprintf(stderr, "trackway: nothing recorded, only learned");
	else
		fprintf(stderr, "trackway: %llu instructions", (unsigned long long)t->insns);
	if (tw_format_has_refs((uint32_t)r->format))
		fprintf(stderr, ", %llu references", (unsigned long long)t->refs);
	if (r->writer && r->format != TW_FORMAT_NONE && r->sink == TW_SINK_FILE && !r->temporary)
		print_stored(r);
	else if (r->writer && !r->temporary)
		fprintf(stderr, ", totals in %s", r->dir);
	fprintf(stderr, ", %.2f s", (double)r->end.duration_ns / 1e9);
	if (r->result.dropped)
		fprintf(stderr, "; %llu instructions before these were dropped", (unsigned long long)r->result.dropped);
	if (t->cut) {
		fputs("; ", stderr);
		tw_tell_cut(stderr, t);
	}
	if (!r->end.complete && r->dir_fd >= 0 && r->sink == TW_SINK_FILE)
		print_kept(r);
	if (r->shares.shared || r->shares.forks)
		fprintf(stderr, "; %u of %u programs and %u forks began with translations of others", r->shares.shared, r->shares.programs,
		        r->shares.forks);
	fputc('\n', stderr);
}

/* --native, and nobody wrote anything: what may be wrong. */
static void print_unseen(const struct record *r)
{
	if (r->native && !r->quiet && r->end.complete && !r->result.totals.threads)
		fputs("trackway: no program that trackway cc instrumented has run, or they did not find the recorder: TRACKWAY_CHANNEL has "
		      "to stay "
		      "in their environment\n",
		      stderr);
}

/* What became of the budget. */
static void print_budget(const struct record *r)
{
	size_t n;
	const struct tw_budget *b = tw_collector_budget(r->collector, &n);
	if (!b || !r->budget_as_given || r->quiet)
		return;
	tw_budget_print_line(stderr, "trackway: ", b, n);
	tw_budget_print_end(stderr, "trackway: ", b, tw_collector_budget_end(r->collector));
}

/* What the program died of, and crashes of processes that it started. */
static void print_deaths(const struct record *r)
{
	struct tw_recording *recording;
	char dir[DIRECTORY_PATH], name[24];
	if (r->quiet || tw_record_has_left(r))
		return;
	const int known = r->dir_fd >= 0 && !tw_recording_open(directory_path(r, dir), &recording);
	if (WIFSIGNALED(r->end.wait_status)) {
		fputs("trackway: died of ", stderr);
		if (!known || !tw_died_summary(stderr, recording, NULL))
			fputs(tw_signal_name(WTERMSIG(r->end.wait_status), name), stderr);
		fputc('\n', stderr);
	}
	if (known)
		tw_died_others(stderr, recording);
	if (known)
		tw_recording_close(recording);
}

int tw_record_end_like(int wait_status)
{
	if (!WIFSIGNALED(wait_status))
		return WEXITSTATUS(wait_status);
	int number = WTERMSIG(wait_status);
	struct rlimit no_core = {0, 0};
	sigset_t set;
	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

int tw_record_finish(struct record *r, int status)
{
	close_recording(r);
	if (r->comparator && (r->result.mismatch || !r->quiet))
		tw_verify_report(r->comparator, stderr);
	if (r->comparator)
		tw_verify_free(r->comparator);
	if (r->learn_failed && !status)
		status = EXIT_OURS;
	if (r->result.mismatch)
		status = EXIT_MISMATCH;
	if (status)
		return status;
	print_summary(r);
	print_unseen(r);
	print_budget(r);
	print_deaths(r);
	if (tw_record_has_left(r) && !r->pid)
		return tw_record_end_like(tw_launch_wait());
	return r->wait_first || r->pid ? 0 : tw_record_end_like(r->end.wait_status);
}

void tw_record_abandon(struct record *r)
{
	r->end.failure = "recording could not begin";
	if (r->writer && !tw_writer_close(r->writer, &r->end))
		tw_directory_abandon(r->dir);
	tw_verify_free(r->comparator);
}
