#include "export/champsim.h"
#include "analyze/by_fragment.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

struct tw_champsim {
	struct tw_champsim_insn *insns;
	struct tw_by_fragment first; /* a fragment's first instruction */
};

/* ---- registers ---- */

/* Registers in the order of their operands, each once; those that have no room are left out. */
struct registers {
	uint8_t number[ZYDIS_MAX_OPERAND_COUNT * 3 + 2];
	unsigned n;
};

static void add(struct registers *r, uint8_t number)
{
	if (number && !memchr(r->number, number, r->n))
		r->number[r->n++] = number;
}

static uint8_t general(unsigned id)
{
	static const uint8_t first[8] = {10, 9, 8, 7, TW_CHAMPSIM_RSP, 5, 4, 3}; /* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi */
	return id < 8 ? first[id] : (uint8_t)(TW_CHAMPSIM_GENERAL + id);
}

/* The flags and rip are added where the instruction is known (take_branch, take_other). */
static uint8_t number_of(ZydisRegister r)
{
	if (r == ZYDIS_REGISTER_NONE)
		return 0;
	const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	const ZydisRegister known = whole == ZYDIS_REGISTER_NONE ? r : whole;
	const uint8_t id = (uint8_t)ZydisRegisterGetId(known);
	switch (ZydisRegisterGetClass(known)) {
	case ZYDIS_REGCLASS_GPR64:
		return general(id);
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return (uint8_t)(TW_CHAMPSIM_VECTOR + id);
	case ZYDIS_REGCLASS_MASK:
		return (uint8_t)(TW_CHAMPSIM_MASK + id);
	case ZYDIS_REGCLASS_X87:
		return (uint8_t)(TW_CHAMPSIM_X87 + id);
	case ZYDIS_REGCLASS_MMX:
		return (uint8_t)(TW_CHAMPSIM_MMX + id);
	default:
		return 0;
	}
}

static void list_registers(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, struct registers *to, struct registers *from)
{
	for (unsigned k = 0; k < z->operand_count; k++) {
		if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			add(from, number_of(o[k].mem.base));
			add(from, number_of(o[k].mem.index));
		} else if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			if (o[k].actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE)) /* cmov keeps it, perhaps */
				add(from, number_of(o[k].reg.value));
			if (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				add(to, number_of(o[k].reg.value));
		}
	}
}

static void set(struct tw_champsim_insn *insn, const struct registers *to, const struct registers *from)
{
	memcpy(insn->to, to->number, to->n < TW_CHAMPSIM_TO ? to->n : TW_CHAMPSIM_TO);
	memcpy(insn->from, from->number, from->n < TW_CHAMPSIM_FROM ? from->n : TW_CHAMPSIM_FROM);
}

/* ---- kinds of instructions ---- */

static int is_direct(const ZydisDecodedOperand *target)
{
	return target->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* The registers that give an indirect branch its target. */
static void add_target(struct registers *from, const struct registers *read)
{
	const unsigned before = from->n;
	for (unsigned k = 0; k < read->n; k++)
		if (read->number[k] != TW_CHAMPSIM_RSP)
			add(from, read->number[k]);
	if (from->n == before)
		add(from, TW_CHAMPSIM_LOADED);
}

/* The registers by which the simulator tells the kinds of branches apart (inc/instruction.h). */
static void take_branch(struct tw_champsim_insn *insn, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
                        const struct registers *read)
{
	struct registers to = {{TW_CHAMPSIM_RIP}, 1}, from = {{0}, 0};
	const int is_stacked = z->meta.category == ZYDIS_CATEGORY_CALL || z->meta.category == ZYDIS_CATEGORY_RET;
	insn->flags |= TW_CHAMPSIM_BRANCH;
	if (is_stacked) {
		add(&to, TW_CHAMPSIM_RSP);
		add(&from, TW_CHAMPSIM_RSP);
	}
	if (z->meta.category == ZYDIS_CATEGORY_COND_BR) {
		insn->flags |= TW_CHAMPSIM_CONDITIONAL;
		add(&from, TW_CHAMPSIM_RIP);
		if (z->cpu_flags && z->cpu_flags->tested)
			add(&from, TW_CHAMPSIM_FLAGS);
		for (unsigned k = 0; k < read->n; k++) /* loop, jrcxz */
			add(&from, read->number[k]);
	} else if (z->meta.category != ZYDIS_CATEGORY_RET) {
		if (is_stacked || is_direct(o))
			add(&from, TW_CHAMPSIM_RIP);
		if (!is_direct(o))
			add_target(&from, read);
	}
	set(insn, &to, &from);
}

static void take_other(struct tw_champsim_insn *insn, const ZydisDecodedInstruction *z, struct registers *to, struct registers *from)
{
	const ZydisAccessedFlags *f = z->cpu_flags;
	if (f && f->tested)
		add(from, TW_CHAMPSIM_FLAGS);
	if (f && (f->modified | f->set_0 | f->set_1 | f->undefined))
		add(to, TW_CHAMPSIM_FLAGS);
	set(insn, to, from);
}

static uint8_t string_flags(const ZydisDecodedInstruction *z)
{
	const uint64_t prefixes = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
	if (!(z->attributes & prefixes))
		return 0;
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ:
		return TW_CHAMPSIM_REPEATED | TW_CHAMPSIM_PAIRS;
	default:
		return TW_CHAMPSIM_REPEATED;
	}
}

static struct tw_champsim_insn take(const ZydisDecoder *decoder, const uint8_t *code, uint8_t bytes)
{
	struct tw_champsim_insn insn = {.length = bytes};
	struct registers to = {.n = 0}, from = {.n = 0};
	ZydisDecodedInstruction z;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code, bytes, &z, o)))
		return insn;
	list_registers(&z, o, &to, &from);
	switch (z.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		take_branch(&insn, &z, o, &from);
		break;
	default:
		insn.flags = string_flags(&z);
		take_other(&insn, &z, &to, &from);
		break;
	}
	return insn;
}

/* ---- all fragments ---- */

static void fill_insns(struct tw_champsim_insn *insns, const struct tw_descriptor *d, const ZydisDecoder *decoder)
{
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	const uint8_t *code = tw_descriptor_code(d), *end = code + d->code_bytes;
	for (unsigned i = 0; i < d->n_insns && end - code >= bytes[i]; code += bytes[i++])
		insns[i] = take(decoder, code, bytes[i]);
}

static int fill(struct tw_champsim *c, const struct tw_recording *r)
{
	const size_t n = tw_recording_n_descriptors(r);
	size_t n_insns = 0;
	ZydisDecoder decoder;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; i < n; i++)
		n_insns += tw_recording_descriptor_at(r, i)->n_insns;
	c->insns = calloc(n_insns + 1, sizeof *c->insns);
	struct tw_champsim_insn *next = c->insns;
	for (size_t i = 0; next && i < n; i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(r, i);
		fill_insns(next, d, &decoder);
		if (!tw_by_fragment_set(&c->first, d->number, next))
			return 0;
		next += d->n_insns;
	}
	return next != NULL;
}

struct tw_champsim *tw_champsim_new(const struct tw_recording *r)
{
	struct tw_champsim *c = calloc(1, sizeof *c);
	if (c && !fill(c, r)) {
		tw_champsim_free(c);
		c = NULL;
	}
	return c;
}

void tw_champsim_free(struct tw_champsim *c)
{
	if (!c)
		return;
	tw_by_fragment_free(&c->first, NULL);
	free(c->insns);
	free(c);
}

const struct tw_champsim_insn *tw_champsim_insns(const struct tw_champsim *c, const struct tw_descriptor *d)
{
	return tw_by_fragment_get(&c->first, d->number);
}

/* ---- records ---- */

struct tw_champsim_record tw_champsim_record(const struct tw_champsim_insn *insn, uint64_t pc)
{
	const int is_branch = (insn->flags & TW_CHAMPSIM_BRANCH) != 0;
	struct tw_champsim_record record = {.pc = pc, .is_branch = is_branch, .is_taken = is_branch};
	memcpy(record.to, insn->to, sizeof record.to);
	memcpy(record.from, insn->from, sizeof record.from);
	return record;
}

/* The first free place of n. */
static unsigned free_place(const uint64_t *places, unsigned n)
{
	unsigned i = 0;
	while (i < n && places[i])
		i++;
	return i;
}

int tw_champsim_add(struct tw_champsim_record *record, const struct tw_ref *ref)
{
	const unsigned read = free_place(record->read, TW_CHAMPSIM_FROM), written = free_place(record->written, TW_CHAMPSIM_TO);
	if ((ref->type & TW_READ && read == TW_CHAMPSIM_FROM) || (ref->type & TW_WRITE && written == TW_CHAMPSIM_TO))
		return 0;
	if (ref->type & TW_READ)
		record->read[read] = ref->addr;
	if (ref->type & TW_WRITE)
		record->written[written] = ref->addr;
	return 1;
}
