/*
 * Resolving a command line: the ELF file that the kernel would run for it, and that file's arguments. The engine
 * starts ELF files only, so PATH and `#!` lines are resolved here, as in execvp(3) and the kernel; what neither can
 * run is left to /bin/sh, as execvp does.
 */
#ifndef TW_COMMAND_H
#define TW_COMMAND_H

#include <stddef.h>

struct tw_command {
	char *path;  /* the ELF file */
	char *name;  /* the process name: the base name of the executed file, which may be a script */
	char **argv; /* what it gets, NULL-terminated */
	int argc;
	int wants_place_of_engine; /* it is linked to the engine's address (TW_ENGINE_PLACE), and can only run natively */
	char why[512];             /* one sentence, if it cannot be run */
};

/* Exit statuses that shells use for commands that cannot be run. */
enum { TW_COMMAND_CANNOT = 126, TW_COMMAND_MISSING = 127 };

/* Resolves argv[0..argc-1], argc >= 1. Returns 0, or TW_COMMAND_CANNOT or TW_COMMAND_MISSING with `why` set. Free *p in either case. */
int tw_command_resolve(int argc, char **argv, struct tw_command *p);
void tw_command_free(struct tw_command *p);

#endif
