#include "channel/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*on_stop)(void *context);
static void *stop_context;

static void stop(int number)
{
	(void)number;
	on_stop(stop_context);
}

/* Files that the foreground was started with are its own business. */
static void keep_only(int *fd)
{
	enum { KEPT = 3 };
	if (*fd != KEPT)
		dup2(*fd, KEPT);
	fcntl(KEPT, F_SETFD, FD_CLOEXEC);
	close_range(KEPT + 1, ~0u, 0);
	*fd = KEPT;
}

int tw_aside_begin(struct tw_aside *a)
{
	int pair[2];
	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	a->collector = fork();
	const int why = errno;
	const int own = a->collector ? 0 : 1;
	close(pair[!own]);
	a->fd = pair[own];
	if (!a->collector) {
		setsid();
		keep_only(&a->fd);
	}
	return a->collector < 0 ? why : 0;
}

static ssize_t receive(int fd, void *message, size_t n)
{
	ssize_t got;
	while ((got = recv(fd, message, n, 0)) < 0 && errno == EINTR)
		;
	return got;
}

/* ---- aside ---- */

void tw_aside_serve(struct tw_aside *a, const char *path, void (*stop_recording)(void *context), void *context, struct tw_aside_end *end)
{
	static const int numbers[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
	on_stop = stop_recording;
	stop_context = context;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaction(numbers[i], &(struct sigaction){.sa_handler = stop, .sa_flags = SA_RESTART}, NULL);
	memset(end, 0, sizeof *end);
	if (send(a->fd, path, strlen(path) + 1, MSG_NOSIGNAL) > 0)
		receive(a->fd, end, sizeof *end);
}

void tw_aside_leave(struct tw_aside *a)
{
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	fflush(NULL);
	for (int fd = 0; fd <= 2 && nothing >= 0; fd++)
		dup2(nothing, fd);
	if (nothing > 2)
		close(nothing);
	send(a->fd, "", 1, MSG_NOSIGNAL);
	close(a->fd);
}

/* ---- foreground ---- */

static int exit_status(const struct tw_aside *a)
{
	int status;
	while (waitpid(a->collector, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int tw_aside_path(struct tw_aside *a, char path[TW_ASIDE_PATH])
{
	return receive(a->fd, path, TW_ASIDE_PATH) > 0 ? -1 : exit_status(a);
}

int tw_aside_end(struct tw_aside *a, const struct tw_aside_end *end)
{
	char left;
	if (send(a->fd, end, sizeof *end, MSG_NOSIGNAL) > 0 && receive(a->fd, &left, 1) > 0)
		return 0;
	return exit_status(a);
}

void tw_aside_stop(const struct tw_aside *a)
{
	kill(a->collector, SIGTERM);
}
