/*
 * Names of PLT stubs, which have no symbols of their own: the symbol of the relocation that fills the slot they jump through.
 */
#ifndef TW_PLT_H
#define TW_PLT_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

/* If the file's address `vaddr` is in a PLT stub: writes "name@plt" and the stub's first address, and returns 1; else 0. */
int tw_plt_name(Elf *elf, uint64_t vaddr, char *name, size_t size, uint64_t *start);

#endif
