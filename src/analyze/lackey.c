#include "analyze/lackey.h"
#include "base/text.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

struct tw_lackey {
	struct tw_lackey_insn *insns;
	size_t *row[65536]; /* by upper, then lower half of a fragment's number: where its instructions begin */
};

/* Whether it is the string instruction with these four names. */
static int is_string(const ZydisDecodedInstruction *insn, ZydisMnemonic b, ZydisMnemonic w, ZydisMnemonic d, ZydisMnemonic q)
{
	/* movsd and cmpsd are vector instructions too, of another opcode map */
	return insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       (insn->mnemonic == b || insn->mnemonic == w || insn->mnemonic == d || insn->mnemonic == q);
}

#define IS_STRING(insn, name)                                                                                                              \
	is_string(insn, ZYDIS_MNEMONIC_##name##B, ZYDIS_MNEMONIC_##name##W, ZYDIS_MNEMONIC_##name##D, ZYDIS_MNEMONIC_##name##Q)

static uint8_t string_flags(const ZydisDecodedInstruction *insn)
{
	const uint64_t prefixes = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
	uint8_t repeated = insn->attributes & prefixes ? TW_LACKEY_REPEATED : 0;
	if (IS_STRING(insn, CMPS))
		return TW_LACKEY_PAIRS | TW_LACKEY_SWAPPED | (repeated ? TW_LACKEY_REPEATED | TW_LACKEY_UNTIL : 0);
	if (IS_STRING(insn, SCAS))
		return repeated ? TW_LACKEY_REPEATED | TW_LACKEY_UNTIL : 0;
	if (IS_STRING(insn, MOVS))
		return repeated | TW_LACKEY_PAIRS;
	return IS_STRING(insn, STOS) || IS_STRING(insn, LODS) ? repeated : 0;
}

static int is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
	return byte >> 4 == 4 || memchr(prefixes, byte, sizeof prefixes);
}

/* Whether, by its first bytes, it may be an instruction with flags: locked, xchg, or a string instruction. */
static int may_have_flags(const uint8_t *code, unsigned length)
{
	unsigned i = 0;
	int locked = 0;
	for (; i < length && is_prefix(code[i]); i++)
		locked |= code[i] == 0xf0;
	const uint8_t opcode = i < length ? code[i] : 0;
	return locked || opcode == 0x86 || opcode == 0x87 || opcode >> 3 == 0x90 >> 3 || (opcode >= 0xa4 && opcode <= 0xaf);
}

static uint8_t flags_of(const ZydisDecoder *decoder, const uint8_t *code, unsigned length)
{
	ZydisDecodedInstruction insn;
	if (!may_have_flags(code, length) || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, code, length, &insn)))
		return 0;
	switch (insn.mnemonic) {
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		return 0;
	case ZYDIS_MNEMONIC_XCHG:
		return TW_LACKEY_LOCKED;
	default:
		return insn.attributes & ZYDIS_ATTRIB_HAS_LOCK ? TW_LACKEY_LOCKED : string_flags(&insn);
	}
}

static uint8_t print_line(char *line, uint64_t pc, unsigned bytes)
{
	char *p = line;
	*p++ = 'I';
	*p++ = ' ';
	*p++ = ' ';
	p = tw_put_hex(p, pc, 8);
	*p++ = ',';
	p = tw_put_decimal(p, bytes);
	*p++ = '\n';
	return (uint8_t)(p - line);
}

static void fill_insns(struct tw_lackey_insn *insns, const struct tw_descriptor *d, const ZydisDecoder *decoder, int lines)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	const uint8_t *code = tw_descriptor_code(d);
	const uint8_t *code_end = code + d->code_bytes;
	for (unsigned k = 0; k < d->n_blocks; k++) {
		uint64_t pc = b[k].pc;
		for (unsigned i = b[k].first_insn; i < (unsigned)b[k].first_insn + b[k].n_insns; i++) {
			const uint8_t flags = code_end - code >= bytes[i] ? flags_of(decoder, code, bytes[i]) : 0;
			if (lines)
				insns[i].length = print_line(insns[i].line, pc, bytes[i]);
			if (flags) /* most have none: of what stays zeros no memory is used */
				insns[i].flags = flags;
			pc += bytes[i];
			code += bytes[i];
		}
	}
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

static int fill(struct tw_lackey *l, const struct tw_recording *r, int lines)
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
		fill_insns(l->insns + n, d, &decoder, lines);
		if (!set_row(l, d->number, n))
			return 0;
		n += d->n_insns;
	}
	return 1;
}

struct tw_lackey *tw_lackey_new(const struct tw_recording *r, int lines)
{
	struct tw_lackey *l = calloc(1, sizeof *l);
	if (l && !fill(l, r, lines)) {
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
