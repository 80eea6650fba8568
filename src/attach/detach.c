#include "attach/detach.h"
#include "attach/broken_off.h"
#include "attach/resume.h"
#include "attach/tracee.h"
#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

enum { PATIENCE_MS = 10000, FOLLOW_MS = 2000, NAP_NS = 200000, PLAIN_FLAGS = 0x202, ASIDE = 1024, FRAME = 16 };

/* A thread on its way out. */
struct leaver {
	int parked;
	struct tw_left left;
	struct user_regs_struct before; /* where it was found, in the cache or in a call */
	enum tw_attach_call call;       /* in which it was found */
	uint64_t waited_ms;
};

struct leaving {
	struct tw_tracee t;
	const struct tw_leave_points *points;
	struct leaver *leaver; /* one for each thread of t */
	size_t room;
};

static uint64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void nap(void)
{
	const struct timespec t = {0, NAP_NS};
	nanosleep(&t, NULL);
}

/* ---- one thread ---- */

/* What it says, parked; 0: it has not parked. */
static unsigned said(const struct user_regs_struct *r)
{
	return (long)r->orig_rax == SYS_futex && (r->r9 & ~0xffull) == TW_LEAVE_SAYS ? (unsigned)(r->r9 & 0xff) : 0;
}

/* Goes on in a function of the engine's, with one argument. */
static int run(struct leaving *v, size_t i, uint64_t function, uint64_t argument, uint64_t stack)
{
	struct user_regs_struct r = v->t.thread[i].found;
	r.orig_rax = ~0ull;
	r.rip = function;
	r.rdi = argument;
	r.rsp = stack / FRAME * FRAME - sizeof(uint64_t); /* as if it had been called */
	r.eflags = PLAIN_FLAGS;
	return tw_tracee_resume(&v->t, i, &r) < 0 ? -1 : 0;
}

/* Brings a thread out of the cache, or out of a call in which nothing on its engine stack is needed. */
static int leave_here(struct leaving *v, size_t i, const struct tw_leave_state *s)
{
	const uint64_t thread = v->t.thread[i].found.gs_base;
	uint64_t stack;
	v->leaver[i].before = v->t.thread[i].found;
	if (tw_tracee_read(&v->t, thread + v->points->stack_at, &stack, sizeof stack))
		return -1;
	if (!s)
		return run(v, i, v->points->here, 0, stack - ASIDE);
	return tw_tracee_write(&v->t, stack - ASIDE, s, sizeof *s) ? -1 : run(v, i, v->points->here, stack - ASIDE, stack - ASIDE);
}

static int leave_cache(struct leaving *v, size_t i)
{
	const struct user_regs_struct *r = &v->t.thread[i].found;
	struct tw_leave_state s = {.pc = r->rip, .flags = r->eflags};
	tw_resume_get(r, s.regs);
	return leave_here(v, i, &s);
}

static int leave_call(struct leaving *v, size_t i, enum tw_attach_call call)
{
	struct leaver *l = &v->leaver[i];
	l->call = call;
	l->waited_ms = call == TW_ATTACH_IF_QUIET ? tw_tracee_waited(&v->t.thread[i]) : 0;
	return leave_here(v, i, NULL);
}

/* In the engine: it leaves when it comes out. */
static int leave_later(struct leaving *v, size_t i, int does)
{
	const uint64_t at = v->t.thread[i].found.gs_base + v->points->deferred_at;
	uint64_t word;
	if (tw_tracee_read(&v->t, at, &word, sizeof word))
		return -1;
	word = does ? word | TW_DEFERRED_LEAVE : word & ~(uint64_t)TW_DEFERRED_LEAVE;
	return tw_tracee_write(&v->t, at, &word, sizeof word);
}

static int has_parked(struct leaving *v, size_t i)
{
	struct leaver *l = &v->leaver[i];
	l->parked = 1;
	return tw_tracee_read(&v->t, v->t.thread[i].found.r8, &l->left, sizeof l->left);
}

/* Stops it, looks where it is, and makes it continue to where it parks. */
static int visit(struct leaving *v, size_t i)
{
	const int gone = tw_tracee_interrupt(&v->t, i);
	const struct user_regs_struct *r = &v->t.thread[i].found;
	if (gone)
		return gone < 0 ? -1 : 0;
	const enum tw_attach_call call =
	    r->rip == v->points->behind_call || r->rip == v->points->behind_call32 ? tw_broken_off(r) : TW_ATTACH_NO_CALL;
	if (said(r) == TW_LEAVE_READY)
		return has_parked(v, i);
	if (said(r) == TW_LEAVE_BUSY)
		return tw_tracee_resume(&v->t, i, &v->leaver[i].before) < 0 ? -1 : 0;
	if (call)
		return leave_call(v, i, call);
	if (r->rip >= v->points->cache && r->rip < v->points->cache_end)
		return leave_cache(v, i);
	if (leave_later(v, i, 1))
		return -1;
	return tw_tracee_resume(&v->t, i, NULL) < 0 ? -1 : 0;
}

/* ---- all threads ---- */

static int follow_new(struct leaving *v, int *more)
{
	if (tw_tracee_follow(&v->t, more))
		return -1;
	if (!v->t.n)
		return 0;
	struct leaver *l = tw_array_zeros(v->leaver, v->t.n - 1, &v->room, sizeof *l);
	v->leaver = l ? l : v->leaver;
	return l ? 0 : -1;
}

/* Until all have parked, and there are no others. */
static int park_all(struct leaving *v)
{
	const uint64_t until = now_ms() + PATIENCE_MS;
	int waiting, visited, more, error = 0;
	do {
		waiting = visited = 0;
		error = follow_new(v, &more);
		for (size_t i = 0; !error && i < v->t.n; i++) {
			if (v->leaver[i].parked || v->t.thread[i].gone)
				continue;
			visited = 1; /* it may have made another thread before it parked */
			error = visit(v, i);
			waiting |= !v->leaver[i].parked && !v->t.thread[i].gone;
		}
		if (!error && waiting)
			nap();
	} while (!error && (visited || more) && now_ms() < until);
	if (!error && waiting)
		snprintf(v->t.why, sizeof v->t.why, "process %d does not reach a point where it could be released", (int)v->t.pid);
	return error || waiting ? -1 : 0;
}

/* All go on in the engine as before. */
static void give_up(struct leaving *v)
{
	char why[sizeof v->t.why];
	memcpy(why, v->t.why, sizeof why);
	for (size_t i = 0; i < v->t.n; i++) {
		struct tw_tracee_thread *th = &v->t.thread[i];
		if (th->gone || (!th->stopped && tw_tracee_interrupt(&v->t, i)))
			continue;
		struct user_regs_struct r = th->found;
		if (said(&r) == TW_LEAVE_BUSY)
			r = v->leaver[i].before;
		else if (said(&r))
			r.rax = TW_LEAVE_GO_ON, r.orig_rax = ~0ull;
		else
			leave_later(v, i, 0);
		tw_tracee_resume_free(&v->t, i, &r);
	}
	memcpy(v->t.why, why, sizeof why);
}

/* ---- the process ---- */

/* The first that has parked gives back what is the process's. */
static int give_back(struct leaving *v, size_t i, struct tw_left_process *p)
{
	const uint64_t stack = v->t.thread[i].found.rsp - ASIDE;
	char why[256] = "";
	if (run(v, i, v->points->process, 0, stack))
		return -1;
	for (;;) {
		if (tw_tracee_interrupt(&v->t, i))
			return -1;
		const struct user_regs_struct *r = &v->t.thread[i].found;
		if (said(r) == TW_LEAVE_READY && r->rsp < stack)
			return tw_tracee_read(&v->t, r->r8, p, sizeof *p);
		if (said(r) == TW_LEAVE_NEVER) {
			tw_tracee_read(&v->t, r->r8, why, sizeof why - 1);
			snprintf(v->t.why, sizeof v->t.why, "process %d cannot be released: %s", (int)v->t.pid, why);
			return -1;
		}
		tw_tracee_resume(&v->t, i, NULL);
		nap();
	}
}

static void unmap(struct leaving *v, size_t i, const struct tw_left_process *p)
{
	for (uint64_t k = 0; k < p->n && k < TW_LEFT_AREAS; k++) {
		const struct tw_tracee_call call = {SYS_munmap, {p->area[k].start, p->area[k].end - p->area[k].start}};
		int64_t unused;
		if (p->area[k].start < p->area[k].end && tw_tracee_call(&v->t, i, &call, &unused))
			return;
	}
}

/* What the engine had of a limit. */
static void lower(pid_t pid, int resource, uint64_t by)
{
	struct rlimit l;
	if (prlimit(pid, resource, NULL, &l) || l.rlim_cur == RLIM_INFINITY || l.rlim_cur < by)
		return;
	l.rlim_cur -= by;
	prlimit(pid, resource, &l, NULL);
}

static void go_natively(struct leaving *v)
{
	for (size_t i = 0; i < v->t.n; i++) {
		const struct leaver *l = &v->leaver[i];
		if (!l->parked || v->t.thread[i].gone)
			continue;
		const struct tw_resume_call call = {l->call, l->before.rax, l->left.waited_ms + l->waited_ms};
		tw_resume(&v->t, i, &l->left, &call);
	}
	tw_tracee_await_calls(&v->t, FOLLOW_MS);
}

static size_t first_parked(const struct leaving *v)
{
	size_t i = 0;
	while (i < v->t.n && !v->leaver[i].parked)
		i++;
	return i;
}

/* One process. 1: it has ended by itself. */
static int detach(const struct tw_control *control, pid_t pid, struct tw_detached *done, char *why, size_t size)
{
	struct leaving v = {.t = {.pid = pid}, .points = &control->leave};
	struct tw_left_process p = {0};
	int error = tw_tracee_find_call(&v.t) || park_all(&v);
	const size_t i = first_parked(&v);
	if (!error && i < v.t.n)
		error = give_back(&v, i, &p);
	if (error) {
		give_up(&v);
		snprintf(why, size, "%s", v.t.why);
	} else if (i < v.t.n) {
		unmap(&v, i, &p);
		if (control->sizes.within_space == TW_UNLIMITED)
			lower(pid, RLIMIT_AS, control->sizes.space);
		if (control->sizes.within_data == TW_UNLIMITED)
			lower(pid, RLIMIT_DATA, control->sizes.data);
		for (size_t k = 0; k < v.t.n; k++)
			done->threads += v.leaver[k].parked != 0;
		done->processes++;
		go_natively(&v);
	}
	free(v.leaver);
	tw_tracee_free(&v.t);
	return error;
}

/* A recorded process, and the serial number of its slot; 0: none at the moment. */
static pid_t next_process(const struct tw_control *c, uint32_t *serial)
{
	for (uint32_t s = 0; s < tw_channel_slots_used(c); s++) {
		if (atomic_load(&c->slot[s].state) != TW_SLOT_ACTIVE)
			continue;
		*serial = atomic_load(&c->slot[s].serial);
		return (pid_t)c->slot[s].pid;
	}
	return 0;
}

/* Is a process executing a program, or starting? It reserves a slot before it attaches to it. */
static int one_comes(const struct tw_control *c)
{
	for (uint32_t s = 0; s < tw_channel_slots_used(c); s++)
		if (atomic_load(&c->slot[s].state) == TW_SLOT_RESERVED)
			return 1;
	return 0;
}

int tw_detach_all(const struct tw_control *control, struct tw_detached *done, char *why, size_t size)
{
	const uint64_t until = now_ms() + PATIENCE_MS;
	uint32_t serial, same;
	*done = (struct tw_detached){0};
	for (;;) {
		const pid_t pid = next_process(control, &serial);
		if (!pid && (!one_comes(control) || now_ms() >= until))
			return 0;
		if (!pid)
			nap();
		else if (detach(control, pid, done, why, size) &&
		         ((next_process(control, &same) == pid && same == serial) || now_ms() >= until))
			return -1; /* else it has ended meanwhile, or executes another program */
	}
}
