#include "export/code.h"
#include "export/lines.h"
#include "replay/disassemble.h"

#include <stdio.h>
#include <string.h>

static const char *const registers[TW_NREGS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static const char *register_name(unsigned r)
{
	return r < TW_NREGS ? registers[r] : "?";
}

static const char *type_name(unsigned type)
{
	static const char *const names[] = {"?", "read", "write", "modify"};
	return names[type & 3];
}

/* "fs:[rax + rcx*8 - 0x10]" */
static void print_address(struct tw_text *t, const struct tw_op *op)
{
	static const char *const segments[TW_NSEGS] = {"", "fs:", "gs:"};
	const char *plus = "";
	tw_text_printf(t, "%s[", segments[op->seg]);
	if (op->base < TW_NREGS) {
		tw_text_printf(t, "%s", registers[op->base]);
		plus = " + ";
	}
	if (op->index < TW_NREGS) {
		tw_text_printf(t, "%s%s%s*%d", plus, registers[op->index], op->flags & TW_OPF_INDEX8 ? " (low byte)" : "", 1 << op->scale);
		plus = " + ";
	}
	if (op->disp < 0 && *plus)
		tw_text_printf(t, " - 0x%llx", 0 - (unsigned long long)op->disp);
	else if (op->disp || !*plus)
		tw_text_printf(t, "%s0x%llx", plus, (unsigned long long)op->disp);
	tw_text_printf(t, "]%s", op->flags & TW_OPF_ADDR32 ? " (32 bits)" : "");
}

static void print_rep(struct tw_text *t, const struct tw_op *op)
{
	int second = op->flags & TW_OPF_SECOND;
	tw_text_printf(t, "repeat, values %u to %u of %s: %s %u at [%s]", op->value, op->mask_value,
	               register_name(second ? op->index : op->base), type_name(op->type), op->size, register_name(op->base));
	if (second)
		tw_text_printf(t, ", %s %u at [%s]", type_name(op->count), op->size, register_name(op->index));
}

static void print_lanes(struct tw_text *t, const struct tw_op *op)
{
	tw_text_printf(t, "%s %u for each of %u lanes with mask value %u at ", type_name(op->type), op->size, op->count, op->mask_value);
	print_address(t, op);
	if (op->index_width)
		tw_text_printf(t, " + %d * the %u-byte indices of value %u", 1 << op->scale, op->index_width, op->value);
	if (op->flags & TW_OPF_PACKED)
		tw_text_printf(t, ", packed");
	if (op->flags & TW_OPF_BROADCAST)
		tw_text_printf(t, ", one element for all");
	if (op->flags & TW_OPF_ANY)
		tw_text_printf(t, ", all at once");
}

static void print_written(struct tw_text *t, const struct tw_op *op)
{
	for (uint8_t r = 0; r < TW_NREGS; r++)
		if (op->count >> r & 1)
			tw_text_printf(t, "%s ", register_name(r));
	tw_text_printf(t, "written");
}

/* "rdx = rdx and 0x7fff (32 bits)" */
static void print_calc(struct tw_text *t, const struct tw_op *op)
{
	static const char *const names[TW_NCALCS] = {
	    "and",
	    "or",
	    "xor",
	    "-",
	    "*",
	    "<<",
	    ">>",
	    ">> with sign",
	    "sign-extended from 8 bits",
	    "sign-extended from 16 bits",
	    "sign-extended from 32 bits",
	    "cut to 8 bits",
	    "cut to 16 bits",
	};
	tw_text_printf(t, "%s = %s %s", register_name((uint8_t)op->count), register_name(op->base), names[op->type]);
	if (op->type < TW_CALC_SX8 && op->index < TW_NREGS)
		tw_text_printf(t, " %s", register_name(op->index));
	else if (op->type < TW_CALC_SX8)
		tw_text_printf(t, " 0x%llx", (unsigned long long)op->disp);
	tw_text_printf(t, op->flags & TW_OPF_ADDR32 ? " (32 bits)" : "");
}

static void print_op(struct tw_text *t, const struct tw_op *op)
{
	tw_text_printf(t, "              ");
	switch (op->kind) {
	case TW_OP_RECORD:
		tw_text_printf(t, "%s = value %u", register_name(op->base), op->value);
		break;
	case TW_OP_SET:
		tw_text_printf(t, "%s = ", register_name(op->count));
		print_address(t, op);
		break;
	case TW_OP_CALC:
		print_calc(t, op);
		break;
	case TW_OP_WRITTEN:
		print_written(t, op);
		break;
	case TW_OP_REP:
		print_rep(t, op);
		break;
	case TW_OP_LANES:
		print_lanes(t, op);
		break;
	case TW_OP_BIT:
		tw_text_printf(t, "%s %u at the bit %s of ", type_name(op->type), op->size, register_name(op->count));
		print_address(t, op);
		break;
	case TW_OP_XSAVE:
		tw_text_printf(t, "%s the state components of value %u at ", type_name(op->type), op->value);
		print_address(t, op);
		break;
	default:
		tw_text_printf(t, "%s %u at ", type_name(op->type), op->size);
		print_address(t, op);
		break;
	}
	tw_text_printf(t, "\n");
}

static void print_insn(struct tw_text *t, const struct tw_descriptor *d, unsigned insn)
{
	char text[128];
	const struct tw_op *op = tw_descriptor_ops(d);
	uint64_t pc = tw_disassemble(d, insn, text, sizeof text);
	tw_text_printf(t, "    %8llx  %s\n", (unsigned long long)pc, text);
	for (unsigned i = 0; i < d->n_ops; i++)
		if (op[i].insn == insn)
			print_op(t, &op[i]);
}

static void print_block(struct tw_text *t, const struct tw_descriptor *d, const struct tw_block *b)
{
	tw_text_printf(t, "  block %llx: %u instructions, %u bytes, ends with %s", (unsigned long long)b->pc, b->n_insns, b->bytes,
	               tw_end_name(b->end));
	if (b->end == TW_END_JUMP || b->end == TW_END_COND || b->end == TW_END_CALL)
		tw_text_printf(t, " to %llx", (unsigned long long)b->target);
	tw_text_printf(t, "\n");
	for (unsigned i = 0; i < b->n_insns; i++)
		print_insn(t, d, b->first_insn + i);
}

void tw_code_print(struct tw_text *t, const struct tw_descriptor *d)
{
	tw_text_printf(t, "fragment %u, process %u: %u blocks, %u instructions, %u values; known at entry:", d->number, d->pid, d->n_blocks,
	               d->n_insns, d->n_values);
	for (unsigned r = 0; r < TW_NREGS; r++)
		if (d->context >> r & 1)
			tw_text_printf(t, " %s", registers[r]);
	tw_text_printf(t, d->context ? "%s\n" : " nothing%s\n",
	               d->flags & TW_DESC_LOOP ? "; its value says how often it ran in a row" : "");
	for (unsigned i = 0; i < d->n_blocks; i++)
		print_block(t, d, tw_descriptor_blocks(d) + i);
}
