#include "cc/wrap.h"
#include "cc/command.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- PATH ---- */

static int is_same_directory(const char *a, const char *b)
{
	struct stat s, t;
	return !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

/* The next directory of PATH, from *at on; "": the current one. 0: none. */
static int next_directory(const char **at, char directory[PATH_MAX])
{
	if (!*at)
		return 0;
	const size_t n = strcspn(*at, ":");
	snprintf(directory, PATH_MAX, "%.*s", (int)n, *at);
	*at = (*at)[n] ? *at + n + 1 : NULL;
	return 1;
}

void tw_cc_hide(const char *directory)
{
	const char *at = getenv("PATH");
	char one[PATH_MAX], *kept = at ? calloc(strlen(at) + 2, 1) : NULL;
	if (!kept)
		return;
	while (next_directory(&at, one))
		if (!is_same_directory(*one ? one : ".", directory)) {
			strcat(kept, one);
			strcat(kept, ":");
		}
	if (*kept)
		kept[strlen(kept) - 1] = 0;
	setenv("PATH", kept, 1);
	free(kept);
}

/* ---- compilers ---- */

/* Cross compilers are none. */
static int is_compiler(const char *name)
{
	const int at = tw_cc_compiler_in(name);
	return !at || (at > 0 && !strncmp(name, "x86_64-", 7) && memmem(name, (size_t)at, "-linux-", 7));
}

/* ---- commands ---- */

#define MARK "# Made by trackway cc --wrap.\n"

static void put_quoted(FILE *f, const char *s)
{
	fputs(" '", f);
	for (; *s; s++)
		fputs(*s == '\'' ? "'\\''" : (char[]){*s, 0}, f);
	fputc('\'', f);
}

struct wrapping {
	char directory[PATH_MAX], self[PATH_MAX];
	char *const *option;
	size_t n_options;
};

static int is_ours(const char *path)
{
	char line[sizeof MARK] = "";
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	const int has_second = fgets(line, sizeof line, f) && fgets(line, sizeof line, f);
	fclose(f);
	return has_second && !strcmp(line, MARK);
}

static int write_command(const struct wrapping *w, const char *name, const char *compiler)
{
	char path[PATH_MAX + NAME_MAX + 1];
	snprintf(path, sizeof path, "%s/%s", w->directory, name);
	FILE *f = fopen(path, "wxe");
	if (!f) /* an earlier directory of PATH has one, or there is a file that is not ours */
		return errno == EEXIST && is_ours(path) ? 0 : -1;
	fputs("#!/bin/sh\n" MARK "exec", f);
	put_quoted(f, w->self);
	fputs(" cc --hide", f);
	put_quoted(f, w->directory);
	for (size_t k = 0; k < w->n_options; k++)
		put_quoted(f, w->option[k]);
	put_quoted(f, compiler);
	fputs(" \"$@\"\n", f);
	const int wrong = ferror(f);
	return fclose(f) || wrong || chmod(path, 0755) ? -1 : 0;
}

/* Those that an earlier --wrap made go. */
static void remove_commands(const struct wrapping *w)
{
	char path[PATH_MAX + NAME_MAX + 1];
	DIR *d = opendir(w->directory);
	for (struct dirent *e; d && (e = readdir(d));)
		if (is_compiler(e->d_name)) {
			snprintf(path, sizeof path, "%s/%s", w->directory, e->d_name);
			if (is_ours(path))
				unlink(path);
		}
	if (d)
		closedir(d);
}

static int wrap_directory(const struct wrapping *w, const char *from)
{
	char compiler[PATH_MAX + NAME_MAX + 1];
	int wrong = 0;
	DIR *d = opendir(from);
	for (struct dirent *e; d && !wrong && (e = readdir(d));) {
		if (!is_compiler(e->d_name))
			continue;
		snprintf(compiler, sizeof compiler, "%s/%s", from, e->d_name);
		wrong = !access(compiler, X_OK) && write_command(w, e->d_name, compiler);
	}
	if (d)
		closedir(d);
	return wrong;
}

int tw_cc_wrap(const char *directory, char *const *option, size_t n_options)
{
	struct wrapping w = {.option = option, .n_options = n_options};
	const char *at = getenv("PATH");
	char from[PATH_MAX], real[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", w.self, sizeof w.self - 1);
	if (n < 0 || (mkdir(directory, 0777) && errno != EEXIST) || !realpath(directory, w.directory))
		return -1;
	remove_commands(&w);
	while (next_directory(&at, from)) {
		if (!realpath(*from ? from : ".", real) || is_same_directory(real, w.directory))
			continue;
		if (wrap_directory(&w, real))
			return -1;
	}
	return 0;
}
