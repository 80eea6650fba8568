/*
 * A file that a command writes what was asked for into. A regular file is written aside and then put in its place, so that a reader never sees half of one and a command that
 * fails leaves what was there, and where the file system can, nothing else even if it is killed; anything else (a device, a pipe, a link) is written as it is.
 */
#ifndef TW_OUTFILE_H
#define TW_OUTFILE_H

#include <limits.h>
#include <stdio.h>

struct tw_outfile {
	FILE *f; /* NULL: not open */
	const char *name;
	char aside[PATH_MAX]; /* "": it is written as it is */
	int is_unnamed;       /* 1: it has not even that name yet */
};

/* Opens `name`, which must stay, "-" for standard output. 0 or TW_ERR_SYSTEM. */
int tw_outfile_open(struct tw_outfile *o, const char *name);

/* The file that is open, for another program to write into in the place of this one. */
const char *tw_outfile_path(struct tw_outfile *o);

/* Closes it, and keeps it if `keep`; of standard streams nothing is told. 0, or TW_ERR_SYSTEM if something was wrong with writing what is kept. Nothing if it is not open. */
int tw_outfile_close(struct tw_outfile *o, int keep);

#endif
