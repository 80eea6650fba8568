/* trackway kept: lists or removes translations and names that recordings have stored for others. */
#include "channel/keep.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "recording/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char help[] = "Usage: trackway kept [OPTION]... [DIR]\n\n"
                           "Lists what `trackway record` caches for later recordings: translations, so that\n"
                           "a program recorded before starts with them, and names of code in files. For\n"
                           "each: time of last use, disk space, number of fragments or functions, the format\n"
                           "or \"names\", and the program or file. DIR is the directory of record --keep; the\n"
                           "default is ~/.cache/trackway/translations.\n\n"
                           "  --empty      remove everything; recordings in progress keep theirs\n"
                           "  --help       print this help\n\n"
                           "Exit status: 0; 1 if the directory cannot be read or others can write to it.\n";

static const char *format_of(const struct tw_kept *k)
{
	const char *name = k->lead.magic ? tw_format_name(k->lead.format) : NULL;
	return k->is_names ? "names" : name ? name : "-";
}

static void print(const struct tw_kept *k)
{
	char when[32];
	struct tm tm;
	const int is_good = k->is_names ? k->names.magic != 0 : k->lead.magic != 0;
	strftime(when, sizeof when, "%Y-%m-%d %H:%M", localtime_r(&k->used.tv_sec, &tm));
	printf("%-16s %8.1f %10u  %-15s %s%s\n", when, (double)k->bytes / 1e6, k->is_names ? k->names.functions : k->lead.fragments,
	       format_of(k),
	       !is_good      ? "damaged, or of another version"
	       : k->is_names ? k->names.path
	                     : k->lead.program,
	       k->is_names      ? ""
	       : k->lead.verify ? " (--verify)"
	       : k->lead.learns ? " (--learn)"
	                        : "");
}

static int list(const char *dir)
{
	size_t n, names = 0;
	uint64_t bytes = 0;
	struct tw_kept *all = tw_keep_list(dir, &n);
	if (n)
		printf("%-16s %8s %10s  %-15s %s\n", "used last", "MB", "how many", "what", "of");
	for (size_t i = 0; i < n; i++) {
		print(&all[i]);
		names += all[i].is_names != 0;
		bytes += all[i].bytes;
	}
	printf("%zu program%s, names of %zu file%s, %.1f MB in %s\n", n - names, n - names == 1 ? "" : "s", names, names == 1 ? "" : "s",
	       (double)bytes / 1e6, dir);
	free(all);
	return 0;
}

static int empty(const char *dir)
{
	size_t names;
	const size_t n = tw_keep_empty(dir, &names);
	printf("removed the translations of %zu program%s and the names of %zu file%s from %s\n", n - names, n - names == 1 ? "" : "s",
	       names, names == 1 ? "" : "s", dir);
	return 0;
}

int tw_cmd_kept(int argc, char **argv)
{
	static const struct option words[] = {{"empty", no_argument, NULL, 'e'}, {"help", no_argument, NULL, 'h'}, {0}};
	const struct tw_option_set set = {"kept", ":h", words};
	char place[TW_KEEP_PATH];
	int emptied = 0, c;
	while ((c = getopt_long(argc, argv, set.letters, words, NULL)) != -1) {
		if (c == 'h')
			return fputs(help, stdout) < 0;
		if (c != 'e')
			return tw_wrong_option(&set, c, argv);
		emptied = 1;
	}
	if (argc - optind > 1)
		return tw_usage_error("kept", "at most one directory can be given");
	const char *dir = optind < argc ? argv[optind] : tw_keep_default(place) ? place : NULL;
	if (!dir)
		return tw_usage_error("kept", "there is no home directory to search; give a directory");
	char why[512];
	const int error = tw_keep_look(dir);
	if (error) {
		fprintf(stderr, "trackway kept: %s\n", tw_failure_sentence(error, why, sizeof why));
		return 1;
	}
	return emptied ? empty(dir) : list(dir);
}
