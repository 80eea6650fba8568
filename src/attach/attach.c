#include "attach/attach.h"
#include "attach/image.h"
#include "attach/maps.h"
#include "attach/refuse.h"
#include "attach/taken.h"
#include "attach/tracee.h"
#include "base/array.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* ---- what was mapped before ---- */

struct spans {
	struct span {
		uint64_t start, end;
	} * span;
	size_t n, room;
};

static int note_span(void *context, const struct tw_maps_line *m)
{
	struct spans *s = context;
	struct span *more = tw_array_room(s->span, s->n, &s->room, sizeof *more);
	if (!more)
		return -1;
	s->span = more;
	s->span[s->n++] = (struct span){m->start, m->end};
	return 0;
}

static int unmap(struct tw_tracee *t, uint64_t start, uint64_t end)
{
	const struct tw_tracee_call call = {SYS_munmap, {start, end - start}};
	int64_t unused;
	return start < end ? tw_tracee_call(t, 0, &call, &unused) : 0;
}

/* What of [start, end) was not there before. */
static int unmap_new(struct tw_tracee *t, uint64_t start, uint64_t end, const struct spans *before)
{
	int error = 0;
	for (size_t i = 0; !error && i < before->n && start < end; i++) {
		const struct span *b = &before->span[i];
		if (b->end <= start || b->start >= end)
			continue;
		error = unmap(t, start, b->start < start ? start : b->start);
		start = b->end;
	}
	return error ? error : unmap(t, start, end);
}

/* The process as it was before: nothing but memory has changed. */
static void take_back(struct tw_tracee *t, const struct spans *before)
{
	struct spans now = {0};
	char why[sizeof t->why];
	memcpy(why, t->why, sizeof why);
	tw_maps_each(t->pid, note_span, &now);
	for (size_t i = 0; i < now.n; i++)
		if (unmap_new(t, now.span[i].start, now.span[i].end, before))
			break;
	free(now.span);
	memcpy(t->why, why, sizeof why);
}

/* ---- putting the engine in ---- */

enum { ANYWHERE = 4096 }; /* laid out for this address to see how large it becomes */

static long locked_kb(pid_t pid)
{
	size_t n;
	char *status = tw_proc_read(pid, "status", &n), *line = status ? strstr(status, "\nVmLck:") : NULL;
	const long kb = line ? strtol(line + strlen("\nVmLck:"), NULL, 10) : 0;
	free(status);
	return kb;
}

/* Is the mapping at `at` locked with pages locked on fault? */
static bool is_on_fault(pid_t pid, uint64_t at)
{
	char start[32], *line = NULL;
	size_t n;
	char *smaps = tw_proc_read(pid, "smaps", &n);
	snprintf(start, sizeof start, "%" PRIx64 "-", at);
	for (char *p = smaps; p && (p = strstr(p, start)) && !line; p++)
		line = p == smaps || p[-1] == '\n' ? strstr(p, "\nVmFlags:") : NULL;
	line = line ? strtok(line, "\n") : NULL;
	const bool on_fault = line && (strstr(line, " lf") || strstr(line, " ??"));
	free(smaps);
	return on_fault;
}

/*
 * Ends the locking of future mappings, for which the engine substitutes (engine/kernel/mlock.h): the engine maps more
 * than there is memory.
 */
static int lock_later(struct tw_tracee *t, uint64_t flags, uint64_t now)
{
	const struct tw_tracee_call call = {SYS_mlockall, {now | (flags & MCL_ONFAULT)}};
	int64_t result;
	if (!flags)
		return 0;
	if (tw_tracee_call(t, 0, &call, &result))
		return -1;
	if (!result)
		return 0;
	snprintf(t->why, sizeof t->why, "process %d locks all memory that it maps (mlockall), and that cannot be turned off: %s",
	         (int)t->pid, strerror((int)-result));
	return -1;
}

/* Allocates memory in the process for what the engine must know, and fills it. */
static int put_in(struct tw_tracee *t, struct tw_taken *k)
{
	const long locked = locked_kb(t->pid);
	if (tw_taken_lay_out(k, ANYWHERE))
		return -1;
	const struct tw_tracee_call call = {SYS_mmap, {0, k->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0}};
	int64_t at;
	if (tw_tracee_call(t, 0, &call, &at))
		return -1;
	if (at < 0 && at > -4096) {
		snprintf(t->why, sizeof t->why, "process %d has no room for more memory: %s", (int)t->pid, strerror((int)-at));
		return -1;
	}
	if (locked_kb(t->pid) > locked)
		k->lock_later = MCL_FUTURE | (is_on_fault(t->pid, (uint64_t)at) ? MCL_ONFAULT : 0);
	if (lock_later(t, k->lock_later, MCL_CURRENT))
		return -1;
	return tw_taken_lay_out(k, (uint64_t)at) || tw_tracee_write(t, k->base, k->image, k->bytes);
}

static struct user_regs_struct in_engine(const struct tw_tracee_thread *th, uint64_t entry, uint64_t argument, uint64_t stack)
{
	enum { PLAIN_FLAGS = 0x202 };
	struct user_regs_struct r = th->found;
	r.orig_rax = ~0ull;
	r.rip = entry;
	r.rdi = argument;
	r.rsp = stack;
	r.eflags = PLAIN_FLAGS;
	return r;
}

/* The engine takes what there is, in the first thread. */
static int run_engine(struct tw_tracee *t, const struct tw_taken *k, uint64_t entry, struct tw_attach *a)
{
	const struct user_regs_struct r = in_engine(&t->thread[0], entry, 0, k->stack);
	uint64_t word;
	if (tw_tracee_run(t, 0, &r, TW_ATTACH_CALL, TW_ATTACH_SAYS, &word) || tw_tracee_read(t, k->base, a, sizeof *a))
		return -1;
	if (word == TW_ATTACH_DONE)
		return tw_tracee_read(t, a->thread, k->thread, t->n * sizeof *k->thread);
	snprintf(t->why, sizeof t->why, "process %d cannot be attached: %.*s", (int)t->pid, (int)sizeof a->failure, a->failure);
	return -1;
}

/* All threads continue in the engine, the first one last: it removes what they are told. */
static void let_go(struct tw_tracee *t, const struct tw_taken *k, uint64_t entry)
{
	for (size_t i = 1; i < t->n; i++) {
		const struct user_regs_struct r = in_engine(&t->thread[i], entry, k->thread[i].block, k->thread[i].stack);
		tw_tracee_go(t, i, &r, ~0ull);
	}
	tw_tracee_leave(t, 0);
}

static int take(struct tw_tracee *t, struct tw_taken *k)
{
	struct tw_attach a;
	uint64_t entry;
	if (tw_taken_gather(k) || put_in(t, k) || tw_image_map(t, k->engine, k->engine_path_at, &entry) || run_engine(t, k, entry, &a))
		return -1;
	let_go(t, k, a.entry);
	return 0;
}

static int take_or_take_back(const struct tw_attach_options *o, struct tw_tracee *t)
{
	struct tw_taken k = {.tracee = t, .engine = o->engine, .channel = o->channel};
	struct spans before = {0};
	int error = tw_maps_each(t->pid, note_span, &before);
	error = error ? error : take(t, &k);
	if (error) {
		char why[sizeof t->why];
		take_back(t, &before);
		memcpy(why, t->why, sizeof why);
		lock_later(t, k.lock_later, MCL_FUTURE);
		memcpy(t->why, why, sizeof why);
	}
	tw_taken_free(&k);
	free(before.span);
	return error;
}

int tw_attach(const struct tw_attach_options *o, char *why, size_t size)
{
	struct tw_tracee t;
	sigset_t all, mask;
	if (tw_refuse(o->pid, why, size) || tw_refuse_limits(o->pid, o->sizes, why, size))
		return -1;
	sigfillset(&all); /* nothing ends this process halfway */
	sigprocmask(SIG_SETMASK, &all, &mask);
	int error = tw_tracee_stop(&t, o->pid);
	if (!error)
		error = take_or_take_back(o, &t);
	if (error)
		snprintf(why, size, "%s", t.why);
	tw_tracee_release(&t);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return error;
}
