#include "cc/drive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void tw_cc_push(struct tw_cc_words *w, const char *word)
{
	char **more = realloc(w->at, (w->n + 2) * sizeof *more);
	if (!more)
		abort();
	w->at = more;
	w->at[w->n++] = (char *)word;
	w->at[w->n] = NULL;
}

/* ---- signals ---- */

static volatile sig_atomic_t came, running; /* a signal; what runs */

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	came = number;
	if (running && info->si_code <= 0) /* a terminal's have come to what runs, too */
		kill(running, number);
}

static const int ending[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM};
enum { ENDINGS = sizeof ending / sizeof *ending };

void tw_cc_catch_signals(void)
{
	struct sigaction before, own = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	for (int k = 0; k < ENDINGS; k++)
		if (!sigaction(ending[k], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(ending[k], &own, NULL);
}

void tw_cc_end_by_signal(void)
{
	if (!came)
		return;
	signal(came, SIG_DFL);
	raise(came);
}

/* ---- commands ---- */

/*
 * Limit of a command's bytes, the least that systems allow (it depends on the stack limit). The first words name the
 * compiler and stay on the command line.
 */
enum { FIRST_WORDS = 8, MOST_BYTES = 64 << 10 };

static int is_long(const struct tw_cc_words *w)
{
	size_t bytes = 0;
	for (size_t k = FIRST_WORDS; k < w->n; k++)
		bytes += strlen(w->at[k]) + 1;
	return bytes > MOST_BYTES;
}

/* As compilers read it: a backslash precedes each character that could end a word. */
static void put_word(FILE *f, const char *s)
{
	if (!*s)
		fputs("\"\"", f);
	for (; *s; s++) {
		if (strchr(" \t\n\v\f\r\\\"'", *s))
			fputc('\\', f);
		fputc(*s, f);
	}
	fputc('\n', f);
}

/* Puts the words from `from` on into a nameless file, which the child opens by its number. -1: failed. */
static int put_in_file(const struct tw_cc_words *w, size_t from)
{
	const int fd = memfd_create("trackway-cc", 0), own = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *f = own < 0 ? NULL : fdopen(own, "w");
	for (; f && from < w->n; from++)
		put_word(f, w->at[from]);
	if (f && !fclose(f))
		return fd;
	close(fd);
	return -1;
}

/* Runs it. 0, or what is wrong. */
static int spawn(char *const *word)
{
	posix_spawnattr_t how;
	sigset_t hold, before;
	pid_t pid = 0;
	sigemptyset(&hold);
	for (int k = 0; k < ENDINGS; k++)
		sigaddset(&hold, ending[k]);
	sigprocmask(SIG_BLOCK, &hold, &before);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&how, &before);
	const int why = came ? EINTR : posix_spawnp(&pid, word[0], NULL, &how, word, environ);
	running = why ? 0 : pid;
	posix_spawnattr_destroy(&how);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return why;
}

/* Returns the exit status. The process is reaped only after nobody can signal it any more: until then its number stays its own. */
static int wait_for(pid_t pid)
{
	siginfo_t info;
	int status = 0;
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	running = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tw_cc_run(struct tw_cc_words *w)
{
	char name[64], *shorter[FIRST_WORDS + 2] = {NULL};
	const int fd = is_long(w) ? put_in_file(w, FIRST_WORDS) : -1;
	if (fd >= 0) {
		memcpy(shorter, w->at, FIRST_WORDS * sizeof *shorter);
		snprintf(name, sizeof name, "@/proc/self/fd/%d", fd);
		shorter[FIRST_WORDS] = name;
	}
	const int why = spawn(fd < 0 ? w->at : shorter);
	if (fd >= 0)
		close(fd);
	if (why && !came)
		fprintf(stderr, "trackway cc: %s cannot be run: %s\n", w->at[0], strerror(why));
	return why ? TW_CC_NOT_FOUND : wait_for(running);
}

int tw_cc_run_and_free(struct tw_cc_words *w)
{
	int status = tw_cc_run(w);
	free(w->at);
	return status;
}

char *tw_cc_in_directory(const struct tw_cc_drive *d, size_t number, const char *suffix)
{
	char *path;
	if (asprintf(&path, "%s/%zu%s", d->directory, number, suffix) < 0)
		abort();
	return path;
}

void tw_cc_push_compiler(const struct tw_cc_drive *d, struct tw_cc_words *w, int with_cache)
{
	for (size_t k = with_cache ? 0 : d->command.compiler - 1; k < d->command.compiler; k++)
		tw_cc_push(w, d->command.word[k]);
}
