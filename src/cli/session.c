#include "cli/session.h"
#include "cli/budget.h"
#include "cli/cli.h"
#include "cli/part.h"
#include "cli/request.h"
#include "names/absent.h"
#include "plugin/range.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

static int chunk_is_seen(void *context, size_t thread, size_t chunk)
{
	const struct tw_session *s = (const struct tw_session *)((char *)context - offsetof(struct tw_session, damage));
	return tw_views_chunk(s->stage.views, thread, chunk);
}

static void free_all(struct tw_session *s)
{
	tw_views_free(s->stage.views);
	tw_context_free(s->context);
	if (s->is_own)
		tw_recording_close(s->recording);
}

int tw_session_complain(const struct tw_session *s, const char *why)
{
	fprintf(stderr, "%s %s: %s: %s\n", tw_cli_program, s->command, s->request->name, why);
	return 1;
}

int tw_session_failed(const struct tw_session *s, int error)
{
	if (tw_context_complaint(s->context)[0])
		return tw_session_complain(s, tw_context_complaint(s->context));
	if (error < 0)
		return tw_recording_error(s->command, s->dir, error);
	fprintf(stderr, "%s %s: %s: it stopped with result %d\n", tw_cli_program, s->command, s->request->name, error);
	return 1;
}

/* What part of the execution is seen, if it is not all. */
static int open_views(struct tw_session *s)
{
	const struct tw_request *r = s->request;
	if (tw_view_is_all(&r->view))
		return 0;
	s->stage.views = tw_views_new(s->context, &r->view, r->analyzer->needs & TW_NEEDS_NO_CODE);
	tw_part_tell_end(s->command, s->recording, &r->view);
	if (!s->stage.views)
		return tw_session_complain(s, tw_context_complaint(s->context)[0] ? tw_context_complaint(s->context) : "no memory");
	s->options.select = chunk_is_seen;
	return 0;
}

/* With the recording open. */
static int open_stage(struct tw_session *s, FILE *f)
{
	const struct tw_request *r = s->request;
	const struct tw_answer_options options = {f, r->form, r->table, r->top, r->analyzer->name, 0};
	s->problems = tw_problems_report(s->command, s->recording);
	s->answer = tw_answer_new(&options);
	s->context = tw_context_new(r, s->recording, s->answer);
	if (!s->answer || !s->context)
		return tw_recording_error(s->command, s->dir, TW_ERR_MEMORY);
	const char *lack = tw_stage_lacks(r->analyzer, s->recording);
	if (lack)
		return tw_session_complain(s, lack);
	s->stage.request = r;
	s->stage.context = s->context;
	return open_views(s);
}

static int begin(struct tw_session *s, uint64_t jobs, FILE *f)
{
	tw_budget_tell_part(s->command, s->recording);
	s->damage = (struct tw_damage){.command = s->command, .recording = s->recording};
	s->options = (struct tw_replay_options){.jobs = (unsigned)jobs, .damage = tw_damage_report, .context = &s->damage};
	int status = open_stage(s, f);
	if (status) {
		tw_answer_free(s->answer);
		free_all(s);
	}
	return status;
}

int tw_session_open(struct tw_session *s, const char *command, const struct tw_request *request, const char *dir, uint64_t jobs, FILE *f)
{
	*s = (struct tw_session){.command = command, .request = request, .dir = dir, .is_own = 1};
	int error = tw_recording_open(dir, &s->recording);
	return error ? tw_recording_error(s->command, dir, error) : begin(s, jobs, f);
}

int tw_session_begin(struct tw_session *s, const char *command, const struct tw_request *request, struct tw_recording *recording,
                     uint64_t jobs, FILE *f)
{
	*s = (struct tw_session){.command = command, .request = request, .dir = "the recording", .recording = recording};
	return begin(s, jobs, f);
}

/* Why the view's function was not met at all. NULL: no memory. */
static char *why_absent(const struct tw_session *s)
{
	struct tw_absent absent;
	const char *module, *function = tw_views_function(s->stage.views, &module);
	char *sentence = tw_absent_look(s->recording, function, module, &absent) ? NULL : tw_absent_sentence(&absent, function);
	tw_absent_free(&absent);
	return sentence;
}

/* Nothing was found of the range's name. */
static void tell_absent_range(const struct tw_session *s, const char *range)
{
	struct tw_ranges ranges = {0};
	struct tw_names *names = tw_context_names(s->context);
	if (names && !tw_ranges_parse(&ranges, range) && !tw_ranges_find(&ranges, names) && *ranges.why)
		fprintf(stderr, "%s %s: %s: nothing of '%s' is known: %s\n", tw_cli_program, s->command, s->dir, range, ranges.why);
	else
		fprintf(stderr,
		        "%s %s: no file that %s has mapped names a variable '%s'; give a thread_local variable of a "
		        "library loaded later by its address\n",
		        tw_cli_program, s->command, s->dir, range);
	tw_ranges_free(&ranges);
}

/* Reports what the answer does not tell: files that have changed, names that were not met. */
static int tell_more(const struct tw_session *s)
{
	const char *what;
	if (tw_context_opened_names(s->context))
		tw_names_report(s->command, tw_context_opened_names(s->context));
	if (!s->stage.views || tw_views_found(s->stage.views, &what))
		return 0;
	if (what == s->request->view.range) {
		tell_absent_range(s, what);
		return 1;
	}
	char *why = what == s->request->view.function ? why_absent(s) : NULL;
	fprintf(stderr, "%s %s: '%s' does not occur in what was analyzed of %s%s%s\n", tw_cli_program, s->command, what, s->dir,
	        why ? ": " : "", why ? why : "");
	free(why);
	return 1;
}

int tw_session_close(struct tw_session *s, int status)
{
	if (status) {
		tw_answer_free(s->answer);
	} else {
		int absent = tell_more(s);
		status = tw_request_end_answer(s->command, s->request, s->answer);
		status = status ? status : absent || s->problems || s->damage.chunks;
	}
	free_all(s);
	return status;
}
