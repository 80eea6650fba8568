#include "cc/linked.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int tw_cc_linked_read(struct tw_cc_linked *f)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)f->at;
	if (f->n < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64 ||
	    (h->e_type != ET_EXEC && h->e_type != ET_DYN))
		return -1;
	f->section = (const Elf64_Shdr *)(const void *)(f->at + h->e_shoff);
	f->n_sections = h->e_shnum;
	return tw_cc_linked_has(f, h->e_shoff, h->e_shnum * sizeof *f->section) && h->e_shstrndx < h->e_shnum ? 0 : -1;
}

static const char *name_of(const struct tw_cc_linked *f, const Elf64_Shdr *s)
{
	const Elf64_Shdr *names = &f->section[((const Elf64_Ehdr *)(const void *)f->at)->e_shstrndx];
	return tw_cc_linked_has(f, names->sh_offset, names->sh_size) && s->sh_name < names->sh_size
	           ? (const char *)f->at + names->sh_offset + s->sh_name
	           : "";
}

const Elf64_Shdr *tw_cc_linked_section(const struct tw_cc_linked *f, const char *name)
{
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Shdr *s = &f->section[k];
		if (s->sh_type == SHT_PROGBITS && !strcmp(name_of(f, s), name) && tw_cc_linked_has(f, s->sh_offset, s->sh_size))
			return s;
	}
	return NULL;
}

uint8_t *tw_cc_linked_at(const struct tw_cc_linked *f, uint64_t address, uint64_t n)
{
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Shdr *s = &f->section[k];
		if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_ALLOC && s->sh_addr <= address &&
		    address - s->sh_addr + n <= s->sh_size && tw_cc_linked_has(f, s->sh_offset, s->sh_size))
			return f->at + s->sh_offset + (address - s->sh_addr);
	}
	return NULL;
}

const Elf64_Phdr *tw_cc_linked_code(const struct tw_cc_linked *f)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)f->at;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(f->at + h->e_phoff), *found = NULL;
	if (!tw_cc_linked_has(f, h->e_phoff, h->e_phnum * sizeof *p))
		return NULL;
	for (uint32_t k = 0; k < h->e_phnum; k++) {
		if (p[k].p_type != PT_LOAD || !(p[k].p_flags & PF_X))
			continue;
		if (found || p[k].p_flags & PF_W || !tw_cc_linked_has(f, p[k].p_offset, p[k].p_filesz))
			return NULL;
		found = &p[k];
	}
	return found;
}

int tw_cc_linked_part(const struct tw_cc_linked *f, const Elf64_Shdr *section, uint64_t *at, struct tw_cc_part *part)
{
	for (; *at + sizeof *part <= section->sh_size; ++*at) {
		memcpy(part, f->at + section->sh_offset + *at, sizeof *part);
		if (part->magic == TW_CC_MAGIC)
			return 1;
	}
	return 0;
}

int tw_cc_linked_map(const char *path, int writable, struct tw_cc_linked *f)
{
	struct stat st;
	int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	memset(f, 0, sizeof *f);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		void *at = mmap(NULL, (size_t)st.st_size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
		f->at = at == MAP_FAILED ? NULL : at;
		f->n = (uint64_t)st.st_size;
	}
	close(fd);
	return f->at ? 0 : -1;
}
