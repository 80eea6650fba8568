#include "cli/recover.h"
#include "channel/unspool.h"
#include "recording/recording.h"

#include <stdio.h>

static void recover(const char *dir)
{
	uint64_t buffers, lost;
	char why[1024];
	int error = tw_unspool(dir, &buffers, &lost);
	if (error)
		fprintf(stderr, "trackway: %s: data that its killed recorder had not encoded cannot be encoded now: %s\n", dir,
		        tw_failure_sentence(error, why, sizeof why));
	else if (buffers || lost)
		fprintf(stderr,
		        "trackway: %s: its recorder was killed; %llu buffers that it had not encoded have been added to the recording", dir,
		        (unsigned long long)buffers);
	if (!error && lost)
		fprintf(stderr, ", %llu are lost", (unsigned long long)lost);
	if (!error && (buffers || lost))
		fputc('\n', stderr);
}

void tw_recover_arguments(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		recover(argv[i]);
}
