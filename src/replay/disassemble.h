/*
 * Disassembly of an instruction in a descriptor, for people to read. Replay itself needs no decoder; messages and
 * dumps do.
 */
#ifndef TW_DISASSEMBLE_H
#define TW_DISASSEMBLE_H

#include <stddef.h>
#include <trackway/descriptor.h>

/* Writes instruction `insn` in Intel syntax to `text`, "(no code)" if its bytes are not there or do not decode. Returns its address, 0 if
 * the fragment has no such instruction. */
uint64_t tw_disassemble(const struct tw_descriptor *d, unsigned insn, char *text, size_t size);

#endif
