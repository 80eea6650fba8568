/*
 * so2asm: turn a shared library into assembly that links statically.
 *
 *     so2asm LIBRARY.so PREFIX > PREFIX.S
 *
 * Debian ships Zydis only as a shared library, and the engine, which runs inside a foreign process before any loader, has none to load it
 * with. The library's loaded image is written to PREFIX.bin and included piece by piece; each relocation becomes a `.quad` the linker
 * resolves. Every function the library defines becomes a global symbol; what it imports (memcpy, memset, strlen, __assert_fail,
 * __stack_chk_fail) the engine provides. Constructors are not run: the decoder has none that matter. Where it looks at a stack guard in %fs,
 * which is the foreign process's, it gets a constant.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
	uint8_t *file;
	uint8_t *mem;
	size_t size;
	const Elf64_Sym *sym;
	const char *str;
	size_t n_sym;
};

static void die(const char *what)
{
	fprintf(stderr, "so2asm: %s\n", what);
	exit(1);
}

static uint8_t *read_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		die("cannot open the library");
	uint8_t *p = malloc((size_t)st.st_size);
	if (!p || read(fd, p, (size_t)st.st_size) != st.st_size)
		die("cannot read the library");
	close(fd);
	return p;
}

static void load_segments(struct image *im)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)im->file;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(im->file + eh->e_phoff);
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_machine != EM_X86_64 || eh->e_type != ET_DYN)
		die("not an x86-64 shared library");
	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr + ph[i].p_memsz > im->size)
			im->size = ph[i].p_vaddr + ph[i].p_memsz;
	im->size = (im->size + 4095) & ~(size_t)4095;
	im->mem = calloc(1, im->size);
	if (!im->mem)
		die("out of memory");
	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			memcpy(im->mem + ph[i].p_vaddr, im->file + ph[i].p_offset, ph[i].p_filesz);
}

/* Bytes of an instruction that has %fs:0x28 as its source, as compilers make it: the prefix, REX, an opcode, ModRM, SIB and the displacement. */
enum { GUARD_BYTES = 9, GUARD_VALUE = 0x5afe0d };

static int is_guard(const uint8_t *p)
{
	static const uint8_t end[] = {0x25, 0x28, 0, 0, 0};
	return p[0] == 0x64 && !memcmp(p + 4, end, sizeof end);
}

/* The same with a constant: C7 /0, or 81 with what is done as its /digit. */
static void replace_guard(uint8_t *p)
{
	const int32_t value = GUARD_VALUE;
	const uint8_t rex = p[1], opcode = p[2], reg = p[3] >> 3 & 7;
	const int digit = opcode == 0x8b ? 0 : opcode == 0x2b ? 5 : opcode == 0x33 ? 6 : opcode == 0x3b ? 7 : -1;
	if ((rex & 0xfb) != 0x48 || (p[3] & 0xc7) != 0x04 || digit < 0)
		die("a stack guard that is looked at in a way it does not know");
	p[0] = 0x48 | (rex >> 2 & 1); /* the register is in another field now */
	p[1] = opcode == 0x8b ? 0xc7 : 0x81;
	p[2] = (uint8_t)(0xc0 | digit << 3 | reg);
	memcpy(p + 3, &value, sizeof value);
	p[7] = 0x66; /* a nop */
	p[8] = 0x90;
}

static void replace_guards(struct image *im)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)im->file;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(im->file + eh->e_phoff);
	for (int i = 0; i < eh->e_phnum; i++)
		for (size_t at = 0; ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X && at + GUARD_BYTES <= ph[i].p_filesz; at++)
			if (is_guard(im->mem + ph[i].p_vaddr + at))
				replace_guard(im->mem + ph[i].p_vaddr + at);
}

static void find_symbols(struct image *im)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)im->file;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(im->file + eh->e_shoff);
	for (int i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type != SHT_DYNSYM)
			continue;
		im->sym = (const Elf64_Sym *)(im->file + sh[i].sh_offset);
		im->n_sym = sh[i].sh_size / sizeof(Elf64_Sym);
		im->str = (const char *)(im->file + sh[sh[i].sh_link].sh_offset);
	}
	if (!im->sym)
		die("no dynamic symbols");
}

static int by_offset(const void *a, const void *b)
{
	uint64_t x = ((const Elf64_Rela *)a)->r_offset, y = ((const Elf64_Rela *)b)->r_offset;
	return x < y ? -1 : x > y;
}

/* All relocations of the file, sorted by the place they change. */
static Elf64_Rela *collect_relocations(const struct image *im, size_t *n)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)im->file;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(im->file + eh->e_shoff);
	Elf64_Rela *all = NULL;
	*n = 0;
	for (int i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type != SHT_RELA)
			continue;
		size_t k = sh[i].sh_size / sizeof(Elf64_Rela);
		all = realloc(all, (*n + k) * sizeof(Elf64_Rela));
		if (!all)
			die("out of memory");
		memcpy(all + *n, im->file + sh[i].sh_offset, k * sizeof(Elf64_Rela));
		*n += k;
	}
	if (all)
		qsort(all, *n, sizeof(Elf64_Rela), by_offset);
	return all;
}

static void write_relocation(const struct image *im, const Elf64_Rela *r)
{
	const Elf64_Sym *s = &im->sym[ELF64_R_SYM(r->r_info)];
	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_RELATIVE:
		printf("\t.quad tw_so_image + %#llx\n", (unsigned long long)r->r_addend);
		return;
	case R_X86_64_64:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		if (s->st_shndx != SHN_UNDEF)
			printf("\t.quad tw_so_image + %#llx\n", (unsigned long long)(s->st_value + (uint64_t)r->r_addend));
		else if (ELF64_ST_BIND(s->st_info) == STB_WEAK)
			printf("\t.quad 0\n");
		else
			printf("\t.quad %s\n", im->str + s->st_name);
		return;
	default:
		die("a relocation of a kind it does not know");
	}
}

int main(int argc, char **argv)
{
	struct image im = {0};
	char bin[4096];
	if (argc != 3)
		die("usage: so2asm LIBRARY.so PREFIX");
	im.file = read_file(argv[1]);
	load_segments(&im);
	replace_guards(&im);
	find_symbols(&im);
	snprintf(bin, sizeof bin, "%s.bin", argv[2]);
	FILE *f = fopen(bin, "wb");
	if (!f || fwrite(im.mem, 1, im.size, f) != im.size || fclose(f) != 0)
		die("cannot write the image");

	size_t n, at = 0;
	Elf64_Rela *rela = collect_relocations(&im, &n);
	printf("\t.section .zydis,\"awx\",@progbits\n\t.balign 4096\ntw_so_image:\n");
	for (size_t i = 0; i < n; i++) {
		if (rela[i].r_offset > at)
			printf("\t.incbin \"%s\", %zu, %zu\n", bin, at, (size_t)rela[i].r_offset - at);
		write_relocation(&im, &rela[i]);
		at = rela[i].r_offset + 8;
	}
	printf("\t.incbin \"%s\", %zu, %zu\n", bin, at, im.size - at);
	for (size_t i = 1; i < im.n_sym; i++)
		if (im.sym[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(im.sym[i].st_info) == STT_FUNC)
			printf("\t.globl %s\n\t.set %s, tw_so_image + %#llx\n", im.str + im.sym[i].st_name, im.str + im.sym[i].st_name,
			       (unsigned long long)im.sym[i].st_value);
	printf("\t.section .note.GNU-stack,\"\",@progbits\n");
	return 0;
}
