#include "channel/launch.h"
#include "channel/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* For the signal handler: */
static volatile pid_t child; /* whom signals are passed on to */
static struct tw_launch last;

/*
 * What this process was started with, for the program to find it so: libc takes signals 32 and 33 for itself when the first thread is made, and
 * lets nobody see them.
 */
enum { N_SIGNALS = 64, KERNEL_SET = 8 };

struct kernel_action {
	unsigned long handler, flags, restorer, mask;
};

static struct {
	unsigned long mask;
	unsigned char ignored[N_SIGNALS + 1];
} inherited;

/* The engine's memory is not to count against the program's limits. Returns 0, or the errno for which the limit cannot be raised. */
static int raise_limit(int resource, rlim_t by)
{
	struct rlimit l;
	if (getrlimit(resource, &l) || l.rlim_cur == RLIM_INFINITY)
		return 0;
	struct rlimit both = {l.rlim_cur + by, l.rlim_max == RLIM_INFINITY ? RLIM_INFINITY : l.rlim_max + by};
	l.rlim_cur += by; /* without privilege, as far as there is room below the hard limit */
	return setrlimit(resource, &both) && setrlimit(resource, &l) ? EPERM : 0;
}

int tw_launch_prepare(void)
{
	struct kernel_action a;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &inherited.mask, KERNEL_SET);
	for (int s = 1; s <= N_SIGNALS; s++)
		inherited.ignored[s] = !syscall(SYS_rt_sigaction, s, NULL, &a, KERNEL_SET) && a.handler == (unsigned long)SIG_IGN;
	signal(SIGXFSZ, SIG_IGN); /* a write error says the same, and is said better */
	signal(SIGPIPE, SIG_IGN);
	int why = raise_limit(RLIMIT_AS, TW_ENGINE_SPACE_BYTES);
	return why ? why : raise_limit(RLIMIT_DATA, TW_ENGINE_DATA_BYTES);
}

static void restore_inherited(void)
{
	for (int s = 1; s <= N_SIGNALS; s++) {
		struct kernel_action a = {.handler = (unsigned long)(inherited.ignored[s] ? SIG_IGN : SIG_DFL)};
		syscall(SYS_rt_sigaction, s, &a, NULL, KERNEL_SET);
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &inherited.mask, NULL, KERNEL_SET);
}

char *tw_launch_engine(void)
{
	static const char *const places[] = {"trackway-engine", "../lib/trackway/trackway-engine"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0)
		return NULL;
	self[n] = 0;
	*(strrchr(self, '/') + 1) = 0;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		char *path;
		if (asprintf(&path, "%s%s", self, places[i]) < 0)
			return NULL;
		if (!access(path, X_OK))
			return path;
		free(path);
	}
	return NULL;
}

/* The two variables the engine takes out again, then the environment as it is. */
static char **make_environment(const char *channel, const struct tw_command *program)
{
	size_t n = 0;
	while (environ[n])
		n++;
	char **env = calloc(n + 3, sizeof *env);
	if (!env || asprintf(&env[0], TW_ENV_CHANNEL "%s", channel) < 0 ||
	    asprintf(&env[1], TW_ENV_PROGRAM "%s/%s", program->name, program->path) < 0)
		return NULL;
	memcpy(env + 2, environ, n * sizeof *env);
	return env;
}

static void free_environment(char **env)
{
	free(env[0]);
	free(env[1]);
	free(env);
}

/* What is handled here: passed on to the program, or, when that has ended, the wish to stop. */
static const struct handled {
	int number;
	bool stops;
	bool terminal; /* the terminal sends it to both: only what somebody else sent is passed on */
} handled[] = {
    {SIGTERM, true, false},  {SIGHUP, true, false},   {SIGINT, true, true},    {SIGQUIT, true, true},
    {SIGUSR1, false, false}, {SIGUSR2, false, false}, {SIGWINCH, false, true},
};

#define N_HANDLED (sizeof handled / sizeof *handled)

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	int saved = errno;
	const struct handled *h = handled;
	while (h->number != signal_number)
		h++;
	if (child > 0 && (!h->terminal || info->si_code <= 0))
		kill(child, signal_number);
	else if (child == 0 && h->stops && !inherited.ignored[signal_number])
		last.stop(last.context);
	errno = saved;
}

/* What was ignored when this process was started too: the program may have a handler for it all the same. */
static void handle_all(struct sigaction act)
{
	for (size_t i = 0; i < N_HANDLED; i++)
		sigaction(handled[i].number, &act, NULL);
}

static void __attribute__((noreturn)) start(const char *engine, char **argv, char **env, int report)
{
	restore_inherited();
	execve(engine, argv, env);
	int why = errno;
	if (write(report, &why, sizeof why) < 0)
		_exit(125);
	_exit(125);
}

/* The errno execve failed with in the child, or 0 once it has succeeded. */
static int exec_result(int fd)
{
	int why = 0;
	ssize_t n;
	while ((n = read(fd, &why, sizeof why)) < 0 && errno == EINTR)
		;
	return n == sizeof why ? why : 0;
}

/* Forks with the signals blocked that the handlers are about to be installed for: none is lost, and none meets the child unprepared. */
static int spawn(const char *engine, char **argv, char **env, int report[2])
{
	sigset_t block, before;
	sigemptyset(&block);
	for (size_t i = 0; i < N_HANDLED; i++)
		sigaddset(&block, handled[i].number);
	sigprocmask(SIG_BLOCK, &block, &before);
	child = fork();
	int why = child < 0 ? errno : 0;
	if (!child)
		start(engine, argv, env, report[1]);
	handle_all((struct sigaction){.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO});
	sigprocmask(SIG_SETMASK, &before, NULL);
	return why;
}

/* Waits for the child; when it is reaped, its number is nobody's any more. */
static int wait_for_child(void)
{
	siginfo_t ended;
	int status = 0;
	pid_t pid = child;
	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) && errno == EINTR)
		;
	child = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int tw_launch_run(const struct tw_launch *launch, int *wait_status)
{
	int report[2];
	char **env = make_environment(launch->channel, launch->program);
	last = *launch;
	if (!env || pipe2(report, O_CLOEXEC))
		return env ? errno : ENOMEM;
	int why = spawn(launch->engine, launch->program->argv, env, report);
	close(report[1]);
	if (!why)
		why = exec_result(report[0]);
	close(report[0]);
	free_environment(env);
	if (child > 0)
		*wait_status = wait_for_child();
	return why;
}

void tw_launch_end(void)
{
	handle_all((struct sigaction){.sa_handler = SIG_IGN});
}
