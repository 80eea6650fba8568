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

/* No word of the scratch memory is read on a path on which it was not written. Jumps only go forward. */
static bool loads_ok(const struct sock_filter *code, u32 n)
{
	static u16 written[BPF_MAXINSNS]; /* where a jump leads: what is written on every path so far */
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

/* ---- running ---- */

struct machine {
	u32 a, x;
	u32 mem[BPF_MEMWORDS];
};

/* False: a division by zero, which ends the program with 0. */
static bool alu(struct machine *m, const struct sock_filter *i)
{
	u32 v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		m->a += v;
		break;
	case BPF_SUB:
		m->a -= v;
		break;
	case BPF_MUL:
		m->a *= v;
		break;
	case BPF_DIV:
		if (!v)
			return false;
		m->a /= v;
		break;
	case BPF_OR:
		m->a |= v;
		break;
	case BPF_AND:
		m->a &= v;
		break;
	case BPF_XOR:
		m->a ^= v;
		break;
	case BPF_LSH:
		m->a <<= v & 31;
		break;
	case BPF_RSH:
		m->a >>= v & 31;
		break;
	default: /* BPF_NEG */
		m->a = -m->a;
	}
	return true;
}

static bool condition(const struct machine *m, const struct sock_filter *i)
{
	u32 v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return m->a == v;
	case BPF_JGE:
		return m->a >= v;
	case BPF_JGT:
		return m->a > v;
	default: /* BPF_JSET */
		return m->a & v;
	}
}

static u32 loaded(const struct machine *m, const struct sock_filter *i, const struct seccomp_data *data)
{
	u32 v;
	switch (BPF_MODE(i->code)) {
	case BPF_ABS:
		memcpy(&v, (const u8 *)data + i->k, sizeof v);
		return v;
	case BPF_MEM:
		return m->mem[i->k];
	case BPF_LEN:
		return sizeof *data;
	default: /* BPF_IMM */
		return i->k;
	}
}

u32 tw_bpf_run(const struct sock_filter *i, const struct seccomp_data *data)
{
	struct machine m = {0};
	for (;; i++) {
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			m.a = loaded(&m, i, data);
			break;
		case BPF_LDX:
			m.x = loaded(&m, i, data);
			break;
		case BPF_ST:
			m.mem[i->k] = m.a;
			break;
		case BPF_STX:
			m.mem[i->k] = m.x;
			break;
		case BPF_ALU:
			if (!alu(&m, i))
				return 0;
			break;
		case BPF_JMP:
			i += BPF_OP(i->code) == BPF_JA ? i->k : condition(&m, i) ? i->jt : i->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(i->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
}
