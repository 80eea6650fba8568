/*
 * Random instructions, for tests: bytes that have a chance to be one, and a filter of what no test program can do. All random numbers of a
 * test come from random_seed(), so that the same seed gives the same test everywhere.
 */
#ifndef RANDOM_INSN_H
#define RANDOM_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <Zydis/Zydis.h>

static uint64_t random_state;

static inline void random_seed(uint64_t seed)
{
	random_state = seed * 2654435761u + 1;
}

/* 0 to n - 1 */
static inline uint32_t rnd(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

/* Random bytes that have a chance to be an instruction: each encoding that there is, EVEX only where asked for. */
static inline void random_bytes(uint8_t *b, bool evex)
{
	int n = 0;
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x67, 0x65, 0x64, 0xf0, 0x2e};
	for (int i = 0; i < 15; i++)
		b[i] = (uint8_t)rnd(256);
	int kind = (int)rnd(evex ? 8 : 6);
	if (kind < 5 && rnd(3) == 0)
		b[n++] = prefixes[rnd(kind == 0 ? 8 : 4)];
	if (kind < 5 && rnd(2))
		b[n++] = (uint8_t)(0x40 + rnd(16));
	if (kind == 1 || kind == 2)
		b[n++] = 0x0f;
	else if (kind == 3 || kind == 4)
		b[n++] = 0x0f, b[n++] = rnd(2) ? 0x38 : 0x3a;
	else if (kind == 5) {
		b[0] = 0xc4;
		b[1] = (uint8_t)((b[1] & 0xe0) | (1 + rnd(3)));
	} else if (kind >= 6) {
		b[0] = 0x62;
		b[1] = (uint8_t)((b[1] & 0xf0) | (1 + rnd(3)));
		b[2] |= 4;
	}
}

/* Extensions whose instructions are not for programs, or make the machine do things. */
static inline bool is_system(const ZydisDecodedInstruction *i)
{
	switch (i->meta.isa_ext) {
	case ZYDIS_ISA_EXT_SVM:
	case ZYDIS_ISA_EXT_VTX:
	case ZYDIS_ISA_EXT_SMX:
	case ZYDIS_ISA_EXT_SGX:
	case ZYDIS_ISA_EXT_SGX_ENCLV:
	case ZYDIS_ISA_EXT_RTM:
	case ZYDIS_ISA_EXT_MONITORX:
	case ZYDIS_ISA_EXT_MONITOR:
	case ZYDIS_ISA_EXT_WAITPKG:
	case ZYDIS_ISA_EXT_KNC:
	case ZYDIS_ISA_EXT_AMD3DNOW:
	case ZYDIS_ISA_EXT_PADLOCK:
	case ZYDIS_ISA_EXT_MPX:
		return true;
	default:
		return i->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED;
	}
}

static inline bool is_excluded(const ZydisDecodedInstruction *i)
{
	static const char *const names[] = {
	    "popf",   "iret",   "int",     "syscall",   "sysenter",  "sysexit",  "sysret",   "cpuid",    "rdtsc",    "rdrand",
	    "rdseed", "rdpid",  "rdpru",   "rdpmc",     "xbegin",    "xabort",   "xend",     "ldmxcsr",  "vldmxcsr", "fldcw",
	    "fldenv", "frstor", "fxrstor", "xrstor",    "sgdt",      "sidt",     "sldt",     "str",      "smsw",     "lfs",
	    "lgs",    "lss",    "lds",     "les",       "wrfsbase",  "wrgsbase", "rdgsbase", "rdfsbase", "wrpkru",   "rdpkru",
	    "xgetbv", "xsetbv", "swapgs",  "lock",      "getsec",    "pconfig",  "rsm",      "hlt",      "ud",       "in",
	    "out",    "enclu",  "vmmcall", "serialize", "fnclex",    "senduipi", "clui",     "stui",     "testui",   "uiret",
	    "jmp",    "call",   "ret",     "std",       "cld",       "fninit",   "finit",    "xsaves",   "wbnoinvd", "invd",
	    "tdcall", "seam",   "hreset",  "xsusldtrk", "xresldtrk",
	};
	const char *name = ZydisMnemonicGetString(i->mnemonic);
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		size_t n = strlen(names[k]);
		if (!strncmp(name, names[k], n) && (n > 3 || !name[n] || !strcmp(names[k], "int") || !strcmp(names[k], "ud")))
			return strcmp(name, "insertps") != 0;
	}
	return false;
}

/* Writes a register that is the system's. */
static inline bool sets_system_register(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	for (int k = 0; k < i->operand_count; k++) {
		if (op[k].type != ZYDIS_OPERAND_TYPE_REGISTER || !(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		ZydisRegisterClass class = ZydisRegisterGetClass(op[k].reg.value);
		if (class == ZYDIS_REGCLASS_SEGMENT || class == ZYDIS_REGCLASS_CONTROL || class == ZYDIS_REGCLASS_DEBUG)
			return true;
	}
	return false;
}

static inline bool has_memory_operand(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	for (int k = 0; k < i->operand_count; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return true;
	return false;
}

/* Decodes `b`. True: it is an instruction to try. Of those without a memory operand, one in eight is. */
static inline bool random_is_wanted(const ZydisDecoder *decoder, const uint8_t *b, ZydisDecodedInstruction *i, ZydisDecodedOperand *op)
{
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, b, 15, i, op)))
		return false;
	if (is_system(i) || is_excluded(i) || i->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE || sets_system_register(i, op))
		return false;
	return has_memory_operand(i, op) || rnd(8) == 0;
}

static inline bool is_repeated(const ZydisDecodedInstruction *i)
{
	return i->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

#endif
