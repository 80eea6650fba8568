#include "cli/with.h"
#include "analyzers/table.h"
#include "channel/machine.h"
#include "cli/analyze.h"
#include "cli/request.h"
#include "plugin/guard.h"
#include "plugin/plugin.h"
#include "plugin/stage.h"
#include "base/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int complain(const char *name, const char *why)
{
	fprintf(stderr, "trackway record: %s: %s\n", name, why);
	return -1;
}

int tw_with_add(struct tw_with *w, char *text)
{
	char why[1024], *options = strchr(text, ',');
	struct tw_live_request *requests = tw_array_room(w->requests, w->n, &w->room, sizeof *requests);
	if (options)
		*options++ = 0;
	tw_guard_install("record", 125);
	const struct tw_analyzer *analyzer = requests ? tw_plugin_find(tw_analyzers, text, why, sizeof why) : NULL;
	if (!requests)
		return complain(text, "no memory");
	w->requests = requests;
	if (!analyzer)
		return complain(text, why);
	if (!tw_request_init(&requests[w->n].request, analyzer, text))
		return complain(text, "no memory");
	if (options && tw_request_set_all(&requests[w->n].request, options, why, sizeof why))
		return complain(text, why);
	const struct tw_view *view = &requests[w->n].request.view;
	if (view->from.kind == TW_WHERE_TIME || view->to.kind == TW_WHERE_TIME)
		return complain(
		    text, "while the program runs, from and to must be counts of instructions (5Mi): times are only known at its end");
	if (!tw_request_has_argument(&requests[w->n].request)) {
		snprintf(why, sizeof why, "it wants %s=VALUE", analyzer->argument);
		return complain(text, why);
	}
	w->n++;
	if (!tw_request_is_live(&requests[w->n - 1].request))
		return 0;
	const struct tw_live_request last = requests[w->n - 1];
	memmove(requests + w->n_live + 1, requests + w->n_live, (w->n - 1 - w->n_live) * sizeof *requests);
	requests[w->n_live++] = last;
	return 0;
}

uint32_t tw_with_needs(const struct tw_with *w)
{
	uint32_t needs = 0;
	for (size_t i = 0; i < w->n; i++)
		needs |= w->requests[i].request.analyzer->needs;
	return needs;
}

/* A window by what is referred to sees references. */
static int format_for(const struct tw_request *r)
{
	const uint32_t needs = r->analyzer->needs;
	if (r->view.range || (needs & TW_NEEDS_REFS))
		return TW_FORMAT_DEP;
	if (needs & TW_WANTS_NO_REFS)
		return TW_FORMAT_DEP_C;
	return needs & (TW_WANTS_CALL_ADDRESSES | TW_WANTS_NO_ADDRESSES) ? TW_FORMAT_DEP_S : TW_FORMAT_DEP;
}

int tw_with_format(const struct tw_with *w)
{
	int format = TW_FORMAT_DEP_C;
	for (size_t i = 0; i < w->n; i++) {
		const int one = format_for(&w->requests[i].request);
		if (one == TW_FORMAT_DEP || (one == TW_FORMAT_DEP_S && format == TW_FORMAT_DEP_C))
			format = one;
	}
	return format;
}

int tw_with_check(const struct tw_with *w, uint32_t format, int order)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct tw_request *r = &w->requests[i].request;
		const char *lack = tw_stage_lacks_format(r->analyzer, format, order);
		if (lack)
			return complain(r->name, lack);
	}
	return 0;
}

/* Standard error, but written in larger pieces. */
static FILE *standard(void)
{
	int fd = dup(STDERR_FILENO);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static int end_answer(struct tw_live_request *r, struct tw_answer *answer)
{
	const int wrong = tw_request_end_answer("record", &r->request, answer);
	return tw_request_close_output("record", &r->request, &r->to, wrong);
}

void tw_with_keep(struct tw_with *w)
{
	w->n_kept = w->n - w->n_live;
}

/* Of one for which buffers were kept. */
static int replay_kept(struct tw_live_request *r, struct tw_recording *recording)
{
	const struct tw_run how = {.jobs = tw_machine_processors()};
	const int wrong = tw_analyze_open("record", &r->request, recording, &how, r->to.f);
	return tw_request_close_output("record", &r->request, &r->to, wrong);
}

int tw_with_start(struct tw_with *w, const struct tw_recording_info *info, int yields)
{
	const struct tw_live_options options = {
	    .requests = w->requests,
	    .n = w->n_live,
	    .n_kept = w->n_kept,
	    .most_kept = tw_machine_free() / 4,
	    .info = info,
	    .jobs = tw_machine_processors(),
	    .yields = yields,
	    .end = end_answer,
	    .replay = replay_kept,
	};
	const size_t n = w->n_live + w->n_kept;
	if (!n)
		return TW_OK;
	for (size_t i = 0; i < n; i++) {
		struct tw_live_request *r = &w->requests[i];
		r->request.store = w->names.path ? &w->names : NULL;
		FILE *own = r->request.output ? stderr : standard();
		if (!own)
			return tw_fail(TW_ERR_SYSTEM, "%s: its answer cannot be written anywhere", r->request.name);
		if (!tw_request_open_output("record", &r->request, NULL, own, &r->to))
			return 1;
	}
	int error = tw_feed_new(&w->feed);
	return error ? error : tw_live_start(&options, w->feed, &w->pid);
}

void tw_with_end(struct tw_with *w, const struct tw_recording_info *end)
{
	if (!w->pid)
		return;
	const struct tw_feed_end last = {end->wait_status, end->complete, end->duration_ns, end->tsc_hz, end->totals};
	tw_feed_end(w->feed, &last);
	tw_live_wait(w->pid);
	tw_feed_free(w->feed);
	w->feed = NULL;
	w->pid = 0;
}

void tw_with_free(struct tw_with *w)
{
	for (size_t i = 0; i < w->n; i++) {
		tw_outfile_close(&w->requests[i].to, 0); /* the analyzers' process has kept the file, if it came so far */
		tw_request_free(&w->requests[i].request);
	}
	free(w->requests);
	*w = (struct tw_with){0};
}

/* ---- those that need a recording ---- */

int tw_with_needs_recording(const struct tw_with *w)
{
	return w->n > w->n_live + w->n_kept;
}

struct replaying {
	const struct tw_request *request;
	const char *dir;
};

static int replay(void *arg)
{
	const struct replaying *r = arg;
	tw_guard_install("record", TW_LIVE_WRONG);
	const struct tw_run how = {.jobs = tw_machine_processors()};
	FILE *f = r->request->output ? stderr : standard();
	return !f || tw_analyze_recording("record", r->request, r->dir, &how, f);
}

void tw_with_replay(const struct tw_with *w, const char *dir)
{
	for (size_t i = w->n_live + w->n_kept; i < w->n; i++) {
		struct replaying r = {&w->requests[i].request, dir};
		tw_live_apart(r.request->name, replay, &r);
	}
}

static const char inner[] = "/recording"; /* what is there is ours alone */

int tw_with_make_directory(char *dir, size_t size)
{
	const char *parent = getenv("TMPDIR");
	int n = snprintf(dir, size - sizeof inner, "%s/trackway.XXXXXX", parent && *parent ? parent : "/tmp");
	if (n < 0 || (size_t)n >= size - sizeof inner || !mkdtemp(dir))
		return tw_fail(TW_ERR_SYSTEM, "%s: %s", dir, strerror(errno));
	strcat(dir, inner);
	return TW_OK;
}

void tw_with_remove_directory(const char *dir)
{
	DIR *d = opendir(dir);
	char *parent = strndup(dir, strlen(dir) - strlen(inner));
	for (const struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
	if (parent)
		rmdir(parent);
	free(parent);
}
