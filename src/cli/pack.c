/* trackway pack: the same recording by another coder. */
#include "cli/pack.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char help[] = "Usage: trackway pack [OPTION]... DIR\n\n"
                           "Makes a recording smaller: rewrites the same trace with the best coder, which\n"
                           "takes many times as long as recording it did. Reading takes about as long as\n"
                           "before.\n\n"
                           "  -o DIR2      write to DIR2 and leave DIR unchanged; default: replace DIR when\n"
                           "               the new recording is complete\n"
                           "  --fast       use the quick coder of record: the result is larger\n"
                           "  --help       print this help\n\n"
                           "For example:\n\n"
                           "  trackway pack gzip.tw\n"
                           "  trackway pack -o small.tw gzip.tw\n";

/* ---- the work ---- */

/* Takes the lock on the directory that a recorder holds while it writes. -1, with a sentence, if another process has it. */
static int lock(const char *dir)
{
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		tw_fail(TW_ERR_SYSTEM, "%s: %s", dir, strerror(errno));
	else if (!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return fd;
	else
		tw_fail(TW_ERR_SYSTEM, "%s is being written", dir);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* `to`: an empty directory, which is gone again if this fails. */
static int pack_to(const char *dir, const char *to, enum tw_coder coder, struct tw_totals *totals)
{
	struct tw_recording *r;
	const int fd = lock(dir);
	int error = fd < 0 ? TW_ERR_SYSTEM : tw_recording_open(dir, &r);
	if (!error) {
		error = tw_repack(r, to, coder, totals);
		tw_recording_close(r);
	}
	if (fd >= 0)
		close(fd);
	if (error)
		tw_directory_abandon(to);
	return error;
}

/* The recording's directory may also contain sources, put there by trackway bundle. */
static int move_sources(const char *from, const char *to)
{
	char old[PATH_MAX + 32], new[PATH_MAX + 32];
	snprintf(old, sizeof old, "%s/" TW_SOURCES_DIRECTORY, from);
	snprintf(new, sizeof new, "%s/" TW_SOURCES_DIRECTORY, to);
	return rename(old, new) && errno != ENOENT ? tw_fail(TW_ERR_SYSTEM, "%s: %s", old, strerror(errno)) : TW_OK;
}

int tw_pack_in_place(const char *dir, enum tw_coder coder, struct tw_totals *totals)
{
	char beside[PATH_MAX + 16];
	snprintf(beside, sizeof beside, "%s.packing", dir);
	if (tw_directory_has_others(dir))
		return tw_fail(TW_ERR_SYSTEM, "%s cannot be replaced: there is something else in it too", dir);
	if (!access(beside, F_OK))
		tw_directory_remove(beside); /* of one that was killed */
	int error = tw_directory_prepare(beside);
	if (!error)
		error = pack_to(dir, beside, coder, totals);
	if (error)
		return error;
	if (renameat2(AT_FDCWD, dir, AT_FDCWD, beside, RENAME_EXCHANGE)) {
		error = tw_fail(TW_ERR_SYSTEM, "%s cannot be replaced: %s", dir, strerror(errno));
		tw_directory_abandon(beside);
		return error;
	}
	error = move_sources(beside, dir);
	return error ? error : tw_directory_remove(beside);
}

static int pack_aside(const char *dir, const char *to, enum tw_coder coder, struct tw_totals *totals)
{
	int error = tw_directory_prepare(to);
	return error ? error : pack_to(dir, to, coder, totals);
}

/* ---- the command ---- */

static uint64_t stored(const struct tw_totals *t)
{
	return t->stored[TW_STREAM_C] + t->stored[TW_STREAM_M] + t->stored[TW_STREAM_E] + t->code_stored;
}

static int is_same(const char *a, const char *b)
{
	char x[PATH_MAX], y[PATH_MAX];
	return realpath(a, x) && realpath(b, y) && !strcmp(x, y);
}

static int run(const char *dir, const char *to, enum tw_coder coder)
{
	struct tw_recording *r;
	struct tw_totals before, after;
	int error = tw_recording_open(dir, &r);
	if (error)
		return tw_recording_error("pack", dir, error);
	before = *tw_recording_totals(r);
	const int is_complete = tw_recording_info(r)->complete;
	tw_recording_close(r);
	error = *to ? pack_aside(dir, to, coder, &after) : tw_pack_in_place(dir, coder, &after);
	if (error)
		return tw_recording_error("pack", *to ? to : dir, error);
	if (is_complete)
		printf("%s: %llu bytes stored, %llu before\n", *to ? to : dir, (unsigned long long)stored(&after),
		       (unsigned long long)stored(&before));
	return 0;
}

int tw_cmd_pack(int argc, char **argv)
{
	static const struct option options[] = {{"fast", no_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	static const struct tw_option_set set = {"pack", ":o:h", options};
	char dir[PATH_MAX], to[PATH_MAX] = "";
	enum tw_coder coder = TW_CODER_SMALL;
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		if (option == 'h')
			return fputs(help, stdout) < 0;
		if (option == 'f')
			coder = TW_CODER_FAST;
		else if (option != 'o')
			return tw_wrong_option(&set, option, argv);
		else if (!tw_parse_directory(optarg, to, sizeof to))
			return tw_usage_error("pack", "-o wants a directory, not '%s'", optarg);
	}
	if (argc - optind != 1)
		return tw_usage_error("pack", "exactly one recording is required");
	if (!tw_parse_directory(argv[optind], dir, sizeof dir))
		return tw_usage_error("pack", "'%s' is no recording", argv[optind]);
	if (*to && is_same(dir, to))
		return tw_usage_error("pack", "-o names the recording itself; without -o it is replaced");
	return run(dir, to, coder);
}
