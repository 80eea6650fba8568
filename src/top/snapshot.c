#include "top/snapshot.h"
#include "base/array.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- lines ---- */

static int by_line(const void *a, const void *b)
{
	const struct tw_snapshot_line *x = a, *y = b;
	if (x->file != y->file) {
		int order = !x->file || !y->file ? !x->file - !y->file : strcmp(x->file, y->file);
		if (order)
			return order;
	}
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static int most_first(const void *a, const void *b)
{
	const struct tw_snapshot_line *x = a, *y = b;
	if (x->insns != y->insns)
		return x->insns > y->insns ? -1 : 1;
	return by_line(a, b);
}

static int is_same(const struct tw_snapshot_line *x, const struct tw_snapshot_line *y)
{
	return x->line == y->line && (x->file == y->file || (x->file && y->file && !strcmp(x->file, y->file))) &&
	       (x->file || x->function == y->function);
}

/* Adds up what stands for the same line. */
static void join_lines(struct tw_snapshot *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_lines; i++) {
		struct tw_snapshot_line *last = n ? &s->lines[n - 1] : NULL;
		if (!last || !is_same(last, &s->lines[i])) {
			s->lines[n++] = s->lines[i];
			continue;
		}
		last->insns += s->lines[i].insns;
		last->reads += s->lines[i].reads;
		last->writes += s->lines[i].writes;
	}
	s->n_lines = n;
}

static int make_lines(struct tw_snapshot *s)
{
	const struct tw_profile *p = &s->listing.profile;
	s->lines = calloc(p->n_insns + 1u, sizeof *s->lines);
	if (!s->lines)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < p->n_insns; i++) {
		const struct tw_listing_place *place = &s->listing.order[i];
		const struct tw_profile_insn *insn = &p->insns[place->insn];
		struct tw_code_name name;
		tw_names_code(s->names, insn->image, insn->pc, &name);
		s->lines[s->n_lines++] = (struct tw_snapshot_line){name.line ? name.file : NULL,
		                                                   name.file ? name.line : 0,
		                                                   s->function_of[place->owner],
		                                                   insn->executions,
		                                                   insn->reads,
		                                                   insn->writes};
	}
	qsort(s->lines, s->n_lines, sizeof *s->lines, by_line);
	join_lines(s);
	qsort(s->lines, s->n_lines, sizeof *s->lines, most_first);
	return 0;
}

/* ---- functions ---- */

static int make_functions(struct tw_snapshot *s)
{
	s->function_of = malloc((s->listing.owners.n + 1u) * sizeof *s->function_of);
	if (!s->function_of)
		return TW_ERR_MEMORY;
	memset(s->function_of, 0xff, (s->listing.owners.n + 1u) * sizeof *s->function_of);
	for (size_t i = 0; i < s->listing.n_functions; i++) {
		s->function_of[s->listing.functions[i].owner] = (uint32_t)i;
		s->insns += s->listing.functions[i].insns;
	}
	return 0;
}

/* ---- all of it ---- */

/* A chunk that is damaged or incomplete: what precedes it counts. */
static int go_on(void *context, size_t thread, size_t chunk, int error)
{
	(void)context, (void)thread, (void)chunk, (void)error;
	return 0;
}

int tw_snapshot_make(const char *dir, unsigned jobs, struct tw_snapshot **out)
{
	const struct tw_replay_options replay = {.jobs = jobs, .damage = go_on};
	struct tw_snapshot *s = calloc(1, sizeof *s);
	*out = s;
	if (!s)
		return TW_ERR_MEMORY;
	int error = tw_recording_open(dir, &s->recording);
	error = error ? error : tw_recording_replayable(s->recording);
	if (!error && !(s->names = tw_names_open(s->recording, NULL)))
		error = TW_ERR_MEMORY;
	error = error ? error : tw_listing_init(&s->listing, s->recording, s->names, &replay, NULL, NULL);
	error = error ? error : make_functions(s);
	error = error ? error : make_lines(s);
	if (!error && !(s->blocks = tw_profile_hottest(&s->listing.profile.fixed)))
		error = TW_ERR_MEMORY;
	s->complete = s->recording && tw_recording_info(s->recording)->complete;
	return error;
}

void tw_snapshot_free(struct tw_snapshot *s)
{
	if (!s)
		return;
	free(s->lines);
	free(s->blocks);
	free(s->function_of);
	tw_listing_free(&s->listing);
	tw_names_close(s->names);
	tw_recording_close(s->recording);
	free(s);
}

/* ---- one after another ---- */

struct tw_follower {
	const char *dir;
	unsigned jobs;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct tw_snapshot *newest;
	int error, stop;
};

/* Waits at most so long for the end. Returns whether it has come. */
static int is_over(struct tw_follower *f, double seconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)seconds;
	pthread_mutex_lock(&f->lock);
	while (!f->stop && pthread_cond_timedwait(&f->change, &f->lock, &until) == 0)
		;
	int over = f->stop;
	pthread_mutex_unlock(&f->lock);
	return over;
}

static void hand_over(struct tw_follower *f, struct tw_snapshot *s, int error)
{
	pthread_mutex_lock(&f->lock);
	struct tw_snapshot *old = error ? s : f->newest;
	f->newest = error ? f->newest : s;
	f->error = error;
	pthread_mutex_unlock(&f->lock);
	tw_snapshot_free(old);
}

/* Reads a growing recording again and again, with pauses longer than the reading took. */
static void *follow(void *arg)
{
	struct tw_follower *f = arg;
	for (int complete = 0; !complete;) {
		struct tw_snapshot *s;
		time_t began = time(NULL);
		int error = tw_snapshot_make(f->dir, f->jobs, &s);
		complete = error || s->complete;
		hand_over(f, s, error);
		if (!complete && is_over(f, 1 + 2 * difftime(time(NULL), began)))
			break;
	}
	return NULL;
}

struct tw_follower *tw_follower_start(const char *dir, unsigned jobs)
{
	struct tw_follower *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->dir = dir;
	f->jobs = jobs;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->change, NULL);
	if (!pthread_create(&f->thread, NULL, follow, f))
		return f;
	free(f);
	return NULL;
}

void tw_follower_stop(struct tw_follower *f)
{
	pthread_mutex_lock(&f->lock);
	f->stop = 1;
	pthread_cond_signal(&f->change);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	tw_snapshot_free(f->newest);
	free(f);
}

struct tw_snapshot *tw_follower_take(struct tw_follower *f, int *error)
{
	pthread_mutex_lock(&f->lock);
	struct tw_snapshot *s = f->newest;
	f->newest = NULL;
	*error = f->error;
	pthread_mutex_unlock(&f->lock);
	return s;
}
