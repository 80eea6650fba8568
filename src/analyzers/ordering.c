#include "analyzers/ordering.h"
#include "analyzers/process.h"
#include "base/array.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* What a thing is: one address may be several. */
enum role { LOCK, READERS, CONDITION, BARRIER, SEMAPHORE, ONCE, ATOMIC, CHANNEL, SIGNAL, TIMER, KERNEL };

enum { PHASES = 4 };

/* Something that threads give over: a lock, a condition, an atomic variable... */
struct tw_ordering_thing {
	uint64_t addr;
	uint32_t program;
	uint8_t role, used;
	uint64_t count, arrived; /* barrier; of a semaphore `count` tells how many of those that it was made with are left */
	uint64_t phase_of[2];    /* barrier: which time `phases` are of, and 1 */
	uint64_t releases;       /* so many were made */
	struct tw_clocks clocks, phases[2];
};

/* The threads of a parallel region; number 0 stands for all that run outside of one. */
struct tw_ordering_team {
	uint64_t function;
	uint32_t program;
	int open;
	size_t master;
	struct tw_clocks fork, ended, tasks, depending, ordered, copied, posted;
	struct {
		struct tw_clocks clocks;
		uint32_t of; /* phase + 1 */
	} phases[PHASES];
};

enum { BY_SEVERAL = UINT32_MAX };

/* Tasks of one place in the program. */
struct tw_ordering_task {
	uint64_t function;
	uint32_t program, maker; /* maker: number and 1 of the task that makes them; 0: regions do; BY_SEVERAL */
	int depends, final, reduces;
	struct tw_clocks made, ended;
};

int tw_ordering_init(struct tw_ordering *o, const struct tw_context *c)
{
	const struct tw_recording *r = tw_context_recording(c);
	o->n_threads = tw_recording_n_threads(r);
	o->threads = calloc(o->n_threads + 1, sizeof *o->threads);
	o->teams = calloc(1, sizeof *o->teams);
	o->n_teams = o->teams_room = 1;
	if (!o->threads || !o->teams)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < o->n_threads; i++) {
		o->threads[i].index = o->threads[i].who = i;
		o->threads[i].process = tw_recording_thread(r, i)->pid;
		o->threads[i].program = tw_process_program(c, tw_recording_thread(r, i)->serial);
		o->threads[i].clock = 1;
		if (tw_clocks_set(&o->threads[i].clocks, i, 1))
			return TW_ERR_MEMORY;
	}
	return 0;
}

enum { TEAM_CLOCKS = 7 + PHASES };

static void clocks_of_team(struct tw_ordering_team *m, struct tw_clocks *all[TEAM_CLOCKS])
{
	struct tw_clocks *const some[TEAM_CLOCKS - PHASES] = {&m->fork,    &m->ended,  &m->tasks, &m->depending,
	                                                      &m->ordered, &m->copied, &m->posted};
	memcpy(all, some, sizeof some);
	for (int i = 0; i < PHASES; i++)
		all[TEAM_CLOCKS - PHASES + i] = &m->phases[i].clocks;
}

static void free_team(struct tw_ordering_team *m)
{
	struct tw_clocks *all[TEAM_CLOCKS];
	clocks_of_team(m, all);
	for (int i = 0; i < TEAM_CLOCKS; i++)
		tw_clocks_free(all[i]);
}

void tw_ordering_free(struct tw_ordering *o)
{
	for (size_t i = 0; i < o->n_threads && o->threads; i++) {
		tw_clocks_free(&o->threads[i].clocks);
		tw_clocks_free(&o->threads[i].at_create);
		for (size_t k = 0; k < o->threads[i].n_frames; k++)
			tw_clocks_free(&o->threads[i].frames[k].clocks);
		free(o->threads[i].frames);
	}
	for (size_t i = 0; i < o->things_room; i++) {
		tw_clocks_free(&o->things[i].clocks);
		tw_clocks_free(&o->things[i].phases[0]);
		tw_clocks_free(&o->things[i].phases[1]);
	}
	for (size_t i = 0; i < o->n_births; i++)
		tw_clocks_free(&o->births[i].clocks);
	for (size_t i = 0; i < o->n_teams && o->teams; i++)
		free_team(&o->teams[i]);
	for (size_t i = 0; i < o->n_tasks; i++)
		tw_clocks_free(&o->tasks[i].made), tw_clocks_free(&o->tasks[i].ended);
	free(o->threads);
	free(o->things);
	tw_descriptors_free(&o->descriptors);
	tw_shared_memory_free(&o->shared);
	free(o->births);
	free(o->early);
	free(o->teams);
	free(o->tasks);
}

/* ---- giving and getting ---- */

static int advance(struct tw_ordering_thread *t)
{
	return tw_clocks_set(&t->clocks, t->who, ++t->clock);
}

static int release(struct tw_ordering_thread *t, struct tw_clocks *to)
{
	int error = tw_clocks_join(to, &t->clocks);
	return error ? error : advance(t);
}

static int acquire(struct tw_ordering_thread *t, const struct tw_clocks *from)
{
	return tw_clocks_join(&t->clocks, from);
}

/* ---- things ---- */

static size_t place_of(const struct tw_ordering *o, uint32_t program, uint64_t addr, enum role role)
{
	size_t i = (size_t)(((addr ^ (uint64_t)program << 40) * 0x9e3779b97f4a7c15ull + role * 0xbf58476d1ce4e5b9ull) >> 24) &
	           (o->things_room - 1);
	while (o->things[i].used && (o->things[i].addr != addr || o->things[i].program != program || o->things[i].role != role))
		i = (i + 1) & (o->things_room - 1);
	return i;
}

static int grow(struct tw_ordering *o)
{
	enum { FIRST = 256 };
	struct tw_ordering more = {.things_room = o->things_room ? 2 * o->things_room : FIRST};
	more.things = calloc(more.things_room, sizeof *more.things);
	if (!more.things)
		return 0;
	for (size_t i = 0; i < o->things_room; i++)
		if (o->things[i].used)
			more.things[place_of(&more, o->things[i].program, o->things[i].addr, o->things[i].role)] = o->things[i];
	free(o->things);
	o->things = more.things;
	o->things_room = more.things_room;
	return 1;
}

/* Whose thing it is: descriptors and signals lead from process to process, and what is in memory that is shared is the segment's. */
static struct tw_place place_for(const struct tw_ordering *o, uint32_t program, uint64_t addr, enum role role)
{
	if (role >= CHANNEL)
		return (struct tw_place){0, addr};
	return tw_shared_memory_place(&o->shared, program, addr);
}

static struct tw_ordering_thing *thing(struct tw_ordering *o, uint32_t of_program, uint64_t at, enum role role)
{
	const struct tw_place p = place_for(o, of_program, at, role);
	const uint32_t program = p.program;
	const uint64_t addr = p.addr;
	if (2 * o->n_things >= o->things_room && !grow(o))
		return NULL;
	struct tw_ordering_thing *x = &o->things[place_of(o, program, addr, role)];
	if (!x->used) {
		x->used = 1;
		x->addr = addr;
		x->program = program;
		x->role = role;
		o->n_things++;
	}
	return x;
}

static int release_to(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, enum role role)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, role);
	if (!x)
		return TW_ERR_MEMORY;
	x->releases++;
	return release(t, &x->clocks);
}

static int acquire_from(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, enum role role)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, role);
	return x ? acquire(t, &x->clocks) : TW_ERR_MEMORY;
}

/* ---- variables that are read early ---- */

/* What knows the thread beyond this clock knows `from`, too. */
static int tell(struct tw_clocks *of, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	return tw_clocks_get(of, e->who) > e->clock ? tw_clocks_join(of, from) : 0;
}

static int tell_thread(struct tw_ordering_thread *t, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	int error = tell(&t->clocks, e, from);
	if (!error)
		error = tell(&t->at_create, e, from);
	for (size_t i = 0; i < t->n_frames && !error; i++)
		error = tell(&t->frames[i].clocks, e, from);
	return error;
}

static int tell_team(struct tw_ordering_team *m, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	struct tw_clocks *all[TEAM_CLOCKS];
	int error = 0;
	clocks_of_team(m, all);
	for (int i = 0; i < TEAM_CLOCKS && !error; i++)
		error = tell(all[i], e, from);
	return error;
}

static int tell_thing(struct tw_ordering_thing *x, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	int error = tell(&x->clocks, e, from);
	for (int i = 0; i < 2 && !error; i++)
		error = tell(&x->phases[i], e, from);
	return error;
}

static int tell_all(struct tw_ordering *o, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	int error = 0;
	for (size_t i = 0; i < o->n_threads && !error; i++)
		error = tell_thread(&o->threads[i], e, from);
	for (size_t i = 0; i < o->things_room && !error; i++)
		error = tell_thing(&o->things[i], e, from);
	for (size_t i = 0; i < o->n_births && !error; i++)
		error = tell(&o->births[i].clocks, e, from);
	for (size_t i = 0; i < o->n_teams && !error; i++)
		error = tell_team(&o->teams[i], e, from);
	for (size_t i = 0; i < o->n_tasks && !error; i++) {
		error = tell(&o->tasks[i].made, e, from);
		if (!error)
			error = tell(&o->tasks[i].ended, e, from);
	}
	return error;
}

/* The variable has been written. */
static int tell_early(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr)
{
	int error = 0;
	for (size_t i = 0; i < o->n_early && !error; i++) {
		const struct tw_ordering_early *e = &o->early[i];
		if (tw_shared_memory_address(&o->shared, e->program, e->addr, t->program) != addr ||
		    tw_clocks_get(&t->clocks, e->who) > e->clock)
			continue;
		const struct tw_ordering_thing *x = thing(o, t->program, addr, ATOMIC);
		error = x ? tell_all(o, e, &x->clocks) : TW_ERR_MEMORY;
	}
	return error;
}

int tw_ordering_read_early(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	for (size_t i = 0; i < o->n_early; i++)
		if (o->early[i].who == t->who && o->early[i].addr == addr)
			return 0;
	struct tw_ordering_early *early = tw_array_room(o->early, o->n_early, &o->early_room, sizeof *early);
	if (!early)
		return TW_ERR_MEMORY;
	o->early = early;
	early[o->n_early++] = (struct tw_ordering_early){t->index, t->who, t->program, t->clock, addr};
	return advance(t);
}

void tw_ordering_settle(struct tw_ordering *o, const struct tw_ordering_thread *t)
{
	size_t n = 0;
	for (size_t i = 0; i < o->n_early; i++)
		if (o->early[i].reader != t->index)
			o->early[n++] = o->early[i];
	o->n_early = n;
}

int tw_ordering_atomic(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int reads, int writes)
{
	int error = reads ? acquire_from(o, t, addr, ATOMIC) : 0;
	if (!error && writes)
		error = release_to(o, t, addr, ATOMIC);
	return error || !writes ? error : tell_early(o, t, addr);
}

int tw_ordering_atomic_counts(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, ATOMIC);
	if (!x)
		return TW_ERR_MEMORY;
	x->releases++;
	return 0;
}

int tw_ordering_atomic_tells(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr)
{
	const struct tw_place p = place_for(o, t->program, addr, ATOMIC);
	return o->n_things && !tw_clocks_know(&t->clocks, &o->things[place_of(o, p.program, p.addr, ATOMIC)].clocks);
}

uint64_t tw_ordering_atomic_writes(struct tw_ordering *o, uint32_t program, uint64_t addr)
{
	const struct tw_place p = place_for(o, program, addr, ATOMIC);
	return o->n_things ? o->things[place_of(o, p.program, p.addr, ATOMIC)].releases : 0;
}

/* ---- data ---- */

static int give_data(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t descriptor)
{
	const uint32_t channel = tw_descriptors_channel(&o->descriptors, t->program, descriptor);
	return channel == TW_CHANNEL_NONE ? 0 : release_to(o, t, channel, CHANNEL);
}

static int take_data(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t descriptor)
{
	const uint32_t channel = tw_descriptors_channel(&o->descriptors, t->program, descriptor);
	return channel == TW_CHANNEL_NONE ? 0 : acquire_from(o, t, channel, CHANNEL);
}

/* ---- threads ---- */

static int note_birth(struct tw_ordering *o, struct tw_ordering_thread *t, uint32_t process, uint32_t tid)
{
	struct tw_ordering_birth *births = tw_array_room(o->births, o->n_births, &o->births_room, sizeof *births);
	if (!births)
		return TW_ERR_MEMORY;
	o->births = births;
	struct tw_ordering_birth *b = &births[o->n_births++];
	*b = (struct tw_ordering_birth){.process = process, .tid = tid};
	if (t->creates && process == t->process)
		return tw_clocks_join(&b->clocks, &t->at_create);
	return release(t, &b->clocks);
}

/* The newest one that is being made under this number. */
static const struct tw_ordering_birth *birth_of(const struct tw_ordering *o, uint32_t process, uint32_t tid)
{
	for (size_t i = o->n_births; i-- > 0;)
		if (o->births[i].process == process && o->births[i].tid == tid)
			return &o->births[i];
	return NULL;
}

/* The newest thread of a process that has begun. */
static const struct tw_ordering_thread *thread_of(const struct tw_ordering *o, uint32_t process)
{
	for (size_t i = o->n_threads; i-- > 0;)
		if (o->threads[i].process == process && o->threads[i].has_begun)
			return &o->threads[i];
	return NULL;
}

/* The process, or one whose number it has, that made this thread's; NULL: it is not recorded, or it is the thread's own. */
static const struct tw_ordering_thread *parent_of(const struct tw_ordering *o, const struct tw_ordering_thread *t,
                                                  const struct tw_thread_start *e)
{
	return e->parent_pid == t->process || thread_of(o, t->process) ? NULL : thread_of(o, e->parent_pid);
}

int tw_ordering_awaits_fork(const struct tw_ordering *o, const struct tw_ordering_thread *t, const struct tw_thread_start *e)
{
	const struct tw_ordering_thread *parent = e->pid == e->tid ? parent_of(o, t, e) : NULL;
	return parent && !parent->ended && !birth_of(o, t->process, e->tid);
}

/* The first thread of a process has what its parent had; the first of what a process executes knows what that did before. */
static int begin_process(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_thread_start *e)
{
	const struct tw_ordering_thread *parent = parent_of(o, t, e);
	int error = 0;
	for (size_t i = 0; i < o->n_threads && !error; i++)
		if (o->threads[i].process == t->process && o->threads[i].has_begun)
			error = acquire(t, &o->threads[i].clocks);
	if (!error && parent)
		error = tw_shared_memory_fork(&o->shared, parent->program, t->program);
	return error || !parent ? error : tw_descriptors_fork(&o->descriptors, parent->program, t->program);
}

/* A child was waited for: all that it did comes before. */
static int end_child(struct tw_ordering *o, struct tw_ordering_thread *t, uint32_t process)
{
	int error = 0;
	for (size_t i = 0; i < o->n_threads && !error; i++)
		if (o->threads[i].process == process)
			error = acquire(t, &o->threads[i].clocks);
	return error;
}

/* What the kernel keeps was asked for or given back, when is not known exactly: what others know who use such things counts as far as they have come. */
static int use_kernel(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	int error = acquire_from(o, t, 0, KERNEL);
	t->uses_kernel = 1;
	for (size_t i = 0; i < o->n_threads && !error; i++)
		if (i != t->index && o->threads[i].uses_kernel)
			error = acquire(t, &o->threads[i].clocks);
	return error ? error : release_to(o, t, 0, KERNEL);
}

static int is_file_lock(uint64_t command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

/* A thread begins: it knows what its maker knew. The maker may not have been told that it was made. */
static int begin_thread(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_thread_start *e)
{
	const struct tw_ordering_birth *b = birth_of(o, t->process, e->tid);
	int error = b ? acquire(t, &b->clocks) : 0;
	if (!error && e->pid == e->tid)
		error = begin_process(o, t, e);
	t->has_begun = 1;
	for (size_t i = 0; i < o->n_threads && !b && !error; i++)
		if (o->threads[i].program == t->program && o->threads[i].creates)
			error = acquire(t, &o->threads[i].at_create);
	return error;
}

/* A signal has come: from who sent it, or from a timer, whose number is not recorded. */
static int take_signal(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t number)
{
	int error = acquire_from(o, t, number, SIGNAL);
	return error ? error : acquire_from(o, t, 0, TIMER);
}

/* The event of a signal has no time, but the keyframe behind it: what sent it has been looked at only then. */
static int handle_signal(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	const uint32_t number = t->signal;
	t->signal = 0;
	return number ? take_signal(o, t, number) : 0;
}

/* What a thread did before it said what handles a signal comes before that; what set a timer, or sent the signal, before who waited for it goes on. */
static int take_syscall(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_syscall *call)
{
	switch (call->number) {
	case SYS_rt_sigaction:
		return call->args[1] && !call->result ? release_to(o, t, call->args[0], SIGNAL) : 0;
	case SYS_rt_sigtimedwait:
		return call->result > 0 ? take_signal(o, t, (uint64_t)call->result) : 0;
	case SYS_timer_settime:
	case SYS_setitimer:
	case SYS_alarm:
		return release_to(o, t, 0, TIMER);
	case SYS_timerfd_settime:
		return give_data(o, t, call->args[0]);
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_mq_timedsend:
	case SYS_mq_timedreceive:
	case SYS_flock:
		return use_kernel(o, t);
	case SYS_fcntl:
		if (is_file_lock(call->args[1]))
			return use_kernel(o, t);
		return tw_descriptors_syscall(&o->descriptors, t->program, call);
	default:
		return tw_descriptors_syscall(&o->descriptors, t->program, call);
	}
}

/* The thread ends; a parent may be told so by a signal. */
static int end_thread(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	t->ended = 1;
	return release_to(o, t, SIGCHLD, SIGNAL);
}

static int take_event(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_event *e)
{
	const struct tw_keyframe *key = e->payload;
	const struct tw_segbase *base = e->payload;
	const struct tw_fork *fork = e->payload;
	switch (e->type) {
	case TW_EVENT_KEYFRAME:
		t->fs = key->seg_base[TW_SEG_FS] ? key->seg_base[TW_SEG_FS] : t->fs;
		return handle_signal(o, t);
	case TW_EVENT_SEGBASE:
		t->fs = base->seg == TW_SEG_FS ? base->base : t->fs;
		return 0;
	case TW_EVENT_SYSCALL:
		return take_syscall(o, t, e->payload);
	case TW_EVENT_SIGNAL:
		t->signal = ((const struct tw_signal *)e->payload)->number;
		return 0;
	case TW_EVENT_FORK:
		return note_birth(o, t, fork->child_pid, fork->child_tid);
	case TW_EVENT_CHILD_END:
		return end_child(o, t, ((const struct tw_child_end *)e->payload)->pid);
	case TW_EVENT_THREAD_START:
		return begin_thread(o, t, e->payload);
	case TW_EVENT_THREAD_END:
		return end_thread(o, t);
	default:
		return 0;
	}
}

int tw_ordering_event(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_event *e)
{
	int error = tw_shared_memory_event(&o->shared, t->program, e);
	return error ? error : take_event(o, t, e);
}

/* The newest thread that has this name. */
static struct tw_ordering_thread *named(struct tw_ordering *o, uint32_t program, uint64_t name)
{
	for (size_t i = o->n_threads; i-- > 0;)
		if (o->threads[i].program == program && o->threads[i].fs == name)
			return &o->threads[i];
	return NULL;
}

static int begin_create(struct tw_ordering_thread *t)
{
	tw_clocks_clear(&t->at_create);
	t->creates = 1;
	return release(t, &t->at_create);
}

static int join(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t name)
{
	const struct tw_ordering_thread *other = named(o, t->program, name);
	return other && other != t ? acquire(t, &other->clocks) : 0;
}

/* ---- locks ---- */

static int lock(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int shared)
{
	int error = o->without_locks ? 0 : acquire_from(o, t, addr, LOCK);
	return error || shared || o->without_locks ? error : acquire_from(o, t, addr, READERS);
}

/* Who held it shared orders only those that hold it alone. */
static int unlock(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int shared)
{
	return o->without_locks ? advance(t) : release_to(o, t, addr, shared ? READERS : LOCK);
}

int tw_ordering_lock(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_held_step *held)
{
	if (held->change == TW_HELD_TAKEN)
		return lock(o, t, held->lock.addr, held->lock.shared);
	return held->change == TW_HELD_GIVEN ? unlock(o, t, held->lock.addr, held->lock.shared) : 0;
}

/* ---- barriers ---- */

static int arrive(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, BARRIER);
	if (!x)
		return TW_ERR_MEMORY;
	t->arrived = x->count ? x->arrived++ / x->count : 0;
	if (x->phase_of[t->arrived % 2] != t->arrived + 1)
		tw_clocks_clear(&x->phases[t->arrived % 2]);
	x->phase_of[t->arrived % 2] = t->arrived + 1;
	return release(t, &x->phases[t->arrived % 2]);
}

static int leave(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, BARRIER);
	return x ? acquire(t, &x->phases[t->arrived % 2]) : TW_ERR_MEMORY;
}

/* It has so many threads from now on. */
static int init_barrier(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr, uint64_t count)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, BARRIER);
	if (!x)
		return TW_ERR_MEMORY;
	x->count = (uint32_t)count;
	x->arrived = 0;
	x->phase_of[0] = x->phase_of[1] = 0;
	return 0;
}

/* ---- semaphores ---- */

static int init_semaphore(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr, uint64_t count)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, SEMAPHORE);
	if (!x)
		return TW_ERR_MEMORY;
	x->count = (uint32_t)count;
	tw_clocks_clear(&x->clocks);
	return 0;
}

/* What it was made with is taken first: nobody gave that. */
static int wait_semaphore(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	struct tw_ordering_thing *x = thing(o, t->program, addr, SEMAPHORE);
	if (!x)
		return TW_ERR_MEMORY;
	if (!x->count)
		return acquire(t, &x->clocks);
	x->count--;
	return 0;
}

/* ---- OpenMP ---- */

static struct tw_ordering_frame *frame_of(const struct tw_ordering_thread *t)
{
	return t->n_frames ? &t->frames[t->n_frames - 1] : NULL;
}

static struct tw_ordering_team *team_of(const struct tw_ordering *o, const struct tw_ordering_thread *t)
{
	return &o->teams[t->n_frames ? frame_of(t)->team : 0];
}

static int push_frame(struct tw_ordering_thread *t, uint32_t team, uint32_t task, size_t depth)
{
	struct tw_ordering_frame *frames = tw_array_room(t->frames, t->n_frames, &t->frames_room, sizeof *frames);
	if (!frames)
		return TW_ERR_MEMORY;
	t->frames = frames;
	frames[t->n_frames++] = (struct tw_ordering_frame){.team = team, .task = task, .depth = depth};
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

/* The frame is done with: of a deferred task the thread is again what it was before. */
static void pop_frame(struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = &t->frames[--t->n_frames];
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
	free_team(m);
	*m = (struct tw_ordering_team){.function = function, .program = t->program, .open = 1, .master = t->index};
	int error = push_frame(t, number, 0, SIZE_MAX);
	return error ? error : release(t, &m->fork);
}

static int end_region(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	while (t->n_frames && frame_of(t)->depth != SIZE_MAX)
		pop_frame(t);
	if (!t->n_frames)
		return 0;
	struct tw_ordering_team *m = team_of(o, t);
	int error = acquire(t, &m->ended);
	if (!error)
		error = acquire(t, &m->tasks);
	m->open = 0;
	pop_frame(t);
	return error;
}

/* The region's own frame: barriers within tasks are not allowed, but explicit tasks may run in one. */
static int arrive_team(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = frame_of(t);
	struct tw_ordering_team *m = team_of(o, t);
	if (!f)
		return 0;
	const unsigned p = f->phase % PHASES;
	if (m->phases[p].of != f->phase + 1)
		tw_clocks_clear(&m->phases[p].clocks);
	m->phases[p].of = f->phase + 1;
	return release(t, &m->phases[p].clocks);
}

static int leave_team(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = frame_of(t);
	struct tw_ordering_team *m = team_of(o, t);
	if (!f)
		return 0;
	int error = acquire(t, &m->phases[f->phase++ % PHASES].clocks);
	return error ? error : acquire(t, &m->tasks);
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

static struct tw_ordering_task *make_task(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c)
{
	const uint32_t maker = context_of(t);
	struct tw_ordering_task *k = task_of(o, t->program, c->args[0]);
	if (!k)
		k = add_task(o, t, c->args[0], maker);
	if (!k || release(t, &k->made))
		return NULL;
	k->maker = k->maker == maker ? maker : BY_SEVERAL;
	return k;
}

/* What runs while the thread is in GOMP_task runs instead of its maker. */
static int make_one(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c)
{
	enum { FINAL = 2, DEPENDS = 8 };
	struct tw_ordering_task *k = make_task(o, t, c);
	t->includes = 1;
	if (!k)
		return TW_ERR_MEMORY;
	k->final |= (c->args[6] & FINAL) != 0;
	k->depends |= (c->args[6] & DEPENDS) != 0;
	return 0;
}

/* Of a loop that is so where it is told to defer none, or its maker is final. */
static int make_loop(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c)
{
	enum { DEFERRED = 1 << 10, REDUCES = 1 << 12 };
	const uint32_t context = context_of(t);
	struct tw_ordering_task *k = make_task(o, t, c);
	t->includes = !(c->args[5] & DEFERRED) || (context && o->tasks[context - 1].final);
	if (!k)
		return TW_ERR_MEMORY;
	k->reduces |= (c->args[5] & REDUCES) != 0;
	return 0;
}

static int leave_loop(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c)
{
	enum { NO_GROUP = 1 << 11 };
	t->includes = 0;
	return c->args[5] & NO_GROUP ? 0 : acquire(t, &team_of(o, t)->tasks);
}

/* It waits for the tasks that what it runs has made. */
static int wait_for_tasks(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	const uint32_t context = context_of(t);
	int error = 0;
	for (size_t i = 0; i < o->n_tasks && !error; i++)
		if (o->tasks[i].program == t->program && (o->tasks[i].maker == context || o->tasks[i].maker == BY_SEVERAL))
			error = acquire(t, &o->tasks[i].ended);
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

/* From here on the thread is the task, which knows nothing yet. Its clock goes on where that of the last task with it has ended. */
static int become_task(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_frame *f = frame_of(t);
	const uint32_t own = t->n_deferred++ % TW_ORDERING_TASK_CLOCKS;
	*f = (struct tw_ordering_frame){f->team, f->task, f->phase, f->depth, 1, own, t->who, t->clock, t->clocks};
	t->clocks = (struct tw_clocks){0};
	t->who = o->n_threads + t->index * TW_ORDERING_TASK_CLOCKS + own;
	t->clock = t->task_clock[own];
	return advance(t);
}

static int begin_task(struct tw_ordering *o, struct tw_ordering_thread *t, struct tw_ordering_task *k, size_t depth)
{
	int error = push_frame(t, team_for_tasks(o, t), (uint32_t)(k - o->tasks) + 1, depth);
	if (!error && !t->includes)
		error = become_task(o, t);
	if (!error)
		error = acquire(t, &k->made);
	return error || !k->depends ? error : acquire(t, &team_of(o, t)->depending);
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

/* A thread begins its part of a region. Of several that are open with this function, in nested ones, which it is cannot be told: it counts as any of them. */
static int begin_part(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function, size_t depth, int *begun)
{
	int error = 0;
	for (size_t i = 1; i < o->n_teams && !error; i++) {
		if (!is_region(&o->teams[i], t, function))
			continue;
		error = *begun ? 0 : push_frame(t, (uint32_t)i, 0, depth);
		if (!error)
			error = acquire(t, &o->teams[i].fork);
		*begun = 1;
	}
	return error;
}

static int end_part(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function)
{
	int error = 0;
	for (size_t i = 1; i < o->n_teams && !error; i++)
		if (is_region(&o->teams[i], t, function))
			error = release(t, &o->teams[i].ended);
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
		error = tw_clocks_join(&k->ended, &t->clocks);
	return error ? error : release(t, &m->tasks);
}

int tw_ordering_goes(struct tw_ordering *o, struct tw_ordering_thread *t, size_t depth)
{
	const struct tw_ordering_frame *f = frame_of(t);
	if (!f || f->depth == SIZE_MAX || depth >= f->depth)
		return 0;
	int error = end_frame(o, t, f);
	if (!f->task)
		t->ended_team = f->team;
	pop_frame(t);
	return error;
}

/* ---- what is run once ---- */

/* Notes that the thread may run what is run once, or that it does not any more. */
static void note_once(struct tw_ordering_thread *t, uint64_t control)
{
	memmove(t->once + 1, t->once, sizeof t->once - sizeof t->once[0]);
	t->once[0] = control;
}

static int is_in_once(const struct tw_ordering_thread *t, uint64_t control)
{
	for (int i = 0; i < TW_ORDERING_ONCE; i++)
		if (t->once[i] == control)
			return 1;
	return 0;
}

static void forget_once(struct tw_ordering_thread *t, uint64_t control)
{
	for (int i = 0; i < TW_ORDERING_ONCE; i++)
		if (t->once[i] == control)
			t->once[i] = 0;
}

/* What those know who are in what is run once. */
static int acquire_once(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t control)
{
	int error = acquire_from(o, t, control, ONCE);
	for (size_t i = 0; i < o->n_threads && !error; i++)
		if (o->threads[i].program == t->program && is_in_once(&o->threads[i], control))
			error = acquire(t, &o->threads[i].clocks);
	return error;
}

int tw_ordering_begins_once(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t control)
{
	return acquire_once(o, t, control);
}

int tw_ordering_wakes(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	if (!addr || !is_in_once(t, addr))
		return 0;
	forget_once(t, addr);
	return release_to(o, t, addr, ONCE);
}

/* It may have run what is run once, or waited for who did: so what those know who are in it now counts, too. */
static int leave_once(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t control)
{
	forget_once(t, control);
	int error = acquire_once(o, t, control);
	return error ? error : release_to(o, t, control, ONCE);
}

/* ---- calls ---- */

static int enter(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c)
{
	switch (c->kind) {
	case TW_CALLED_CREATE:
		return begin_create(t);
	case TW_CALLED_ONCE:
		note_once(t, c->args[0]);
		return 0;
	case TW_CALLED_SIGNAL:
		return release_to(o, t, c->args[0], CONDITION);
	case TW_CALLED_BARRIER_WAIT:
		return arrive(o, t, c->args[0]);
	case TW_CALLED_BARRIER_INIT:
		return init_barrier(o, t, c->args[0], c->args[2]);
	case TW_CALLED_SEM_INIT:
		return init_semaphore(o, t, c->args[0], c->args[2]);
	case TW_CALLED_SEM_POST:
		return release_to(o, t, c->args[0], SEMAPHORE);
	case TW_CALLED_GUARD_RELEASE:
		return release_to(o, t, c->args[0], ATOMIC);
	case TW_CALLED_PARALLEL:
		return begin_region(o, t, c->args[0]);
	case TW_CALLED_TEAM_BARRIER:
		return arrive_team(o, t);
	case TW_CALLED_ORDERED_END:
		return release(t, &team_of(o, t)->ordered);
	case TW_CALLED_COPY_END:
		return release(t, &team_of(o, t)->copied);
	case TW_CALLED_TASK:
		return make_one(o, t, c);
	case TW_CALLED_TASKLOOP:
		return make_loop(o, t, c);
	case TW_CALLED_TASK_REDUCTION:
		if (context_of(t))
			o->tasks[context_of(t) - 1].reduces = 1;
		return 0;
	case TW_CALLED_SEND_SIGNAL:
		return release_to(o, t, c->args[1], SIGNAL);
	case TW_CALLED_GIVE_DATA:
		return give_data(o, t, c->args[0]);
	case TW_CALLED_DOACROSS_POST:
		return release(t, &team_of(o, t)->posted);
	default:
		return 0;
	}
}

static int left(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_open_call *c, int result)
{
	switch (c->kind) {
	case TW_CALLED_CREATE:
		t->creates = 0;
		return 0;
	case TW_CALLED_JOIN:
	case TW_CALLED_TRY_JOIN:
		return result ? 0 : join(o, t, c->args[0]);
	case TW_CALLED_COND_WAIT:
		return result ? 0 : acquire_from(o, t, c->args[0], CONDITION);
	case TW_CALLED_BARRIER_WAIT:
		return leave(o, t, c->args[0]);
	case TW_CALLED_SEM_WAIT:
	case TW_CALLED_TRY_SEM_WAIT:
		return result ? 0 : wait_semaphore(o, t, c->args[0]);
	case TW_CALLED_ONCE:
		return leave_once(o, t, c->args[0]);
	case TW_CALLED_GUARD_ACQUIRE:
		return acquire_from(o, t, c->args[0], ATOMIC);
	case TW_CALLED_PARALLEL:
		return end_region(o, t);
	case TW_CALLED_TEAM_BARRIER:
		return leave_team(o, t);
	case TW_CALLED_ORDERED:
		return acquire(t, &team_of(o, t)->ordered);
	case TW_CALLED_COPY_START:
		return result ? acquire(t, &team_of(o, t)->copied) : 0;
	case TW_CALLED_TASK:
		t->includes = 0;
		return 0;
	case TW_CALLED_TASKLOOP:
		return leave_loop(o, t, c);
	case TW_CALLED_TASK_WAIT:
		return wait_for_tasks(o, t);
	case TW_CALLED_TASK_GROUP_END:
		return acquire(t, &team_of(o, t)->tasks);
	case TW_CALLED_TAKE_DATA:
		return result >= 0 ? take_data(o, t, c->args[0]) : 0;
	case TW_CALLED_DOACROSS_WAIT:
		return acquire(t, &team_of(o, t)->posted);
	default:
		return 0;
	}
}

int tw_ordering_call(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	if (step->change == TW_CALLING_ENTERED)
		return enter(o, t, &step->call);
	return step->change == TW_CALLING_LEFT ? left(o, t, &step->call, (int)step->result) : 0;
}
