/* trackway bundle: one file to hand on. */
#include "cli/cli.h"
#include "cli/options.h"
#include "export/outfile.h"
#include "names/kept.h"
#include "names/names.h"
#include "recording/recording.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] = "Usage: trackway bundle [OPTION]... DIR\n\n"
                           "Packs a recording, with the names of the code that ran, into one tar archive to\n"
                           "pass on. Whoever unpacks it needs neither the program nor its debug files.\n\n"
                           "  -o FILE      the archive; default NAME.tar for NAME.tw\n"
                           "  --sources    include the source files of lines that ran, so that\n"
                           "               report --lines shows their text\n"
                           "  --help       print this help\n\n"
                           "For example:\n\n"
                           "  trackway bundle --sources gzip.tw\n"
                           "  tar -xf gzip.tar && trackway report --lines gzip.tw\n";

struct bundle {
	char dir[PATH_MAX], output[PATH_MAX + 8];
	char *base, *parent; /* of the directory: its name, and where it stands */
	int sources;
};

/* Runs tar; its standard input is *input, if wanted. Returns its exit status, or -1. */
static int run_tar(char *const *argv, void (*feed)(FILE *f, void *context), void *context)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	pid_t pid;
	if (pipe(ends))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	int why = posix_spawnp(&pid, "tar", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	FILE *f = fdopen(ends[1], "w");
	if (f && !why && feed)
		feed(f, context);
	if (f)
		fclose(f);
	errno = why;
	return why || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

/* The name of a readable source, without the leading slash, with a final NUL. */
static void put_source(void *f, const char *path)
{
	if (path[0] == '/' && !access(path, R_OK))
		fprintf(f, "%s%c", path + 1, 0);
}

static void feed_sources(FILE *f, void *names)
{
	if (!tw_names_sources(names, put_source, f))
		fputs("trackway bundle: there is no memory to find all sources\n", stderr);
}

static int tar_failed(const struct bundle *b, int status)
{
	if (status < 0)
		fprintf(stderr, "trackway bundle: tar cannot be run: %s\n", strerror(errno));
	else
		fprintf(stderr, "trackway bundle: %s: tar could not write it\n", b->output);
	return 1;
}

static int add_sources(const struct bundle *b, const char *archive, struct tw_recording *r)
{
	char transform[PATH_MAX + 32];
	struct tw_names *names = tw_names_open(r, NULL);
	if (!names)
		return tw_recording_error("bundle", b->dir, TW_ERR_MEMORY);
	snprintf(transform, sizeof transform, "--transform=s,^,%s/" TW_SOURCES_DIRECTORY "/,", b->base);
	char *argv[] = {"tar", "-rhf", (char *)archive, "-C", "/", transform, "--null", "--verbatim-files-from", "-T", "-", NULL};
	int status = run_tar(argv, feed_sources, names);
	tw_names_close(names);
	return status ? tar_failed(b, status) : 0;
}

static int write_archive(const struct bundle *b, const char *archive, struct tw_recording *r)
{
	char *argv[] = {"tar", "-cf", (char *)archive, "-C", b->parent, "--", b->base, NULL};
	int status = run_tar(argv, NULL, NULL);
	if (status)
		return tar_failed(b, status);
	return b->sources ? add_sources(b, archive, r) : 0;
}

static int write_bundle(const struct bundle *b, struct tw_recording *r)
{
	struct tw_outfile to;
	int error = tw_outfile_open(&to, b->output);
	if (error)
		return tw_recording_error("bundle", b->dir, error);
	const int status = write_archive(b, tw_outfile_path(&to), r);
	error = tw_outfile_close(&to, !status);
	return status || !error ? status : tw_recording_error("bundle", b->dir, error);
}

/* Splits the directory's name off, and names the archive. */
static int find_names(struct bundle *b)
{
	char whole[PATH_MAX];
	if (!realpath(b->dir, whole))
		return fprintf(stderr, "trackway bundle: %s: %s\n", b->dir, strerror(errno)), 1;
	char *slash = strrchr(whole, '/');
	b->base = strdup(slash + 1);
	*slash = 0;
	b->parent = strdup(*whole ? whole : "/");
	if (!b->base || !b->parent)
		return tw_recording_error("bundle", b->dir, TW_ERR_MEMORY);
	size_t n = strlen(b->base);
	if (!b->output[0])
		snprintf(b->output, sizeof b->output, "%.*s.tar", (int)(n > 3 && !strcmp(b->base + n - 3, ".tw") ? n - 3 : n), b->base);
	return 0;
}

/* Returns -1 to go on, or an exit status. */
static int parse(struct bundle *b, int argc, char **argv)
{
	static const struct option options[] = {{"sources", no_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	static const struct tw_option_set set = {"bundle", ":o:h", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		if (option == 'h')
			return fputs(help, stdout) < 0;
		if (option == 's')
			b->sources = 1;
		else if (option == 'o')
			snprintf(b->output, sizeof b->output, "%s", optarg);
		else
			return tw_wrong_option(&set, option, argv);
	}
	if (argc - optind != 1)
		return tw_usage_error("bundle", "exactly one recording is required");
	return tw_parse_directory(argv[optind], b->dir, sizeof b->dir) ? -1
	                                                               : tw_usage_error("bundle", "'%s' is not a recording", argv[optind]);
}

static int run(struct bundle *b)
{
	struct tw_recording *r;
	int error = tw_recording_open(b->dir, &r);
	if (!error && !tw_recording_n_names(r)) {
		tw_recording_close(r);
		error = tw_names_keep(b->dir, NULL, NULL);
		if (!error)
			error = tw_recording_open(b->dir, &r);
	}
	if (error)
		return tw_recording_error("bundle", b->dir, error);
	int status = find_names(b);
	if (!status)
		status = write_bundle(b, r);
	tw_recording_close(r);
	return status;
}

int tw_cmd_bundle(int argc, char **argv)
{
	struct bundle b = {0};
	int status = parse(&b, argc, argv);
	if (status < 0)
		status = run(&b);
	free(b.base);
	free(b.parent);
	return status;
}
