#include "mpi/quiet.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int kept[2] = {-1, -1};

static void change(int number, FILE *stream, int to)
{
	fflush(stream);
	dup2(to, number);
}

void tw_be_quiet(void)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere < 0)
		return;
	for (int i = 0; i < 2; i++) {
		kept[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 0);
		change(STDOUT_FILENO + i, i ? stderr : stdout, nowhere);
	}
	close(nowhere);
}

void tw_be_loud(void)
{
	for (int i = 0; i < 2; i++) {
		if (kept[i] < 0)
			continue;
		change(STDOUT_FILENO + i, i ? stderr : stdout, kept[i]);
		close(kept[i]);
		kept[i] = -1;
	}
}
