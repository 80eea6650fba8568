/*
 * The inserted code that brings the buffer pointer where it is needed: between registers, the thread's slot and the run-time part. None of it changes flags but
 * what compares and tests, and the check that keeps them.
 */
#ifndef TW_CC_POINTER_H
#define TW_CC_POINTER_H

#include <stdint.h>
#include <stdio.h>

/* The file's word (struct tw_cc_part). */
#define TW_CC_LABEL_WORD ".LtwU"

struct tw_cc_writer {
	FILE *out;
	int pic;
	int large;         /* the file is one of many whose blocks are more than one upper half can tell apart */
	uint32_t inserted; /* instructions */
};

extern const char *const tw_cc_names[], *const tw_cc_names32[];

/* From the slot into `reg`. */
void tw_cc_load_slot(struct tw_cc_writer *w, uint8_t reg);

/* From `reg` into the slot. `live`: registers in use there. */
void tw_cc_store_slot(struct tw_cc_writer *w, uint8_t reg, uint16_t live);

/* Whatever r11 has, it then has what the slot has. `label`: one of a kind. */
void tw_cc_verify(struct tw_cc_writer *w, uint16_t live, const char *kind, uint32_t label);

void tw_cc_move(struct tw_cc_writer *w, uint8_t from, uint8_t to);

/* The register's value is kept in a word of the thread, 0 or 1. */
void tw_cc_put_aside(struct tw_cc_writer *w, uint8_t reg, int word);
void tw_cc_take_back(struct tw_cc_writer *w, uint8_t reg, int word);

/* In a large file: writes its upper half, and moves the pointer past that. Nothing of the program's stands below its stack there. */
void tw_cc_write_upper(struct tw_cc_writer *w, uint8_t reg);

/* Calls the run-time part if the buffer that `reg` points into is nearly full. */
void tw_cc_check(struct tw_cc_writer *w, uint8_t reg, int keeps_flags, const char *kind, uint32_t label);

/* At the end of the file. */
void tw_cc_print_symbols(FILE *out);

#endif
