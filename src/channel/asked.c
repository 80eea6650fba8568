#include "channel/asked.h"
#include "base/helper_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 512, BACKLOG = 8, BEGINS_NAPS = 100 };

struct tw_asked {
	tw_asked_do *what;
	void *context;
	int fd;
	int has_thread;
	pthread_t thread;
};

/* One request. Its answer begins with a sign: what has become of it. */
struct request {
	const struct tw_asked *asked;
	char word[TEXT], answer[TEXT];
};

static socklen_t name_of(pid_t recorder, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	const int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "trackway/%d", (int)recorder);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int is_ours(int fd)
{
	struct ucred who;
	socklen_t n = sizeof who;
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) && (who.uid == geteuid() || !who.uid);
}

static void *answer(void *request)
{
	struct request *r = request;
	const int failed = r->asked->what(r->asked->context, r->word, r->answer + 1, sizeof r->answer - 1);
	r->answer[0] = failed ? '-' : '+';
	return NULL;
}

static void serve(const struct tw_asked *a, int fd)
{
	struct request r = {.asked = a};
	pthread_t thread;
	const ssize_t n = is_ours(fd) ? recv(fd, r.word, sizeof r.word - 1, 0) : 0;
	if (n > 0 && !pthread_create(&thread, NULL, answer, &r)) {
		pthread_join(thread, NULL);
		send(fd, r.answer, strlen(r.answer), MSG_NOSIGNAL);
	}
	close(fd);
}

static void *listen_on(void *asked)
{
	const struct tw_asked *a = asked;
	int fd;
	while ((fd = accept4(a->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR || errno == ECONNABORTED)
		if (fd >= 0)
			serve(a, fd);
	return NULL;
}

struct tw_asked *tw_asked_begin(tw_asked_do *what, void *context)
{
	struct sockaddr_un name;
	struct tw_asked *a = malloc(sizeof *a);
	if (!a)
		return NULL;
	*a = (struct tw_asked){.what = what, .context = context, .fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
	const socklen_t n = name_of(getpid(), &name);
	if (a->fd >= 0 && !bind(a->fd, (struct sockaddr *)&name, n) && !listen(a->fd, BACKLOG))
		return a;
	if (a->fd >= 0)
		close(a->fd);
	free(a);
	return NULL;
}

void tw_asked_answer(struct tw_asked *a)
{
	if (a && !a->has_thread)
		a->has_thread = tw_helper_thread_start(&a->thread, listen_on, a);
}

int tw_asked_fd(const struct tw_asked *a)
{
	return a && !a->has_thread ? a->fd : -1;
}

void tw_asked_answer_one(struct tw_asked *a)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int fd = accept4(a->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		serve(a, fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void tw_asked_end(struct tw_asked *a)
{
	if (!a)
		return;
	shutdown(a->fd, SHUT_RDWR);
	if (a->has_thread)
		pthread_join(a->thread, NULL);
	close(a->fd);
	free(a);
}

/* ---- who asks ---- */

int tw_asked_of(pid_t recorder, const char *word, char *said, size_t size)
{
	struct sockaddr_un name;
	char text[TEXT] = "";
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const socklen_t n = name_of(recorder, &name);
	ssize_t got = -1;
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&name, n) && send(fd, word, strlen(word), MSG_NOSIGNAL) > 0)
		got = recv(fd, text, sizeof text - 1, 0);
	if (fd >= 0)
		close(fd);
	snprintf(said, size, "%s", got > 0 ? text + 1 : "");
	return got <= 0 ? -2 : text[0] == '+' ? 0 : -1;
}

/* Whether somebody listens under this number. */
static int listens(pid_t recorder)
{
	struct sockaddr_un name;
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const socklen_t n = name_of(recorder, &name);
	const int r = fd >= 0 && !connect(fd, (struct sockaddr *)&name, n);
	if (fd >= 0)
		close(fd);
	return r;
}

/* 0: it is not recorded, or has executed the engine a moment ago. */
static pid_t find_recorder(pid_t pid)
{
	static const char channel[] = "/memfd:trackway-";
	char path[64], line[8192];
	pid_t recorder = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && !recorder && fgets(line, sizeof line, f)) {
		const char *at = strstr(line, channel);
		recorder = at ? (pid_t)atoi(at + strlen(channel)) : 0;
	}
	if (f)
		fclose(f);
	const int is_own = recorder == pid || !recorder; /* a recorder has its channel mapped, too */
	return is_own && !listens(pid) ? 0 : recorder ? recorder : pid;
}

/* Does it run the engine, by the name of its file? */
static int runs_engine(pid_t pid)
{
	static const char engine[] = "/trackway-engine";
	char path[64], exe[4096];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	const ssize_t n = readlink(path, exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	const char *name = strrchr(exe, '/');
	return name && !strcmp(name, engine);
}

pid_t tw_asked_recorder(pid_t pid)
{
	static const struct timespec nap = {0, 10000000};
	pid_t recorder = find_recorder(pid);
	for (int n = 0; !recorder && runs_engine(pid) && n < BEGINS_NAPS; n++) {
		nanosleep(&nap, NULL);
		recorder = find_recorder(pid);
	}
	return recorder;
}
