#include "engine/code/show.h"
#include "engine/x86_64/decode.h"
#include "engine/record/instrumentor.h"
#define ZYDIS_STATIC_BUILD
#include <Zydis/Zydis.h>

struct show {
	const struct fragment *f;
	const struct block *b;
	const struct plan *p;
};

static const char *const reg_name[TW_NREGS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                               "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const op_name[TW_NOPS] = {"record", "set", "ref", "bit", "rep", "lanes", "xsave", "written", "calc"};
static const char *const type_name[] = {"", "read", "write", "modify"};

static const char *name_of(u8 reg)
{
	return reg < TW_NREGS ? reg_name[reg] : "-";
}

/* Disassembles n bytes as if located at pc; `marks`: the fragment, to show the state map with it. */
static void show_code(const u8 *code, u64 n, u64 pc, const struct fragment *marks)
{
	ZydisDecoder d;
	ZydisFormatter format;
	ZydisDecodedInstruction z;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	char text[128];
	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&format, ZYDIS_FORMATTER_STYLE_INTEL);
	for (u64 at = 0; at < n; at += z.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, code + at, n - at, &z, o))) {
			tw_print("    %lx  (bad) %02x\n", (unsigned long)(pc + at), code[at]);
			return;
		}
		ZydisFormatterFormatInstruction(&format, &z, o, z.operand_count_visible, text, sizeof text, pc + at, NULL);
		if (!marks) {
			tw_print("    %lx  %s\n", (unsigned long)(pc + at), text);
			continue;
		}
		const struct state_entry s = tw_state_at(&marks->rec.map, pc + at);
		tw_print("    %lx  %s  ; insn %d state %x\n", (unsigned long)(pc + at), text, s.insn, s.flags);
	}
}

static void show_ops(const struct plan *p)
{
	for (u16 k = 0; k < p->n_ops; k++) {
		const struct tw_op *op = &p->op[k];
		tw_print("    insn %d %s", op->insn, op_name[op->kind]);
		if (tw_op_is_update(op))
			tw_print(" %s =", name_of((u8)op->count));
		if (op->kind == TW_OP_CALC)
			tw_print(" operation %d of", op->type);
		tw_print(" base %s index %s<<%d disp %ld", name_of(op->base), name_of(op->index), op->scale, (long)op->disp);
		if (op->kind == TW_OP_RECORD)
			tw_print(" slot %d", op->value);
		else if (op->kind == TW_OP_WRITTEN)
			tw_print(" registers %x", op->count);
		else if (!tw_op_is_update(op))
			tw_print(" seg %d %s size %u count %d slots %d, %d flags %x", op->seg, type_name[op->type & 3], op->size, op->count,
			         op->value, op->mask_value, op->flags);
		tw_print("\n");
	}
}

static void show(void *arg)
{
	const struct show *s = arg;
	tw_print("fragment %u: pc %lx context %x, %d instructions, %d values\n  application:\n",
	         tw_recorder.whole->records ? s->f->rec.number : 0, (unsigned long)s->f->rec.pc, s->f->rec.context, s->b->n_insns,
	         s->p->n_values);
	for (u16 k = 0; k < s->b->n_insns; k++)
		show_code(s->b->insn[k].raw, s->b->insn[k].len, s->b->insn[k].pc, NULL);
	tw_print("  descriptor:\n");
	show_ops(s->p);
	tw_print("  translation, buffer register %s:\n", s->f->rec.map.t_reg == TW_NOREG ? "r11" : name_of(s->f->rec.map.t_reg));
	show_code(s->f->rec.map.code, s->f->rec.map.code_bytes, (u64)s->f->rec.map.code, s->f);
}

void tw_show_fragment(const struct fragment *f, const struct block *b, const struct plan *p)
{
	struct show s = {f, b, p};
	tw_with_decoder(show, &s);
}
