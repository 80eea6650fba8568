/* What orders the threads of OpenMP: regions, their barriers, tasks. */
#include "analyzers/ordering_openmp.h"
#include "analyzers/ordering_tasks.h"
#include "base/array.h"

#include <stdint.h>

/* ---- teams ---- */

static struct tw_ordering_frame *frame_of(const struct tw_ordering_thread *t)
{
	return t->n_frames ? &t->frames[t->n_frames - 1] : NULL;
}

static struct tw_ordering_team *team_of(const struct tw_ordering *o, const struct tw_ordering_thread *t)
{
	return &o->teams[t->n_frames ? frame_of(t)->team : 0];
}

static int push_frame(struct tw_ordering *o, struct tw_ordering_thread *t, uint32_t team, uint32_t task, size_t depth)
{
	const uint32_t maker = tw_ordering_maker_new(o);
	struct tw_ordering_frame *frames = tw_array_room(t->frames, t->n_frames, &t->frames_room, sizeof *frames);
	if (!frames || !maker)
		return TW_ERR_MEMORY;
	t->frames = frames;
	frames[t->n_frames++] = (struct tw_ordering_frame){.team = team, .task = task, .depth = depth, .maker = maker, .making = t->making};
	t->making = (struct tw_ordering_making){0};
	return 0;
}

/* A place for a team: one that is closed, or a new one. 0: no memory. */
static uint32_t new_team(struct tw_ordering *o)
{
	for (size_t i = 1; i < o->n_teams; i++)
		if (!o->teams[i].open)
			return (uint32_t)i;
	struct tw_ordering_team *teams = tw_array_zeros(o->teams, o->n_teams, &o->teams_room, sizeof *teams);
	if (!teams)
		return 0;
	o->teams = teams;
	return (uint32_t)o->n_teams++;
}

/* The frame is finished: after a deferred task the thread is again what it was before. */
static void pop_frame(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = &t->frames[--t->n_frames];
	t->making = f->making;
	if (f->made)
		tw_ordering_made_drop(o, f->made);
	if (t->making.number == f->made)
		t->making.number = 0; /* the next one of a loop is another */
	tw_ordering_maker_drop(o, f->maker);
	if (!f->deferred)
		return;
	uint32_t *own = &t->task_clock[f->own];
	*own = *own > t->clock ? *own : t->clock;
	tw_clocks_free(&t->clocks);
	t->clocks = f->clocks;
	t->clock = f->clock;
	t->who = f->who;
	f->clocks = (struct tw_clocks){0};
}

static int begin_region(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function)
{
	const uint32_t number = new_team(o);
	struct tw_ordering_team *m = &o->teams[number];
	if (!number)
		return TW_ERR_MEMORY;
	tw_ordering_team_free(m);
	*m = (struct tw_ordering_team){.function = function, .program = t->program, .open = 1, .master = t->index};
	int error = push_frame(o, t, number, 0, SIZE_MAX);
	return error ? error : tw_ordering_release(t, &m->fork);
}

static int end_region(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	while (t->n_frames && frame_of(t)->depth != SIZE_MAX)
		pop_frame(o, t);
	if (!t->n_frames)
		return 0;
	struct tw_ordering_team *m = team_of(o, t);
	int error = tw_ordering_acquire(t, &m->ended);
	if (!error)
		error = tw_ordering_acquire(t, &m->tasks);
	m->open = 0;
	tw_ordering_made_forget(o, frame_of(t)->team);
	pop_frame(o, t);
	return error;
}

/* The region's own frame: barriers within tasks are not allowed, but explicit tasks may run in one. */
static int arrive_team(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = frame_of(t);
	struct tw_ordering_team *m = team_of(o, t);
	if (!f)
		return 0;
	const unsigned p = f->phase % TW_ORDERING_PHASES;
	if (m->phases[p].of != f->phase + 1)
		tw_clocks_clear(&m->phases[p].clocks);
	m->phases[p].of = f->phase + 1;
	return tw_ordering_release(t, &m->phases[p].clocks);
}

static int leave_team(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = frame_of(t);
	struct tw_ordering_team *m = team_of(o, t);
	if (!f)
		return 0;
	int error = tw_ordering_acquire(t, &m->phases[f->phase++ % TW_ORDERING_PHASES].clocks);
	return error ? error : tw_ordering_acquire(t, &m->tasks);
}

static struct tw_ordering_task *task_of(struct tw_ordering *o, uint32_t program, uint64_t function)
{
	for (size_t i = 0; i < o->n_tasks; i++)
		if (o->tasks[i].function == function && o->tasks[i].program == program)
			return &o->tasks[i];
	return NULL;
}

static struct tw_ordering_task *add_task(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t function, uint32_t maker)
{
	struct tw_ordering_task *k = tw_array_room(o->tasks, o->n_tasks, &o->tasks_room, sizeof *k);
	if (!k)
		return NULL;
	o->tasks = k;
	k = &o->tasks[o->n_tasks++];
	*k = (struct tw_ordering_task){.function = function, .program = t->program, .maker = maker};
	return k;
}

static uint32_t context_of(const struct tw_ordering_thread *t)
{
	return t->n_frames ? frame_of(t)->task : 0;
}

static struct tw_ordering_task *make_task(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step,
                                          uint64_t function)
{
	const uint32_t maker = context_of(t);
	struct tw_ordering_task *k = task_of(o, t->program, function);
	if (!k)
		k = add_task(o, t, function, maker);
	t->making.function = function;
	if (!k || tw_ordering_release(t, &k->made) || tw_ordering_made_new(o, t, function, step->list, step->call.n_list))
		return NULL;
	k->maker = k->maker == maker ? maker : TW_ORDERING_BY_SEVERAL;
	return k;
}

/* What runs while the thread is in GOMP_task runs instead of its creator. */
static int make_one(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	enum { FINAL = 2 };
	const struct tw_open_call *c = &step->call;
	struct tw_ordering_task *k = make_task(o, t, step, c->args[0]);
	t->making.includes = 1;
	if (!k)
		return TW_ERR_MEMORY;
	k->final |= (c->args[6] & FINAL) != 0;
	k->depends |= (c->args[6] & TW_CALLED_TASK_DEPENDS) != 0;
	return 0;
}

/* A region for a device is a task, which is deferred where it need not be waited for. */
static int make_target(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	struct tw_ordering_task *k = make_task(o, t, step, step->call.args[1]);
	t->making.includes = 1;
	if (!k)
		return TW_ERR_MEMORY;
	k->depends |= step->call.n_list != 0;
	return 0;
}

/* Tasks of a loop are not deferred if the loop says so, if its creator is final, or if it is in no region. */
static int make_loop(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	enum { DEFERRED = 1 << 10, REDUCES = 1 << 12 };
	const uint32_t context = context_of(t);
	struct tw_ordering_task *k = make_task(o, t, step, c->args[0]);
	t->making.includes = !(c->args[5] & DEFERRED) || (context && o->tasks[context - 1].final) || !t->n_frames;
	if (!k)
		return TW_ERR_MEMORY;
	k->reduces |= (c->args[5] & REDUCES) != 0;
	return 0;
}

/* A detached task that is not deferred has been waited for, including its event. */
static int leave_one(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c)
{
	const int is_awaited = c->kind == TW_CALLED_TASK && !c->args[5] && c->args[6] & TW_CALLED_TASK_DETACHED && t->n_frames;
	tw_ordering_made_leave(o, t);
	return is_awaited ? tw_ordering_acquire(t, tw_ordering_maker_children(o, frame_of(t)->maker)) : 0;
}

static int leave_loop(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c)
{
	enum { NO_GROUP = 1 << 11 };
	tw_ordering_made_leave(o, t);
	return c->args[5] & NO_GROUP ? 0 : tw_ordering_acquire(t, &team_of(o, t)->tasks);
}

/* It waits for the tasks created by what it runs; if more is not known, for all that were created in one place. */
static int wait_for_tasks(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	const uint32_t context = context_of(t);
	int error = t->n_frames ? tw_ordering_acquire(t, tw_ordering_maker_children(o, frame_of(t)->maker)) : 0;
	for (size_t i = 0; i < o->n_tasks && !error; i++)
		if (o->tasks[i].program == t->program && (o->tasks[i].maker == context || o->tasks[i].maker == TW_ORDERING_BY_SEVERAL))
			error = tw_ordering_acquire(t, &o->tasks[i].ended);
	return error;
}

/* The region whose tasks the thread runs: the one that it is in, or, at the barrier behind it, the one whose function has returned. */
static uint32_t team_for_tasks(const struct tw_ordering *o, const struct tw_ordering_thread *t)
{
	if (t->n_frames)
		return frame_of(t)->team;
	return o->teams[t->ended_team].open ? t->ended_team : 0;
}

size_t tw_ordering_runner(const struct tw_ordering *o, size_t who)
{
	return who < o->n_threads ? who : (who - o->n_threads) / TW_ORDERING_TASK_CLOCKS;
}

/* From here on the thread is the task, which knows nothing yet. Its clock continues where that of the last such task has ended. */
static int become_task(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = frame_of(t);
	const uint32_t own = t->n_deferred++ % TW_ORDERING_TASK_CLOCKS;
	f->deferred = 1;
	f->own = own;
	f->who = t->who;
	f->clock = t->clock;
	f->clocks = t->clocks;
	t->clocks = (struct tw_clocks){0};
	t->who = o->n_threads + t->index * TW_ORDERING_TASK_CLOCKS + own;
	t->clock = t->task_clock[own];
	return tw_ordering_advance(t);
}

static int begin_task(struct tw_ordering *o, struct tw_ordering_thread *t, struct tw_ordering_task *k, size_t depth)
{
	const uint32_t waiting = tw_ordering_made_runs(o, t, k->function),
	               made = waiting || !t->making.includes ? waiting : t->making.number;
	const int deferred = waiting || !t->making.includes;
	int error = push_frame(o, t, team_for_tasks(o, t), (uint32_t)(k - o->tasks) + 1, depth);
	if (!error && deferred)
		error = become_task(o, t);
	if (error)
		return error;
	frame_of(t)->made = made;
	if (made)
		return tw_ordering_made_begin(o, t, made);
	error = tw_ordering_acquire(t, &k->made);
	return error || !k->depends ? error : tw_ordering_acquire(t, &team_of(o, t)->depending);
}

const struct tw_ordering_frame *tw_ordering_deferred(const struct tw_ordering_thread *t)
{
	size_t i = t->n_frames;
	while (i && !t->frames[i - 1].deferred)
		i--;
	return i ? &t->frames[i - 1] : NULL;
}

int tw_ordering_reduces(const struct tw_ordering *o, const struct tw_ordering_frame *f)
{
	return f->task && o->tasks[f->task - 1].reduces;
}

/* Is it an open region with this function, of which the thread is not the master? */
static int is_region(const struct tw_ordering_team *m, const struct tw_ordering_thread *t, uint64_t function)
{
	return m->open && m->function == function && m->program == t->program && m->master != t->index;
}

static int has_begun(const struct tw_ordering_team *m, const struct tw_ordering_thread *t)
{
	size_t i = m->n_parts;
	while (i && m->parts[i - 1] != t->index)
		i--;
	return i != 0;
}

static int note_part(struct tw_ordering_team *m, const struct tw_ordering_thread *t)
{
	uint32_t *parts = tw_array_room(m->parts, m->n_parts, &m->parts_room, sizeof *parts);
	if (!parts)
		return TW_ERR_MEMORY;
	m->parts = parts;
	parts[m->n_parts++] = (uint32_t)t->index;
	return 0;
}

/*
 * A thread starts its part of a region. If several nested ones with this function are open, it cannot be determined
 * which: it counts as any of them. It is not one in which it had its part before: then it is the next one, whose
 * start by its master has not been seen yet.
 */
static int begin_part(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function, size_t depth, int *begun)
{
	int error = 0;
	for (size_t i = 1; i < o->n_teams && !error; i++) {
		if (!is_region(&o->teams[i], t, function) || has_begun(&o->teams[i], t))
			continue;
		if (!*begun)
			error = push_frame(o, t, (uint32_t)i, 0, depth);
		if (!error && !*begun)
			error = note_part(&o->teams[i], t);
		if (!error)
			error = tw_ordering_acquire(t, &o->teams[i].fork);
		*begun = 1;
	}
	return error;
}

static int end_part(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function)
{
	int error = 0;
	for (size_t i = 1; i < o->n_teams && !error; i++)
		if (is_region(&o->teams[i], t, function))
			error = tw_ordering_release(t, &o->teams[i].ended);
	return error;
}

int tw_ordering_comes(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t pc, size_t depth, int *waits)
{
	struct tw_ordering_task *k = o->n_tasks ? task_of(o, t->program, pc) : NULL;
	int begun = 0;
	*waits = 0;
	if (k)
		return begin_task(o, t, k, depth);
	int error = begin_part(o, t, pc, depth, &begun);
	*waits = !error && !begun && !t->n_frames;
	return error;
}

static int end_frame(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_ordering_frame *f)
{
	struct tw_ordering_team *m = &o->teams[f->team];
	if (!f->task)
		return end_part(o, t, m->function);
	struct tw_ordering_task *k = &o->tasks[f->task - 1];
	int error = k->depends ? tw_clocks_join(&m->depending, &t->clocks) : 0;
	if (!error)
		error = f->made ? tw_ordering_made_end(o, t, f->made) : tw_clocks_join(&k->ended, &t->clocks);
	return error ? error : tw_ordering_release(t, &m->tasks);
}

int tw_ordering_goes(struct tw_ordering *o, struct tw_ordering_thread *t, size_t depth)
{
	if (!tw_ordering_has_ended(t, depth))
		return 0;
	const struct tw_ordering_frame *f = frame_of(t);
	int error = end_frame(o, t, f);
	if (!f->task)
		t->ended_team = f->team;
	pop_frame(o, t);
	return error;
}

/* ---- calls of libgomp's entries ---- */

int tw_ordering_enter_openmp(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	switch (c->kind) {
	case TW_CALLED_PARALLEL:
		return begin_region(o, t, c->args[0]);
	case TW_CALLED_TEAM_BARRIER:
		return arrive_team(o, t);
	case TW_CALLED_ORDERED_END:
		return tw_ordering_release(t, &team_of(o, t)->ordered);
	case TW_CALLED_COPY_END:
		return tw_ordering_release(t, &team_of(o, t)->copied);
	case TW_CALLED_TASK:
		return make_one(o, t, step);
	case TW_CALLED_TARGET:
		return make_target(o, t, step);
	case TW_CALLED_TASKLOOP:
		return make_loop(o, t, step);
	case TW_CALLED_TASK_REDUCTION:
		if (context_of(t))
			o->tasks[context_of(t) - 1].reduces = 1;
		return 0;
	case TW_CALLED_TASK_FULFILL:
		return tw_ordering_made_fulfill(o, t);
	case TW_CALLED_DOACROSS_POST:
		return tw_ordering_release(t, &team_of(o, t)->posted);
	default:
		return 0;
	}
}

int tw_ordering_leave_openmp(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	switch (c->kind) {
	case TW_CALLED_PARALLEL:
		return end_region(o, t);
	case TW_CALLED_TEAM_BARRIER:
		return leave_team(o, t);
	case TW_CALLED_ORDERED:
		return tw_ordering_acquire(t, &team_of(o, t)->ordered);
	case TW_CALLED_COPY_START:
		return (int)step->result ? tw_ordering_acquire(t, &team_of(o, t)->copied) : 0;
	case TW_CALLED_TASK:
	case TW_CALLED_TARGET:
		return leave_one(o, t, c);
	case TW_CALLED_TASKLOOP:
		return leave_loop(o, t, c);
	case TW_CALLED_TASK_WAIT:
		return c->n_list ? tw_ordering_made_wait(o, t, step->list, c->n_list) : wait_for_tasks(o, t);
	case TW_CALLED_TASK_GROUP_END:
		return tw_ordering_acquire(t, &team_of(o, t)->tasks);
	case TW_CALLED_DOACROSS_WAIT:
		return tw_ordering_acquire(t, &team_of(o, t)->posted);
	default:
		return 0;
	}
}
