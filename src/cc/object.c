#include "cc/object.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_sections(struct tw_cc_object *o, Elf *elf)
{
	size_t n = 0;
	if (elf_getshdrnum(elf, &n) || !(o->section = calloc(n + 1, sizeof *o->section)))
		return -1;
	o->n_sections = (uint32_t)n;
	for (uint32_t i = 1; i < n; i++) {
		GElf_Shdr h;
		Elf_Scn *scn = elf_getscn(elf, i);
		if (!gelf_getshdr(scn, &h))
			return -1;
		const Elf_Data *d = h.sh_type == SHT_PROGBITS ? elf_rawdata(scn, NULL) : NULL;
		if (d)
			o->section[i] = (struct tw_cc_section){d->d_buf, d->d_size, (h.sh_flags & SHF_EXECINSTR) != 0};
	}
	return 0;
}

static int read_symbols(struct tw_cc_object *o, Elf *elf, Elf_Scn *scn, const GElf_Shdr *h)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	o->n_symbols = (uint32_t)(h->sh_size / sizeof(Elf64_Sym));
	o->symbol = calloc(o->n_symbols + 1, sizeof *o->symbol);
	for (uint32_t i = 0; o->symbol && i < o->n_symbols; i++) {
		GElf_Sym s;
		if (!gelf_getsym(d, (int)i, &s))
			return -1;
		const char *name = elf_strptr(elf, h->sh_link, s.st_name);
		o->symbol[i] = (struct tw_cc_symbol){
		    name ? name : "",       s.st_value, s.st_size, s.st_shndx < o->n_sections ? s.st_shndx : 0, GELF_ST_TYPE(s.st_info),
		    GELF_ST_BIND(s.st_info)};
	}
	return o->symbol ? 0 : -1;
}

static int read_relocs(struct tw_cc_object *o, Elf_Scn *scn, const GElf_Shdr *h)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	uint32_t n = (uint32_t)(h->sh_size / sizeof(Elf64_Rela));
	struct tw_cc_reloc *more = realloc(o->reloc, (o->n_relocs + n + 1) * sizeof *more);
	if (!more)
		return -1;
	o->reloc = more;
	for (uint32_t i = 0; i < n; i++) {
		GElf_Rela r;
		if (!gelf_getrela(d, (int)i, &r))
			return -1;
		o->reloc[o->n_relocs++] = (struct tw_cc_reloc){(uint32_t)h->sh_info, (uint32_t)GELF_R_TYPE(r.r_info),
		                                               (uint32_t)GELF_R_SYM(r.r_info), r.r_offset, r.r_addend};
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct tw_cc_reloc *x = a, *y = b;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int read_tables(struct tw_cc_object *o, Elf *elf)
{
	for (uint32_t i = 1; i < o->n_sections; i++) {
		GElf_Shdr h;
		Elf_Scn *scn = elf_getscn(elf, i);
		if (!gelf_getshdr(scn, &h))
			return -1;
		if (h.sh_type == SHT_SYMTAB && read_symbols(o, elf, scn, &h))
			return -1;
		if (h.sh_type == SHT_RELA && h.sh_info < o->n_sections && o->section[h.sh_info].is_code && read_relocs(o, scn, &h))
			return -1;
	}
	if (o->n_relocs)
		qsort(o->reloc, o->n_relocs, sizeof *o->reloc, by_place);
	return o->symbol ? 0 : -1;
}

int tw_cc_object_read(const char *path, struct tw_cc_object *o)
{
	GElf_Ehdr h;
	memset(o, 0, sizeof *o);
	elf_version(EV_CURRENT);
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = o->fd >= 0 ? elf_begin(o->fd, ELF_C_READ_MMAP, NULL) : NULL;
	o->elf = elf;
	if (!elf || !gelf_getehdr(elf, &h) || h.e_machine != EM_X86_64 || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_REL)
		return -1;
	return read_sections(o, elf) || read_tables(o, elf) ? -1 : 0;
}

void tw_cc_object_free(struct tw_cc_object *o)
{
	free(o->section);
	free(o->symbol);
	free(o->reloc);
	if (o->elf)
		elf_end(o->elf);
	if (o->fd >= 0)
		close(o->fd);
}

const struct tw_cc_reloc *tw_cc_object_reloc(const struct tw_cc_object *o, uint32_t section, uint64_t from, uint64_t to)
{
	uint32_t low = 0, high = o->n_relocs;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		const struct tw_cc_reloc *r = &o->reloc[mid];
		if (r->section < section || (r->section == section && r->at < from))
			low = mid + 1;
		else
			high = mid;
	}
	const struct tw_cc_reloc *r = &o->reloc[low];
	return low < o->n_relocs && r->section == section && r->at < to ? r : NULL;
}
