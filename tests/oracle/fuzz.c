/*
 * Makes a test program of random instructions: fuzz SEED COUNT >program.S
 *
 * Every instruction that the decoder knows may come, with registers that point into a buffer or are small, with random masks and index
 * vectors; except those that branch, that depend on time or on the machine's state, or that change state which the frame around them
 * needs. Many fault, on purpose: a handler goes on behind them. After each one all registers and the flags are added to sums, which the program prints
 * in the end, together with one of the buffer and the vector registers: recorded, it must print the same, and its references must be the
 * oracle's (tests/oracle/fuzz.sh).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

enum { BUFFER = 1 << 16 };

static ZydisDecoder decoder;
static uint64_t state;

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static const char *const reg_names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/* Random bytes that have a chance to be an instruction of each encoding. */
static void random_bytes(uint8_t *b)
{
	int n = 0;
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x67, 0x65, 0x64, 0xf0, 0x2e};
	for (int i = 0; i < 15; i++)
		b[i] = (uint8_t)rnd(256);
	int kind = (int)rnd(8);
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
static bool is_system(const ZydisDecodedInstruction *i)
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

static bool is_excluded(const ZydisDecodedInstruction *i)
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

/* Whether `b` is an instruction to try. */
static bool is_wanted(const uint8_t *b, ZydisDecodedInstruction *i, ZydisDecodedOperand *op)
{
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, b, 15, i, op)))
		return false;
	if (is_system(i) || is_excluded(i) || i->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
		return false;
	bool memory = false;
	for (int k = 0; k < i->operand_count; k++) {
		memory |= op[k].type == ZYDIS_OPERAND_TYPE_MEMORY;
		if (op[k].type != ZYDIS_OPERAND_TYPE_REGISTER || !(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		ZydisRegisterClass class = ZydisRegisterGetClass(op[k].reg.value);
		if (class == ZYDIS_REGCLASS_SEGMENT || class == ZYDIS_REGCLASS_CONTROL || class == ZYDIS_REGCLASS_DEBUG)
			return false;
	}
	return memory || rnd(8) == 0;
}

static void emit_bytes(const uint8_t *b, int from, int to)
{
	if (from < to)
		printf("\t.byte ");
	for (int i = from; i < to; i++)
		printf("0x%02x%s", b[i], i + 1 < to ? "," : "\n");
}

/* The instruction itself; a large displacement is made one that stays in the buffer. */
static void emit_instruction(const uint8_t *b, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	int at = i->raw.disp.offset, size = i->raw.disp.size / 8;
	bool rip = false, alone = true;
	for (int k = 0; k < i->operand_count_visible; k++) {
		if (op[k].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		rip |= op[k].mem.base == ZYDIS_REGISTER_RIP || op[k].mem.base == ZYDIS_REGISTER_EIP;
		alone &= op[k].mem.base == ZYDIS_REGISTER_NONE;
	}
	if (size < 4) {
		emit_bytes(b, 0, i->length);
		return;
	}
	emit_bytes(b, 0, at);
	uint32_t k = rnd(BUFFER - 4096) & (rnd(2) ? ~63u : ~0u);
	if (rip)
		printf("\t.long buffer + %u - (. + %d)\n", k, i->length - at);
	else if (alone)
		printf("\t.%s buffer + %u\n", size == 8 ? "quad" : "long", k);
	else
		printf("\t.long %d\n", (int)rnd(512) - 256);
	emit_bytes(b, at + size, i->length);
}

static bool is_repeated(const ZydisDecodedInstruction *i)
{
	return i->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static bool has_vector_index(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	for (int k = 0; k < i->operand_count_visible; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY && op[k].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			return true;
	return false;
}

static void emit_registers(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	bool index[16] = {false};
	for (int k = 0; k < i->operand_count; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY && op[k].mem.index != ZYDIS_REGISTER_NONE &&
		    op[k].mem.type != ZYDIS_MEMOP_TYPE_VSIB)
			index[ZydisRegisterGetId(op[k].mem.index)] = true;
	printf("\tmov eax, %d\n\tadd eax, %d\n", (int)rnd(1u << 31), (int)rnd(1u << 31)); /* flags */
	for (int r = 0; r < 16; r++) {
		if (r == 1 && is_repeated(i))
			printf("\tmov ecx, %u\n", rnd(7));
		else if (r != 4 && (index[r] || rnd(8) == 0))
			printf("\tmov %s, %d\n", reg_names[r], (int)rnd(512) - 256);
		else
			printf("\tlea %s, buffer[rip + %u]\n", reg_names[r], (4096 + rnd(BUFFER - 8192)) & (rnd(3) ? ~63u : ~0u));
	}
}

static void emit_test(int number)
{
	uint8_t b[15];
	ZydisDecodedInstruction i;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	do
		random_bytes(b);
	while (!is_wanted(b, &i, op));
	printf("\n\t/* %d: %s */\n", number, ZydisMnemonicGetString(i.mnemonic));
	printf("\tlea rax, after%d[rip]\n\tmov next[rip], rax\n", number);
	if (i.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX || i.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
		for (int k = 1; k < 8; k++)
			printf("\tmov rax, 0x%x%08x\n\tkmovq k%d, rax\n", rnd(2) ? rnd(1u << 31) : 0, rnd(1u << 31), k);
	if (has_vector_index(&i, op))
		printf("\tcall vectors\n");
	emit_registers(&i, op);
	printf("insn%d:\n", number);
	emit_instruction(b, &i, op);
	printf("after%d:\n\tmov rsp_was[rip], rsp\n\tlea rsp, stack_top[rip]\n\tcall sum\n", number);
}

static void emit_frame_begin(void)
{
	printf("#include \"program.inc\"\n\t.globl _start\n_start:\tlea rsp, stack_top[rip]\n"
	       "\tlea rdi, stack[rip]\n\txor esi, esi\n\tmov eax, SYS_sigaltstack\n\tsyscall\n");
	static const int signals[] = {4, 5, 7, 8, 11};
	for (int s = 0; s < 5; s++)
		printf("\tmov edi, %d\n\tlea rsi, action[rip]\n\txor edx, edx\n\tmov r10d, 8\n\tmov eax, SYS_rt_sigaction\n\tsyscall\n",
		       signals[s]);
	printf("\tcall vectors\n");
}

static void emit_frame_end(void)
{
	printf("\n\tlea rdi, buffer[rip]\n");
	for (int v = 0; v < 32; v++)
		printf("\tvmovdqu64 [rdi + %d], zmm%d\n", v * 64, v);
	for (int k = 0; k < 8; k++)
		printf("\tkmovq [rdi + %d], k%d\n", 2048 + k * 8, k);
	printf("\txor eax, eax\n\tmov ecx, %d\n1:\timul rax, rax, 31\n\tadd rax, [rdi + rcx * 8 - 8]\n\tdec ecx\n\tjnz 1b\n\tmov sums[rip "
	       "+ 136], rax\n",
	       BUFFER / 8);
	printf("\tmov edi, 1\n\tlea rsi, sums[rip]\n\tmov edx, 144\n\tmov eax, SYS_write\n\tsyscall\n\txor edi, edi\n\tjmp exit\n");
	/* goes on behind the faulting instruction, and counts */
	printf("handler:\n\tmov rax, next[rip]\n\tmov [rdx + 168], rax\n\tinc dword ptr sums[rip + 128]\n\tadd sums[rip + 132], edi\n"
	       "\tadd rsp, 8\n\tmov eax, SYS_rt_sigreturn\n\tsyscall\n");
	/* adds up registers and status flags; the single-stepper's trap flag is not ours */
	printf("sum:\tpushfq\n\tand dword ptr [rsp], 0x8d5\n\tcld\n");
	for (int r = 0; r < 16; r++)
		if (r != 4)
			printf("\tadd sums[rip + %d], %s\n", r * 8, reg_names[r]);
	printf("\tpop rax\n\tmov rcx, sums[rip + 32]\n\timul rcx, rcx, 31\n\tadd rcx, rax\n\tadd rcx, rsp_was[rip]\n\tmov sums[rip + 32], "
	       "rcx\n\tret\n");
	printf("vectors:\n");
	for (int v = 0; v < 32; v++)
		printf("\tvmovdqu32 zmm%d, indices[rip + %d]\n", v, v % 7 * 64);
	printf("\tret\n\t.section .rodata\n\t.balign 8\naction:\t.quad handler, 0x4c000004, handler, 0\nstack:\t.quad alternate, 0, "
	       "65536\n\t.balign 64\nindices:\n");
	for (int k = 0; k < 7 * 16; k++)
		printf("\t.long %d\n", k % 3 == 2 ? 0 : k * 37 % 200 - 100);
	printf("\t.bss\n\t.balign 4096\nalternate: .skip 65536\nbuffer:\t.skip %d\nnext:\t.quad 0\nrsp_was: .quad 0\nsums:\t.skip 256\n"
	       "\t.section .expected\nexpected_end:\n",
	       BUFFER);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	state = strtoull(argv[1], NULL, 0) * 2654435761u + 1;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	emit_frame_begin();
	for (int i = 0; i < atoi(argv[2]); i++)
		emit_test(i);
	emit_frame_end();
	return 0;
}
