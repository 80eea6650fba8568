/*
 * Functions of a program that has not begun: in its file and in the libraries that its loader names. For windows, which wait for a function that may not be there.
 *
 * Nothing of the program runs for it but its loader, with --list. Separate debug files are used where they are on this machine.
 */
#ifndef TW_NAMES_BEFORE_H
#define TW_NAMES_BEFORE_H

#include "base/channel.h"

enum tw_before {
	TW_BEFORE_FOUND,   /* it has code of its own, or this cannot be told beforehand: no such file is among them, or none can be read */
	TW_BEFORE_INLINED, /* it is inlined wherever it is called: there is no place where it is entered */
	TW_BEFORE_SEVERAL, /* several C++ or Rust functions are meant: near has how the linker calls them */
	TW_BEFORE_MISSING, /* not there */
	TW_BEFORE_NO_MODULE, /* MODULE!0xADDRESS, and there is no file of that name */
};

struct tw_before_answer {
	enum tw_before what;
	int everywhere;  /* no module was given: all files were looked through */
	char file[4096]; /* the last one that was looked through */
	char near[512];  /* MISSING: names like it, with commas between; "" if there are none */
};

/*
 * Looks for w, of kind TW_WHERE_FUNCTION, in the program at `program`. An address in a file (no function) becomes an offset in that file, as the engine wants it. A module
 * that is given by its path becomes what the loader calls it, and a name of C++ or Rust, with or without its parameters, what the linker calls it.
 */
void tw_before_look(const char *program, struct tw_where *w, struct tw_before_answer *answer);

#endif
