#include "learn/module.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <unistd.h>

static void take_build_id(Elf *elf, struct tw_module_file *m)
{
	const void *bytes;
	const ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);
	for (ssize_t i = 0; i < n && 2 * i + 2 < TW_BUILD_ID_TEXT; i++)
		snprintf(m->build_id + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
}

static void take_code(Elf *elf, struct tw_module_file *m)
{
	size_t n = 0;
	GElf_Phdr p;
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && m->n_code < TW_MODULE_SEGMENTS; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		m->code[m->n_code].vaddr = p.p_vaddr;
		m->code[m->n_code].offset = p.p_offset;
		m->code[m->n_code++].bytes = p.p_filesz;
	}
}

void tw_module_read(const char *path, struct tw_module_file *m)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	*m = (struct tw_module_file){.n_code = 0};
	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf) {
		take_build_id(elf, m);
		take_code(elf, m);
	}
	elf_end(elf);
	close(fd);
}

int tw_module_offset(const struct tw_module_file *m, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < m->n_code; i++) {
		*offset = vaddr - m->code[i].vaddr + m->code[i].offset;
		if (vaddr - m->code[i].vaddr < m->code[i].bytes)
			return 1;
	}
	return 0;
}

int tw_module_vaddr(const struct tw_module_file *m, uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < m->n_code; i++) {
		*vaddr = offset - m->code[i].offset + m->code[i].vaddr;
		if (offset - m->code[i].offset < m->code[i].bytes)
			return 1;
	}
	return 0;
}
