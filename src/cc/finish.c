#include "cc/finish.h"
#include "base/cc_section.h"
#include "base/channel.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_TAGS = 65536 };

struct file {
	uint8_t *at;
	uint64_t n;
	const Elf64_Shdr *section;
	uint32_t n_sections;
};

static int has(const struct file *f, uint64_t from, uint64_t n)
{
	return from <= f->n && n <= f->n - from;
}

static int read_headers(struct file *f)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)f->at;
	if (f->n < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64 ||
	    (h->e_type != ET_EXEC && h->e_type != ET_DYN))
		return -1;
	f->section = (const Elf64_Shdr *)(const void *)(f->at + h->e_shoff);
	f->n_sections = h->e_shnum;
	return has(f, h->e_shoff, h->e_shnum * sizeof *f->section) && h->e_shstrndx < h->e_shnum ? 0 : -1;
}

static const char *name_of(const struct file *f, const Elf64_Shdr *s)
{
	const Elf64_Shdr *names = &f->section[((const Elf64_Ehdr *)(const void *)f->at)->e_shstrndx];
	return has(f, names->sh_offset, names->sh_size) && s->sh_name < names->sh_size ? (const char *)f->at + names->sh_offset + s->sh_name
	                                                                               : "";
}

static const Elf64_Shdr *find_section(const struct file *f, const char *name)
{
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Shdr *s = &f->section[k];
		if (s->sh_type == SHT_PROGBITS && !strcmp(name_of(f, s), name) && has(f, s->sh_offset, s->sh_size))
			return s;
	}
	return NULL;
}

/* Where the file has what is at this address; NULL: nowhere. */
static uint8_t *at_address(const struct file *f, uint64_t address, uint64_t n)
{
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Shdr *s = &f->section[k];
		if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_ALLOC && s->sh_addr <= address &&
		    address - s->sh_addr + n <= s->sh_size && has(f, s->sh_offset, s->sh_size))
			return f->at + s->sh_offset + (address - s->sh_addr);
	}
	return NULL;
}

/* ---- parts ---- */

struct numbering {
	const struct file *file;
	const Elf64_Shdr *section;
	uint32_t tag, group; /* the next block's */
	uint64_t word;       /* of the file that the part before is of */
	int all_large;
};

static uint8_t *bytes_at(const struct numbering *n, uint64_t at)
{
	return n->file->at + n->section->sh_offset + at;
}

/* The first part from *at on; 0: there is none. What linkers put between parts is passed over. */
static int next_part(const struct numbering *n, uint64_t *at, struct tw_cc_part *part)
{
	for (; *at + sizeof *part <= n->section->sh_size; ++*at) {
		memcpy(part, bytes_at(n, *at), sizeof *part);
		if (part->magic == TW_CC_MAGIC)
			return 1;
	}
	return 0;
}

static int is_sound(const struct numbering *n, uint64_t at, const struct tw_cc_part *part)
{
	return part->bytes >= sizeof *part && part->bytes <= n->section->sh_size - at;
}

static uint64_t word_of(const struct numbering *n, uint64_t at, const struct tw_cc_part *part)
{
	return n->section->sh_addr + at + offsetof(struct tw_cc_part, word) + (uint64_t)(int64_t)part->word;
}

/* Blocks of the parts from here on that are of the same file. */
static uint32_t blocks_of_file(const struct numbering *n, uint64_t at)
{
	struct tw_cc_part part;
	uint64_t word = 0;
	uint32_t blocks = 0;
	while (next_part(n, &at, &part) && is_sound(n, at, &part) && (!word || word_of(n, at, &part) == word)) {
		word = word_of(n, at, &part);
		blocks += part.n_blocks;
		at += part.bytes;
	}
	return blocks;
}

/* Blocks of one file are of one group. */
static const char *enter_file(struct numbering *n, uint64_t at, const struct tw_cc_part *part)
{
	const uint32_t blocks = blocks_of_file(n, at);
	n->word = word_of(n, at, part);
	if (blocks > MOST_TAGS - TW_TAG_FIRST)
		return "one of its files has more than 65520 instrumented blocks; instrument less of it (--only, --not)";
	if (n->tag + blocks > MOST_TAGS) {
		n->group++;
		n->tag = TW_TAG_FIRST;
	}
	return NULL;
}

static const char *number_blocks(struct numbering *n, uint64_t at, const struct tw_cc_part *part)
{
	uint64_t block = at + sizeof *part;
	for (uint32_t k = 0; k < part->n_blocks; k++) {
		struct tw_cc_block b;
		if (block + sizeof b > n->section->sh_size)
			return "its description of blocks is damaged";
		memcpy(&b, bytes_at(n, block), sizeof b);
		const uint16_t own = (uint16_t)n->tag++;
		uint8_t *site = at_address(
		    n->file, n->section->sh_addr + block + offsetof(struct tw_cc_block, site) + (uint64_t)(int64_t)b.site, sizeof own);
		if (!site || !b.bytes)
			return "its description of blocks does not go with its code";
		memcpy(site, &own, sizeof own);
		block += b.bytes;
	}
	return NULL;
}

static const char *finish_part(struct numbering *n, uint64_t at, struct tw_cc_part *part)
{
	const char *why = NULL;
	if (!is_sound(n, at, part))
		return "its description of blocks is damaged";
	if (part->version != TW_CC_VERSION)
		return "it was compiled with another version of trackway cc";
	if (word_of(n, at, part) != n->word)
		why = enter_file(n, at, part);
	n->all_large &= part->large != 0;
	part->first_tag = n->tag;
	part->group = n->group;
	memcpy(bytes_at(n, at), part, sizeof *part);
	return why ? why : number_blocks(n, at, part);
}

static const char *finish_section(const struct file *f, const Elf64_Shdr *s)
{
	struct numbering n = {.file = f, .section = s, .tag = TW_TAG_FIRST, .all_large = 1};
	struct tw_cc_part part;
	const char *why = NULL;
	for (uint64_t at = 0; !why && next_part(&n, &at, &part); at += part.bytes)
		why = finish_part(&n, at, &part);
	if (!why && n.group && !n.all_large)
		why = "it has more than 65520 instrumented blocks; compile all of it with trackway cc --large, or instrument less of it "
		      "(--only, --not)";
	return why;
}

static int map_file(const char *path, int writable, struct file *f)
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

const char *tw_cc_finish(const char *path)
{
	struct file f;
	const char *why = NULL;
	if (map_file(path, 1, &f))
		return errno == ENOENT ? NULL : strerror(errno);
	const Elf64_Shdr *s = read_headers(&f) ? NULL : find_section(&f, TW_CC_SECTION);
	if (s)
		why = finish_section(&f, s);
	munmap(f.at, f.n);
	return why;
}

static int has_section(const char *path, const char *name)
{
	struct file f;
	if (map_file(path, 0, &f))
		return 0;
	int found = !read_headers(&f) && find_section(&f, name);
	munmap(f.at, f.n);
	return found;
}

int tw_cc_is_instrumented(const char *path)
{
	return has_section(path, TW_CC_SECTION);
}

int tw_cc_is_switchable(const char *path)
{
	return has_section(path, TW_CC_SECTION_TWICE);
}
