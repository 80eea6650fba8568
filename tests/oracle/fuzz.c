/*
 * Makes a test program of random instructions, for this machine: fuzz SEED COUNT >program.S
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
#include "random_insn.h"

enum { BUFFER = 1 << 16 };

static ZydisDecoder decoder;
static bool avx512; /* this machine has it: ZMM and mask registers are used and summed up */

static const char *const reg_names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

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
		random_bytes(b, avx512);
	while (!random_is_wanted(&decoder, b, &i, op));
	printf("\n\t/* %d: %s */\n", number, ZydisMnemonicGetString(i.mnemonic));
	printf("\tlea rax, after%d[rip]\n\tmov next[rip], rax\n", number);
	if (avx512 && (i.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX || i.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX))
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
	for (int v = 0; v < (avx512 ? 32 : 16); v++)
		printf("\tvmovdqu%s [rdi + %d], %s%d\n", avx512 ? "64" : "", v * 64, avx512 ? "zmm" : "ymm", v);
	for (int k = 0; k < (avx512 ? 8 : 0); k++)
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
	for (int v = 0; v < (avx512 ? 32 : 16); v++)
		printf("\tvmovdqu%s %s%d, indices[rip + %d]\n", avx512 ? "32" : "", avx512 ? "zmm" : "ymm", v, v % 7 * 64);
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
	random_seed(strtoull(argv[1], NULL, 0));
	avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	emit_frame_begin();
	for (int i = 0; i < atoi(argv[2]); i++)
		emit_test(i);
	emit_frame_end();
	return 0;
}
