/* Facts about plain encodings without decoding them: see tw_decode_defines and tw_decode_overwrites_flags. */
#include "engine/x86_64/decode.h"

/* Which of an instruction's operands it defines. */
enum defined { DEFINES_NONE, DEFINES_OPCODE, DEFINES_REG, DEFINES_RM, DEFINES_SAME };

static enum defined defined_by(const u8 *op)
{
	switch (op[0]) {
	case 0x8b: /* mov r, r/m */
	case 0x8d: /* lea */
	case 0x63: /* movsxd */
		return DEFINES_REG;
	case 0x0f: /* movzx, movsx */
		return (op[1] & 0xf6) == 0xb6 ? DEFINES_REG : DEFINES_NONE;
	case 0x89: /* mov r/m, r */
		return op[1] >> 6 == 3 ? DEFINES_RM : DEFINES_NONE;
	case 0xc7: /* mov r/m, imm32 */
		return op[1] >> 3 == 3 << 3 ? DEFINES_RM : DEFINES_NONE;
	case 0x31: /* xor, sub of a register and itself */
	case 0x33:
	case 0x29:
	case 0x2b:
		return op[1] >> 6 == 3 ? DEFINES_SAME : DEFINES_NONE;
	default: /* mov r, imm */
		return (op[0] & 0xf8) == 0xb8 ? DEFINES_OPCODE : DEFINES_NONE;
	}
}

u8 tw_decode_defines(const struct insn *i)
{
	const u8 rex = (i->raw[0] & 0xf0) == 0x40 ? i->raw[0] : 0, *op = i->raw + (rex ? 1 : 0);
	const u8 modrm = op[op[0] == 0x0f ? 2 : 1];
	const u8 reg = (u8)((rex & 4) << 1 | (modrm >> 3 & 7)), rm = (u8)((rex & 1) << 3 | (modrm & 7));
	u8 defined;
	switch (defined_by(op)) {
	case DEFINES_REG:
		defined = reg;
		break;
	case DEFINES_RM:
		defined = rm;
		break;
	case DEFINES_SAME:
		return reg == rm ? reg : TW_NOREG;
	case DEFINES_OPCODE:
		defined = (u8)((rex & 1) << 3 | (op[0] & 7));
		break;
	default:
		return TW_NOREG;
	}
	return i->uses >> defined & 1 ? TW_NOREG : defined;
}

bool tw_decode_overwrites_flags(const struct insn *i)
{
	const u8 rex = (i->raw[0] & 0xf0) == 0x40 ? 1 : 0, *op = i->raw + rex;
	const bool registers = op[1] >> 6 == 3;
	const u8 digit = op[1] >> 3 & 7;
	if (i->kind != INSN_PLAIN)
		return false;
	if (op[0] < 0x40 && (op[0] & 7) < 6) /* add, or, adc, sbb, and, sub, xor, cmp */
		return (op[0] & 7) >= 4 || registers;
	switch (op[0]) {
	case 0x80: /* the same with a constant */
	case 0x81:
	case 0x83:
	case 0x84: /* test */
	case 0x85:
		return registers;
	case 0xa8: /* test with a constant */
	case 0xa9:
		return true;
	case 0xf6: /* test with a constant, neg */
	case 0xf7:
		return registers && (digit == 0 || digit == 3);
	case 0xfe: /* inc, dec */
	case 0xff:
		return registers && digit <= 1;
	default:
		return false;
	}
}

u8 tw_scratch(const struct insn *i, u8 avoid1, u8 avoid2)
{
	static const u8 choice[] = {TW_RAX, TW_RCX, TW_RDX, TW_RBX, TW_RSI, TW_RDI};
	for (unsigned k = 0; k < sizeof choice; k++)
		if (!((i->uses | i->defs) >> choice[k] & 1) && choice[k] != avoid1 && choice[k] != avoid2)
			return choice[k];
	return TW_NOREG;
}
