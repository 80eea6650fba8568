/*
 * What a command line names: the ELF file the kernel would run for it, and the arguments that file would get. The engine starts ELF
 * files only, so PATH and `#!` lines are resolved here, as execvp(3) and the kernel do.
 */
#ifndef TW_PROGRAM_H
#define TW_PROGRAM_H

#include <stddef.h>

struct tw_program {
	char *path;        /* the ELF file */
	char **argv;       /* what it gets, NULL-terminated */
	int argc;
	char why[512];     /* one sentence, if it cannot be run */
};

/* Exit statuses of shells for commands that cannot be run. */
enum { TW_PROGRAM_CANNOT = 126, TW_PROGRAM_MISSING = 127 };

/* Resolves argv[0..argc-1], argc >= 1. Returns 0, or TW_PROGRAM_CANNOT or TW_PROGRAM_MISSING with `why` set. Free *p in either case. */
int tw_program_resolve(int argc, char **argv, struct tw_program *p);
void tw_program_free(struct tw_program *p);

#endif
