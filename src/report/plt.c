#include "report/plt.h"

#include <elf.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

enum { STUB_BYTES = 16 };

/* The PLT section that holds vaddr, or NULL. */
static Elf_Scn *plt_section(Elf *elf, uint64_t vaddr, GElf_Shdr *sh)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, sh) || vaddr < sh->sh_addr || vaddr - sh->sh_addr >= sh->sh_size || sh->sh_type != SHT_PROGBITS)
			continue;
		const char *name = elf_strptr(elf, names, sh->sh_name);
		return name && !strncmp(name, ".plt", 4) ? scn : NULL;
	}
	return NULL;
}

/* Address of the slot that the stub at `stub` jumps through (jmp *disp(%rip)), 0 if it does not. */
static uint64_t slot_of(Elf_Scn *scn, const GElf_Shdr *sh, uint64_t stub, unsigned bytes)
{
	const Elf_Data *data = elf_rawdata(scn, NULL);
	uint64_t at = stub - sh->sh_addr;
	for (unsigned i = 0; data && i + 6 <= bytes && at + i + 6 <= data->d_size; i++) {
		const uint8_t *p = (const uint8_t *)data->d_buf + at + i;
		int32_t disp;
		memcpy(&disp, p + 2, sizeof disp);
		if (p[0] == 0xff && p[1] == 0x25)
			return stub + i + 6 + (uint64_t)(int64_t)disp;
	}
	return 0;
}

/* The name of the symbol that relocation section `scn` puts into the slot, or NULL. */
static const char *symbol_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t slot)
{
	Elf_Data *relocations = elf_getdata(scn, NULL);
	Elf_Scn *symbols = elf_getscn(elf, sh->sh_link);
	GElf_Shdr symbols_sh;
	if (!relocations || !sh->sh_entsize || !symbols || !gelf_getshdr(symbols, &symbols_sh))
		return NULL;
	for (int i = 0; i < (int)(sh->sh_size / sh->sh_entsize); i++) {
		GElf_Rela r;
		GElf_Sym sym;
		if (!gelf_getrela(relocations, i, &r) || r.r_offset != slot)
			continue;
		Elf_Data *table = elf_getdata(symbols, NULL);
		if (table && gelf_getsym(table, (int)GELF_R_SYM(r.r_info), &sym) && sym.st_name)
			return elf_strptr(elf, symbols_sh.sh_link, sym.st_name);
	}
	return NULL;
}

int tw_plt_name(Elf *elf, uint64_t vaddr, char *name, size_t size, uint64_t *start)
{
	GElf_Shdr sh;
	Elf_Scn *plt = plt_section(elf, vaddr, &sh);
	if (!plt)
		return 0;
	unsigned bytes = sh.sh_entsize == 8 ? 8 : STUB_BYTES;
	*start = vaddr - (vaddr - sh.sh_addr) % bytes;
	uint64_t slot = slot_of(plt, &sh, *start, bytes);
	for (Elf_Scn *scn = NULL; slot && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr rela;
		if (!gelf_getshdr(scn, &rela) || rela.sh_type != SHT_RELA)
			continue;
		const char *symbol = symbol_in(elf, scn, &rela, slot);
		if (symbol) {
			snprintf(name, size, "%s@plt", symbol);
			return 1;
		}
	}
	snprintf(name, size, "plt");
	return 1;
}
