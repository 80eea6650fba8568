/* What all subcommands share. */
#include "cli/cli.h"
#include "recording/recording.h"

#include <stdarg.h>
#include <stdio.h>

int tw_usage_error(const char *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "trackway %s: ", command);
	vfprintf(stderr, format, args);
	fprintf(stderr, "; see trackway %s --help\n", command);
	va_end(args);
	return TW_EXIT_USAGE;
}

int tw_recording_error(const char *command, const char *subject, int error)
{
	char why[1024];
	fprintf(stderr, "trackway %s: %s: %s\n", command, *subject ? subject : "''", tw_failure_sentence(error, why, sizeof why));
	return 1;
}
