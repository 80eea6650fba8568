/*
 * Machine code for the predictor of values (predictor.h): the common part of the encoder's and replay's, with a
 * register pointing to the slot. Of the registers named only `scratch`, and those that are set, change.
 */
#ifndef TW_PREDICTOR_CODE_H
#define TW_PREDICTOR_CODE_H

#include "jit/assemble.h"
#include "recording/predictor.h"

/* A field of the slot that a register points to. */
#define TW_SLOT_AT(base, field) as_at(base, (int32_t)offsetof(struct tw_value_slot, field))

/* slot = address of the slot with this number, the first being at `base` + disp. */
void tw_code_slot(struct as *a, uint8_t slot, uint8_t number, uint8_t base, int32_t disp);

/* Place of the successor of the value `last` in the table at `base` + table, valid while `reg`, which is set, stays. */
struct as_mem tw_code_successor(struct as *a, uint8_t reg, struct as_mem last, uint8_t base, int32_t table);

/* Cuts the literal in `value` to its rcx + 1 significant bytes, with their sign. Changes rcx. */
void tw_code_cut(struct as *a, uint8_t value);

/* `value` followed the slot's last one. */
void tw_code_follow(struct as *a, uint8_t value, uint8_t scratch, uint8_t slot, struct as_mem successor);

/* tw_learn; `of_register` points to the last value of the slot's register. */
void tw_code_learn(struct as *a, uint8_t value, uint8_t scratch, uint8_t slot, uint8_t of_register);

#endif
