#include "analyzers/ordering.h"
#include "analyzers/ordering_tasks.h"
#include "analyzers/process.h"
#include "base/array.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

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
		o->threads[i].tid = tw_recording_thread(r, i)->tid;
		o->threads[i].program = tw_process_program(c, tw_recording_thread(r, i)->serial);
		o->threads[i].clock = 1;
		if (tw_clocks_set(&o->threads[i].clocks, i, 1))
			return TW_ERR_MEMORY;
	}
	return 0;
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
		tw_ordering_team_free(&o->teams[i]);
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
	tw_ordering_tasks_free(o);
}

/* ---- data ---- */

static int give_data(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t descriptor)
{
	const uint32_t channel = tw_descriptors_channel(&o->descriptors, t->program, descriptor);
	return channel == TW_CHANNEL_NONE ? 0 : tw_ordering_release_to(o, t, channel, TW_ROLE_CHANNEL);
}

static int take_data(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t descriptor)
{
	const uint32_t channel = tw_descriptors_channel(&o->descriptors, t->program, descriptor);
	return channel == TW_CHANNEL_NONE ? 0 : tw_ordering_acquire_from(o, t, channel, TW_ROLE_CHANNEL);
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
	return tw_ordering_release(t, &b->clocks);
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

/* The process, or one with its number, that created this thread's; NULL: not recorded, or it is the thread's own. */
static const struct tw_ordering_thread *parent_of(const struct tw_ordering *o, const struct tw_ordering_thread *t,
                                                  const struct tw_thread_start *e)
{
	return e->parent_pid == t->process || thread_of(o, t->process) ? NULL : thread_of(o, e->parent_pid);
}

/*
 * The thread of the same process that created this one. NULL: not recorded, or its knowledge at that time is known
 * from a call that creates threads.
 */
static const struct tw_ordering_thread *maker_of(const struct tw_ordering *o, const struct tw_ordering_thread *t,
                                                 const struct tw_thread_start *e)
{
	for (size_t i = o->n_threads; i-- > 0;) {
		const struct tw_ordering_thread *maker = &o->threads[i];
		if (maker->process == t->process && maker->tid == e->parent_tid && maker->has_begun && maker != t)
			return maker->creates ? NULL : maker;
	}
	return NULL;
}

int tw_ordering_awaits_fork(const struct tw_ordering *o, const struct tw_ordering_thread *t, const struct tw_thread_start *e)
{
	const struct tw_ordering_thread *maker = e->pid == e->tid ? parent_of(o, t, e) : maker_of(o, t, e);
	return maker && !maker->ended && !birth_of(o, t->process, e->tid);
}

/* The first thread of a process inherits from its parent; the first thread of an executed program knows what the process did before. */
static int begin_process(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_thread_start *e)
{
	const struct tw_ordering_thread *parent = parent_of(o, t, e);
	int error = 0;
	for (size_t i = 0; i < o->n_threads && !error; i++)
		if (o->threads[i].process == t->process && o->threads[i].has_begun)
			error = tw_ordering_acquire(t, &o->threads[i].clocks);
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
			error = tw_ordering_acquire(t, &o->threads[i].clocks);
	return error;
}

/*
 * Something that the kernel keeps was requested or released, at a time that is not exactly known: what other users of
 * such things know counts as far as they have got.
 */
static int use_kernel(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	int error = tw_ordering_acquire_from(o, t, 0, TW_ROLE_KERNEL);
	t->uses_kernel = 1;
	for (size_t i = 0; i < o->n_threads && !error; i++)
		if (i != t->index && o->threads[i].uses_kernel)
			error = tw_ordering_acquire(t, &o->threads[i].clocks);
	return error ? error : tw_ordering_release_to(o, t, 0, TW_ROLE_KERNEL);
}

static int is_file_lock(uint64_t command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

/* A thread starts: it knows what its creator knew. Its creation may not have been reported yet. */
static int begin_thread(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_thread_start *e)
{
	const struct tw_ordering_birth *b = birth_of(o, t->process, e->tid);
	int error = b ? tw_ordering_acquire(t, &b->clocks) : 0;
	if (!error && e->pid == e->tid)
		error = begin_process(o, t, e);
	t->has_begun = 1;
	for (size_t i = 0; i < o->n_threads && !b && !error; i++)
		if (o->threads[i].program == t->program && o->threads[i].creates)
			error = tw_ordering_acquire(t, &o->threads[i].at_create);
	return error;
}

/* A signal has arrived: from its sender, or from a timer, whose number is not recorded. */
static int take_signal(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t number)
{
	int error = tw_ordering_acquire_from(o, t, number, TW_ROLE_SIGNAL);
	return error ? error : tw_ordering_acquire_from(o, t, 0, TW_ROLE_TIMER);
}

/* The event of a signal has no time, but the keyframe after it has: only then has its sender been processed. */
static int handle_signal(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	const uint32_t number = t->signal;
	t->signal = 0;
	return number ? take_signal(o, t, number) : 0;
}

/* What was mapped may be a memfd. */
static int map_memfd(struct tw_ordering *o, const struct tw_ordering_thread *t, const struct tw_syscall *call)
{
	const uint32_t number = tw_descriptors_memfd(&o->descriptors, t->program, call->args[4]);
	return number ? tw_shared_memory_is_memfd(&o->shared, t->program, call, number) : 0;
}

/*
 * What a thread did before it set a signal's handler precedes the handler; what set a timer, or sent the signal,
 * precedes what a waiter does afterwards.
 */
static int take_syscall(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_syscall *call)
{
	switch (call->number) {
	case SYS_rt_sigaction:
		return call->args[1] && !call->result ? tw_ordering_release_to(o, t, call->args[0], TW_ROLE_SIGNAL) : 0;
	case SYS_rt_sigtimedwait:
		return call->result > 0 ? take_signal(o, t, (uint64_t)call->result) : 0;
	case SYS_timer_settime:
	case SYS_setitimer:
	case SYS_alarm:
		return tw_ordering_release_to(o, t, 0, TW_ROLE_TIMER);
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
	case SYS_mmap:
		return map_memfd(o, t, call);
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
	return tw_ordering_release_to(o, t, SIGCHLD, TW_ROLE_SIGNAL);
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
	return tw_ordering_release(t, &t->at_create);
}

static int join(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t name)
{
	const struct tw_ordering_thread *other = named(o, t->program, name);
	return other && other != t ? tw_ordering_acquire(t, &other->clocks) : 0;
}

/* ---- locks ---- */

static int lock(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int shared)
{
	int error = o->without_locks ? 0 : tw_ordering_acquire_from(o, t, addr, TW_ROLE_LOCK);
	return error || shared || o->without_locks ? error : tw_ordering_acquire_from(o, t, addr, TW_ROLE_READERS);
}

/* Who held it shared orders only those that hold it alone. */
static int unlock(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int shared)
{
	return o->without_locks ? tw_ordering_advance(t) : tw_ordering_release_to(o, t, addr, shared ? TW_ROLE_READERS : TW_ROLE_LOCK);
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
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_BARRIER);
	if (!x)
		return TW_ERR_MEMORY;
	t->arrived = x->count ? x->arrived++ / x->count : 0;
	if (x->phase_of[t->arrived % 2] != t->arrived + 1)
		tw_clocks_clear(&x->phases[t->arrived % 2]);
	x->phase_of[t->arrived % 2] = t->arrived + 1;
	return tw_ordering_release(t, &x->phases[t->arrived % 2]);
}

static int leave(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_BARRIER);
	return x ? tw_ordering_acquire(t, &x->phases[t->arrived % 2]) : TW_ERR_MEMORY;
}

/* It has so many threads from now on. */
static int init_barrier(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr, uint64_t count)
{
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_BARRIER);
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
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_SEMAPHORE);
	if (!x)
		return TW_ERR_MEMORY;
	x->count = (uint32_t)count;
	tw_clocks_clear(&x->clocks);
	return 0;
}

/* What it was made with is taken first: nobody gave that. */
static int wait_semaphore(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_SEMAPHORE);
	if (!x)
		return TW_ERR_MEMORY;
	if (!x->count)
		return tw_ordering_acquire(t, &x->clocks);
	x->count--;
	return 0;
}

/* ---- what is run once ---- */

/* Notes that the thread may be running what is run once, or no longer is. */
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
	int error = tw_ordering_acquire_from(o, t, control, TW_ROLE_ONCE);
	for (size_t i = 0; i < o->n_threads && !error; i++)
		if (o->threads[i].program == t->program && is_in_once(&o->threads[i], control))
			error = tw_ordering_acquire(t, &o->threads[i].clocks);
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
	return tw_ordering_release_to(o, t, addr, TW_ROLE_ONCE);
}

/* It may have run what is run once, or waited for the thread that did: so what those in it know now counts, too. */
static int leave_once(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t control)
{
	forget_once(t, control);
	int error = acquire_once(o, t, control);
	return error ? error : tw_ordering_release_to(o, t, control, TW_ROLE_ONCE);
}

/* ---- calls ---- */

static int enter(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	switch (c->kind) {
	case TW_CALLED_CREATE:
		return begin_create(t);
	case TW_CALLED_ONCE:
		note_once(t, c->args[0]);
		return 0;
	case TW_CALLED_SIGNAL:
		return tw_ordering_release_to(o, t, c->args[0], TW_ROLE_CONDITION);
	case TW_CALLED_BARRIER_WAIT:
		return arrive(o, t, c->args[0]);
	case TW_CALLED_BARRIER_INIT:
		return init_barrier(o, t, c->args[0], c->args[2]);
	case TW_CALLED_SEM_INIT:
		return init_semaphore(o, t, c->args[0], c->args[2]);
	case TW_CALLED_SEM_POST:
		return tw_ordering_release_to(o, t, c->args[0], TW_ROLE_SEMAPHORE);
	case TW_CALLED_GUARD_RELEASE:
		return tw_ordering_release_to(o, t, c->args[0], TW_ROLE_ATOMIC);
	case TW_CALLED_SEND_SIGNAL:
		return tw_ordering_release_to(o, t, c->args[1], TW_ROLE_SIGNAL);
	case TW_CALLED_GIVE_DATA:
		return give_data(o, t, c->args[0]);
	default:
		return tw_ordering_enter_openmp(o, t, step);
	}
}

static int left(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	const int result = (int)step->result;
	switch (c->kind) {
	case TW_CALLED_CREATE:
		t->creates = 0;
		return 0;
	case TW_CALLED_JOIN:
	case TW_CALLED_TRY_JOIN:
		return result ? 0 : join(o, t, c->args[0]);
	case TW_CALLED_COND_WAIT:
		return result ? 0 : tw_ordering_acquire_from(o, t, c->args[0], TW_ROLE_CONDITION);
	case TW_CALLED_BARRIER_WAIT:
		return leave(o, t, c->args[0]);
	case TW_CALLED_SEM_WAIT:
	case TW_CALLED_TRY_SEM_WAIT:
		return result ? 0 : wait_semaphore(o, t, c->args[0]);
	case TW_CALLED_ONCE:
		return leave_once(o, t, c->args[0]);
	case TW_CALLED_GUARD_ACQUIRE:
		return tw_ordering_acquire_from(o, t, c->args[0], TW_ROLE_ATOMIC);
	case TW_CALLED_TAKE_DATA:
		return result >= 0 ? take_data(o, t, c->args[0]) : 0;
	default:
		return tw_ordering_leave_openmp(o, t, step);
	}
}

int tw_ordering_call(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step)
{
	if (step->change == TW_CALLING_ENTERED)
		return enter(o, t, step);
	return step->change == TW_CALLING_LEFT ? left(o, t, step) : 0;
}
