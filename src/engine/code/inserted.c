#include "engine/code/inserted.h"
#include "base/cc_section.h"
#include "engine/lib.h"
#include <asm/unistd.h>
#include <elf.h>
#include <linux/mman.h>

/* A block of a module; offsets are relative to the start of the code. */
struct stretch {
	u32 from;  /* of what is inserted before the first instruction */
	u32 first; /* it */
	u32 end;   /* end of the last instruction, including what is inserted after it */
	u32 block; /* in the section */
};

struct module {
	u64 start, end; /* of the code; 0: the entry is free */
	u64 address;    /* that the file has for `start` */
	u64 switch_at;  /* the byte that functions in two versions test; 0: there are none */
	const u8 *section;
	u64 mapped, mapped_bytes; /* that it is in */
	struct stretch *stretch;  /* by place */
	u32 n;
	u64 stretch_bytes; /* mapped */
};

static struct module modules[128];
static u32 n_modules; /* entries that have been used */

/* ---- the file ---- */

struct file {
	int fd;
	Elf64_Ehdr header;
};

static bool read_at(const struct file *f, void *to, u64 n, u64 offset)
{
	return tw_sys4(__NR_pread64, f->fd, to, n, offset) == (i64)n;
}

static bool read_header(struct file *f)
{
	const Elf64_Ehdr *h = &f->header;
	return read_at(f, &f->header, sizeof f->header, 0) && !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_phentsize == sizeof(Elf64_Phdr) && (!h->e_shnum || h->e_shentsize == sizeof(Elf64_Shdr));
}

/* The file's own address of its code from `offset` on. */
static bool find_address(const struct file *f, u64 offset, u64 *address)
{
	Elf64_Phdr p;
	for (u32 k = 0; k < f->header.e_phnum; k++) {
		if (!read_at(f, &p, sizeof p, f->header.e_phoff + k * sizeof p))
			return false;
		if (p.p_type == PT_LOAD && (p.p_offset & ~(TW_PAGE - 1ull)) == offset && (p.p_flags & PF_X)) {
			*address = p.p_vaddr & ~(TW_PAGE - 1ull);
			return true;
		}
	}
	return false;
}

static bool find_section(const struct file *f, const char *name, Elf64_Shdr *s)
{
	const Elf64_Ehdr *h = &f->header;
	Elf64_Shdr names;
	char own[32] = "";
	const u64 n = strlen(name) + 1;
	if (h->e_shstrndx >= h->e_shnum || !read_at(f, &names, sizeof names, h->e_shoff + h->e_shstrndx * sizeof names))
		return false;
	for (u32 k = 1; k < h->e_shnum; k++)
		if (read_at(f, s, sizeof *s, h->e_shoff + k * sizeof *s) && s->sh_type == SHT_PROGBITS &&
		    read_at(f, own, n, names.sh_offset + s->sh_name) && !memcmp(own, name, n))
			return true;
	return false;
}

static const u8 *map_section(const struct file *f, const Elf64_Shdr *s, u64 *at, u64 *bytes)
{
	const u64 skew = s->sh_offset % TW_PAGE;
	*bytes = skew + s->sh_size;
	const i64 r = tw_mmap(0, *bytes, PROT_READ, MAP_PRIVATE, f->fd, s->sh_offset - skew);
	*at = (u64)r;
	return tw_failed(r) ? NULL : (const u8 *)r + skew;
}

/* ---- what it says ---- */

static bool next_part(const Elf64_Shdr *s, const u8 *section, u64 *at, struct tw_cc_part *part)
{
	for (; *at + sizeof *part <= s->sh_size; ++*at) {
		memcpy(part, section + *at, sizeof *part);
		if (part->magic == TW_CC_MAGIC)
			return part->bytes >= sizeof *part && part->bytes <= s->sh_size - *at && part->version == TW_CC_VERSION;
	}
	return false;
}

static u32 count_blocks(const Elf64_Shdr *s, const u8 *section)
{
	struct tw_cc_part part;
	u32 n = 0;
	for (u64 at = 0; next_part(s, section, &at, &part); at += part.bytes)
		n += part.n_blocks;
	return n;
}

static struct stretch stretch_of(const struct module *m, const Elf64_Shdr *s, u64 at)
{
	struct tw_cc_block b;
	memcpy(&b, m->section + at, sizeof b);
	const u32 first = (u32)(s->sh_addr + at + offsetof(struct tw_cc_block, pc) + (u64)(i64)b.pc - m->address);
	struct stretch own = {first - b.lead, first, first, (u32)at};
	for (u32 k = 0; k < b.n_insns; k++)
		own.end += m->section[at + sizeof b + k];
	return own;
}

static void read_parts(struct module *m, const Elf64_Shdr *s)
{
	struct tw_cc_part part;
	for (u64 at = 0; next_part(s, m->section, &at, &part); at += part.bytes) {
		u64 block = at + sizeof part;
		for (u32 k = 0; k < part.n_blocks && block + sizeof(struct tw_cc_block) <= at + part.bytes; k++) {
			struct tw_cc_block b;
			memcpy(&b, m->section + block, sizeof b);
			if (b.bytes < sizeof b + b.n_insns)
				break;
			m->stretch[m->n++] = stretch_of(m, s, block);
			block += b.bytes;
		}
	}
}

static void sink(struct stretch *s, u32 at, u32 n)
{
	const struct stretch own = s[at];
	for (u32 child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && s[child + 1].from > s[child].from)
			child++;
		if (s[child].from <= own.from)
			break;
		s[at] = s[child];
	}
	s[at] = own;
}

static void sort(struct stretch *s, u32 n)
{
	for (u32 k = n / 2; k-- > 0;)
		sink(s, k, n);
	while (n > 1) {
		const struct stretch last = s[--n];
		s[n] = s[0];
		s[0] = last;
		sink(s, 0, n);
	}
}

/* The first versions of functions are as they were compiled, except for the tests. */
static void find_switch(struct module *m, const struct file *f, u64 start)
{
	Elf64_Shdr s;
	i32 to;
	if (find_section(f, TW_CC_SECTION_TWICE, &s) && read_at(f, &to, sizeof to, s.sh_offset))
		m->switch_at = start + (s.sh_addr - m->address) + (u64)(i64)to;
}

static void drop(struct module *m)
{
	if (m->section)
		tw_sys(__NR_munmap, m->mapped, m->mapped_bytes, 0);
	if (m->stretch)
		tw_sys(__NR_munmap, m->stretch, m->stretch_bytes, 0);
	*m = (struct module){0};
}

static struct module *free_module(void)
{
	for (u32 k = 0; k < n_modules; k++)
		if (!modules[k].end)
			return &modules[k];
	return n_modules < sizeof modules / sizeof *modules ? &modules[n_modules++] : NULL;
}

static bool read_module(struct module *m, const struct file *f, const Elf64_Shdr *s)
{
	m->section = map_section(f, s, &m->mapped, &m->mapped_bytes);
	const u32 most = m->section ? count_blocks(s, m->section) : 0;
	if (!most)
		return false;
	m->stretch_bytes = most * sizeof *m->stretch;
	const i64 r = tw_mmap(0, m->stretch_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m->stretch = tw_failed(r) ? NULL : (struct stretch *)r;
	if (!m->stretch)
		return false;
	read_parts(m, s);
	sort(m->stretch, m->n);
	return m->n != 0;
}

void tw_inserted_mapped(int fd, u64 start, u64 length, u64 offset)
{
	struct file f = {.fd = fd};
	Elf64_Shdr s;
	u64 address;
	if (!(tw_engine.control->flags & TW_FLAG_REST) || fd < 0 || !read_header(&f) || !find_address(&f, offset, &address) ||
	    !find_section(&f, TW_CC_SECTION, &s))
		return;
	struct module *m = free_module();
	if (!m)
		return;
	m->address = address;
	if (!read_module(m, &f, &s)) {
		drop(m);
		return;
	}
	find_switch(m, &f, start);
	m->start = start;
	m->end = start + length;
}

void tw_inserted_gone(u64 start, u64 end)
{
	for (u32 k = 0; k < n_modules; k++)
		if (modules[k].end && modules[k].start < end && start < modules[k].end)
			drop(&modules[k]);
}

/* ---- looking up ---- */

/* The last stretch that begins at or before `place`. */
static const struct stretch *find_stretch(const struct module *m, u32 place)
{
	u32 low = 0, high = m->n;
	while (low < high) {
		const u32 middle = low + (high - low) / 2;
		if (m->stretch[middle].from <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &m->stretch[low - 1] : NULL;
}

/*
 * The linker may have replaced a call of __tls_get_addr and the instruction before it, 8 bytes each, by instructions
 * of 9 and 7 bytes; or four instructions by others: nothing is inserted there.
 */
static bool is_of_linker(const struct tw_cc_block *b, u32 k, u32 into)
{
	if (b->flags & TW_CC_GLUED_FOUR)
		return k + 4u >= b->n_insns && k + 1u < b->n_insns;
	return b->flags & TW_CC_GLUED && k + 1u == b->n_insns && into == 1;
}

/* `place` is in the stretch, after the start of the first instruction. */
static u32 behind_insn(const struct module *m, const struct stretch *s, u32 place)
{
	struct tw_cc_block b;
	u32 at = s->first, k = 0;
	memcpy(&b, m->section + s->block, sizeof b);
	const u8 *length = m->section + s->block + sizeof b;
	while (k < b.n_insns && at + length[k] <= place)
		at += length[k++];
	return k == b.n_insns || at == place || is_of_linker(&b, k, place - at) ? place : at + length[k];
}

/* cmpb $0, switch(%rip); jne; or space for a jump, filled with a no-op. */
static u64 behind_test(const struct module *m, u64 pc)
{
	static const u8 room[] = {TW_CC_ROOM_BYTES};
	const u8 *at = (const u8 *)pc;
	i32 to;
	if (m->switch_at && pc + sizeof room <= m->end && !memcmp(at, room, sizeof room))
		return pc + sizeof room;
	if (!m->switch_at || pc + 13 > m->end || at[0] != 0x80 || at[1] != 0x3d || at[6])
		return pc;
	memcpy(&to, at + 2, sizeof to);
	if (pc + 7 + (u64)(i64)to != m->switch_at)
		return pc;
	return at[7] == 0x75 ? pc + 9 : at[7] == 0x0f && at[8] == 0x85 ? pc + 13 : pc;
}

static u64 behind(const struct module *m, u64 pc)
{
	const u32 place = (u32)(pc - m->start);
	const struct stretch *s = find_stretch(m, place);
	if (!s || place >= s->end)
		return behind_test(m, pc);
	return m->start + (place <= s->first ? s->first : behind_insn(m, s, place));
}

/* Code inserted at the end of a block may be followed by code inserted before the next one. */
u64 tw_inserted_behind(u64 pc)
{
	for (u32 k = 0; k < n_modules; k++) {
		const struct module *m = &modules[k];
		if (pc - m->start >= m->end - m->start)
			continue;
		for (u64 next; (next = behind(m, pc)) != pc;)
			pc = next;
		break;
	}
	return pc;
}
