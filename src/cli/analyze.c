/* trackway analyze: runs an analyzer, built-in or a plug-in, on a recording. */
#include "analyzers/table.h"
#include "channel/machine.h"
#include "cli/analyze.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/stateful.h"
#include "plugin/guard.h"
#include "plugin/plugin.h"
#include "recording/recording.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "Usage: trackway analyze NAME [OPTION]... DIR\n"
                           "       trackway analyze ./FILE.so [OPTION]... DIR\n"
                           "       trackway analyze --list\n\n"
                           "Replays the recording in DIR for an analyzer and prints its answer. FILE.so is a\n"
                           "plug-in of your own (docs/analyzers.md).\n\n"
                           "  --list  list the analyzers\n"
                           "  --help  print this help; trackway analyze NAME --help describes one analyzer\n\n"
                           "Options of all analyzers:\n\n";

static const char help_end[] = "\nFor example, the instruction mix of gzip:\n\n"
                               "  trackway record -- gzip -9k file\n"
                               "  trackway analyze mix gzip.tw\n\n"
                               "The same during the run: trackway record --with=mix -- gzip -9k file\n";

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
	pthread_mutex_lock(&p->lock);
	while (!p->ended) {
		const struct timespec until = tw_machine_deadline(250);
		pthread_cond_timedwait(&p->end, &p->lock, &until);
		if (!p->ended)
			fprintf(stderr, "\r%3.0f %%", p->all ? 100.0 * (double)atomic_load(&p->done) / (double)p->all : 0.0);
	}
	fprintf(stderr, "\r\033[K");
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void start_progress(struct tw_session *session, struct progress *p)
{
	if (!isatty(STDERR_FILENO))
		return;
	p->all = tw_recording_totals(session->recording)->insns;
	session->stage.insns_done = &p->done;
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

static int replay(struct tw_session *s)
{
	const struct tw_analyzer stage = tw_stage_analyzer(s->request);
	int error = tw_replay(s->recording, &s->options, &stage, &s->stage);
	return error ? tw_session_failed(s, error) : 0;
}

static int has_thread(const struct tw_session *s)
{
	const struct tw_view *v = &s->request->view;
	return !v->has_thread || tw_recording_find_thread(s->recording, v->thread) < tw_recording_n_threads(s->recording);
}

static int run(struct tw_session *s, const struct tw_run *how)
{
	struct progress progress = {0};
	if (!has_thread(s))
		return tw_session_complain(s, "there is no such thread in this recording");
	start_progress(s, &progress);
	int status = how->state ? tw_stateful_run(s, how) : replay(s);
	end_progress(&progress);
	return status;
}

int tw_analyze_recording(const char *command, const struct tw_request *request, const char *dir, const struct tw_run *how, FILE *standard)
{
	struct tw_session s;
	struct tw_outfile to;
	if (!tw_request_open_output(command, request, dir, standard, &to))
		return 1;
	int status = tw_session_open(&s, command, request, dir, how->jobs, to.f);
	if (!status)
		status = tw_session_close(&s, run(&s, how));
	return tw_request_close_output(command, request, &to, status);
}

int tw_analyze_open(const char *command, const struct tw_request *request, struct tw_recording *recording, const struct tw_run *how,
                    FILE *f)
{
	struct tw_session s;
	const int status = tw_session_begin(&s, command, request, recording, how->jobs, f);
	return status ? status : tw_session_close(&s, run(&s, how));
}

/* ---- the command ---- */

static int print_help(void)
{
	fputs(help, stdout);
	tw_options_print(stdout, tw_common_options);
	fputs("  -o FILE          the same as --output\n"
	      "  -j N             replay with N threads; default one per processor\n"
	      "  --state FILE     save the state in FILE, and resume from it if it exists:\n"
	      "                   after a run that was killed, or to print the same answer in\n"
	      "                   another form\n"
	      "  --state-every SECONDS\n"
	      "                   how often to save it; default 30\n",
	      stdout);
	return fputs(help_end, stdout) < 0;
}

int tw_cmd_analyze(int argc, char **argv)
{
	struct tw_request request;
	struct tw_run how = {.jobs = tw_default_jobs(), .every = TW_STATE_EVERY};
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
	int status = tw_request_parse(&request, &how, argc - 1, argv + 1);
	if (status < 0)
		status = tw_request_arguments(&request, argc - 1 - optind, argv + 1 + optind, &dir);
	if (status < 0)
		status = tw_analyze_recording("analyze", &request, dir, &how, stdout);
	tw_request_free(&request);
	return status;
}
