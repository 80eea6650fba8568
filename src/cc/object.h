/*
 * Object files, as far as the rewriter needs them: code, symbols and relocations. By libelf.
 */
#ifndef TW_CC_OBJECT_H
#define TW_CC_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct tw_cc_section {
	const uint8_t *bytes;
	uint64_t n;
	int is_code;
};

struct tw_cc_symbol {
	const char *name;
	uint64_t value, size;
	uint32_t section; /* 0: it is defined elsewhere */
	uint8_t type, binding;
};

struct tw_cc_reloc {
	uint32_t section; /* in which it is */
	uint32_t type, symbol;
	uint64_t at;
	int64_t addend;
};

struct tw_cc_object {
	int fd;
	void *elf;
	struct tw_cc_section *section;
	uint32_t n_sections;
	struct tw_cc_symbol *symbol;
	uint32_t n_symbols;
	struct tw_cc_reloc *reloc; /* of code, by section and place */
	uint32_t n_relocs;
};

/* 0, or -1: it is no object file for this machine. Free it in both cases. */
int tw_cc_object_read(const char *path, struct tw_cc_object *o);
void tw_cc_object_free(struct tw_cc_object *o);

/* The relocation of this section in [from, to) that comes first, or NULL. */
const struct tw_cc_reloc *tw_cc_object_reloc(const struct tw_cc_object *o, uint32_t section, uint64_t from, uint64_t to);

#endif
