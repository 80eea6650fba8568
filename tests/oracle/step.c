/*
 * The oracle: runs a small static program under PTRACE_SINGLESTEP and writes, from the live registers before each instruction, every memory
 * reference that the instruction makes, in the conventions of docs/format.md. It shares no code with the engine but the decoder library.
 *
 *     step [-o REFS] [-i INSNS] PROGRAM [ARG...]
 *
 * REFS: one line per reference, `pc type addr size`, as `trackway dump --refs` prints it without the thread. INSNS: one line per instruction,
 * `pc length`, and `pc length rep` for each iteration of a string instruction after which there is another. An instruction counts once it is
 * complete; one that faults leaves nothing behind but the iterations a string instruction made.
 * Exit status: the program's own, 128 + N when signal N killed it, 125 when the oracle itself failed.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <Zydis/Zydis.h>

#define MAX_REFS 4096

struct ref {
	uint64_t addr;
	uint32_t size;
	char type;
};

/* The stopped program and the instruction it is about to run. */
struct machine {
	pid_t pid;
	struct user_regs_struct regs;
	_Alignas(64) uint8_t xstate[16384];
	bool xstate_valid;
	bool handled[65]; /* signals that have a handler */
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct ref refs[MAX_REFS];
	int n_refs;
};

static ZydisDecoder decoder;

static void die(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	fprintf(stderr, "step: ");
	vfprintf(stderr, format, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(125);
}

static void add(struct machine *m, char type, uint64_t addr, uint32_t size)
{
	if (m->n_refs == MAX_REFS)
		die("too many references at %llx", m->regs.rip);
	m->refs[m->n_refs++] = (struct ref){addr, size, type};
}

static void read_memory(struct machine *m, uint64_t addr, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)(uintptr_t)addr, n};
	memset(to, 0, n);
	if (process_vm_readv(m->pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT)
		die("cannot read the program's memory: %s", strerror(errno));
}

/* ---- registers ---- */

static uint64_t gpr64(const struct machine *m, int number)
{
	const struct user_regs_struct *r = &m->regs;
	const uint64_t value[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
	                            r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
	return value[number];
}

/* Value of a general-purpose register or rip, as the instruction sees it; 0 for none. */
static uint64_t reg_value(const struct machine *m, ZydisRegister reg)
{
	int number = ZydisRegisterGetId(reg);
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR64:
		return gpr64(m, number);
	case ZYDIS_REGCLASS_GPR32:
		return (uint32_t)gpr64(m, number);
	case ZYDIS_REGCLASS_GPR16:
		return (uint16_t)gpr64(m, number);
	case ZYDIS_REGCLASS_GPR8:
		return (uint8_t)gpr64(m, number);
	case ZYDIS_REGCLASS_IP:
		return m->regs.rip + m->insn.length;
	default:
		return 0;
	}
}

static uint64_t segment_base(const struct machine *m, ZydisRegister segment)
{
	return segment == ZYDIS_REGISTER_FS ? m->regs.fs_base : segment == ZYDIS_REGISTER_GS ? m->regs.gs_base : 0;
}

static const uint8_t *xstate(struct machine *m)
{
	if (!m->xstate_valid) {
		struct iovec io = {m->xstate, sizeof m->xstate};
		if (ptrace(PTRACE_GETREGSET, m->pid, (void *)NT_X86_XSTATE, &io) < 0)
			die("cannot read the extended state: %s", strerror(errno));
		m->xstate_valid = true;
	}
	return m->xstate;
}

static uint32_t component_offset(int component)
{
	uint32_t size, offset, c, d;
	__cpuid_count(0xd, component, size, offset, c, d);
	(void)c;
	(void)d;
	return size ? offset : 0;
}

static uint64_t mask_register(struct machine *m, ZydisRegister reg)
{
	uint64_t value;
	memcpy(&value, xstate(m) + component_offset(5) + 8 * (reg - ZYDIS_REGISTER_K0), 8);
	return value;
}

/* The 64 bytes of a vector register (8 of an MMX register). */
static void vector_register(struct machine *m, ZydisRegister reg, uint8_t to[64])
{
	const uint8_t *x = xstate(m);
	int number = ZydisRegisterGetId(reg);
	memset(to, 0, 64);
	if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_MMX) {
		memcpy(to, x + 32 + 16 * number, 8);
	} else if (number >= 16) {
		memcpy(to, x + component_offset(7) + 64 * (number - 16), 64);
	} else {
		memcpy(to, x + 160 + 16 * number, 16);
		if (component_offset(2))
			memcpy(to + 16, x + component_offset(2) + 16 * number, 16);
		if (component_offset(6))
			memcpy(to + 32, x + component_offset(6) + 32 * number, 32);
	}
}

static int64_t element(const uint8_t *vector, int i, int width)
{
	int64_t v = 0;
	memcpy(&v, vector + i * width, width);
	return width == 4 ? (int32_t)v : v;
}

/* ---- addresses ---- */

static uint64_t cut(const struct machine *m, uint64_t addr)
{
	return m->insn.address_width == 32 ? (uint32_t)addr : addr;
}

static uint64_t address_with_index(const struct machine *m, const ZydisDecodedOperand *op, uint64_t index)
{
	uint64_t at = reg_value(m, op->mem.base) + index * op->mem.scale + (uint64_t)op->mem.disp.value;
	return segment_base(m, op->mem.segment) + cut(m, at);
}

static uint64_t address(const struct machine *m, const ZydisDecodedOperand *op)
{
	return address_with_index(m, op, reg_value(m, op->mem.index));
}

static bool is_memory(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

/* The explicit memory operand; NULL if there is none. */
static const ZydisDecodedOperand *memory_operand(const struct machine *m)
{
	for (int i = 0; i < m->insn.operand_count_visible; i++)
		if (m->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && m->op[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN)
			return &m->op[i];
	return NULL;
}

static char access_type(const ZydisDecodedOperand *op)
{
	bool r = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ, w = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	return r && w ? 'M' : w ? 'W' : 'R';
}

/* ---- instructions, group by group ---- */

static bool is_string(const struct machine *m)
{
	return m->insn.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static bool is_repeated(const struct machine *m)
{
	return is_string(m) && m->insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static uint64_t repeat_count(const struct machine *m)
{
	return cut(m, m->regs.rcx);
}

/* `n` iterations of a string instruction, from the registers before them. */
static void string_references(struct machine *m, uint64_t n)
{
	static const struct {
		const char *name;
		char source, destination;
	} kinds[] = {{"movs", 'R', 'W'}, {"cmps", 'R', 'R'}, {"stos", 0, 'W'}, {"lods", 'R', 0}, {"scas", 0, 'R'}};
	const char *name = ZydisMnemonicGetString(m->insn.mnemonic);
	size_t k = 0;
	while (k < 5 && strncmp(name, kinds[k].name, 4) != 0)
		k++;
	if (k == 5)
		die("unknown string instruction %s", name);
	uint32_t size = strchr("b w d   q", name[4]) - "b w d   q";
	size = size == 0 ? 1 : size;
	ZydisRegister segment = ZYDIS_REGISTER_DS;
	for (int i = 0; i < m->insn.operand_count; i++)
		if (is_memory(&m->op[i]) && ZydisRegisterGetId(m->op[i].mem.base) == 6)
			segment = m->op[i].mem.segment;
	int64_t step = m->regs.eflags & 0x400 ? -(int64_t)size : size;
	for (uint64_t i = 0; i < n; i++) {
		if (kinds[k].source)
			add(m, kinds[k].source, segment_base(m, segment) + cut(m, m->regs.rsi + i * step), size);
		if (kinds[k].destination)
			add(m, kinds[k].destination, cut(m, m->regs.rdi + i * step), size);
	}
}

/* push, pop, call, ret, enter, leave: the stack moves within the instruction. */
static bool stack_references(struct machine *m)
{
	const ZydisDecodedOperand *op = &m->op[0];
	uint64_t rsp = m->regs.rsp;
	uint32_t size = m->insn.operand_width == 16 ? 2 : 8;
	switch (m->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		if (is_memory(op))
			add(m, 'R', address(m, op), size);
		add(m, 'W', rsp - size, size);
		return true;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		add(m, 'W', rsp - size, size);
		return true;
	case ZYDIS_MNEMONIC_POP:
		add(m, 'R', rsp, size);
		m->regs.rsp += size; /* an rsp-based destination is addressed after the increment */
		if (is_memory(op))
			add(m, 'W', address(m, op), size);
		m->regs.rsp = rsp;
		return true;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		add(m, 'R', rsp, size);
		return true;
	case ZYDIS_MNEMONIC_CALL:
		if (is_memory(op))
			add(m, 'R', address(m, op), 8);
		add(m, 'W', rsp - 8, 8);
		return true;
	case ZYDIS_MNEMONIC_RET:
		add(m, 'R', rsp, 8);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		add(m, 'R', m->regs.rbp, size);
		return true;
	case ZYDIS_MNEMONIC_ENTER: {
		int level = m->op[1].imm.value.u & 31;
		add(m, 'W', rsp -= size, size);
		for (int i = 1; i < level; i++) {
			add(m, 'R', m->regs.rbp - (uint64_t)i * size, size);
			add(m, 'W', rsp -= size, size);
		}
		if (level)
			add(m, 'W', rsp - size, size);
		return true;
	}
	default:
		return false;
	}
}

/* Size of the area of xsave and its family: to the end of the last component asked for. */
static uint32_t xsave_bytes(const struct machine *m, bool compact)
{
	uint32_t lo, hi, end = 576, at = 576;
	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	uint64_t components = lo & (uint32_t)m->regs.rax;
	for (int i = 2; i < 32; i++) {
		uint32_t size, offset, flags, d;
		__cpuid_count(0xd, i, size, offset, flags, d);
		(void)d;
		if (!(components >> i & 1) || !size)
			continue;
		if (flags & 2)
			at = (at + 63) / 64 * 64;
		at += size;
		if (compact)
			end = at;
		else if (offset + size > end)
			end = offset + size;
	}
	return end;
}

static bool xsave_references(struct machine *m)
{
	const ZydisDecodedOperand *op = &m->op[0];
	uint64_t header = 0;
	switch (m->insn.mnemonic) {
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		add(m, 'W', address(m, op), xsave_bytes(m, false));
		return true;
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
		add(m, 'W', address(m, op), xsave_bytes(m, true));
		return true;
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
		read_memory(m, address(m, op) + 520, &header, 8);
		add(m, 'R', address(m, op), xsave_bytes(m, header >> 63));
		return true;
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
		add(m, 'W', address(m, op), 512);
		return true;
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
		add(m, 'R', address(m, op), 512);
		return true;
	default:
		return false;
	}
}

static bool bit_string_references(struct machine *m)
{
	ZydisMnemonic mnemonic = m->insn.mnemonic;
	if (mnemonic != ZYDIS_MNEMONIC_BT && mnemonic != ZYDIS_MNEMONIC_BTS && mnemonic != ZYDIS_MNEMONIC_BTR &&
	    mnemonic != ZYDIS_MNEMONIC_BTC)
		return false;
	if (!is_memory(&m->op[0]))
		return true;
	uint32_t size = m->op[0].size / 8;
	int64_t offset = 0;
	if (m->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		uint64_t v = reg_value(m, m->op[1].reg.value);
		int64_t bit = size == 2 ? (int16_t)v : size == 4 ? (int32_t)v : (int64_t)v;
		offset = (bit >> (size == 2 ? 4 : size == 4 ? 5 : 6)) * (int64_t)size;
	}
	add(m, mnemonic == ZYDIS_MNEMONIC_BT ? 'R' : 'M', address(m, &m->op[0]) + (uint64_t)offset, size);
	return true;
}

/* Gathers and scatters: an index vector, and a mask in a k register (EVEX) or a vector (VEX). */
static bool indexed_references(struct machine *m)
{
	const ZydisDecodedOperand *op = memory_operand(m);
	if (!op || op->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		return false;
	const char *name = ZydisMnemonicGetString(m->insn.mnemonic);
	if (strstr(name, "gatherpf") || strstr(name, "scatterpf"))
		return true;
	const char *kind = strstr(name, "gather") ? strstr(name, "gather") + 6 : strstr(name, "scatter") + 7;
	int index_width = kind[0] == 'q' ? 8 : 4;
	int width = kind[strlen(kind) - 1] == 'd' && strlen(kind) == 3 ? 8 : kind[strlen(kind) - 1] == 'q' ? 8 : 4;
	int lanes = m->insn.avx.vector_length / 8 / (index_width > width ? index_width : width);
	uint8_t index[64], mask[64];
	vector_register(m, op->mem.index, index);
	bool evex = m->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	uint64_t k = evex ? mask_register(m, m->insn.avx.mask.reg) : 0;
	if (!evex)
		vector_register(m, m->op[2].reg.value, mask);
	for (int i = 0; i < lanes; i++)
		if (evex ? k >> i & 1 : element(mask, i, width) < 0)
			add(m, strstr(name, "scatter") ? 'W' : 'R', address_with_index(m, op, (uint64_t)element(index, i, index_width)),
			    (uint32_t)width);
	return true;
}

/* Vector-masked moves of SSE and AVX. */
static bool masked_move_references(struct machine *m)
{
	uint8_t mask[64];
	int width;
	switch (m->insn.mnemonic) {
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
		width = 4;
		break;
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		width = 8;
		break;
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU: {
		ZydisRegister segment = ZYDIS_REGISTER_DS;
		for (int i = 0; i < m->insn.operand_count; i++)
			if (is_memory(&m->op[i]))
				segment = m->op[i].mem.segment;
		vector_register(m, m->op[1].reg.value, mask);
		for (int i = 0; i < (m->insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ? 8 : 16); i++)
			if (mask[i] & 0x80)
				add(m, 'W', segment_base(m, segment) + cut(m, cut(m, m->regs.rdi) + (uint64_t)i), 1);
		return true;
	}
	default:
		return false;
	}
	bool store = is_memory(&m->op[0]);
	uint64_t at = address(m, &m->op[store ? 0 : 2]);
	vector_register(m, m->op[1].reg.value, mask);
	for (int i = 0; i < m->insn.avx.vector_length / 8 / width; i++)
		if (element(mask, i, width) < 0)
			add(m, store ? 'W' : 'R', at + (uint64_t)(i * width), (uint32_t)width);
	return true;
}

/* Lanes of a broadcast; 0 when the instruction makes none. */
static int broadcast_lanes(const struct machine *m)
{
	switch (m->insn.avx.broadcast.mode) {
	case ZYDIS_BROADCAST_MODE_1_TO_2:
		return 2;
	case ZYDIS_BROADCAST_MODE_1_TO_4:
	case ZYDIS_BROADCAST_MODE_2_TO_4:
		return 4;
	case ZYDIS_BROADCAST_MODE_1_TO_8:
	case ZYDIS_BROADCAST_MODE_2_TO_8:
	case ZYDIS_BROADCAST_MODE_4_TO_8:
		return 8;
	case ZYDIS_BROADCAST_MODE_1_TO_16:
	case ZYDIS_BROADCAST_MODE_2_TO_16:
	case ZYDIS_BROADCAST_MODE_4_TO_16:
	case ZYDIS_BROADCAST_MODE_8_TO_16:
		return 16;
	case ZYDIS_BROADCAST_MODE_1_TO_32:
		return 32;
	case ZYDIS_BROADCAST_MODE_1_TO_64:
		return 64;
	default:
		return 0;
	}
}

/* AVX-512 instructions that suppress no faults: they read the whole operand, whatever the mask. */
static bool ignores_mask(const struct machine *m)
{
	switch (m->insn.meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_E1NF:
	case ZYDIS_EXCEPTION_CLASS_E3NF:
	case ZYDIS_EXCEPTION_CLASS_E4NF:
	case ZYDIS_EXCEPTION_CLASS_E5NF:
	case ZYDIS_EXCEPTION_CLASS_E6NF:
	case ZYDIS_EXCEPTION_CLASS_E9NF:
		return true;
	default:
		return false;
	}
}

/* AVX-512 memory operands under a mask register other than k0. */
static bool masked_references(struct machine *m)
{
	const ZydisDecodedOperand *op = memory_operand(m);
	if (m->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX || !op || m->insn.avx.mask.reg == ZYDIS_REGISTER_NONE ||
	    m->insn.avx.mask.reg == ZYDIS_REGISTER_K0)
		return false;
	uint64_t k = mask_register(m, m->insn.avx.mask.reg), at = address(m, op);
	int width = op->element_size / 8, lanes = op->element_count;
	char type = access_type(op) == 'R' ? 'R' : 'W'; /* masking merges: the decoder may call a masked store a modification */
	if (type == 'R' && ignores_mask(m)) {
		add(m, type, at, op->size / 8);
		return true;
	}
	if (broadcast_lanes(m)) {
		lanes = broadcast_lanes(m);
		if (k & (lanes == 64 ? ~0ull : (1ull << lanes) - 1))
			add(m, type, at, m->insn.avx.broadcast.is_static ? op->size / 8 : (uint32_t)width);
		return true;
	}
	const char *name = ZydisMnemonicGetString(m->insn.mnemonic);
	bool packed = strstr(name, "compress") || strstr(name, "expand");
	for (int i = 0, n = 0; i < lanes; i++)
		if (k >> i & 1)
			add(m, type, at + (uint64_t)((packed ? n++ : i) * width), (uint32_t)width);
	return true;
}

static bool other_references(struct machine *m)
{
	switch (m->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CLZERO:
		add(m, 'W', cut(m, m->regs.rax) & ~63ull, 64);
		return true;
	case ZYDIS_MNEMONIC_MOVDIR64B:
		add(m, 'R', address(m, &m->op[1]), 64);
		add(m, 'W', cut(m, reg_value(m, m->op[0].reg.value)), 64);
		return true;
	case ZYDIS_MNEMONIC_XLAT:
		for (int i = 0; i < m->insn.operand_count; i++)
			if (is_memory(&m->op[i]))
				add(m, 'R', segment_base(m, m->op[i].mem.segment) + cut(m, m->regs.rbx + (m->regs.rax & 0xff)), 1);
		return true;
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_PREFETCH:
	case ZYDIS_MNEMONIC_PREFETCHNTA:
	case ZYDIS_MNEMONIC_PREFETCHT0:
	case ZYDIS_MNEMONIC_PREFETCHT1:
	case ZYDIS_MNEMONIC_PREFETCHT2:
	case ZYDIS_MNEMONIC_PREFETCHW:
	case ZYDIS_MNEMONIC_PREFETCHWT1:
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
	case ZYDIS_MNEMONIC_SYSCALL:
		return true;
	default:
		return false;
	}
}

/* Everything else: what the decoder says of each memory operand, reads first. */
static void plain_references(struct machine *m)
{
	for (int writes = 0; writes < 2; writes++) {
		for (int i = 0; i < m->insn.operand_count; i++) {
			const ZydisDecodedOperand *op = &m->op[i];
			if (!is_memory(op) || !op->actions || (access_type(op) != 'R') != writes)
				continue;
			uint32_t size = op->size;
			if (broadcast_lanes(m) && !m->insn.avx.broadcast.is_static)
				size = op->element_size;
			add(m, access_type(op), address(m, op), size / 8);
		}
	}
}

static void references(struct machine *m)
{
	m->n_refs = 0;
	if (is_string(m))
		return; /* once it is known how many iterations it made */
	if (!stack_references(m) && !xsave_references(m) && !bit_string_references(m) && !indexed_references(m) &&
	    !masked_move_references(m) && !masked_references(m) && !other_references(m))
		plain_references(m);
}

/* ---- the stepping ---- */

static void decode(struct machine *m)
{
	uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
	read_memory(m, m->regs.rip, code, sizeof code);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, sizeof code, &m->insn, m->op)))
		m->insn = (ZydisDecodedInstruction){.mnemonic = ZYDIS_MNEMONIC_UD2, .length = 2};
}

/* A system call is about to be made: remember which signals have handlers. */
static void note_syscall(struct machine *m)
{
	if (m->insn.mnemonic != ZYDIS_MNEMONIC_SYSCALL || m->regs.rax != SYS_rt_sigaction || m->regs.rdi > 64 || !m->regs.rsi)
		return;
	uint64_t handler;
	read_memory(m, m->regs.rsi, &handler, 8);
	m->handled[m->regs.rdi] = handler > 1;
}

static void print_references(const struct machine *m, uint64_t pc, FILE *out)
{
	for (int i = 0; i < m->n_refs; i++)
		fprintf(out, "%lx %c %lx %u\n", pc, m->refs[i].type, m->refs[i].addr, m->refs[i].size);
}

static pid_t start(char **argv)
{
	pid_t pid = fork();
	if (pid < 0)
		die("cannot fork");
	if (pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		fprintf(stderr, "step: cannot run %s: %s\n", argv[0], strerror(errno));
		_exit(125);
	}
	return pid;
}

/* Whether the step that ended with wait status `status` ran the instruction that was about to run. */
static bool completed(int status, int delivered, const struct machine *m)
{
	if (delivered && m->handled[delivered])
		return false; /* it entered the handler, no more */
	return WSTOPSIG(status) == SIGTRAP;
}

static int run(pid_t pid, FILE *refs, FILE *insns)
{
	static struct machine m;
	int status, delivered = 0;
	m.pid = pid;
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		die("the program did not start");
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL);
	for (;;) {
		if (ptrace(PTRACE_GETREGS, pid, NULL, &m.regs) < 0)
			die("cannot read registers: %s", strerror(errno));
		m.xstate_valid = false;
		decode(&m);
		references(&m);
		note_syscall(&m);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(uintptr_t)delivered) < 0)
			die("cannot step: %s", strerror(errno));
		if (waitpid(pid, &status, 0) < 0)
			die("cannot wait: %s", strerror(errno));
		uint64_t pc = m.regs.rip;
		if (!WIFSTOPPED(status)) {
			if (WIFEXITED(status) && insns)
				fprintf(insns, "%lx %u\n", pc, m.insn.length);
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		struct user_regs_struct after;
		if (ptrace(PTRACE_GETREGS, pid, NULL, &after) < 0)
			die("cannot read registers: %s", strerror(errno));
		bool done = completed(status, delivered, &m);
		if (is_repeated(&m)) {
			if (!delivered || !m.handled[delivered])
				string_references(&m, repeat_count(&m) - cut(&m, after.rcx));
			print_references(&m, pc, refs);
			if (insns && done && after.rip == pc)
				fprintf(insns, "%lx %u rep\n", pc, m.insn.length);
			done = done && after.rip != pc;
		} else if (done) {
			if (is_string(&m))
				string_references(&m, 1);
			print_references(&m, pc, refs);
		}
		if (done && insns)
			fprintf(insns, "%lx %u\n", pc, m.insn.length);
		delivered = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	}
}

static FILE *open_output(const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f)
		die("cannot write %s: %s", path, strerror(errno));
	return f;
}

int main(int argc, char **argv)
{
	FILE *refs = stdout, *insns = NULL;
	int option;
	while ((option = getopt(argc, argv, "+o:i:")) != -1) {
		if (option == 'o')
			refs = open_output(optarg);
		else if (option == 'i')
			insns = open_output(optarg);
		else
			die("usage: step [-o REFS] [-i INSNS] PROGRAM [ARG...]");
	}
	if (optind == argc)
		die("usage: step [-o REFS] [-i INSNS] PROGRAM [ARG...]");
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	int status = run(start(argv + optind), refs, insns);
	if (fclose(refs) != 0 || (insns && fclose(insns) != 0))
		die("cannot write: %s", strerror(errno));
	return status;
}
