#include "attach/refuse.h"
#include "attach/maps.h"
#include "base/channel.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 64 };

struct asked {
	pid_t pid;
	char status[4096]; /* of /proc/PID/status */
	char *why;
	size_t size;
};

/* One sentence, behind "process N ". */
static int __attribute__((format(printf, 2, 3))) say(const struct asked *a, const char *format, ...)
{
	va_list ap;
	const int n = snprintf(a->why, a->size, "process %d ", (int)a->pid);
	va_start(ap, format);
	vsnprintf(a->why + n, a->size - (size_t)n, format, ap);
	va_end(ap);
	return 1;
}

static ssize_t read_proc(pid_t pid, const char *name, char *to, size_t size)
{
	char path[PATH];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);
	to[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
	return n;
}

/* The value of a key in a status file; "" if absent. */
static const char *value(const char *status, const char *key)
{
	const char *at = strstr(status, key);
	return at ? at + strlen(key) + strspn(at + strlen(key), "\t ") : "";
}

static long number(const char *status, const char *key)
{
	return atol(value(status, key));
}

/* ---- what it is ---- */

static int refuse_kind(const struct asked *a)
{
	const char state = *value(a->status, "\nState:");
	const long group = number(a->status, "\nTgid:"), tracer = number(a->status, "\nTracerPid:");
	if (a->pid == getpid())
		return say(a, "is this recorder itself");
	if (group != a->pid)
		return say(a, "is a thread of process %ld: give that number", group);
	if (state == 'Z' && number(a->status, "\nThreads:") > 1)
		return say(a, "has ended its first thread, in which the engine would start");
	if (state == 'Z' || state == 'X')
		return say(a, "has ended, and is waiting for its parent (zombie)");
	if (!*value(a->status, "\nVmSize:"))
		return say(a, "is a kernel thread, which runs no program");
	if (state == 'T')
		return say(a, "is stopped: it can be recorded once it continues (SIGCONT)");
	if (tracer)
		return say(a, "is already traced by process %ld, perhaps a debugger", tracer);
	return 0;
}

static int refuse_recorded(void *context, const struct tw_maps_line *m)
{
	static const char channel[] = "/memfd:trackway";
	if (strncmp(m->path, channel, strlen(channel)))
		return 0;
	const pid_t recorder = m->path[strlen(channel)] == '-' ? (pid_t)atoi(m->path + sizeof channel) : 0;
	if (recorder > 0 && kill(recorder, 0) && errno == ESRCH)
		return say(context, "was recorded by process %d, which was killed, and cannot be recorded a second time", (int)recorder);
	return say(context, "is being recorded already");
}

static int refuse_place(void *context, const struct tw_maps_line *m)
{
	if (m->end <= TW_ENGINE_PLACE || m->start >= TW_ENGINE_PLACE_END)
		return 0;
	return say(context, "has memory at 0x%llx, where the engine's must be", (unsigned long long)m->start);
}

static int refuse_memory(struct asked *a)
{
	int refused = tw_maps_each(a->pid, refuse_recorded, a);
	return refused ? refused > 0 : tw_maps_each(a->pid, refuse_place, a) > 0;
}

static int refuse_program(const struct asked *a)
{
	char path[PATH];
	unsigned char ident[EI_NIDENT] = {0};
	snprintf(path, sizeof path, "/proc/%d/exe", (int)a->pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, ident, sizeof ident);
	if (fd >= 0)
		close(fd);
	if (n == sizeof ident && ident[EI_CLASS] != ELFCLASS64)
		return say(a, "runs a 32-bit program");
	if (strstr(value(a->status, "\nx86_Thread_features:"), "shstk"))
		return say(a, "has a shadow stack, which the engine does not support");
	return 0;
}

/* ---- whose it is ---- */

static const char *user_name(long uid)
{
	static char digits[24];
	const struct passwd *p = getpwuid((uid_t)uid);
	snprintf(digits, sizeof digits, "%ld", uid);
	return p ? p->pw_name : digits;
}

static int refuse_user(const struct asked *a)
{
	long real = -1, effective = -1, saved = -1, files = -1;
	sscanf(value(a->status, "\nUid:"), "%ld %ld %ld %ld", &real, &effective, &saved, &files);
	if (real != effective || real != saved || real != files)
		return say(a, "runs with the rights of two users (set-uid): the kernel does not allow access to it");
	if (real != (long)geteuid())
		return say(a, "belongs to user %s: trackway must be run by that user", user_name(real));
	return 0;
}

static int differs(pid_t pid, const char *name)
{
	char theirs[PATH], ours[PATH];
	struct stat a, b;
	snprintf(theirs, sizeof theirs, "/proc/%d/%s", (int)pid, name);
	snprintf(ours, sizeof ours, "/proc/self/%s", name);
	return stat(theirs, &a) || stat(ours, &b) ? errno != ENOENT && errno != EACCES && errno != EPERM
	                                          : a.st_dev != b.st_dev || a.st_ino != b.st_ino;
}

static int refuse_place_in_system(const struct asked *a)
{
	if (differs(a->pid, "root") || differs(a->pid, "ns/mnt"))
		return say(a, "has another root or other mounts, as in a container: run trackway in there");
	if (differs(a->pid, "ns/pid") || differs(a->pid, "ns/user"))
		return say(a, "is in another namespace, as in a container: run trackway in there");
	return 0;
}

/* A filter that also applies to this process was set by whoever started both: the engine can work under it, as under `record`. */
static int refuse_seccomp(const struct asked *a)
{
	char own[sizeof a->status];
	read_proc(getpid(), "status", own, sizeof own);
	const long mode = number(a->status, "\nSeccomp:");
	if (mode == 1)
		return say(a, "has forbidden itself nearly all system calls (strict seccomp), but the engine needs more");
	if (mode == 2 && number(a->status, "\nSeccomp_filters:") > number(own, "\nSeccomp_filters:"))
		return say(a, "filters its system calls (seccomp): the engine's calls could be forbidden, and the process killed for them");
	return 0;
}

int tw_refuse(pid_t pid, char *why, size_t size)
{
	struct asked a = {.pid = pid, .why = why, .size = size};
	if (read_proc(pid, "status", a.status, sizeof a.status) <= 0) {
		snprintf(why, size, "there is no process %d", (int)pid);
		return 1;
	}
	return refuse_kind(&a) || refuse_user(&a) || refuse_place_in_system(&a) || refuse_seccomp(&a) || refuse_program(&a) ||
	       refuse_memory(&a);
}

/* ---- limits ---- */

static int raise_limit(pid_t pid, int resource, uint64_t by)
{
	struct rlimit l;
	if (prlimit(pid, resource, NULL, &l) || l.rlim_cur == RLIM_INFINITY)
		return 0;
	const struct rlimit more = {l.rlim_cur + by,
	                            l.rlim_max == RLIM_INFINITY || l.rlim_max >= l.rlim_cur + by ? l.rlim_max : l.rlim_cur + by};
	return prlimit(pid, resource, &more, NULL);
}

int tw_refuse_limits(pid_t pid, const struct tw_sizes *sizes, char *why, size_t size)
{
	const struct asked a = {.pid = pid, .why = why, .size = size};
	if (!raise_limit(pid, RLIMIT_AS, sizes->space) && !raise_limit(pid, RLIMIT_DATA, sizes->data))
		return 0;
	return say(&a, "may not have the memory that the engine needs in addition to its own, %llu MB (ulimit -v, -d)",
	           (unsigned long long)(sizes->space >> 20));
}

/* ---- permission ---- */

void tw_refuse_trace(pid_t pid, int error, char *why, size_t size)
{
	const struct asked a = {.pid = pid, .why = why, .size = size};
	char scope[16] = "";
	const int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, scope, sizeof scope - 1);
	if (fd >= 0)
		close(fd);
	if (error == EPERM && n > 0 && scope[0] == '1')
		say(&a, "may be traced only by its ancestors (yama): run trackway as root, or set kernel.yama.ptrace_scope to 0");
	else if (error == EPERM && n > 0 && scope[0] == '2')
		say(&a, "may be traced only by root (yama, kernel.yama.ptrace_scope is 2)");
	else if (error == EPERM && n > 0 && scope[0] == '3')
		say(&a, "cannot be traced: nothing can on this machine (yama, kernel.yama.ptrace_scope is 3)");
	else
		say(&a, "cannot be traced: %s", strerror(error));
}
