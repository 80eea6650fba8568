#include "cli/attached.h"
#include "attach/maps.h"
#include "attach/refuse.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH = 64 };

pid_t tw_attached_parse(const char *text)
{
	char *end;
	errno = 0;
	const long n = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && n > 0 && n <= INT_MAX ? (pid_t)n : 0;
}

/* ---- what it runs ---- */

static char *read_name(pid_t pid)
{
	size_t n;
	char *name = tw_proc_read(pid, "comm", &n);
	if (name)
		name[strcspn(name, "\n")] = 0;
	return name;
}

/* What a link of its directory in /proc points to. */
static int follow(pid_t pid, const char *name, char *to, size_t size)
{
	char link[PATH];
	snprintf(link, sizeof link, "/proc/%d/%s", (int)pid, name);
	const ssize_t n = readlink(link, to, size - 1);
	to[n > 0 ? n : 0] = 0;
	return n > 0 ? 0 : -1;
}

int tw_attached_directory(pid_t pid, char *to, size_t size)
{
	return follow(pid, "cwd", to, size);
}

static char *read_path(pid_t pid)
{
	char path[PATH_MAX];
	follow(pid, "exe", path, sizeof path);
	return strdup(path);
}

/* A set of capabilities, by its name in a status file. */
static unsigned long long capabilities(pid_t pid, const char *name)
{
	size_t n;
	char *status = tw_proc_read(pid, "status", &n), *line = status ? strstr(status, name) : NULL;
	const unsigned long long set = line ? strtoull(line + strlen(name), NULL, 16) : 0;
	free(status);
	return set;
}

int tw_attached_is_bare(pid_t pid)
{
	return (capabilities(getpid(), "\nCapPrm:") & ~capabilities(pid, "\nCapEff:")) != 0;
}

/* Its arguments as it shows them, one after another; if it shows none, its name. */
static int take_arguments(struct tw_command *p, char *text, size_t n)
{
	for (const char *a = text; a && a < text + n; a += strlen(a) + 1)
		p->argc++;
	p->argv = calloc((size_t)p->argc + 2, sizeof *p->argv);
	int i = 0;
	for (char *a = text; p->argv && i < p->argc; a += strlen(a) + 1)
		p->argv[i++] = strdup(a);
	if (p->argv && !p->argc)
		p->argv[p->argc++] = strdup(p->name);
	return p->argv ? 0 : -1;
}

int tw_attached_program(pid_t pid, struct tw_command *p)
{
	size_t n;
	*p = (struct tw_command){0};
	if (tw_refuse(pid, p->why, sizeof p->why))
		return -1;
	p->path = read_path(pid);
	p->name = read_name(pid);
	char *text = tw_proc_read(pid, "cmdline", &n);
	const int error = !p->name || !p->path || take_arguments(p, text, n);
	free(text);
	if (error)
		snprintf(p->why, sizeof p->why, "there is no process %d", (int)pid);
	return error ? -1 : 0;
}

/* ---- letting go ---- */

int tw_attached_let_go(const struct tw_control *control, char *said, size_t size)
{
	struct tw_detached done;
	char why[512] = "";
	int error = tw_detach_all(control, &done, why, sizeof why);
	if (!error && !done.processes) { /* it is just being taken, or has just ended */
		snprintf(why, sizeof why, "no process is running under the engine right now");
		error = -1;
	}
	const int n = snprintf(said, size, "%u process%s with %u thread%s %s on natively", done.processes, done.processes == 1 ? "" : "es",
	                       done.threads, done.threads == 1 ? "" : "s", done.processes == 1 ? "goes" : "go");
	if (error && done.processes)
		snprintf(said + n, size - (size_t)n, "; %s", why);
	else if (error)
		snprintf(said, size, "%s", why);
	return error;
}

/* ---- waiting ---- */

/* How it ended, while its parent has not asked yet; else 0. */
static int exit_code(pid_t pid)
{
	enum { EXIT_CODE = 52, FIRST = 3 };
	size_t n;
	char *stat = tw_proc_read(pid, "stat", &n), *field = stat ? strrchr(stat, ')') : NULL;
	for (int i = FIRST - 1; field && i < EXIT_CODE; i++)
		field = strchr(field + 1, ' ');
	const int code = field && strchr(stat, ')')[2] == 'Z' ? atoi(field) : 0;
	free(stat);
	return code;
}

static sigset_t stop_signals(void)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGINT);
	sigaddset(&s, SIGTERM);
	sigaddset(&s, SIGHUP);
	sigaddset(&s, SIGQUIT);
	return s;
}

/* Waits until the process has ended or continues natively, or one of these (blocked) signals comes. */
static void wait_for(pid_t pid, int process, int left, const sigset_t *signals, struct tw_attached_end *end)
{
	const int asked = signalfd(-1, signals, SFD_CLOEXEC);
	struct pollfd p[3] = {{process, POLLIN, 0}, {asked, POLLIN, 0}, {left, POLLIN, 0}};
	while (poll(p, 3, -1) < 0 && errno == EINTR)
		;
	end->stopped = (p[1].revents & POLLIN) != 0;
	end->left = (p[2].revents & POLLIN) != 0;
	if (p[0].revents & POLLIN)
		end->wait_status = exit_code(pid);
	close(asked);
}

struct tw_attached_end tw_attached_run(const struct tw_attach_options *options, int left, int quiet)
{
	struct tw_attached_end end = {0};
	const sigset_t signals = stop_signals();
	char why[512] = "";
	sigprocmask(SIG_BLOCK, &signals, NULL);
	const int process = (int)syscall(SYS_pidfd_open, options->pid, 0);
	if (process < 0)
		snprintf(why, sizeof why, "there is no process %d", (int)options->pid);
	end.failed = process < 0 || tw_attach(options, why, sizeof why);
	if (end.failed)
		fprintf(stderr, "trackway record: %s\n", why);
	else if (!quiet)
		fprintf(stderr, "trackway: process %d is being recorded; Ctrl-C or trackway stop %d releases it\n", (int)options->pid,
		        (int)options->pid);
	if (!end.failed)
		wait_for(options->pid, process, left, &signals, &end);
	if (process >= 0)
		close(process);
	return end;
}
