#include "attach/taken.h"
#include "attach/broken_off.h"
#include "attach/maps.h"
#include "attach/resume.h"
#include "base/array.h"
#include "base/channel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

enum { PATH = 64, ALIGN = 16 };

static int no_memory(struct tw_taken *k)
{
	snprintf(k->tracee->why, sizeof k->tracee->why, "there is not enough memory");
	return -1;
}

/* ---- threads ---- */

struct rseq_configuration {
	uint64_t area;
	uint32_t bytes, signature, flags, pad;
};

/* An rseq area's pointer to the running sequence, and that sequence's descriptor. */
enum { RSEQ_CS = 8 };
struct sequence {
	uint32_t version, flags;
	uint64_t start, bytes, abort;
};

/* A thread within a restartable sequence restarts it, as after a preemption. */
static int leave_sequence(struct tw_tracee *t, uint64_t area, uint64_t *pc)
{
	uint64_t at = 0;
	const uint64_t none = 0;
	struct sequence s;
	if (tw_tracee_read(t, area + RSEQ_CS, &at, sizeof at))
		return -1;
	if (!at)
		return 0;
	if (!tw_tracee_read(t, at, &s, sizeof s) && *pc - s.start < s.bytes)
		*pc = s.abort;
	return tw_tracee_write(t, area + RSEQ_CS, &none, sizeof none);
}

static int take_rseq(struct tw_tracee *t, pid_t tid, struct tw_attach_thread *to)
{
	struct rseq_configuration c = {0};
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, (void *)sizeof c, &c) < 0 || !c.area)
		return 0;
	to->rseq = c.area;
	to->rseq_bytes = c.bytes;
	to->rseq_signature = c.signature;
	return leave_sequence(t, c.area, &to->pc);
}

static void take_registers(const struct user_regs_struct *r, struct tw_attach_thread *to)
{
	tw_resume_get(r, to->regs);
	to->pc = r->rip;
	to->flags = r->eflags;
	to->gs = r->gs_base;
	to->call = tw_broken_off(r);
	if (to->call)
		to->regs[0] = r->orig_rax;
}

static int take_thread(struct tw_tracee *t, const struct tw_tracee_thread *th, struct tw_attach_thread *to)
{
	to->tid = (uint32_t)th->tid;
	to->mask = th->mask;
	take_registers(&th->found, to);
	to->waited_ms = to->call == TW_ATTACH_IF_QUIET ? tw_tracee_waited(th) : 0;
	return take_rseq(t, th->tid, to);
}

static int take_threads(struct tw_taken *k)
{
	k->thread = calloc(k->tracee->n, sizeof *k->thread);
	int error = k->thread ? 0 : no_memory(k);
	for (size_t i = 0; !error && i < k->tracee->n; i++)
		error = take_thread(k->tracee, &k->tracee->thread[i], &k->thread[i]);
	return error;
}

/* ---- memory ---- */

static int take_map(void *context, const struct tw_maps_line *m)
{
	struct tw_taken *k = context;
	const int is_stack = !strcmp(m->path, "[stack]");
	if (!strcmp(m->path, "[vsyscall]"))
		return 0;
	struct tw_attach_map *maps = tw_array_room(k->map, k->n_maps, &k->maps_room, sizeof *maps);
	k->map = maps ? maps : k->map;
	char **paths = tw_array_room(k->paths, k->n_maps, &k->paths_room, sizeof *paths);
	k->paths = paths ? paths : k->paths;
	char *path = maps && paths ? strdup(m->path) : NULL;
	if (!path)
		return no_memory(k);
	const uint32_t flags = (m->shared ? MAP_SHARED : MAP_PRIVATE) | (is_stack ? MAP_GROWSDOWN : 0);
	k->map[k->n_maps] = (struct tw_attach_map){m->start, m->end, m->offset, m->device, m->inode, (uint32_t)m->prot, flags, k->n_maps};
	k->paths[k->n_maps++] = path;
	return 0;
}

/* ---- the program ---- */

static void take_program(struct tw_taken *k)
{
	char path[PATH];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)k->tracee->pid);
	const ssize_t n = readlink(path, k->program, sizeof k->program - 1);
	k->program[n > 0 ? n : 0] = 0;
	k->arguments = tw_proc_read(k->tracee->pid, "cmdline", &k->argument_bytes);
	snprintf(path, sizeof path, "/proc/%d/auxv", (int)k->tracee->pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t got = fd < 0 ? 0 : read(fd, k->auxv, sizeof k->auxv);
	k->auxv_bytes = got > 0 ? (size_t)got : 0;
	if (fd >= 0)
		close(fd);
}

int tw_taken_gather(struct tw_taken *k)
{
	take_program(k);
	return take_threads(k) || tw_maps_each(k->tracee->pid, take_map, k) ? -1 : 0;
}

void tw_taken_free(struct tw_taken *k)
{
	for (size_t i = 0; i < k->n_maps; i++)
		free(k->paths[i]);
	free(k->paths);
	free(k->map);
	free(k->thread);
	free(k->arguments);
	free(k->image);
}

/* ---- laying out ---- */

/* Appends it. Returns its address in the process; 0: no memory. */
static uint64_t put(struct tw_taken *k, const void *p, size_t n)
{
	const size_t at = (k->bytes + ALIGN - 1) / ALIGN * ALIGN, end = at + n;
	char *image = end > k->room ? realloc(k->image, end * 2) : k->image;
	if (!image)
		return 0;
	k->image = image;
	k->room = end > k->room ? end * 2 : k->room;
	memset(image + k->bytes, 0, at - k->bytes);
	memcpy(image + at, p, n);
	k->bytes = end;
	return k->base + at;
}

static uint64_t put_text(struct tw_taken *k, const char *s)
{
	return put(k, s, strlen(s) + 1);
}

static uint64_t put_maps(struct tw_taken *k)
{
	struct tw_attach_map *maps = calloc(k->n_maps + 1, sizeof *maps);
	for (size_t i = 0; maps && i < k->n_maps; i++) {
		maps[i] = k->map[i];
		maps[i].path = put_text(k, k->paths[maps[i].path]);
	}
	const uint64_t at = maps ? put(k, maps, k->n_maps * sizeof *maps) : 0;
	free(maps);
	return at;
}

/* The stack as the kernel gives it to a program: arguments, two variables, and the auxiliary vector. */
static uint64_t put_stack(struct tw_taken *k, const uint64_t variables[2])
{
	size_t n = 0, words = 0;
	for (const char *a = k->arguments; a && a < k->arguments + k->argument_bytes; a += strlen(a) + 1)
		n++;
	const size_t all = 1 + n + 1 + 2 + 1, bytes = all * sizeof(uint64_t) + k->auxv_bytes + 2 * sizeof(uint64_t);
	uint64_t *stack = calloc(1, bytes);
	if (!stack)
		return 0;
	stack[words++] = n;
	for (const char *a = k->arguments; a && a < k->arguments + k->argument_bytes; a += strlen(a) + 1)
		stack[words++] = put_text(k, a);
	words++;
	stack[words++] = variables[0];
	stack[words++] = variables[1];
	memcpy(stack + all, k->auxv, k->auxv_bytes);
	const uint64_t at = put(k, stack, bytes);
	free(stack);
	return at;
}

static uint64_t put_variable(struct tw_taken *k, const char *name, const char *what)
{
	char text[4200];
	snprintf(text, sizeof text, "%s%s", name, what);
	return put_text(k, text);
}

int tw_taken_lay_out(struct tw_taken *k, uint64_t base)
{
	struct tw_attach a = {.n_threads = k->tracee->n, .n_maps = k->n_maps, .lock_later = k->lock_later};
	char hex[24];
	k->base = base;
	k->bytes = 0;
	snprintf(hex, sizeof hex, "%016llx", (unsigned long long)base);
	if (!put(k, &a, sizeof a))
		return no_memory(k);
	a.thread = put(k, k->thread, k->tracee->n * sizeof *k->thread);
	a.map = put_maps(k);
	a.engine = k->engine_path_at = put_text(k, k->engine);
	a.program = put_text(k, k->program);
	const uint64_t variables[2] = {put_variable(k, TW_ENV_CHANNEL, k->channel), put_variable(k, TW_ENV_ATTACH, hex)};
	k->stack = put_stack(k, variables);
	if (!k->stack)
		return no_memory(k);
	a.bytes = (k->bytes + TW_PAGE - 1) / TW_PAGE * TW_PAGE;
	memcpy(k->image, &a, sizeof a);
	return 0;
}
