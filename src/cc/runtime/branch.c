/* Targets of this module's branches, and functions in two versions, each of which begins with a test of the switch. */
#include "runtime.h"

extern const uint8_t etext[] __attribute__((weak, visibility("hidden")));

/* The target of the direct branch at `insn`, which is `bytes` long at most. */
uint64_t tw_cc_branch_target(const uint8_t *insn)
{
	while (*insn == 0x66 || *insn == 0x67 || *insn == 0x2e || *insn == 0x3e || *insn == 0xf2 || (*insn & 0xf0) == 0x40)
		insn++;
	if (*insn == 0xe8 || *insn == 0xe9)
		return (uint64_t)(insn + 5 + tw_cc_signed32(insn + 1));
	if (*insn == 0x0f)
		return (uint64_t)(insn + 6 + tw_cc_signed32(insn + 2));
	return (uint64_t)(insn + 2 + (int8_t)insn[1]);
}

uint64_t tw_cc_branch_test(uint64_t function)
{
	const uint8_t *at = (const uint8_t *)function;
	if (!function || function < (uint64_t)__ehdr_start || function + 32 > (uint64_t)etext)
		return 0;
	if (at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa)
		at += 4;
	if (at[0] != 0x80 || at[1] != 0x3d || at[6] || at + 7 + tw_cc_signed32(at + 2) != trackway_cc_switch)
		return 0;
	return at[7] == 0x75 || (at[7] == 0x0f && at[8] == 0x85) ? (uint64_t)at : 0;
}

/*
 * The target of a second version's call or jump while the switch is on: functions in two versions begin with a test
 * of it (cc/twice.h). Their first versions are not recorded.
 */
uint64_t tw_cc_branch_second(uint64_t target)
{
	const uint64_t test = tw_cc_branch_test(target);
	return test ? tw_cc_branch_target((const uint8_t *)test + 7) : target;
}
