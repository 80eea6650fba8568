/* trackway stop, trackway keep: requests to the recorder of a process while it records. */
#include "channel/asked.h"
#include "cli/attached.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const char stop_help[] = "Usage: trackway stop PID\n\n"
                                "Ends the recording of process PID and of all processes recorded with it. Each\n"
                                "continues natively from where it is, as if it had never been recorded, and the\n"
                                "recorder closes the recording. PID can also be the recorder's.\n\n"
                                "  --help                 print this help\n\n"
                                "Exit status: 0; 1 if the process cannot be released (it stays recorded) or is\n"
                                "not being recorded.\n";

static const char keep_help[] = "Usage: trackway keep PID\n\n"
                                "Makes the recorder of process PID, which records with --ring, write what it\n"
                                "holds. Recording continues; later data is appended the next time, or at the end.\n"
                                "PID can also be the recorder's.\n\n"
                                "  --help                 print this help\n\n"
                                "Exit status: 0; 1 if the process is not recorded with --ring.\n";

static int ask(const char *word, const char *help, int argc, char **argv)
{
	char answer[512];
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return fputs(help, stdout) < 0;
	const pid_t pid = argc == 2 ? tw_attached_parse(argv[1]) : 0;
	if (!pid && argc == 2)
		return tw_usage_error(word, "'%s' is not a process number", argv[1]);
	if (!pid)
		return tw_usage_error(word, "exactly one process number is required");
	const pid_t recorder = tw_asked_recorder(pid);
	const int status = recorder ? tw_asked_of(recorder, word, answer, sizeof answer) : -2;
	if (status == -2)
		fprintf(stderr, "trackway %s: process %d is not being recorded\n", word, (int)pid);
	else if (status)
		fprintf(stderr, "trackway %s: %s\n", word, answer);
	else
		printf("%s\n", answer);
	return status ? 1 : 0;
}

int tw_cmd_stop(int argc, char **argv)
{
	return ask("stop", stop_help, argc, argv);
}

int tw_cmd_keep(int argc, char **argv)
{
	return ask("keep", keep_help, argc, argv);
}
