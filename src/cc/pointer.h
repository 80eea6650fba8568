/*
 * The inserted code that brings the buffer pointer where it is needed: between registers, the thread's slot and the run-time part. None of it changes flags but
 * what compares and tests, and the check that keeps them.
 */
#ifndef TW_CC_POINTER_H
#define TW_CC_POINTER_H

#include <stdint.h>
#include <stdio.h>

/* Labels: of the file's word (struct tw_cc_part); of instruction k's own bytes. */
#define TW_CC_LABEL_WORD ".LtwU"
#define TW_CC_LABEL_INSN ".LtwX%u"

struct tw_cc_writer {
	FILE *out;
	int pic;
	int guard;         /* nothing is written past the pointer but records */
	int large;         /* the file is one of many whose blocks are more than one upper half can tell apart */
	uint32_t puts;     /* bit n: tw_cc_put was called with 2 * n bytes */
	int enters;        /* tw_cc_verify_and_check was called */
	int copies;        /* tw_cc_follow_copy was called */
	uint32_t inserted; /* instructions */
	unsigned words;    /* 1 << enum tw_cc_word: those that the file uses */
};

/* Words of a thread that a module has if it uses them: initial-exec thread-local memory is scarce where many modules are loaded. */
enum tw_cc_word { TW_CC_SPILL, TW_CC_COUNTER, TW_CC_SEEN, TW_CC_N_WORDS };

extern const char *const tw_cc_names[], *const tw_cc_names32[];

/* From the slot into `reg`. */
void tw_cc_load_slot(struct tw_cc_writer *w, uint8_t reg);

/* From `reg` into the slot. `live`: registers in use there. */
void tw_cc_store_slot(struct tw_cc_writer *w, uint8_t reg, uint16_t live);

/*
 * Moves r11 by so many bytes (even, TW_CC_MOST_PUT at most), and puts it in the slot: by a call, where nothing of the program's stands below its stack; in front of a return by a jump to code
 * that returns in its place. Short, but it takes longer than in line.
 */
void tw_cc_put(struct tw_cc_writer *w, uint32_t bytes, int returns);

/* Whatever r11 has, it then has what the slot has. `label`: one of a kind. */
void tw_cc_verify(struct tw_cc_writer *w, uint16_t live, const char *kind, uint32_t label);

void tw_cc_move(struct tw_cc_writer *w, uint8_t from, uint8_t to);

/* The register's value is kept in this word of the thread. */
void tw_cc_put_aside(struct tw_cc_writer *w, uint8_t reg, enum tw_cc_word word);
void tw_cc_take_back(struct tw_cc_writer *w, uint8_t reg, enum tw_cc_word word);

/* Of a check. */
enum tw_cc_how {
	TW_CC_IS_BORROWED = 1, /* the register's own value is put aside */
	TW_CC_KEEPS_FLAGS = 2,
	TW_CC_IS_BARE = 4,  /* nothing of the program's stands below its stack */
	TW_CC_IS_HOT = 8,   /* it counts what it takes */
	TW_CC_IS_SHORT = 16 /* it counts how much code it is */
};

/* In a large file: writes its upper half, and moves the pointer past that. Nothing of the program's stands below its stack there. */
void tw_cc_write_upper(struct tw_cc_writer *w, uint8_t reg);

/* Calls the run-time part if the buffer that `reg` points into is nearly full. `how`: enum tw_cc_how. */
void tw_cc_check(struct tw_cc_writer *w, uint8_t reg, unsigned how, const char *kind, uint32_t label);

/*
 * tw_cc_verify and the check of r11, where nothing of the program's stands below its stack, and what is written next is the upper half, if the file is large. One call of a few
 * instructions: there are as many of these places as calls, and in line they were a fifth of the code.
 */
void tw_cc_verify_and_check(struct tw_cc_writer *w);

/*
 * In a second version, where it is come to from a first: calls the run-time part if the switch has changed since the thread was last here. Flags are not in use. `insn`: what comes
 * next. Where no register is free it is not looked at.
 */
void tw_cc_look_at_switch(struct tw_cc_writer *w, uint16_t live, uint32_t label, uint32_t insn);

/*
 * In front of a system call that may make a process with a copy of this one's memory: the run-time part makes it then (runtime/copying.S), and the child has its own pointer when it goes on, at
 * label `end`. `reg`: what has the pointer, `offset` bytes behind where it is; TW_NOREG: it is in the slot.
 */
struct tw_cc_copy {
	uint8_t reg;
	uint32_t offset, label, insn;
};
void tw_cc_follow_copy(struct tw_cc_writer *w, const struct tw_cc_copy *c, const char *end);

/* At the end of the file. */
void tw_cc_print_symbols(const struct tw_cc_writer *w);

#endif
