/*
 * A directory of its own for a unit test, removed with everything in it at the end.
 */
#ifndef TW_UNIT_DIRECTORY_H
#define TW_UNIT_DIRECTORY_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline int unit_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Makes the directory and goes there; `name` holds its path. */
static inline void unit_enter_directory(char name[PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");
	snprintf(name, PATH_MAX, "%s/trackway-unit-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(name) || chdir(name)) {
		perror(name);
		exit(1);
	}
}

static inline void unit_leave_directory(const char *name)
{
	if (chdir("/") || nftw(name, unit_remove_one, 16, FTW_DEPTH | FTW_PHYS))
		perror(name);
}

#endif
