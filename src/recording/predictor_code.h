/*
 * Machine code for the predictor of values (predictor.h): what the encoder's and replay's have in common, where a register points to the slot. Of the
 * registers named only `scratch`, and what is said to be set, changes.
 */
#ifndef TW_PREDICTOR_CODE_H
#define TW_PREDICTOR_CODE_H

#include "jit/assemble.h"
#include "recording/predictor.h"

/* A field of the slot that a register points to. */
#define TW_SLOT_AT(base, field) as_at(base, (int32_t)offsetof(struct tw_value_slot, field))

/* slot = where the slot of this number is, the first of all being at `base` + disp. */
void tw_code_slot(struct as *a, uint8_t slot, uint8_t number, uint8_t base, int32_t disp);

/* Where what followed the value `last` stands in the table at `base` + table, as long as `reg`, which is set, stays. */
struct as_mem tw_code_successor(struct as *a, uint8_t reg, struct as_mem last, uint8_t base, int32_t table);

/* The literal in `value` cut to the rcx + 1 bytes that count, with their sign. rcx changes. */
void tw_code_cut(struct as *a, uint8_t value);

/* `value` followed the slot's last one. */
void tw_code_follow(struct as *a, uint8_t value, uint8_t scratch, uint8_t slot, struct as_mem successor);

/* tw_learn; `of_register` points to the last value of the slot's register. */
void tw_code_learn(struct as *a, uint8_t value, uint8_t scratch, uint8_t slot, uint8_t of_register);

#endif
