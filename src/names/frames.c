#include "names/frames.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <string.h>

/* Encodings of addresses (DW_EH_PE_*): four signed bytes, relative to their place. The only one that compilers use on x86-64. */
enum { PCREL_SDATA4 = 0x1b };

static int find_section(Elf *elf, GElf_Shdr *sh, Elf_Data **data)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *name = gelf_getshdr(scn, sh) ? elf_strptr(elf, names, sh->sh_name) : NULL;
		if (!name || strcmp(name, ".eh_frame") || sh->sh_type == SHT_NOBITS)
			continue;
		*data = elf_rawdata(scn, NULL);
		return *data && (*data)->d_buf;
	}
	return 0;
}

/* The encoding of addresses of a CIE's functions; 0: absolute. */
static uint8_t encoding_of(const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	const char *letter = cie->augmentation;
	if (*letter++ != 'z')
		return 0;
	for (; *letter && data; letter++) {
		if (*letter == 'R')
			return *data;
		if (*letter == 'L')
			data++;
		else if (*letter == 'P')
			data += (*data & 7) == 3 ? 5 : 9; /* the encoding, and an address of four bytes or eight */
	}
	return 0;
}

/* `at`: the address of the section's first byte. */
static int visit(const Elf_Data *data, uint64_t at, const Dwarf_FDE *fde, int (*f)(void *context, uint64_t start, uint64_t end),
                 void *context)
{
	const uint8_t *from = fde->start, *begin = data->d_buf;
	int32_t start;
	uint32_t bytes;
	if (fde->end - from < 8)
		return 1;
	memcpy(&start, from, sizeof start);
	memcpy(&bytes, from + 4, sizeof bytes);
	const uint64_t address = at + (uint64_t)(from - begin) + (uint64_t)(int64_t)start;
	return !bytes || f(context, address, address + bytes);
}

int tw_frames_visit(Elf *elf, int (*f)(void *context, uint64_t start, uint64_t end), void *context)
{
	GElf_Shdr sh;
	Elf_Data *data;
	Dwarf_CFI_Entry entry;
	Dwarf_Off cie = (Dwarf_Off)-1, next = 0;
	uint8_t encoding = 0;
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	if (!ident || !find_section(elf, &sh, &data))
		return 1;
	for (Dwarf_Off at = 0; !dwarf_next_cfi(ident, data, 1, at, &next, &entry); at = next) {
		Dwarf_CFI_Entry of;
		Dwarf_Off unused;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie) {
			cie = entry.fde.CIE_pointer;
			encoding = dwarf_next_cfi(ident, data, 1, cie, &unused, &of) || !dwarf_cfi_cie_p(&of) ? 0 : encoding_of(&of.cie);
		}
		if (encoding == PCREL_SDATA4 && !visit(data, sh.sh_addr, &entry.fde, f, context))
			return 0;
	}
	return 1;
}
