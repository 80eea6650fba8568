#include "export/lackey.h"
#include "export/text.h"
#include "replay/disassemble.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>

struct tw_lackey {
	struct tw_lackey_insn *insns;
	size_t *row[65536]; /* by a fragment number's upper half, then lower: where its instructions begin */
};

/* What Valgrind makes of an instruction whatever its prefixes repeat. */
static uint8_t flags_of(const ZydisDecoder *decoder, const uint8_t *code, unsigned length)
{
	ZydisDecodedInstruction insn;
	if (!code || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, code, length, &insn)))
		return 0;
	switch (insn.mnemonic) {
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		return 0;
	case ZYDIS_MNEMONIC_XCHG:
		return TW_LACKEY_LOCKED;
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPSQ:
		return TW_LACKEY_PAIRS | TW_LACKEY_SWAPPED;
	case ZYDIS_MNEMONIC_CMPSD: /* the vector instruction of this name has another encoding */
		return insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT
		           ? TW_LACKEY_PAIRS | TW_LACKEY_SWAPPED
		           : 0;
	default:
		return insn.attributes & ZYDIS_ATTRIB_HAS_LOCK ? TW_LACKEY_LOCKED : 0;
	}
}

static uint8_t rep_flags(const struct tw_op *op)
{
	uint8_t flags = TW_LACKEY_REPEATED;
	if (op->flags & TW_OPF_SECOND)
		flags |= TW_LACKEY_PAIRS;
	/* What only reads and moves rdi compares: cmps, scas. */
	if (op->type == TW_READ && (op->flags & TW_OPF_SECOND ? op->count == TW_READ : op->base == TW_RDI))
		flags |= TW_LACKEY_UNTIL;
	return flags;
}

static void fill_flags(struct tw_lackey_insn *insns, const struct tw_descriptor *d, const ZydisDecoder *decoder)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	for (unsigned i = 0; i < d->n_ops; i++) {
		const uint8_t *code = NULL;
		unsigned length = 0;
		if (op[i].kind == TW_OP_RECORD || op[i].kind == TW_OP_SET || !tw_insn_at(d, op[i].insn, &code, &length))
			continue;
		insns[op[i].insn].flags = flags_of(decoder, code, length);
		if (op[i].kind == TW_OP_REP)
			insns[op[i].insn].flags |= rep_flags(&op[i]);
	}
}

static void fill_insns(struct tw_lackey_insn *insns, const struct tw_descriptor *d, const ZydisDecoder *decoder)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	for (unsigned k = 0; k < d->n_blocks; k++) {
		uint64_t pc = b[k].pc;
		for (unsigned i = b[k].first_insn; i < (unsigned)b[k].first_insn + b[k].n_insns; pc += bytes[i++]) {
			char *p = insns[i].line;
			*p++ = 'I';
			*p++ = ' ';
			*p++ = ' ';
			p = tw_put_hex(p, pc, 8);
			*p++ = ',';
			p = tw_put_decimal(p, bytes[i]);
			*p++ = '\n';
			insns[i].length = (uint8_t)(p - insns[i].line);
		}
	}
	fill_flags(insns, d, decoder);
}

static int set_row(struct tw_lackey *l, uint32_t number, size_t first)
{
	size_t **row = &l->row[number >> 16];
	if (!*row)
		*row = calloc(65536, sizeof **row);
	if (!*row)
		return 0;
	(*row)[number & 0xffff] = first;
	return 1;
}

static int fill(struct tw_lackey *l, const struct tw_recording *r)
{
	size_t n = 0, n_descriptors = tw_recording_n_descriptors(r);
	ZydisDecoder decoder;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; i < n_descriptors; i++)
		n += tw_recording_descriptor_at(r, i)->n_insns;
	l->insns = calloc(n + 1, sizeof *l->insns);
	if (!l->insns)
		return 0;
	n = 0;
	for (size_t i = 0; i < n_descriptors; i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(r, i);
		fill_insns(l->insns + n, d, &decoder);
		if (!set_row(l, d->number, n))
			return 0;
		n += d->n_insns;
	}
	return 1;
}

struct tw_lackey *tw_lackey_new(const struct tw_recording *r)
{
	struct tw_lackey *l = calloc(1, sizeof *l);
	if (l && !fill(l, r)) {
		tw_lackey_free(l);
		l = NULL;
	}
	return l;
}

void tw_lackey_free(struct tw_lackey *l)
{
	if (!l)
		return;
	for (int i = 0; i < 65536; i++)
		free(l->row[i]);
	free(l->insns);
	free(l);
}

const struct tw_lackey_insn *tw_lackey_insns(const struct tw_lackey *l, const struct tw_descriptor *d)
{
	return l->insns + l->row[d->number >> 16][d->number & 0xffff];
}
