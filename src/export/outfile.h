/*
 * A command's output file. A regular file is written beside its place and then moved there, so that a reader never
 * sees half of one, and a failed command leaves the old file. If the file system supports it, nothing else is left
 * either, even if the command is killed. Anything else (device, pipe, link) is written directly.
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

/* Opens `name`, which must stay valid; "-" is standard output. 0 or TW_ERR_SYSTEM. */
int tw_outfile_open(struct tw_outfile *o, const char *name);

/* The path of the open file, for another program that writes it. */
const char *tw_outfile_path(struct tw_outfile *o);

/*
 * Closes it, and keeps it if `keep`; does nothing if it is not open. 0, or TW_ERR_SYSTEM if writing a kept file
 * failed; for standard streams always 0.
 */
int tw_outfile_close(struct tw_outfile *o, int keep);

#endif
