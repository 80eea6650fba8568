#include "live/live.h"
#include "live/mapped.h"
#include "plugin/guard.h"
#include "plugin/stage.h"
#include "base/array.h"
#include "base/helper_thread.h"
#include "replay/together.h"
#include "replay/walk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A buffer that waits. */
struct item {
	struct item *next;
	struct tw_chunk chunk;
	uint32_t job;
};

/* A traced thread, or several ended threads with consecutive numbers. */
struct line {
	uint32_t first, last; /* serial numbers */
	int busy, ended;
	struct item *items, **end;
	void *states[]; /* one of each analyzer; NULL: not begun */
};

/* One analyzer. */
struct asked {
	struct tw_live_request *request;
	struct tw_answer *answer;
	struct tw_context *context;
	struct tw_stage stage;
	struct tw_analyzer analyzer; /* the stage's */
	_Atomic int failed;          /* with this result */
};

struct live {
	const struct tw_live_options *options;
	const struct tw_feed *feed;
	int fd;
	struct asked *asked;
	uint64_t period;        /* of the analyzer, if there is one alone */
	pthread_rwlock_t known; /* of the next two: walks read, the receiver writes */
	struct tw_recording *recording;
	struct tw_programs *programs;
	size_t mapped; /* bytes of events that were kept of buffers that were not */
	/* Below: under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct line **lines; /* by serial number */
	size_t n_lines, lines_room;
	size_t turn; /* where to look for the next buffer first */
	int ending;
};

/* ---- what goes wrong ---- */

static void complain(const char *name, const char *why)
{
	fprintf(stderr, "trackway record: %s: %s\n", name, why);
}

/* The analyzer gives up; the others go on. */
static void give_up(struct asked *a, int result)
{
	char why[1024];
	int none = 0;
	if (!atomic_compare_exchange_strong(&a->failed, &none, result))
		return;
	if (tw_context_complaint(a->context)[0])
		snprintf(why, sizeof why, "%s", tw_context_complaint(a->context));
	else if (result < 0)
		tw_failure_sentence(result, why, sizeof why);
	else
		snprintf(why, sizeof why, "it stopped with result %d", result);
	complain(a->request->request.name, why);
}

/* ---- lines ---- */

/* The position of a thread's line, or where it belongs. Called under the lock. */
static size_t place_of(const struct live *l, uint32_t serial)
{
	size_t at = 0;
	while (at < l->n_lines && l->lines[at]->last < serial)
		at++;
	return at;
}

static struct line *add_line(struct live *l, size_t at, uint32_t serial)
{
	struct line *line = calloc(1, sizeof *line + l->options->n * sizeof *line->states);
	struct line **lines = tw_array_room(l->lines, l->n_lines, &l->lines_room, sizeof *lines);
	l->lines = lines ? lines : l->lines;
	if (!line || !lines) {
		free(line);
		return NULL;
	}
	line->first = line->last = serial;
	line->end = &line->items;
	memmove(lines + at + 1, lines + at, (l->n_lines++ - at) * sizeof *lines);
	lines[at] = line;
	return line;
}

static int begin_states(struct live *l, struct line *line)
{
	for (size_t i = 0; i < l->options->n; i++) {
		struct asked *a = &l->asked[i];
		if (line->states[i] || a->failed)
			continue;
		line->states[i] = a->analyzer.begin(&a->stage);
		if (!line->states[i])
			give_up(a, TW_ERR_MEMORY);
	}
	return 0;
}

/* Adds the states of the line that directly follows this one, and frees it. */
static void join_lines(struct live *l, struct line *to, struct line *from)
{
	for (size_t i = 0; i < l->options->n; i++) {
		struct asked *a = &l->asked[i];
		if (!from->states[i])
			continue;
		if (!to->states[i]) {
			to->states[i] = from->states[i];
			continue;
		}
		int result = a->analyzer.merge(to->states[i], from->states[i]);
		if (result)
			give_up(a, result);
	}
	to->last = from->last;
	free(from);
}

static int is_done(const struct line *line)
{
	return line->ended && !line->busy && !line->items;
}

/* Joins all lines that can be joined. Called under the lock, which is released while states are merged. */
static void join_ended(struct live *l)
{
	for (size_t i = 0; i + 1 < l->n_lines; i++) {
		struct line *to = l->lines[i], *from = l->lines[i + 1];
		if (!is_done(to) || !is_done(from) || to->last + 1 != from->first)
			continue;
		to->busy = 1;
		memmove(l->lines + i + 1, l->lines + i + 2, (--l->n_lines - i - 1) * sizeof *l->lines);
		pthread_mutex_unlock(&l->lock);
		join_lines(l, to, from);
		pthread_mutex_lock(&l->lock);
		to->busy = 0;
		i = (size_t)-1; /* lines may have come and gone meanwhile */
	}
}

/* ---- workers ---- */

struct worker {
	struct live *l;
	struct tw_walk *walk;
	struct line *line; /* the one that is walked */
};

static int take_batch(void *context, const struct tw_batch *b)
{
	const struct worker *w = context;
	for (size_t i = 0; i < w->l->options->n; i++) {
		struct asked *a = &w->l->asked[i];
		int result = a->failed ? 0 : a->analyzer.batch(w->line->states[i], b);
		if (result)
			give_up(a, result);
	}
	return 0;
}

static void walk_item(struct worker *w, struct item *item)
{
	struct live *l = w->l;
	char why[1024];
	pthread_rwlock_rdlock(&l->known);
	begin_states(l, w->line);
	int error = tw_walk_chunk(w->walk, &item->chunk, NULL);
	if (error)
		complain("part of what was recorded is left out", tw_failure_sentence(error, why, sizeof why));
	pthread_rwlock_unlock(&l->known);
	tw_feed_return(l->fd, item->job);
}

/* A line with work that nobody is doing. Called under the lock. */
static struct line *next_line(struct live *l)
{
	for (size_t i = 0; i < l->n_lines; i++) {
		struct line *line = l->lines[(l->turn + i) % l->n_lines];
		if (!line->busy && line->items) {
			l->turn = (l->turn + i + 1) % l->n_lines;
			return line;
		}
	}
	return NULL;
}

static struct item *take_item(struct line *line)
{
	struct item *item = line->items;
	line->items = item->next;
	if (!line->items)
		line->end = &line->items;
	line->busy = 1;
	return item;
}

/* Does one piece of work. 0: there is none, and will be none. Called under the lock. */
static int do_something(struct worker *w)
{
	struct live *l = w->l;
	struct line *line = next_line(l);
	if (!line && l->ending)
		return 0;
	if (!line) {
		pthread_cond_wait(&l->moved, &l->lock);
		return 1;
	}
	struct item *item = take_item(line);
	pthread_mutex_unlock(&l->lock);
	w->line = line;
	walk_item(w, item);
	pthread_mutex_lock(&l->lock);
	line->busy = 0;
	line->ended |= (item->chunk.flags & (TW_CHUNK_LAST | TW_CHUNK_TORN)) != 0;
	free(item);
	join_ended(l);
	pthread_cond_broadcast(&l->moved);
	return 1;
}

static void *run_worker(void *arg)
{
	struct live *l = arg;
	struct worker w = {.l = l};
	const struct tw_walk_options options = {
	    .programs = l->programs, .xstate = &l->options->info->xstate, .batch = take_batch, .context = &w, .period = l->period};
	w.walk = tw_walk_new(&options);
	if (!w.walk) {
		complain("analyzers", "no memory");
		_exit(TW_LIVE_WRONG);
	}
	pthread_mutex_lock(&l->lock);
	while (do_something(&w))
		;
	pthread_mutex_unlock(&l->lock);
	tw_walk_free(w.walk);
	return NULL;
}

/* ---- the receiver ---- */

static int add_programs(struct live *l, const uint8_t *bytes, size_t n)
{
	int error = TW_OK;
	for (size_t at = 0; at < n && !error; at += ((const struct tw_descriptor *)(bytes + at))->bytes)
		error = tw_programs_add(l->programs, (const struct tw_descriptor *)(bytes + at));
	return error;
}

static int take_block(struct live *l, const struct tw_feed_message *m)
{
	uint8_t *bytes = malloc(m->bytes + 8);
	if (!bytes)
		return tw_fail(TW_ERR_MEMORY, "what is known of the program");
	if (!tw_feed_read(l->fd, bytes, m->bytes))
		_exit(TW_LIVE_WRONG);
	pthread_rwlock_wrlock(&l->known);
	int error = tw_recording_live_block(l->recording, m->what, bytes, m->bytes);
	if (!error && m->what == TW_BLOCK_DESCRIPTORS && l->options->n)
		error = add_programs(l, bytes, m->bytes);
	pthread_rwlock_unlock(&l->known);
	return error;
}

/* Has workers walk it. */
static int put_in_line(struct live *l, const struct tw_chunk *chunk, uint32_t job)
{
	struct item *item = calloc(1, sizeof *item);
	if (!item)
		return tw_fail(TW_ERR_MEMORY, "buffers");
	item->chunk = *chunk;
	item->job = job;
	pthread_mutex_lock(&l->lock);
	size_t at = place_of(l, chunk->thread);
	struct line *line = at < l->n_lines && l->lines[at]->first <= chunk->thread ? l->lines[at] : add_line(l, at, chunk->thread);
	if (line) {
		*line->end = item;
		line->end = &item->next;
	} else {
		free(item);
	}
	pthread_cond_broadcast(&l->moved);
	pthread_mutex_unlock(&l->lock);
	return line ? TW_OK : tw_fail(TW_ERR_MEMORY, "threads");
}

/* Keeps the mapping events of a chunk that is not kept otherwise, if there is room: names come from these. */
static int keep_mapped(struct live *l, const struct tw_chunk *chunk)
{
	enum { MOST = 16 << 20 };
	struct tw_chunk few = *chunk;
	few.n_c = few.n_m = 0;
	few.e = malloc(chunk->n_e + 1);
	if (!few.e)
		return tw_fail(TW_ERR_MEMORY, "mappings");
	few.n_e = tw_mapped_events(chunk, few.e);
	const int has_room = few.n_e && l->mapped + few.n_e <= MOST;
	const int error = has_room ? tw_recording_live_keep(l->recording, &few, 4 * MOST) : TW_OK;
	l->mapped += has_room ? few.n_e : 0;
	free(few.e);
	return error;
}

static int keep(struct live *l, const struct tw_chunk *chunk)
{
	return l->options->n_kept ? tw_recording_live_keep(l->recording, chunk, l->options->most_kept) : keep_mapped(l, chunk);
}

static int take_chunk(struct live *l, uint32_t job)
{
	struct tw_feed_chunk c;
	if (!tw_feed_read(l->fd, &c, sizeof c))
		_exit(TW_LIVE_WRONG);
	tw_feed_room(l->feed, job, &c.chunk);
	pthread_rwlock_wrlock(&l->known);
	int error = tw_recording_live_chunk(l->recording, &c.thread, &c.chunk);
	if (!error)
		error = keep(l, &c.chunk);
	pthread_rwlock_unlock(&l->known);
	if (!error && l->options->n)
		return put_in_line(l, &c.chunk, job);
	tw_feed_return(l->fd, job);
	return error;
}

static int take_thread(struct live *l)
{
	struct tw_thread_info thread;
	if (!tw_feed_read(l->fd, &thread, sizeof thread))
		_exit(TW_LIVE_WRONG);
	pthread_rwlock_wrlock(&l->known);
	const int error = tw_recording_live_thread(l->recording, &thread);
	pthread_rwlock_unlock(&l->known);
	return error;
}

/* Until the end is told. */
static int receive(struct live *l, struct tw_feed_end *end)
{
	struct tw_feed_message m;
	int error = TW_OK;
	while (!error) {
		if (!tw_feed_read(l->fd, &m, sizeof m))
			_exit(TW_LIVE_WRONG); /* there is no collector any more that could be told */
		if (m.kind == TW_FEED_END)
			return tw_feed_read(l->fd, end, sizeof *end) ? TW_OK : TW_ERR_TRUNCATED;
		error = m.kind == TW_FEED_BLOCK ? take_block(l, &m) : m.kind == TW_FEED_THREAD ? take_thread(l) : take_chunk(l, m.what);
	}
	return error;
}

/* ---- beginning ---- */

static int begin_asked(struct live *l, struct asked *a, struct tw_live_request *request)
{
	const struct tw_request *r = &request->request;
	const struct tw_answer_options options = {request->to.f, r->form, r->table, r->top, r->analyzer->name, 0};
	a->request = request;
	a->answer = tw_answer_new(&options);
	a->context = tw_context_new(r, l->recording, a->answer);
	if (!a->answer || !a->context)
		return tw_fail(TW_ERR_MEMORY, "%s", r->name);
	a->stage = (struct tw_stage){.request = r, .context = a->context};
	a->analyzer = tw_stage_analyzer(r);
	if (tw_view_is_all(&r->view))
		return TW_OK;
	a->stage.views = tw_views_new(a->context, &r->view, r->analyzer->needs & TW_NEEDS_NO_CODE);
	return a->stage.views ? TW_OK : tw_fail(TW_ERR_MEMORY, "%s", r->name);
}

static int begin_all(struct live *l)
{
	int error = tw_recording_live(l->options->info, &l->recording);
	l->programs = tw_programs_new(TW_PROGRAMS_HOT, NULL);
	l->asked = calloc(l->options->n, sizeof *l->asked);
	if (!error && (!l->programs || !l->asked))
		error = tw_fail(TW_ERR_MEMORY, "analyzers");
	uint32_t needs = 0;
	for (size_t i = 0; i < l->options->n && !error; i++) {
		error = begin_asked(l, &l->asked[i], &l->options->requests[i]);
		needs = i ? tw_needs_together(needs, l->asked[i].analyzer.needs) : l->asked[i].analyzer.needs;
	}
	enum tw_addresses addresses = tw_addresses_for(needs);
	if (!error && l->options->n == 1)
		addresses = tw_addresses_of(&l->asked->analyzer, &l->asked->stage, l->options->jobs, &l->period);
	if (!error)
		tw_programs_set_addresses(l->programs, addresses);
	return error;
}

/* ---- the end ---- */

static void join_all(struct live *l)
{
	if (!l->n_lines)
		add_line(l, 0, 0);
	for (size_t i = 0; i < l->n_lines; i++)
		begin_states(l, l->lines[i]);
	for (size_t i = 1; i < l->n_lines; i++)
		join_lines(l, l->lines[0], l->lines[i]);
}

static int answer(struct live *l, size_t i)
{
	struct asked *a = &l->asked[i];
	void *state = l->n_lines ? l->lines[0]->states[i] : NULL;
	int result = state ? a->analyzer.end(state, a->failed) : 0;
	if (result)
		give_up(a, result);
	if (a->failed) {
		tw_answer_free(a->answer);
		return 1;
	}
	return l->options->end(a->request, a->answer);
}

/* Of the recording that was kept. */
struct replaying {
	struct live *l;
	struct tw_live_request *request;
};

static int replay(void *arg)
{
	const struct replaying *r = arg;
	return r->l->options->replay(r->request, r->l->recording);
}

static int replay_all(struct live *l)
{
	const struct tw_live_options *o = l->options;
	int wrong = 0;
	for (size_t i = o->n; i < o->n + o->n_kept; i++) {
		struct replaying r = {l, &o->requests[i]};
		wrong |= o->n + o->n_kept == 1 ? replay(&r) : tw_live_apart(r.request->request.name, replay, &r);
	}
	return wrong;
}

static void init_locks(struct live *l)
{
	pthread_rwlockattr_t writer_first;
	pthread_rwlockattr_init(&writer_first);
	pthread_rwlockattr_setkind_np(&writer_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&l->known, &writer_first);
	pthread_rwlockattr_destroy(&writer_first);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->moved, NULL);
}

/* Starts workers, receives, and waits for them. */
static int run_all(struct live *l, struct tw_feed_end *end)
{
	enum { MOST = 64 };
	pthread_t workers[MOST];
	unsigned n = 0, wanted = !l->options->n ? 0 : l->options->jobs < MOST ? l->options->jobs : MOST;
	while (n < wanted && !pthread_create(&workers[n], NULL, run_worker, l))
		n++;
	int error = n || !wanted ? receive(l, end) : tw_fail(TW_ERR_SYSTEM, "threads for analyzers");
	if (error)
		return error; /* with work left to do: the process ends with it */
	pthread_mutex_lock(&l->lock);
	l->ending = 1;
	pthread_cond_broadcast(&l->moved);
	pthread_mutex_unlock(&l->lock);
	while (n--)
		pthread_join(workers[n], NULL);
	return TW_OK;
}

/* The process of analyzers. Its exit status. */
static int serve(const struct tw_live_options *options, struct tw_feed *feed)
{
	struct live l = {.options = options, .feed = feed, .fd = tw_feed_other(feed)};
	struct tw_feed_end end = {0};
	char why[1024];
	init_locks(&l);
	int wrong = 0, error = begin_all(&l);
	if (!error)
		error = run_all(&l, &end);
	if (error) {
		complain("analyzers", tw_failure_sentence(error, why, sizeof why));
		return 1;
	}
	const struct tw_recording_info last = {.complete = end.complete,
	                                       .wait_status = end.wait_status,
	                                       .duration_ns = end.duration_ns,
	                                       .tsc_hz = end.tsc_hz,
	                                       .totals = end.totals};
	tw_recording_live_end(l.recording, &last);
	if (options->n)
		join_all(&l);
	for (size_t i = 0; i < options->n; i++)
		wrong |= answer(&l, i);
	wrong |= replay_all(&l);
	return wrong != 0;
}

/* Signals from a terminal, or from whoever stops the recording, are for the program and the collector: the answer comes after them. */
static void set_signals(void)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	tw_guard_install("record", TW_LIVE_WRONG);
}

int tw_live_start(const struct tw_live_options *options, struct tw_feed *feed, pid_t *pid)
{
	fflush(NULL);
	*pid = fork();
	if (*pid < 0)
		return tw_fail(TW_ERR_SYSTEM, "a process for analyzers: %s", strerror(errno));
	if (*pid) {
		tw_feed_own(feed);
		return TW_OK;
	}
	set_signals();
	if (options->yields)
		tw_helper_thread_yield(TW_PRIORITY_LOW);
	_exit(serve(options, feed) ? TW_LIVE_WRONG : TW_LIVE_ANSWERED);
}

int tw_live_wait(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFSIGNALED(status))
		fprintf(stderr, "trackway record: the analyzers' process was killed by SIG%s: there are no answers\n",
		        sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != TW_LIVE_ANSWERED && WEXITSTATUS(status) != TW_LIVE_WRONG)
		fprintf(stderr, "trackway record: an analyzer ended the analyzers' process with status %d: there are no answers\n",
		        WEXITSTATUS(status));
	return !WIFEXITED(status) || WEXITSTATUS(status) != TW_LIVE_ANSWERED;
}

int tw_live_apart(const char *name, int (*run)(void *arg), void *arg)
{
	fflush(NULL);
	const pid_t pid = fork();
	if (pid < 0)
		complain(name, "no process could be created for it");
	if (pid)
		return pid < 0 || tw_live_wait(pid);
	const int wrong = run(arg);
	fflush(NULL);
	_exit(wrong ? TW_LIVE_WRONG : TW_LIVE_ANSWERED);
}
