#include "channel/launch.h"
#include "channel/asked.h"
#include "channel/machine.h"
#include "base/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
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
 * The initial state of this process, for the program to find it unchanged. Only those signals are queried for which
 * this process may change something; the others stay as they are. libc takes signals 32 and 33 for itself when the
 * first thread is made, and hides them.
 */
enum { N_SIGNALS = 64, KERNEL_SET = 8 };
static const uint8_t touched[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGXFSZ, SIGPIPE, 32, 33};

struct kernel_action {
	unsigned long handler, flags, restorer, mask;
};

static struct {
	unsigned long mask;
	unsigned char ignored[N_SIGNALS + 1];
} inherited;

/*
 * The engine's memory must not count against the program's limits. Raises a limit by this much; *within: limits from
 * there on are nevertheless the program's own. Returns 0, or -1 if that is not possible.
 */
static int raise_limit(int resource, rlim_t by, uint64_t *within)
{
	struct rlimit l;
	*within = TW_UNLIMITED;
	if (getrlimit(resource, &l) || l.rlim_cur == RLIM_INFINITY)
		return 0;
	const struct rlimit both = {l.rlim_cur + by, l.rlim_max == RLIM_INFINITY ? RLIM_INFINITY : l.rlim_max + by};
	if (!setrlimit(resource, &both))
		return 0;
	*within = l.rlim_max;
	l.rlim_cur += by; /* without privilege, as far as there is room below the hard limit */
	return setrlimit(resource, &l);
}

/* A limit that cannot be raised by all that the engine would take. */
struct tight {
	bool raise;
	rlim_t take;   /* for the engine, out of the limit, or by which it is raised, at most */
	rlim_t within; /* it, if it is not raised */
};

/* The engine gets a quarter of a limit that it is within, but at least this much. */
enum { LEAST_SHARE = 256 << 20, SHARE = 4 };

static struct tight look_at(int resource)
{
	struct rlimit l;
	if (getrlimit(resource, &l) || l.rlim_cur == RLIM_INFINITY)
		return (struct tight){false, RLIM_INFINITY, RLIM_INFINITY};
	if (l.rlim_max - l.rlim_cur >= LEAST_SHARE)
		return (struct tight){true, l.rlim_max - l.rlim_cur, RLIM_INFINITY};
	const rlim_t part = l.rlim_cur / SHARE > LEAST_SHARE ? l.rlim_cur / SHARE : LEAST_SHARE;
	return (struct tight){false, part < l.rlim_cur ? part : l.rlim_cur, l.rlim_cur};
}

/* If memory is limited, threads of this process do not allocate in large pieces either. */
static void be_frugal(void)
{
	enum { STACK = 256 << 10 };
	pthread_attr_t a;
	mallopt(M_ARENA_MAX, 1);
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK);
	pthread_setattr_default_np(&a);
	pthread_attr_destroy(&a);
}

/* The engine takes less. */
static int choose_less(struct tw_sizes *sizes, struct tw_limits *limits)
{
	const struct tight space = look_at(RLIMIT_AS), data = look_at(RLIMIT_DATA);
	limits->space = space.take;
	limits->data = data.take;
	if (!tw_sizes_choose(sizes, limits))
		return -1;
	sizes->within_space = space.within;
	sizes->within_data = data.within;
	if (space.raise)
		raise_limit(RLIMIT_AS, sizes->space, &sizes->within_space);
	if (data.raise)
		raise_limit(RLIMIT_DATA, sizes->data, &sizes->within_data);
	be_frugal();
	return 0;
}

/* Where threads have more buffers than usual. */
#define MUCH_MEMORY (2ull << 30)

int tw_launch_limits(const struct tw_launch_wants *wants, struct tw_sizes *sizes)
{
	const bool many = wants->many_buffers && tw_machine_memory() >= MUCH_MEMORY;
	struct rlimit file = {RLIM_INFINITY, RLIM_INFINITY};
	getrlimit(RLIMIT_FSIZE, &file); /* what can be raised of it is, while the channel is made */
	struct tw_limits limits = {TW_UNLIMITED, TW_UNLIMITED, file.rlim_max, wants->tallies, many};
	const bool enough = tw_sizes_choose(sizes, &limits);
	struct rlimit space;
	getrlimit(RLIMIT_AS, &space);
	if (!enough)
		return -1;
	if (!raise_limit(RLIMIT_AS, sizes->space, &sizes->within_space) && !raise_limit(RLIMIT_DATA, sizes->data, &sizes->within_data))
		return 0;
	setrlimit(RLIMIT_AS, &space);
	return choose_less(sizes, &limits);
}

void tw_launch_prepare(void)
{
	struct kernel_action a;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &inherited.mask, KERNEL_SET);
	for (size_t i = 0; i < sizeof touched; i++)
		inherited.ignored[touched[i]] =
		    !syscall(SYS_rt_sigaction, touched[i], NULL, &a, KERNEL_SET) && a.handler == (unsigned long)SIG_IGN;
	signal(SIGXFSZ, SIG_IGN); /* a write error says the same, and is said better */
	signal(SIGPIPE, SIG_IGN);
}

static void restore_inherited(void)
{
	for (size_t i = 0; i < sizeof touched; i++) {
		struct kernel_action a = {.handler = (unsigned long)(inherited.ignored[touched[i]] ? SIG_IGN : SIG_DFL)};
		syscall(SYS_rt_sigaction, touched[i], &a, NULL, KERNEL_SET);
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

/* The engine's variables, which it removes again, then the unchanged environment. Without the engine only the first is needed. */
static char **make_environment(const char *channel, const struct tw_command *program, bool with_engine)
{
	size_t n = 0;
	while (environ[n])
		n++;
	char **env = calloc(n + 3, sizeof *env);
	if (!env || asprintf(&env[0], TW_ENV_CHANNEL "%s", channel) < 0)
		return NULL;
	if (with_engine && asprintf(&env[1], TW_ENV_PROGRAM "/%s/%s", program->name, program->path) < 0)
		return NULL;
	memcpy(env + 1 + with_engine, environ, n * sizeof *env);
	return env;
}

static void free_environment(char **env, bool with_engine)
{
	free(env[0]);
	if (with_engine)
		free(env[1]);
	free(env);
}

/* Signals handled here: forwarded to the program or, after it has ended, a request to stop. */
static const struct handled {
	int number;
	bool stops;
	bool terminal; /* the terminal sends it to both: only signals from others are forwarded */
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

/* Also what was ignored when this process was started: the program may have a handler for it. */
static void handle_all(struct sigaction act)
{
	for (size_t i = 0; i < N_HANDLED; i++)
		sigaction(handled[i].number, &act, NULL);
}

static void __attribute__((noreturn)) start(const char *engine, char **argv, char **env, volatile int *why)
{
	restore_inherited();
	execve(engine, argv, env);
	*why = errno;
	_exit(125);
}

/*
 * Creates the child with those signals blocked for which handlers are about to be installed: none is lost, and none
 * reaches the child unprepared. Until it has executed the engine it shares this process's memory, so no page has to
 * be copied, and stores the errno of a failure there.
 */
static int spawn(const char *engine, char **argv, char **env)
{
	volatile int exec_failed = 0;
	sigset_t block, before;
	sigemptyset(&block);
	for (size_t i = 0; i < N_HANDLED; i++)
		sigaddset(&block, handled[i].number);
	sigprocmask(SIG_BLOCK, &block, &before);
	child = vfork();
	if (!child)
		start(engine, argv, env, &exec_failed);
	const int why = child < 0 ? errno : exec_failed;
	handle_all((struct sigaction){.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO});
	sigprocmask(SIG_SETMASK, &before, NULL);
	return why;
}

/* Waits until the child has ended, or goes on natively: then 1. */
static int has_left(const struct tw_launch *launch)
{
	const int process = launch->left < 0 ? -1 : (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd p[] = {{process, POLLIN, 0}, {launch->left, POLLIN, 0}, {tw_asked_fd(launch->asked), POLLIN, 0}};
	while (process >= 0 && !p[0].revents && !p[1].revents) {
		const int n = poll(p, sizeof p / sizeof *p, -1);
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && p[2].revents)
			tw_asked_answer_one(launch->asked);
	}
	if (process >= 0)
		close(process);
	return process >= 0 && !p[0].revents;
}

/* Waits for the child; once it is reaped, its number no longer refers to it. */
int tw_launch_wait(void)
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
	char **env = make_environment(launch->channel, launch->program, launch->engine != NULL);
	last = *launch;
	if (!env)
		return ENOMEM;
	const int why = spawn(launch->engine ? launch->engine : launch->program->path, launch->program->argv, env);
	free_environment(env, launch->engine != NULL);
	if (child > 0)
		*wait_status = has_left(launch) ? TW_LAUNCH_LEFT : tw_launch_wait();
	return why;
}

void tw_launch_end(void)
{
	handle_all((struct sigaction){.sa_handler = SIG_IGN});
}
