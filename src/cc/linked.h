/*
 * A linked program or library, as a file in memory: its sections, and the file contents for an address.
 */
#ifndef TW_CC_LINKED_H
#define TW_CC_LINKED_H

#include "base/cc_section.h"

#include <elf.h>
#include <stdint.h>

struct tw_cc_linked {
	uint8_t *at;
	uint64_t n;
	const Elf64_Shdr *section;
	uint32_t n_sections;
};

/* Has the file so many bytes from there on? */
static inline int tw_cc_linked_has(const struct tw_cc_linked *f, uint64_t from, uint64_t n)
{
	return from <= f->n && n <= f->n - from;
}

/* Maps the file, to be unmapped by munmap(at, n). -1: not possible, and errno says why; or it is empty, or not a file. */
int tw_cc_linked_map(const char *path, int writable, struct tw_cc_linked *f);

/* Finds its sections. -1: not a program or library for x86-64. */
int tw_cc_linked_read(struct tw_cc_linked *f);

/* The first section of that name that has contents; NULL: there is none. */
const Elf64_Shdr *tw_cc_linked_section(const struct tw_cc_linked *f, const char *name);

/* Where the file has what is at this address; NULL: nowhere. */
uint8_t *tw_cc_linked_at(const struct tw_cc_linked *f, uint64_t address, uint64_t n);

/* The only executable segment; NULL: there are several, or it is writable. */
const Elf64_Phdr *tw_cc_linked_code(const struct tw_cc_linked *f);

/* The first part (base/cc_section.h) from *at on; *at is moved to it. 0: there is none. Skips what linkers put between parts. */
int tw_cc_linked_part(const struct tw_cc_linked *f, const Elf64_Shdr *section, uint64_t *at, struct tw_cc_part *part);

/* Is all of the part in the section? */
static inline int tw_cc_linked_is_sound(const Elf64_Shdr *section, uint64_t at, const struct tw_cc_part *part)
{
	return part->bytes >= sizeof *part && part->bytes <= section->sh_size - at;
}

#endif
