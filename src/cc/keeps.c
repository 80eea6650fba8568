#include "cc/keeps.h"

enum { MARKED = 1 << TW_RCX | 1 << TW_RDX | 1 << TW_RSI | 1 << TW_RDI | 1 << TW_R8 | 1 << TW_R9 | 1 << TW_R10 };

/* Registers that a function's own instructions write, push and pop. */
struct writes {
	uint16_t written, pushed, popped;
};

/* The register of a push or pop with opcode `base` (0x50, 0x58), as a bit; 0: another instruction. */
static uint16_t stack_register(const struct tw_cc_insn *i, uint8_t base)
{
	const unsigned at = i->d.len == 2 && i->d.raw[0] == 0x41;
	if (i->d.len != at + 1 || (i->d.raw[at] & 0xf8) != base)
		return 0;
	return (uint16_t)(1u << ((i->d.raw[at] & 7) + 8 * at));
}

/* Of the function that begins with instruction k; *end: the next one. */
static struct writes writes_of(const struct tw_cc_code *c, uint32_t k, uint32_t *end)
{
	const uint32_t function = c->insn[k].function;
	struct writes w = {0};
	for (; k < c->n_insns && c->insn[k].function == function; k++) {
		w.pushed |= stack_register(&c->insn[k], 0x50);
		w.popped |= stack_register(&c->insn[k], 0x58);
		w.written |= c->insn[k].d.defs;
	}
	*end = k;
	return w;
}

int tw_cc_keeps_find(const struct tw_cc_code *c, uint16_t *keeps)
{
	int found = 0;
	for (uint32_t k = 0, end; k < c->n_insns && !found; k = end) {
		const struct writes w = writes_of(c, k, &end);
		found = w.pushed & w.popped & MARKED;
	}
	for (uint32_t k = 0, end; found && k < c->n_insns; k = end) {
		const struct writes w = writes_of(c, k, &end);
		keeps[c->insn[k].function] |= MARKED & (uint16_t) ~(w.written & ~(w.pushed & w.popped));
	}
	return found;
}
