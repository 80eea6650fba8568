/* What all subcommands share. */
#include "cli/cli.h"
#include "recording/recording.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *tw_cli_program = "trackway";

int tw_usage_error(const char *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "%s %s: ", tw_cli_program, command);
	vfprintf(stderr, format, args);
	fprintf(stderr, "; see %s %s --help\n", tw_cli_program, command);
	va_end(args);
	return TW_EXIT_USAGE;
}

int tw_recording_error(const char *command, const char *subject, int error)
{
	char why[1024];
	fprintf(stderr, "%s %s: %s: %s\n", tw_cli_program, command, *subject ? subject : "''", tw_failure_sentence(error, why, sizeof why));
	return 1;
}

int tw_is_part_of(const char *file, const char *dir)
{
	struct stat st, part;
	int found = 0;
	DIR *d = stat(file, &st) ? NULL : opendir(dir);
	for (const struct dirent *e; d && !found && (e = readdir(d));)
		found = strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !fstatat(dirfd(d), e->d_name, &part, 0) &&
		        part.st_dev == st.st_dev && part.st_ino == st.st_ino;
	if (d)
		closedir(d);
	return found;
}
