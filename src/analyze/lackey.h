/*
 * The instructions of a recording as Valgrind's Lackey prints them with --trace-mem=yes. What Lackey prints for an
 * instruction follows from its translation by Valgrind: a string instruction with a repeat prefix is a loop, with an
 * `I` line for each iteration and one for finding the count exhausted; a locked read-modify-write is a load, then a
 * compare-and-swap.
 */
#ifndef TW_LACKEY_H
#define TW_LACKEY_H

#include <trackway/recording.h>

enum tw_lackey_flags {
	TW_LACKEY_REPEATED = 1, /* an I line after each iteration */
	TW_LACKEY_UNTIL = 2,    /* cmps, scas: ...but after the last one */
	TW_LACKEY_PAIRS = 4,    /* an iteration makes two references */
	TW_LACKEY_LOCKED = 8,   /* an L line before its M line */
	TW_LACKEY_SWAPPED = 16, /* cmps: the second reference of a pair comes first */
};

/* One instruction. */
struct tw_lackey_insn {
	char line[30];  /* "I  04016b80,3\n" */
	uint8_t length; /* of the line */
	uint8_t flags;  /* enum tw_lackey_flags */
};

struct tw_lackey;

/* `lines`: 0: without them. NULL: no memory. */
struct tw_lackey *tw_lackey_new(const struct tw_recording *r, int lines);
void tw_lackey_free(struct tw_lackey *l);

/* The instructions of fragment d of that recording. */
const struct tw_lackey_insn *tw_lackey_insns(const struct tw_lackey *l, const struct tw_descriptor *d);

#endif
