#include "base/bpf.h"
#include <stdbool.h>

struct machine {
	uint32_t a, x;
	uint32_t mem[BPF_MEMWORDS];
};

/* False: a division by zero, which ends the program with 0. */
static bool alu(struct machine *m, const struct sock_filter *i)
{
	uint32_t v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
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
	uint32_t v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
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

static uint32_t loaded(const struct machine *m, const struct sock_filter *i, const struct seccomp_data *data)
{
	uint32_t v;
	switch (BPF_MODE(i->code)) {
	case BPF_ABS:
		__builtin_memcpy(&v, (const uint8_t *)data + i->k % sizeof *data / sizeof v * sizeof v, sizeof v);
		return v;
	case BPF_MEM:
		return m->mem[i->k % BPF_MEMWORDS];
	case BPF_LEN:
		return sizeof *data;
	default: /* BPF_IMM */
		return i->k;
	}
}

uint32_t tw_bpf_run(const struct sock_filter *code, uint32_t n, const struct seccomp_data *data)
{
	struct machine m = {0};
	for (uint64_t at = 0; at < n; at++) {
		const struct sock_filter *i = &code[at];
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			m.a = loaded(&m, i, data);
			break;
		case BPF_LDX:
			m.x = loaded(&m, i, data);
			break;
		case BPF_ST:
			m.mem[i->k % BPF_MEMWORDS] = m.a;
			break;
		case BPF_STX:
			m.mem[i->k % BPF_MEMWORDS] = m.x;
			break;
		case BPF_ALU:
			if (!alu(&m, i))
				return 0;
			break;
		case BPF_JMP:
			at += BPF_OP(i->code) == BPF_JA ? i->k : condition(&m, i) ? i->jt : i->jf;
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
	return 0;
}
