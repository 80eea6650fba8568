#include "engine/x86_64/shape.h"

/* What follows an opcode. */
enum follows {
	MODRM = 1,
	IMM8 = 2,
	IMM32 = 4, /* 16 with prefix 66 */
	REL8 = 8,
	REL32 = 16,
	TEST = 32,  /* an immediate only if ModRM.reg is 0 or 1 */
	IMM64 = 64, /* IMM32, of 8 bytes with REX.W */
	UNKNOWN = 128,
};

static u8 after_opcode(u8 op)
{
	if (op < 0x40)
		return (op & 7) < 4 ? MODRM : (op & 7) == 4 ? IMM8 : (op & 7) == 5 ? IMM32 : UNKNOWN;
	switch (op) {
	case 0x50 ... 0x5f: /* push, pop */
	case 0x90:
	case 0x98:
	case 0x99:
	case 0xc3:
	case 0xc9:
		return 0;
	case 0x63:
	case 0x84 ... 0x8b:
	case 0x8d:
	case 0xd0 ... 0xd3:
	case 0xfe:
	case 0xff:
		return MODRM;
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
		return MODRM | IMM8;
	case 0x69:
	case 0x81:
	case 0xc7:
		return MODRM | IMM32;
	case 0xf6:
		return MODRM | IMM8 | TEST;
	case 0xf7:
		return MODRM | IMM32 | TEST;
	case 0x6a:
	case 0xa8:
	case 0xb0 ... 0xb7:
		return IMM8;
	case 0x68:
	case 0xa9:
		return IMM32;
	case 0xb8 ... 0xbf:
		return IMM64;
	case 0x70 ... 0x7f:
	case 0xeb:
		return REL8;
	case 0xe8:
	case 0xe9:
		return REL32;
	default:
		return UNKNOWN;
	}
}

/* Behind 0F. */
static u8 after_second_opcode(u8 op)
{
	switch (op) {
	case 0x10 ... 0x17:
	case 0x1e: /* endbr64, nop */
	case 0x1f:
	case 0x28 ... 0x2f:
	case 0x40 ... 0x6f:
	case 0x74 ... 0x76:
	case 0x7e:
	case 0x7f:
	case 0x90 ... 0x9f:
	case 0xa3:
	case 0xab:
	case 0xaf ... 0xb1:
	case 0xb3:
	case 0xb6:
	case 0xb7:
	case 0xbb ... 0xc1:
	case 0xd0 ... 0xfe:
		return MODRM;
	case 0x70 ... 0x73:
	case 0xba:
	case 0xc2:
	case 0xc6:
		return MODRM | IMM8;
	case 0x80 ... 0x8f:
		return REL32;
	case 0xc8 ... 0xcf: /* bswap */
		return 0;
	default:
		return UNKNOWN;
	}
}

/* Bytes of the ModRM at `at` and of what it implies; *rip: it is rip-relative. */
static u8 modrm_bytes(u64 at, bool *rip)
{
	const u8 modrm = (u8)at, mod = modrm >> 6, rm = modrm & 7;
	const bool sib = mod != 3 && rm == 4;
	*rip = mod == 0 && rm == 5;
	const bool base_missing = sib && mod == 0 && (at >> 8 & 7) == 5;
	return (u8)(1 + sib + (mod == 1 ? 1 : mod == 2 || *rip || base_missing ? 4 : 0));
}

struct shape tw_shape(u64 v)
{
	const struct shape unknown = {0};
	bool narrow = false, wide = false, rip = false;
	u8 n = 0, op = (u8)v, follows;
	for (; n < 4 && (op == 0x66 || op == 0xf2 || op == 0xf3 || (op & 0xf0) == 0x40); op = (u8)(v >> 8 * ++n)) {
		narrow |= op == 0x66;
		wide = (op & 0xf8) == 0x48;
	}
	n++;
	follows = op == 0x0f ? after_second_opcode((u8)(v >> 8 * n++)) : after_opcode(op);
	if (follows & UNKNOWN || n > 6)
		return unknown;
	struct shape s = {0};
	const u64 at = v >> 8 * n;
	if (follows & MODRM) {
		u8 bytes = modrm_bytes(at, &rip);
		s = rip ? (struct shape){0, (u8)(n + 1), 4} : s;
		n = (u8)(n + bytes);
	} else if (follows & (REL8 | REL32)) {
		s.rel_at = n;
		s.rel_bytes = follows & REL8 ? 1 : 4;
		n = (u8)(n + s.rel_bytes);
	}
	if (follows & TEST && (at >> 3 & 7) > 1)
		follows = 0;
	if (follows & IMM8)
		n++;
	else if (follows & (IMM32 | IMM64))
		n = (u8)(n + (narrow && !wide ? 2 : wide && follows & IMM64 ? 8 : 4));
	s.len = n;
	return n <= 8 ? s : unknown;
}
