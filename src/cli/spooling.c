#include "cli/spooling.h"
#include "channel/machine.h"
#include "channel/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t tw_spooling_default(const char *dir)
{
	uint64_t most = tw_machine_free() / 4;
	struct statvfs disk;
	struct rlimit files;
	if (!statvfs(dir, &disk))
		most = smaller(most, (uint64_t)disk.f_bavail * disk.f_frsize / 4);
	if (!getrlimit(RLIMIT_FSIZE, &files))
		most = smaller(most, files.rlim_cur);
	return most < TW_SPOOL_LEAST ? 0 : most;
}

/* What takes no longer than a moment is not told of. */
void tw_spooling_tell(uint64_t left)
{
	static int told;
	if (!isatty(STDERR_FILENO) || (!left && !told))
		return;
	if (left)
		fprintf(stderr, "\rtrackway: the program has ended; %llu MB are left to be encoded (^C: later)\033[K",
		        (unsigned long long)(left >> 20));
	else
		fputs("\r\033[K", stderr);
	told = 1;
}
