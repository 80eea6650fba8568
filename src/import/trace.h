/*
 * Lackey traces: what `valgrind --tool=lackey --trace-mem=yes` writes, line by line.
 *
 *     I  04016b80,3        instruction: address, bytes
 *      L 1ffefffe38,8      its references: load, store, modify
 *      S ...
 *      M ...
 *
 * Numbers before the comma are hexadecimal, behind it decimal. Lines that begin with "==", "--" or "**" are Valgrind's own and passed over. Any other is
 * counted as bad and passed over. The last line need not have a newline, but counts only if it is a whole line without it.
 */
#ifndef TW_TRACE_H
#define TW_TRACE_H

#include "import/input.h"

#include <stdint.h>

/* One line. */
struct tw_trace_item {
	uint64_t address;
	uint32_t bytes; /* of an instruction 1..255, of a reference 1..2^20; address + bytes does not go beyond 2^64 */
	char type;      /* 'I', 'L', 'S', 'M' */
};

enum { TW_TRACE_FIRST_BAD = 5 };

struct tw_trace;

/* Reads from `in`, which must outlive it. `insns_only`: references are checked but left out. NULL: no memory. */
struct tw_trace *tw_trace_new(struct tw_input *in, int insns_only);
void tw_trace_free(struct tw_trace *t);

/* The next items, at most `most`; 0 at the end of the trace, else a negative enum tw_error. */
ssize_t tw_trace_next(struct tw_trace *t, struct tw_trace_item *items, size_t most);

/* What has been read so far. */
struct tw_trace_facts {
	uint64_t lines;                        /* of all kinds */
	uint64_t bad;                          /* bad lines... */
	uint64_t bad_line[TW_TRACE_FIRST_BAD]; /* ...and the numbers of the first of them, from 1 */
	int cut_off;                           /* the text ended within a line, which was left out, or within compressed data */
	uint32_t pid;                          /* as Valgrind says; 0 if it has not */
	char command[1024];                    /* text after Valgrind's "Command: "; "" if there is none */
};

const struct tw_trace_facts *tw_trace_facts(const struct tw_trace *t);

#endif
