#include "replay/disassemble.h"

#include <Zydis/Zydis.h>
#include <stdio.h>

/* Address, bytes and length of an instruction; 0 if the fragment has no such instruction. *code is NULL if the bytes are not there. */
static uint64_t find_insn(const struct tw_descriptor *d, unsigned insn, const uint8_t **code, unsigned *length)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	unsigned at = 0;
	for (unsigned k = 0; k < d->n_blocks; k++) {
		uint64_t pc = b[k].pc;
		for (unsigned i = b[k].first_insn; i < (unsigned)b[k].first_insn + b[k].n_insns; i++) {
			if (i == insn) {
				*code = at + bytes[i] <= d->code_bytes ? tw_descriptor_code(d) + at : NULL;
				*length = bytes[i];
				return pc;
			}
			pc += bytes[i];
			at += bytes[i];
		}
	}
	return 0;
}

uint64_t tw_disassemble(const struct tw_descriptor *d, unsigned insn, char *text, size_t size)
{
	const uint8_t *code = NULL;
	unsigned length = 0;
	ZydisDisassembledInstruction decoded;
	uint64_t pc = find_insn(d, insn, &code, &length);
	if (code && ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, pc, code, length, &decoded)))
		snprintf(text, size, "%s", decoded.text);
	else
		snprintf(text, size, "(no code)");
	return pc;
}
