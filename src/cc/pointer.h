/*
 * The inserted code that moves the buffer pointer: between registers, the thread's slot and the run-time part. It
 * changes no flags, except for comparisons and tests; the check can preserve them.
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
	int large;         /* the file belongs to a module with more blocks than one upper half can number */
	uint32_t puts;     /* bit n: tw_cc_put was called with 2 * n bytes */
	int enters;        /* tw_cc_verify_and_check was called */
	int copies;        /* tw_cc_follow_copy was called */
	uint32_t inserted; /* instructions */
	unsigned words;    /* 1 << enum tw_cc_word: those that the file uses */
};

/* Words of a thread that a module has only if it uses them: initial-exec thread-local memory is scarce if many modules are loaded. */
enum tw_cc_word { TW_CC_SPILL, TW_CC_COUNTER, TW_CC_SEEN, TW_CC_N_WORDS };

extern const char *const tw_cc_names[], *const tw_cc_names32[];

/* From the slot into `reg`. */
void tw_cc_load_slot(struct tw_cc_writer *w, uint8_t reg);

/* From `reg` into the slot. `live`: registers in use there. */
void tw_cc_store_slot(struct tw_cc_writer *w, uint8_t reg, uint16_t live);

/*
 * Adds this many bytes to r11 (even, at most TW_CC_MOST_PUT), and stores it in the slot: by a call, if the program
 * has nothing below its stack pointer; before a return by a jump to code that returns in its place. Short, but slower
 * than inline code.
 */
void tw_cc_put(struct tw_cc_writer *w, uint32_t bytes, int returns);

/* Afterwards r11 has the slot's value, whatever it had before. `label`: must be unique. */
void tw_cc_verify(struct tw_cc_writer *w, uint16_t live, const char *kind, uint32_t label);

void tw_cc_move(struct tw_cc_writer *w, uint8_t from, uint8_t to);

/* Saves the register's value in this word of the thread. */
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

/* In a large file: writes its upper half, and moves the pointer past that. The program has nothing below its stack pointer there. */
void tw_cc_write_upper(struct tw_cc_writer *w, uint8_t reg);

/* Calls the run-time part if the buffer that `reg` points into is nearly full. `how`: enum tw_cc_how. */
void tw_cc_check(struct tw_cc_writer *w, uint8_t reg, unsigned how, const char *kind, uint32_t label);

/*
 * tw_cc_verify and the check of r11, where the program has nothing below its stack pointer, followed by the upper
 * half, if the file is large. One call of a few instructions: there are as many of these places as calls, and inline
 * they were a fifth of the code.
 */
void tw_cc_verify_and_check(struct tw_cc_writer *w);

/*
 * In a second version, at an entry from the first: calls the run-time part if the switch has changed since the thread
 * was last here. Flags are not in use. `insn`: what comes next. If no register is free this is skipped.
 */
void tw_cc_look_at_switch(struct tw_cc_writer *w, uint16_t live, uint32_t label, uint32_t insn);

/*
 * Before a system call that may create a process with a copy of this one's memory: the run-time part makes the call
 * (runtime/copying.S), and the child has its own pointer when it continues, at label `end`. `reg`: the register with
 * the pointer, to which `offset` must still be added; TW_NOREG: it is in the slot.
 */
struct tw_cc_copy {
	uint8_t reg;
	uint32_t offset, label, insn;
};
void tw_cc_follow_copy(struct tw_cc_writer *w, const struct tw_cc_copy *c, const char *end);

/* At the end of the file. */
void tw_cc_print_symbols(const struct tw_cc_writer *w);

#endif
