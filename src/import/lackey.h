/*
 * Converts Lackey traces to recordings. Each straight piece of the trace becomes a fragment, whose references have
 * recorded addresses. How its code ends is unknown, and so are the program's modules, threads and events.
 */
#ifndef TW_IMPORT_LACKEY_H
#define TW_IMPORT_LACKEY_H

#include "import/trace.h"

#include <trackway/recording.h>

/* What could not be imported. */
struct tw_import_facts {
	uint64_t insns;   /* imported */
	uint64_t orphans; /* references left out: before any instruction, or beyond 256 of one */
	int unwritten;    /* 1: writing the recording failed, not reading the trace */
};

/*
 * Reads `t` to its end and writes the recording into the new or empty directory `dir`; a recording there is moved
 * away, as by `trackway record`. `name`: of the program, if the trace does not tell. A trace without instructions
 * creates no directory. 0 or a negative enum tw_error.
 */
int tw_import_lackey(struct tw_trace *t, const char *name, const char *dir, struct tw_import_facts *facts);

#endif
