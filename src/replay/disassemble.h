/*
 * Disassembly of an instruction in a descriptor, for people to read. Replay itself needs no decoder; messages and dumps do.
 */
#ifndef TW_DISASSEMBLE_H
#define TW_DISASSEMBLE_H

#include <stddef.h>
#include <trackway/descriptor.h>

/* Writes instruction `insn` in Intel syntax to `text`, "(no code)" if its bytes are not there or do not decode. Returns its address, 0 if
 * the fragment has no such instruction. */
uint64_t tw_disassemble(const struct tw_descriptor *d, unsigned insn, char *text, size_t size);

/* Address, bytes and length of an instruction; 0 if the fragment has no such instruction. *code is NULL if the bytes are not there. */
uint64_t tw_insn_at(const struct tw_descriptor *d, unsigned insn, const uint8_t **code, unsigned *length);

#endif
