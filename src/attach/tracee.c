#include "attach/tracee.h"
#include "attach/maps.h"
#include "attach/refuse.h"
#include "base/array.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MASK_BYTES = 8, SYSCALL_BYTES = 2, NAP_US = 500, PATIENCE_MS = 3000, PATH = 64, CALL_STOP = SIGTRAP | 0x80 };

static const uint64_t all_signals = ~0ull;

static int __attribute__((format(printf, 2, 3))) fail(struct tw_tracee *t, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(t->why, sizeof t->why, format, ap);
	va_end(ap);
	return -1;
}

static int request(int what, pid_t tid, uintptr_t address, const void *data)
{
	return ptrace(what, tid, (void *)address, (void *)(uintptr_t)data) < 0 ? -1 : 0;
}

/* ---- what a thread waits in ---- */

/* The scheduler time at which a thread last ran, in ms; 0: unknown. */
static double last_run(const char *path)
{
	char line[256];
	double ms = 0;
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "se.exec_start : %lf", &ms) == 1)
			break;
	if (f)
		fclose(f);
	return ms;
}

enum { STAT = 1024 };

/* Reads a stat file into `stat`; returns the end of the program's name; NULL: no such file. */
static const char *read_stat(const char *path, char stat[STAT])
{
	FILE *f = fopen(path, "re");
	stat[f ? fread(stat, 1, STAT - 1, f) : 0] = 0;
	if (f)
		fclose(f);
	return strrchr(stat, ')');
}

/* Field `n`, 3 or higher, of the thread's stat file, as a number. */
static unsigned long stat_number(pid_t pid, pid_t tid, int n)
{
	char path[PATH], stat[STAT];
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	const char *field = read_stat(path, stat);
	for (int i = 2; field && i < n; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoul(field, NULL, 10) : 0;
}

static void note_run(pid_t pid, struct tw_tracee_thread *th)
{
	enum { PROCESSOR = 39 };
	char path[PATH];
	snprintf(path, sizeof path, "/proc/%d/task/%d/sched", (int)pid, (int)th->tid);
	th->processor = (int)stat_number(pid, th->tid, PROCESSOR);
	th->ran = last_run(path);
}

/*
 * Each processor has its own clock there, which stands while others have the processor: so "now" is when this thread
 * runs on that one.
 */
uint64_t tw_tracee_waited(const struct tw_tracee_thread *th)
{
	cpu_set_t one, before;
	CPU_ZERO(&one);
	CPU_SET((unsigned)th->processor, &one);
	if (th->ran <= 0 || sched_getaffinity(0, sizeof before, &before) || sched_setaffinity(0, sizeof one, &one))
		return 0;
	sched_yield();
	const double now = last_run("/proc/thread-self/sched");
	sched_setaffinity(0, sizeof before, &before);
	return now > th->ran ? (uint64_t)(now - th->ran) : 0;
}

/* ---- stopping ---- */

static uint64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Not for a first thread that was killed: it can be waited for only after all others. */
static int lives(pid_t tid)
{
	char path[PATH], stat[STAT];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
	const char *state = read_stat(path, stat);
	return state && strncmp(state, ") Z", 3) != 0 && strncmp(state, ") X", 3) != 0;
}

/*
 * Waits until the thread has stopped; *status says how. 1: it is gone; -1: it does not stop. A thread at work for
 * this recorder (`at_work`) is waited for as long as it lives: it could not be released where it is.
 */
static int await(pid_t tid, int *status, int at_work)
{
	uint64_t until = now_ms() + PATIENCE_MS;
	pid_t r;
	while ((r = waitpid(tid, status, __WALL | WNOHANG)) == 0 || (r < 0 && errno == EINTR)) {
		if (now_ms() > until) {
			if (!at_work || !lives(tid))
				return -1;
			until = now_ms() + PATIENCE_MS;
		}
		const struct timespec nap = {0, 50000};
		nanosleep(&nap, NULL);
	}
	return r < 0 || !WIFSTOPPED(*status);
}

static int is_trap(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* Waits until it is where the kernel decides how its system call continues; signals that it was about to get are delivered. */
static int await_trap(pid_t tid)
{
	int status, r;
	while (!(r = await(tid, &status, 0)) && !is_trap(status))
		request(PTRACE_CONT, tid, 0, (const void *)(uintptr_t)(WSTOPSIG(status) == CALL_STOP ? 0 : WSTOPSIG(status)));
	return r;
}

static int get_registers(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec v = {regs, sizeof *regs};
	return request(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v);
}

static int set_registers(pid_t tid, const struct user_regs_struct *regs)
{
	struct iovec v = {(void *)(uintptr_t)regs, sizeof *regs};
	return request(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v);
}

static int knows(const struct tw_tracee *t, pid_t tid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->thread[i].tid == tid)
			return 1;
	return 0;
}

/* Kernel threads in a process (io_uring) run none of its code. */
static int is_worker(pid_t pid, pid_t tid)
{
	enum { FLAGS = 9, PF_IO_WORKER = 0x10 };
	return (stat_number(pid, tid, FLAGS) & PF_IO_WORKER) != 0;
}

/* 1: it has ended already. */
static int seize(struct tw_tracee *t, pid_t tid)
{
	struct tw_tracee_thread *more = tw_array_room(t->thread, t->n, &t->room, sizeof *more);
	if (!more)
		return fail(t, "there is not enough memory");
	t->thread = more;
	t->thread[t->n] = (struct tw_tracee_thread){.tid = tid};
	note_run(t->pid, &t->thread[t->n]);
	if (request(PTRACE_SEIZE, tid, 0, (const void *)PTRACE_O_TRACESYSGOOD))
		return errno == ESRCH ? 1 : (tw_refuse_trace(t->pid, errno, t->why, sizeof t->why), -1);
	t->n++;
	return 0;
}

/*
 * Has it just faulted, with the signal still to be delivered? The signal belongs to the thread's present position,
 * and must be delivered there.
 */
static int has_fault(pid_t tid)
{
	enum { MOST = 16 };
	siginfo_t info[MOST];
	const struct __ptrace_peeksiginfo_args all = {.nr = MOST};
	const long n = ptrace(PTRACE_PEEKSIGINFO, tid, &all, info);
	for (long i = 0; i < n; i++) {
		const int s = info[i].si_signo;
		if (info[i].si_code > 0 && (s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL || s == SIGTRAP || s == SIGSYS))
			return 1;
	}
	return 0;
}

/* Stops it where no fault of its own is pending. */
static int interrupt(pid_t tid)
{
	int r;
	request(PTRACE_INTERRUPT, tid, 0, NULL);
	while (!(r = await_trap(tid)) && has_fault(tid)) {
		request(PTRACE_CONT, tid, 0, NULL);
		request(PTRACE_INTERRUPT, tid, 0, NULL);
	}
	return r;
}

int tw_tracee_interrupt(struct tw_tracee *t, size_t thread)
{
	struct tw_tracee_thread *th = &t->thread[thread];
	note_run(t->pid, th);
	const int r = interrupt(th->tid);
	if (r < 0)
		return fail(t, "thread %d of process %d does not stop: it waits in the kernel for something that cannot be interrupted",
		            (int)th->tid, (int)t->pid);
	th->gone = r || get_registers(th->tid, &th->found);
	th->stopped = !th->gone;
	return th->gone;
}

int tw_tracee_resume(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs)
{
	struct tw_tracee_thread *th = &t->thread[thread];
	th->stopped = 0;
	th->gone = (regs && set_registers(th->tid, regs)) || request(PTRACE_CONT, th->tid, 0, NULL);
	return th->gone;
}

static int stop_thread(struct tw_tracee *t, pid_t tid)
{
	int r = seize(t, tid);
	if (r)
		return r < 0 ? -1 : 0;
	struct tw_tracee_thread *th = &t->thread[t->n - 1];
	r = tw_tracee_interrupt(t, t->n - 1);
	if (!r && request(PTRACE_GETSIGMASK, tid, MASK_BYTES, &th->mask))
		r = 1;
	if (r > 0)
		t->n--; /* it has ended */
	else if (!r)
		request(PTRACE_SETSIGMASK, tid, MASK_BYTES, &all_signals);
	return r < 0 ? -1 : 0;
}

/* Calls `take` for each thread that is not yet known. *more: there were some. */
static int take_new(struct tw_tracee *t, int (*take)(struct tw_tracee *t, pid_t tid), int *more)
{
	char path[PATH];
	int error = 0;
	*more = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
	DIR *d = opendir(path);
	if (!d)
		return fail(t, "there is no process %d any more", (int)t->pid);
	for (const struct dirent *e; !error && (e = readdir(d));) {
		const pid_t tid = (pid_t)atoi(e->d_name);
		if (tid <= 0 || knows(t, tid) || is_worker(t->pid, tid))
			continue;
		const size_t before = t->n;
		error = take(t, tid) < 0;
		*more |= t->n > before;
	}
	closedir(d);
	return error ? -1 : 0;
}

int tw_tracee_follow(struct tw_tracee *t, int *more)
{
	return take_new(t, seize, more);
}

static int first_first(const void *a, const void *b)
{
	return ((const struct tw_tracee_thread *)a)->tid - ((const struct tw_tracee_thread *)b)->tid;
}

int tw_tracee_stop(struct tw_tracee *t, pid_t pid)
{
	int more = 1;
	*t = (struct tw_tracee){.pid = pid};
	while (more)
		if (take_new(t, stop_thread, &more)) {
			tw_tracee_release(t);
			return -1;
		}
	qsort(t->thread, t->n, sizeof *t->thread, first_first);
	for (size_t i = 1; i < t->n; i++)
		if (t->thread[i].tid == pid) {
			const struct tw_tracee_thread first = t->thread[i];
			memmove(&t->thread[1], t->thread, i * sizeof *t->thread);
			t->thread[0] = first;
		}
	if (t->n && !tw_tracee_find_call(t))
		return 0;
	if (!t->n)
		fail(t, "there is no process %d any more", (int)pid);
	tw_tracee_release(t);
	return -1;
}

int tw_tracee_find_call(struct tw_tracee *t)
{
	t->call_at = tw_maps_find_call(t->pid);
	return t->call_at ? 0 : fail(t, "process %d has no code that makes system calls", (int)t->pid);
}

/* ---- going on ---- */

/* Sets these registers and this mask, where the kernel decides how its system call continues. */
static int prepare(struct tw_tracee_thread *th, const struct user_regs_struct *regs, uint64_t mask)
{
	if (!th->stopped)
		return -1;
	th->stopped = 0;
	if (th->worked) {
		struct user_regs_struct nowhere = *regs;
		nowhere.orig_rax = ~0ull;
		set_registers(th->tid, &nowhere);
		request(PTRACE_INTERRUPT, th->tid, 0, NULL);
		request(PTRACE_CONT, th->tid, 0, NULL);
		if (await_trap(th->tid))
			return -1;
	}
	set_registers(th->tid, regs);
	request(PTRACE_SETSIGMASK, th->tid, MASK_BYTES, &mask);
	return 0;
}

void tw_tracee_go(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, uint64_t mask)
{
	struct tw_tracee_thread *th = &t->thread[thread];
	if (!prepare(th, regs, mask))
		request(PTRACE_DETACH, th->tid, 0, NULL);
}

void tw_tracee_resume_free(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs)
{
	struct tw_tracee_thread *th = &t->thread[thread];
	th->stopped = 0;
	set_registers(th->tid, regs);
	request(PTRACE_DETACH, th->tid, 0, NULL);
}

/* A signal came before the call: it ends with EINTR, as natively. */
static void break_off(struct tw_tracee_thread *th, int signal_number)
{
	struct user_regs_struct r;
	if (!get_registers(th->tid, &r)) {
		memcpy((char *)&r + th->register_at, &th->value, sizeof th->value);
		r.rax = (uint64_t)-EINTR;
		r.rip += SYSCALL_BYTES;
		set_registers(th->tid, &r);
	}
	request(PTRACE_DETACH, th->tid, 0, (const void *)(uintptr_t)signal_number);
}

void tw_tracee_go_through(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, uint64_t mask, size_t register_at,
                          uint64_t value)
{
	struct tw_tracee_thread *th = &t->thread[thread];
	struct user_regs_struct with = *regs;
	int status;
	memcpy(&th->value, (const char *)regs + register_at, sizeof th->value);
	memcpy((char *)&with + register_at, &value, sizeof value);
	th->register_at = register_at;
	if (prepare(th, &with, mask) || request(PTRACE_SYSCALL, th->tid, 0, NULL) || await(th->tid, &status, 1))
		return;
	if (WSTOPSIG(status) != CALL_STOP)
		break_off(th, is_trap(status) ? 0 : WSTOPSIG(status));
	else
		th->followed = !request(PTRACE_SYSCALL, th->tid, 0, NULL);
}

/* Has its call ended? Then restores the register and lets it continue. */
static int has_returned(struct tw_tracee_thread *th)
{
	struct user_regs_struct r;
	int status;
	const pid_t p = waitpid(th->tid, &status, __WALL | WNOHANG);
	if (p == 0)
		return 0;
	if (p > 0 && WIFSTOPPED(status) && !get_registers(th->tid, &r)) {
		memcpy((char *)&r + th->register_at, &th->value, sizeof th->value);
		set_registers(th->tid, &r);
		request(PTRACE_DETACH, th->tid, 0, NULL);
	}
	return 1;
}

void tw_tracee_await_calls(struct tw_tracee *t, unsigned ms)
{
	const uint64_t until = now_ms() + ms;
	int more;
	do {
		more = 0;
		for (size_t i = 0; i < t->n; i++) {
			if (t->thread[i].followed)
				t->thread[i].followed = !has_returned(&t->thread[i]);
			more |= t->thread[i].followed;
		}
		if (more)
			usleep(NAP_US);
	} while (more && now_ms() < until);
}

void tw_tracee_leave(struct tw_tracee *t, size_t thread)
{
	t->thread[thread].stopped = 0;
	request(PTRACE_DETACH, t->thread[thread].tid, 0, NULL);
}

void tw_tracee_release(struct tw_tracee *t)
{
	for (size_t i = 0; i < t->n; i++)
		tw_tracee_go(t, i, &t->thread[i].found, t->thread[i].mask);
	tw_tracee_free(t);
}

void tw_tracee_free(struct tw_tracee *t)
{
	free(t->thread);
	t->thread = NULL;
	t->n = t->room = 0;
}

/* ---- memory ---- */

int tw_tracee_read(struct tw_tracee *t, uint64_t at, void *to, size_t bytes)
{
	const struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)at, bytes};
	return process_vm_readv(t->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes
	           ? 0
	           : fail(t, "memory of process %d at 0x%llx cannot be read: %s", (int)t->pid, (unsigned long long)at, strerror(errno));
}

int tw_tracee_write(struct tw_tracee *t, uint64_t at, const void *from, size_t bytes)
{
	const struct iovec here = {(void *)(uintptr_t)from, bytes}, there = {(void *)(uintptr_t)at, bytes};
	return process_vm_writev(t->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes
	           ? 0
	           : fail(t, "memory of process %d at 0x%llx cannot be written: %s", (int)t->pid, (unsigned long long)at, strerror(errno));
}

/* ---- calls ---- */

static int gone(struct tw_tracee *t, struct tw_tracee_thread *th)
{
	th->stopped = 0;
	return fail(t, "thread %d of process %d has ended meanwhile", (int)th->tid, (int)t->pid);
}

/* Continues to the next stop before or after a system call. Faults that have handlers are delivered. */
static int step(struct tw_tracee *t, struct tw_tracee_thread *th)
{
	int status, pass = 0;
	do {
		if (request(PTRACE_SYSCALL, th->tid, 0, (const void *)(uintptr_t)pass) || await(th->tid, &status, 1))
			return gone(t, th);
		pass = is_trap(status) ? 0 : WSTOPSIG(status);
	} while (pass != CALL_STOP);
	return 0;
}

int tw_tracee_call(struct tw_tracee *t, size_t thread, const struct tw_tracee_call *call, int64_t *result)
{
	struct tw_tracee_thread *th = &t->thread[thread];
	struct user_regs_struct r = th->found;
	r.rip = t->call_at;
	r.orig_rax = ~0ull;
	r.rax = (uint64_t)call->number;
	r.rdi = call->a[0];
	r.rsi = call->a[1];
	r.rdx = call->a[2];
	r.r10 = call->a[3];
	r.r8 = call->a[4];
	r.r9 = call->a[5];
	if (th->in_call && step(t, th))
		return -1;
	th->worked = 1;
	th->in_call = 0;
	if (set_registers(th->tid, &r))
		return gone(t, th);
	if (step(t, th) || step(t, th))
		return -1;
	if (get_registers(th->tid, &r))
		return gone(t, th);
	*result = (int64_t)r.rax;
	return 0;
}

int tw_tracee_run(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, long number, uint64_t first, uint64_t *second)
{
	struct tw_tracee_thread *th = &t->thread[thread];
	struct user_regs_struct r;
	if (th->in_call && step(t, th))
		return -1;
	th->worked = th->in_call = 1;
	if (set_registers(th->tid, regs))
		return gone(t, th);
	do {
		if (step(t, th))
			return -1;
		if (get_registers(th->tid, &r))
			return gone(t, th);
	} while ((long)r.orig_rax != number || r.rdi != first);
	*second = r.rsi;
	return 0;
}
