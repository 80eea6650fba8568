/*
 * Functions of a program that has not started: in its file, and in the libraries that its loader lists. For recording
 * windows, which would wait for a function that does not exist.
 *
 * Of the program only its loader runs, with --list. Separate debug files are used if they are on this machine.
 */
#ifndef TW_NAMES_BEFORE_H
#define TW_NAMES_BEFORE_H

#include "base/channel.h"

enum tw_before {
	TW_BEFORE_FOUND,   /* it has code of its own, or this is not known before the start: no such file is listed, or none is readable */
	TW_BEFORE_INLINED, /* it is inlined at every call: no place enters it */
	TW_BEFORE_SEVERAL, /* several C++ or Rust functions match: near has their linker names */
	TW_BEFORE_MISSING, /* not there */
	TW_BEFORE_NO_MODULE, /* MODULE!0xADDRESS, and there is no file of that name */
};

struct tw_before_answer {
	enum tw_before what;
	int everywhere;  /* no module was given: all files were looked through */
	char file[4096]; /* the last one that was looked through */
	char near[512];  /* MISSING: similar names, separated by commas; "" if there are none */
};

/*
 * Looks for w, of kind TW_WHERE_FUNCTION, in the program at `program`. An address in a file (no function) becomes an
 * offset in that file, as the engine needs it. A module given by its path becomes the loader's name for it. A C++ or
 * Rust name, with or without parameters, becomes the linker's.
 */
void tw_before_look(const char *program, struct tw_where *w, struct tw_before_answer *answer);

#endif
