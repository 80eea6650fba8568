#include "cc/drive.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

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

int tw_cc_run(struct tw_cc_words *w)
{
	pid_t pid;
	int status = 0, why = posix_spawnp(&pid, w->at[0], NULL, NULL, w->at, environ);
	if (why) {
		fprintf(stderr, "trackway cc: %s cannot be run: %s\n", w->at[0], strerror(why));
		return TW_CC_NOT_FOUND;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
