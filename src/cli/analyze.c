/* trackway analyze: has an analyzer, one of the library's or a plug-in, look at a recording. */
#include "analyzers/table.h"
#include "cli/analyze.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/request.h"
#include "plugin/guard.h"
#include "plugin/plugin.h"
#include "plugin/stage.h"
#include "recording/recording.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] = "Usage: trackway analyze NAME [OPTION...] DIR\n"
                           "       trackway analyze ./FILE.so [OPTION...] DIR\n"
                           "       trackway analyze --list\n\n"
                           "Replays a recording for an analyzer and prints its answer. FILE.so is a plug-in\n"
                           "of your own (docs/analyzers.md).\n\n"
                           "  --list  the analyzers there are\n"
                           "  --help  this text; trackway analyze NAME --help tells about one\n\n"
                           "All analyzers have these options:\n\n";

static const char help_end[] = "\nFor example, what gzip executes, by the kind of instruction:\n\n"
                               "  trackway record -- gzip -9k file\n"
                               "  trackway analyze mix gzip.tw\n\n"
                               "The same while the program runs: trackway record --with mix -- gzip -9k file\n";

struct analyze {
	const char *command; /* as which it speaks */
	const struct tw_request *request;
	const char *dir;
	uint64_t jobs;
	struct tw_recording *recording;
	struct tw_answer *answer;
	struct tw_context *context;
	struct tw_stage stage;
	struct tw_damage damage;
};

static int list(void)
{
	for (size_t i = 0; tw_analyzers[i]; i++)
		printf("%-10s %s\n", tw_analyzers[i]->name, tw_analyzers[i]->what);
	return 0;
}

static int complain(const char *command, const char *name, const char *why)
{
	fprintf(stderr, "trackway %s: %s: %s\n", command, name, why);
	return 1;
}

/* ---- progress ---- */

/* A line on the terminal that says how far it is. */
struct progress {
	_Atomic uint64_t done;
	uint64_t all;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
	int ended, runs;
};

static void *show(void *arg)
{
	struct progress *p = arg;
	struct timespec until;
	pthread_mutex_lock(&p->lock);
	while (!p->ended) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 250000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&p->end, &p->lock, &until);
		if (!p->ended)
			fprintf(stderr, "\r%3.0f %%", p->all ? 100.0 * (double)atomic_load(&p->done) / (double)p->all : 0.0);
	}
	fprintf(stderr, "\r\033[K");
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void start_progress(struct analyze *a, struct progress *p)
{
	if (!isatty(STDERR_FILENO))
		return;
	p->all = tw_recording_totals(a->recording)->insns;
	a->stage.insns_done = &p->done;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->end, NULL);
	p->runs = !pthread_create(&p->thread, NULL, show, p);
}

static void end_progress(struct progress *p)
{
	if (!p->runs)
		return;
	pthread_mutex_lock(&p->lock);
	p->ended = 1;
	pthread_cond_signal(&p->end);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
}

/* ---- the run ---- */

static int chunk_is_seen(void *context, size_t thread, size_t chunk)
{
	const struct analyze *a = (const struct analyze *)((char *)context - offsetof(struct analyze, damage));
	return tw_views_chunk(a->stage.views, tw_recording_thread(a->recording, thread)->serial,
	                      tw_recording_chunk_info(a->recording, thread, chunk));
}

/* Returns 0 or an exit status. */
static int replay(struct analyze *a)
{
	struct progress progress = {0};
	struct tw_replay_options options = {
	    .jobs = (unsigned)a->jobs,
	    .damage = tw_damage_report,
	    .context = &a->damage,
	    .select = a->stage.views ? chunk_is_seen : NULL,
	};
	const struct tw_analyzer stage = tw_stage_analyzer(a->request);
	start_progress(a, &progress);
	int error = tw_replay(a->recording, &options, &stage, &a->stage);
	end_progress(&progress);
	if (error && tw_context_complaint(a->context)[0])
		return complain(a->command, a->request->name, tw_context_complaint(a->context));
	if (error < 0)
		return tw_recording_error(a->command, a->dir, error);
	if (error)
		fprintf(stderr, "trackway %s: %s: it stopped with result %d\n", a->command, a->request->name, error);
	return error != 0;
}

/* What the answer does not tell: files that have changed, names that were not met. */
static int tell_more(struct analyze *a)
{
	const char *what;
	if (tw_context_opened_names(a->context))
		tw_names_report(a->command, tw_context_opened_names(a->context));
	if (!a->stage.views || tw_views_found(a->stage.views, &what))
		return 0;
	fprintf(stderr, "trackway %s: nothing of '%s' is in what was looked at of %s\n", a->command, what, a->dir);
	return 1;
}

static int run_stage(struct analyze *a)
{
	const char *lack = tw_stage_lacks(a->request->analyzer, a->recording);
	if (lack)
		return complain(a->command, a->request->name, lack);
	a->stage.request = a->request;
	a->stage.context = a->context;
	if (!tw_view_is_all(&a->request->view)) {
		a->stage.views = tw_views_new(a->context, &a->request->view, a->request->analyzer->needs & TW_NEEDS_NO_CODE);
		if (!a->stage.views)
			return complain(a->command, a->request->name,
			                tw_context_complaint(a->context)[0] ? tw_context_complaint(a->context) : "no memory");
	}
	int status = replay(a);
	status = status ? status : tell_more(a);
	tw_views_free(a->stage.views);
	return status;
}

/* Replays and prints, once there is a recording and somewhere to print. */
static int run(struct analyze *a, FILE *f)
{
	const struct tw_request *r = a->request;
	const struct tw_answer_options options = {f, r->form, r->table, r->top, r->analyzer->name};
	a->damage = (struct tw_damage){.command = a->command, .recording = a->recording};
	size_t problems = tw_problems_report(a->command, a->recording);
	a->answer = tw_answer_new(&options);
	a->context = tw_context_new(r, a->recording, a->answer);
	if (!a->answer || !a->context) {
		tw_answer_free(a->answer);
		return tw_recording_error(a->command, a->dir, TW_ERR_MEMORY);
	}
	int status = run_stage(a);
	if (status)
		tw_answer_free(a->answer);
	else
		status = tw_request_end_answer(a->command, r, a->answer);
	tw_context_free(a->context);
	return status ? status : problems || a->damage.chunks;
}

int tw_analyze_recording(const char *command, const struct tw_request *request, const char *dir, uint64_t jobs, FILE *standard)
{
	struct analyze a = {.command = command, .request = request, .dir = dir, .jobs = jobs};
	int error = tw_recording_open(dir, &a.recording);
	if (error)
		return tw_recording_error(command, dir, error);
	FILE *f = tw_request_open_output(command, request, dir, standard);
	int status = f ? run(&a, f) : 1;
	if (f && !tw_request_close_output(command, request, f))
		status = 1;
	tw_recording_close(a.recording);
	return status;
}

/* ---- the command ---- */

static int print_help(void)
{
	fputs(help, stdout);
	tw_options_print(stdout, tw_common_options);
	fputs("  -j N             replay with N threads (default: as many as there are\n"
	      "                   processors)\n",
	      stdout);
	return fputs(help_end, stdout) < 0;
}

int tw_cmd_analyze(int argc, char **argv)
{
	struct tw_request request;
	uint64_t jobs = tw_default_jobs();
	const char *dir;
	char why[1024];
	if (argc < 2)
		return tw_usage_error("analyze", "no analyzer is named");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help();
	if (!strcmp(argv[1], "--list"))
		return list();
	if (argv[1][0] == '-')
		return tw_usage_error("analyze", "the analyzer comes first, before its options, and not %s", argv[1]);
	tw_guard_install("analyze", 1);
	const struct tw_analyzer *analyzer = tw_plugin_find(tw_analyzers, argv[1], why, sizeof why);
	if (!analyzer)
		return complain("analyze", argv[1], why);
	if (!tw_request_init(&request, analyzer, argv[1]))
		return tw_recording_error("analyze", argv[1], TW_ERR_MEMORY);
	int status = tw_request_parse(&request, &jobs, argc - 1, argv + 1);
	if (status < 0)
		status = tw_request_arguments(&request, argc - 1 - optind, argv + 1 + optind, &dir);
	if (status < 0)
		status = tw_analyze_recording("analyze", &request, dir, jobs, stdout);
	tw_request_free(&request);
	return status;
}
