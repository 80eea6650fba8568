#include "cc/plain.h"
#include "cc/decode.h"
#include "cc/linked.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

struct image {
	const struct tw_cc_linked *file;
	const Elf64_Phdr *code;
	uint8_t *at;   /* the code */
	uint8_t *mark; /* of each byte: INSERTED, LEADS_HERE */
};

enum { INSERTED = 1, LEADS_HERE = 2 };

/* ---- which code ---- */

/* Does the dynamic linker write to the code? */
static int is_relocated(const struct tw_cc_linked *f)
{
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Shdr *s = &f->section[k];
		const Elf64_Dyn *d = (const Elf64_Dyn *)(const void *)(f->at + s->sh_offset);
		for (uint64_t m = 0;
		     s->sh_type == SHT_DYNAMIC && tw_cc_linked_has(f, s->sh_offset, s->sh_size) && m < s->sh_size / sizeof *d; m++)
			if (d[m].d_tag == DT_TEXTREL || (d[m].d_tag == DT_FLAGS && d[m].d_un.d_val & DF_TEXTREL))
				return 1;
	}
	return 0;
}

/* ---- what is inserted ---- */

/* Bytes of the instruction at this address; 0: there is none. */
static unsigned own_length(const struct image *i, uint64_t address)
{
	const uint64_t from = address - i->code->p_vaddr;
	return from < i->code->p_filesz ? tw_cc_decode_length(i->at + from, i->code->p_filesz - from) : 0;
}

/* What assemblers align code with. */
static int is_padding(const uint8_t *at)
{
	while (*at == 0x66 || *at == 0x2e)
		at++;
	return *at == 0x90 || (at[0] == 0x0f && at[1] == 0x1f);
}

/* Padding stays as it is: a label may stand before it. */
static int mark(struct image *i, uint64_t address, uint64_t n)
{
	while (n) {
		const unsigned own = own_length(i, address);
		const uint64_t from = address - i->code->p_vaddr;
		if (!own || own > n)
			return -1;
		memset(i->mark + from, is_padding(i->at + from) ? 0 : INSERTED, own);
		address += own;
		n -= own;
	}
	return 0;
}

/* How many of a block's last instructions linkers may have replaced with others. */
static unsigned glued_together(const struct tw_cc_block *b)
{
	return !(b->flags & TW_CC_GLUED) ? 0 : b->flags & TW_CC_GLUED_FOUR ? 4 : 2;
}

/* The bytes of the instructions now in their place: the compiler's two or one, or its four, three or two. */
static unsigned glued_length(const struct image *i, uint64_t address, unsigned n)
{
	enum { ALONE = 12, FOUR = 22 };
	unsigned all = own_length(i, address);
	while (all && (n == 4 ? all < FOUR : all < ALONE)) {
		const unsigned next = own_length(i, address + all);
		if (!next || n != 4)
			return next ? all + next : 0;
		all += next;
	}
	return all;
}

static int mark_block(struct image *i, uint64_t pc, const struct tw_cc_block *b, const uint8_t *length)
{
	if (b->lead && mark(i, pc - b->lead, b->lead))
		return -1;
	uint64_t at = pc;
	const unsigned glued = glued_together(b);
	for (unsigned k = 0; k < b->n_insns;) {
		const unsigned n = glued && k + glued == b->n_insns ? glued : 1;
		const unsigned own = n > 1 ? glued_length(i, at, n) : own_length(i, at);
		unsigned all = 0;
		for (unsigned m = 0; m < n; m++)
			all += length[k + m];
		if (!own || own > all || mark(i, at + own, all - own))
			return -1;
		at += all;
		k += n;
	}
	return 0;
}

typedef int each_block(struct image *i, uint64_t pc, const struct tw_cc_block *b, const uint8_t *length);

/* The way into a block is the code inserted before its first instruction, even if that is counted to the block before. */
static int mark_way_in(struct image *i, uint64_t pc, const struct tw_cc_block *b, const uint8_t *length)
{
	(void)length;
	i->mark[pc - b->lead - i->code->p_vaddr] |= LEADS_HERE;
	return 0;
}

static int each(struct image *i, const Elf64_Shdr *s, each_block *fn)
{
	struct tw_cc_part part;
	for (uint64_t at = 0; tw_cc_linked_part(i->file, s, &at, &part) && tw_cc_linked_is_sound(s, at, &part); at += part.bytes) {
		uint64_t block = at + sizeof part;
		for (uint32_t k = 0; k < part.n_blocks; k++) {
			struct tw_cc_block b;
			memcpy(&b, i->file->at + s->sh_offset + block, sizeof b);
			const uint64_t pc = s->sh_addr + block + offsetof(struct tw_cc_block, pc) + (uint64_t)(int64_t)b.pc;
			if (fn(i, pc, &b, i->file->at + s->sh_offset + block + sizeof b))
				return -1;
			block += b.bytes;
		}
	}
	return 0;
}

/* Length of the test that begins at `at`: cmpb $0, switch(%rip); jne. 0: something else. */
static unsigned test_length(const struct image *i, uint64_t from, uint64_t switch_at)
{
	const uint8_t *at = i->at + from;
	int32_t to;
	if (at[0] != 0x80 || at[1] != 0x3d || at[6])
		return 0;
	memcpy(&to, at + 2, sizeof to);
	if (i->code->p_vaddr + from + 7 + (uint64_t)(int64_t)to != switch_at)
		return 0;
	return at[7] == 0x75 ? 9 : at[7] == 0x0f && at[8] == 0x85 ? 13 : 0;
}

/* Those of the first versions. */
static void mark_tests(struct image *i)
{
	const Elf64_Shdr *s = tw_cc_linked_section(i->file, TW_CC_SECTION_TWICE);
	int32_t to;
	if (!s || s->sh_size < sizeof to)
		return;
	memcpy(&to, i->file->at + s->sh_offset, sizeof to);
	const uint64_t switch_at = s->sh_addr + (uint64_t)(int64_t)to;
	for (uint64_t from = 0; from + 13 <= i->code->p_filesz; from++) {
		const unsigned n = i->at[from] == 0x80 && !i->mark[from] ? test_length(i, from, switch_at) : 0;
		memset(i->mark + from, INSERTED, n);
		i->mark[from] |= n ? LEADS_HERE : 0;
	}
}

/* ---- what stands there instead ---- */

static void put_nothing(uint8_t *at, uint64_t n)
{
	enum { LONGEST = 11 };
	static const char *const nop[LONGEST + 1] = {"",
	                                             "\x90",
	                                             "\x66\x90",
	                                             "\x0f\x1f\x00",
	                                             "\x0f\x1f\x40\x00",
	                                             "\x0f\x1f\x44\x00\x00",
	                                             "\x66\x0f\x1f\x44\x00\x00",
	                                             "\x0f\x1f\x80\x00\x00\x00\x00",
	                                             "\x0f\x1f\x84\x00\x00\x00\x00\x00",
	                                             "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
	                                             "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00",
	                                             "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"};
	while (n) {
		const uint64_t own = n < LONGEST ? n : LONGEST;
		memcpy(at, nop[own], own);
		at += own;
		n -= own;
	}
}

/* A jump over what is longer than a few such instructions. */
static void put_away(uint8_t *at, uint64_t n)
{
	enum { SHORT = 33, NEAR = 2 + 127 };
	if (n > NEAR) {
		const uint32_t rest = (uint32_t)n - 5;
		*at = 0xe9;
		memcpy(at + 1, &rest, sizeof rest);
		put_nothing(at + 5, n - 5);
	} else if (n > SHORT) {
		at[0] = 0xeb;
		at[1] = (uint8_t)(n - 2);
		put_nothing(at + 2, n - 2);
	} else {
		put_nothing(at, n);
	}
}

static void put_all_away(struct image *i)
{
	uint64_t from = 0, to;
	for (; from < i->code->p_filesz; from = to) {
		to = from + 1;
		if (!(i->mark[from] & INSERTED))
			continue;
		while (to < i->code->p_filesz && i->mark[to] == INSERTED)
			to++;
		put_away(i->at + from, to - from);
	}
}

/* ---- the file ---- */

static int write_at(int fd, const void *from, uint64_t n, uint64_t at)
{
	const char *next = from;
	while (n) {
		const ssize_t written = pwrite(fd, next, n, (off_t)at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return -1;
		next += written;
		n -= (uint64_t)written;
		at += (uint64_t)written;
	}
	return 0;
}

static uint64_t rounded(uint64_t n)
{
	return (n + 15) & ~15ull;
}

/* Appends the new section, the section names with its own, and the section headers with its own; then the file's header is updated. */
static int append(const struct image *i, const struct tw_cc_plain *plain, int fd)
{
	static const char name[] = TW_CC_SECTION_PLAIN;
	const struct tw_cc_linked *f = i->file;
	Elf64_Ehdr h;
	memcpy(&h, f->at, sizeof h);
	const Elf64_Shdr *old = &f->section[h.e_shstrndx];
	const uint64_t at = rounded(f->n), bytes = plain->bytes + sizeof *plain, names = at + bytes,
	               sections = rounded(names + old->sh_size + sizeof name);
	Elf64_Shdr *all = malloc((f->n_sections + 1) * sizeof *all);
	if (!all)
		return -1;
	memcpy(all, f->section, f->n_sections * sizeof *all);
	all[f->n_sections] =
	    (Elf64_Shdr){.sh_name = (uint32_t)old->sh_size, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = bytes, .sh_addralign = 16};
	all[h.e_shstrndx].sh_offset = names;
	all[h.e_shstrndx].sh_size = old->sh_size + sizeof name;
	int wrong = write_at(fd, i->at, plain->bytes, at) || write_at(fd, plain, sizeof *plain, at + plain->bytes) ||
	            write_at(fd, f->at + old->sh_offset, old->sh_size, names) || write_at(fd, name, sizeof name, names + old->sh_size) ||
	            write_at(fd, all, (f->n_sections + 1) * sizeof *all, sections);
	h.e_shoff = sections;
	h.e_shnum++;
	wrong = wrong || write_at(fd, &h, sizeof h, 0);
	free(all);
	return wrong ? -1 : 0;
}

static int write_image(const struct image *i, const char *path, const Elf64_Shdr *place)
{
	const struct tw_cc_plain plain = {XXH3_64bits(i->at, i->code->p_filesz) | 1, (int64_t)(i->code->p_vaddr - place->sh_addr),
	                                  i->code->p_filesz};
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	const int wrong = append(i, &plain, fd) || write_at(fd, &plain, sizeof plain, place->sh_offset);
	return close(fd) || wrong ? -1 : 0;
}

static const char *make(struct image *i, const char *path, const Elf64_Shdr *blocks, const Elf64_Shdr *place)
{
	const char *why = NULL;
	i->at = malloc(i->code->p_filesz);
	i->mark = calloc(i->code->p_filesz, 1);
	if (!i->at || !i->mark) {
		why = "there is no memory";
	} else {
		memcpy(i->at, i->file->at + i->code->p_offset, i->code->p_filesz);
		if (!each(i, blocks, mark_block) && !each(i, blocks, mark_way_in)) {
			mark_tests(i);
			put_all_away(i);
			why = write_image(i, path, place) ? strerror(errno) : NULL;
		}
	}
	free(i->at);
	free(i->mark);
	return why;
}

const char *tw_cc_plain(const char *path)
{
	struct tw_cc_linked f;
	const char *why = NULL;
	if (tw_cc_linked_map(path, 0, &f))
		return strerror(errno);
	const int is_read = !tw_cc_linked_read(&f);
	const Elf64_Shdr *blocks = is_read ? tw_cc_linked_section(&f, TW_CC_SECTION) : NULL,
	                 *place = is_read ? tw_cc_linked_section(&f, TW_CC_SECTION_PLACE) : NULL;
	struct image i = {.file = &f, .code = is_read ? tw_cc_linked_code(&f) : NULL};
	if (blocks && place && place->sh_size == sizeof(struct tw_cc_plain) && i.code && i.code->p_filesz && !is_relocated(&f))
		why = make(&i, path, blocks, place);
	munmap(f.at, f.n);
	return why;
}
