/*
 * A file that a command writes what was asked for into. A regular file is written aside and then put in its place, so that a reader never sees half of one and a command that
 * fails leaves what was there; anything else (a device, a pipe, a link) is written as it is.
 */
#ifndef TW_OUTFILE_H
#define TW_OUTFILE_H

#include <limits.h>
#include <stdio.h>

struct tw_outfile {
	FILE *f; /* NULL: not open */
	const char *command, *name;
	char aside[PATH_MAX]; /* "": it is written as it is */
};

/* Opens `name`, "-" for standard output, for `command` ("report"). Both must stay. 0, or an exit status with a sentence said. */
int tw_outfile_open(struct tw_outfile *o, const char *command, const char *name);

/* Closes it, and keeps it if `keep`. Whatever was wrong with writing is told. 0 or an exit status. Nothing if it is not open. */
int tw_outfile_close(struct tw_outfile *o, int keep);

#endif
