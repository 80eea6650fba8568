#include "recording/predictor_code.h"

_Static_assert(sizeof(struct tw_value_slot) == 1 << 4, "tw_code_slot counts on it");

void tw_code_slot(struct as *a, uint8_t slot, uint8_t number, uint8_t base, int32_t disp)
{
	as_lea(a, slot, as_at(number, 0), 0);
	as_shift(a, AS_SHL, slot, 4, 1);
	as_lea(a, slot, (struct as_mem){base, slot, 0, disp}, 1);
}

struct as_mem tw_code_successor(struct as *a, uint8_t reg, struct as_mem last, uint8_t base, int32_t table)
{
	as_constant(a, reg, TW_SUCCESSOR_FACTOR);
	as_multiply_mem(a, reg, last);
	as_shift(a, AS_SHR, reg, 64 - TW_SUCCESSOR_BITS, 1);
	return (struct as_mem){base, reg, 2, table};
}

void tw_code_cut(struct as *a, uint8_t value)
{
	as_alu_constant(a, AS_XOR, AS_RCX, 7, 0);
	as_shift(a, AS_SHL, AS_RCX, 3, 0);
	as_shift_by_rcx(a, AS_SHL, value, 1);
	as_shift_by_rcx(a, AS_SAR, value, 1);
}

void tw_code_follow(struct as *a, uint8_t value, uint8_t scratch, uint8_t slot, struct as_mem successor)
{
	as_move(a, scratch, value);
	as_alu_mem32(a, AS_SUB, scratch, TW_SLOT_AT(slot, last));
	as_store32(a, successor, scratch);
}

void tw_code_learn(struct as *a, uint8_t value, uint8_t scratch, uint8_t slot, uint8_t of_register)
{
	as_move(a, scratch, value);
	as_alu_mem32(a, AS_SUB, scratch, as_at(of_register, 0));
	as_store32(a, TW_SLOT_AT(slot, step), scratch);
	as_store(a, TW_SLOT_AT(slot, last), value);
	as_store(a, as_at(of_register, 0), value);
}
