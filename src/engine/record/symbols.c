#include "engine/record/symbols.h"
#include <asm/stat.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#define DEBUG_FILE "/usr/lib/debug/.build-id/"

/* A file in memory. */
struct image {
	const u8 *at;
	u64 bytes;
};

/* A search: for one function, or for those that have a number; and the addresses found so far. */
struct search {
	const char *function; /* NULL: number_of */
	u32 (*number_of)(const char *name, u32 bytes);
	struct tw_symbol *found;
	u32 n, max;
};

static bool open_image(const char *path, struct image *m)
{
	struct stat st;
	i64 fd = tw_sys(__NR_open, path, O_RDONLY | O_CLOEXEC, 0), at = -1;
	if (tw_failed(fd))
		return false;
	if (!tw_sys(__NR_fstat, fd, &st, 0) && st.st_size > 0)
		at = tw_mmap(0, (u64)st.st_size, PROT_READ, MAP_PRIVATE, (int)fd, 0);
	tw_sys(__NR_close, fd, 0, 0);
	*m = (struct image){(const u8 *)at, (u64)st.st_size};
	return !tw_failed(at);
}

static void close_image(const struct image *m)
{
	tw_sys(__NR_munmap, m->at, m->bytes, 0);
}

/* n items of this size at this offset, or NULL if they are not in the file. */
static const void *part(const struct image *m, u64 offset, u64 n, u64 size)
{
	bool fits = offset <= m->bytes && n <= (m->bytes - offset) / size;
	return fits && offset % 4 == 0 ? m->at + offset : NULL;
}

static const Elf64_Ehdr *header(const struct image *m)
{
	const Elf64_Ehdr *eh = part(m, 0, 1, sizeof *eh);
	bool good = eh && !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64;
	return good ? eh : NULL;
}

/* Is this the name, perhaps with a version behind it? */
static bool is_name(const char *name, u32 bytes, const char *function)
{
	const u32 n = (u32)strlen(function);
	return bytes >= n && !memcmp(name, function, n) && (bytes == n || name[n] == '@');
}

/* The number of the function at `at` of the table of names; 0: not looked for. */
static u32 wanted(const struct search *s, const char *names, u64 bytes, u64 at)
{
	u32 n = 0;
	while (at + n < bytes && names[at + n])
		n++;
	if (at + n >= bytes)
		return 0;
	return s->function ? is_name(names + at, n, s->function) : s->number_of(names + at, n);
}

static void add(struct search *s, u64 address, u32 number)
{
	for (u32 i = 0; i < s->n; i++)
		if (s->found[i].offset == address)
			return;
	if (s->n < s->max)
		s->found[s->n++] = (struct tw_symbol){address, number};
}

static void search_table(const struct image *m, const Elf64_Shdr *table, const Elf64_Shdr *strings, struct search *s)
{
	u64 n = table->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *symbol = part(m, table->sh_offset, n, sizeof *symbol);
	const char *names = (const char *)m->at + strings->sh_offset;
	if (!symbol || strings->sh_offset > m->bytes || strings->sh_size > m->bytes - strings->sh_offset)
		return;
	for (; n; n--, symbol++) {
		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
			continue;
		const u32 number = wanted(s, names, strings->sh_size, symbol->st_name);
		if (number)
			add(s, symbol->st_value, number);
	}
}

static void search_image(const struct image *m, struct search *s)
{
	const Elf64_Ehdr *eh = header(m);
	const Elf64_Shdr *sh = eh ? part(m, eh->e_shoff, eh->e_shnum, sizeof *sh) : NULL;
	for (u32 i = 0; sh && i < eh->e_shnum; i++)
		if ((sh[i].sh_type == SHT_SYMTAB || sh[i].sh_type == SHT_DYNSYM) && sh[i].sh_link < eh->e_shnum)
			search_table(m, &sh[i], &sh[sh[i].sh_link], s);
}

/* ---- the debug file ---- */

static bool is_build_id(const Elf64_Nhdr *n)
{
	return n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(n + 1, "GNU", 4);
}

/* The build-id note of a note segment, or NULL. */
static const Elf64_Nhdr *find_build_id(const struct image *m, const Elf64_Phdr *ph)
{
	u64 at = ph->p_offset, end = ph->p_offset + ph->p_filesz;
	while (at < end) {
		const Elf64_Nhdr *n = part(m, at, 1, sizeof *n + 4);
		if (!n)
			return NULL;
		u64 bytes = sizeof *n + ((n->n_namesz + 3ull) & ~3ull) + ((n->n_descsz + 3ull) & ~3ull);
		if (is_build_id(n))
			return part(m, at, bytes, 1);
		at += bytes;
	}
	return NULL;
}

static void search_debug_file(const struct image *m, struct search *s)
{
	const Elf64_Ehdr *eh = header(m);
	const Elf64_Phdr *ph = eh ? part(m, eh->e_phoff, eh->e_phnum, sizeof *ph) : NULL;
	const Elf64_Nhdr *id = NULL;
	for (u32 i = 0; ph && !id && i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_NOTE)
			id = find_build_id(m, &ph[i]);
	if (!id || id->n_descsz < 2 || id->n_descsz > 64)
		return;
	char path[sizeof DEBUG_FILE + 2 * 64 + 16];
	const u8 *byte = (const u8 *)(id + 1) + 4;
	size_t n = tw_format(path, sizeof path, DEBUG_FILE "%02x/", byte[0]);
	for (u32 i = 1; i < id->n_descsz; i++)
		n += tw_format(path + n, sizeof path - n, "%02x", byte[i]);
	tw_format(path + n, sizeof path - n, ".debug");
	struct image debug;
	if (!open_image(path, &debug))
		return;
	search_image(&debug, s);
	close_image(&debug);
}

/* ---- */

/* Turns found addresses into file offsets; drops those in no segment. */
static u32 to_offsets(const struct image *m, struct tw_symbol *found, u32 n)
{
	const Elf64_Ehdr *eh = header(m);
	const Elf64_Phdr *ph = eh ? part(m, eh->e_phoff, eh->e_phnum, sizeof *ph) : NULL;
	u32 kept = 0;
	for (u32 k = 0; ph && k < n; k++)
		for (u32 i = 0; i < eh->e_phnum; i++)
			if (ph[i].p_type == PT_LOAD && found[k].offset >= ph[i].p_vaddr &&
			    found[k].offset - ph[i].p_vaddr < ph[i].p_filesz) {
				found[kept] = (struct tw_symbol){found[k].offset - ph[i].p_vaddr + ph[i].p_offset, found[k].number};
				kept++;
				break;
			}
	return kept;
}

u32 tw_symbols_match(const char *path, u32 (*number_of)(const char *name, u32 bytes), struct tw_symbol *found, u32 max)
{
	struct image m;
	struct search s = {NULL, number_of, found, 0, max};
	if (!open_image(path, &m))
		return 0;
	search_image(&m, &s);
	const u32 n = to_offsets(&m, found, s.n);
	close_image(&m);
	return n;
}

u32 tw_symbols_find(const char *path, const char *function, struct tw_symbol *found, u32 max)
{
	struct image m;
	struct search s = {function, NULL, found, 0, max};
	if (!open_image(path, &m))
		return 0;
	search_image(&m, &s);
	if (!s.n)
		search_debug_file(&m, &s);
	const u32 n = to_offsets(&m, found, s.n);
	close_image(&m);
	return n;
}
