#include "engine/kernel/bpf.h"

/* ---- what the kernel takes ---- */

static bool is_jump(u16 code)
{
	switch (code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JEQ | BPF_X:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_X:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_X:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_X:
		return true;
	default:
		return false;
	}
}

static bool is_alu(u16 code)
{
	if (BPF_CLASS(code) != BPF_ALU || code & ~0xffu)
		return false;
	switch (BPF_OP(code)) {
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_DIV:
	case BPF_OR:
	case BPF_AND:
	case BPF_LSH:
	case BPF_RSH:
	case BPF_XOR:
		return true;
	case BPF_NEG:
		return BPF_SRC(code) == BPF_K;
	default:
		return false;
	}
}

static bool alu_ok(const struct sock_filter *i)
{
	u16 op = BPF_OP(i->code);
	if (BPF_SRC(i->code) == BPF_X)
		return true;
	return op == BPF_DIV ? i->k != 0 : op == BPF_LSH || op == BPF_RSH ? i->k < 32 : true;
}

/* Instruction k alone. */
static bool insn_ok(const struct sock_filter *code, u32 k, u32 n)
{
	const struct sock_filter *i = &code[k];
	if (is_alu(i->code))
		return alu_ok(i);
	if (is_jump(i->code))
		return k + 1 + i->jt < n && k + 1 + i->jf < n;
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return i->k < sizeof(struct seccomp_data) && i->k % 4 == 0;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
		return i->k < BPF_MEMWORDS;
	case BPF_JMP | BPF_JA:
		return i->k < n - k - 1;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_RET | BPF_K:
	case BPF_RET | BPF_A:
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
		return true;
	default:
		return false;
	}
}

/* No word of the scratch memory is read on a path that has not written it. Jumps only go forward. */
static bool loads_ok(const struct sock_filter *code, u32 n)
{
	static u16 written[BPF_MAXINSNS]; /* by jump target: words written on every path there so far */
	u16 now = 0;
	for (u32 k = 0; k < n; k++)
		written[k] = 0xffff;
	for (u32 k = 0; k < n; k++) {
		const struct sock_filter *i = &code[k];
		now &= written[k];
		if (i->code == BPF_ST || i->code == BPF_STX)
			now |= (u16)(1u << i->k);
		else if ((i->code == (BPF_LD | BPF_MEM) || i->code == (BPF_LDX | BPF_MEM)) && !(now >> i->k & 1))
			return false;
		if (i->code == (BPF_JMP | BPF_JA)) {
			written[k + 1 + i->k] &= now;
			now = 0xffff;
		} else if (is_jump(i->code)) {
			written[k + 1 + i->jt] &= now;
			written[k + 1 + i->jf] &= now;
			now = 0xffff;
		}
	}
	return true;
}

bool tw_bpf_valid(const struct sock_filter *code, u32 n)
{
	for (u32 k = 0; k < n; k++)
		if (!insn_ok(code, k, n))
			return false;
	return BPF_CLASS(code[n - 1].code) == BPF_RET && loads_ok(code, n);
}
