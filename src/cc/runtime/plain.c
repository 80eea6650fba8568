/*
 * If nothing is recorded, the module's code runs without the inserted code. The link has stored that code in the file
 * (cc/plain.h); it is copied over this one, page by page, before any of it has run.
 *
 * What must hold:
 *  - All or nothing: what is saved at one place is restored at another. So the code must be what the file says, byte
 *    for byte, without a debugger's breakpoint.
 *  - No code of the module has run. At a call of another module in between, either code may go on: no register is
 *    borrowed, and the pointer is in no register that is not compared with the slot.
 */
#include "runtime.h"
#include <asm/stat.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

/* Written when the link is finished. */
static const volatile struct tw_cc_plain plain __attribute__((section(TW_CC_SECTION_PLACE), used));

bool tw_cc_has_run;

/* The module's file, mapped, and its code with and without the inserted code; NULL: the file does not have it. */
struct file {
	uint64_t at, bytes;
	const uint8_t *with, *without;
};

static uint64_t code_from(void)
{
	return (uint64_t)&plain + (uint64_t)plain.code;
}

static bool is_named(const struct file *f, const Elf64_Shdr *names, const Elf64_Shdr *s)
{
	static const char name[] = TW_CC_SECTION_PLAIN;
	return s->sh_name + sizeof name <= names->sh_size && names->sh_offset + names->sh_size <= f->bytes &&
	       tw_cc_same((const uint8_t *)name, (const uint8_t *)f->at + names->sh_offset + s->sh_name, sizeof name);
}

/* By now, the file may be the output of another link: then the id differs. */
static void find_without(struct file *f, const Elf64_Ehdr *h)
{
	const Elf64_Shdr *s = (const Elf64_Shdr *)(f->at + h->e_shoff);
	if (h->e_shoff + h->e_shnum * sizeof *s > f->bytes || h->e_shstrndx >= h->e_shnum)
		return;
	for (uint32_t k = 1; k < h->e_shnum; k++) {
		struct tw_cc_plain own;
		if (s[k].sh_size != plain.bytes + sizeof own || s[k].sh_offset + s[k].sh_size > f->bytes ||
		    !is_named(f, &s[h->e_shstrndx], &s[k]))
			continue;
		tw_cc_copy(&own, (const uint8_t *)f->at + s[k].sh_offset + plain.bytes, sizeof own);
		if (own.id == plain.id)
			f->without = (const uint8_t *)f->at + s[k].sh_offset;
	}
}

static void find_with(struct file *f, const Elf64_Ehdr *h)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)(f->at + h->e_phoff);
	if (h->e_phoff + h->e_phnum * sizeof *p > f->bytes)
		return;
	for (uint32_t k = 0; k < h->e_phnum; k++)
		if (p[k].p_type == PT_LOAD && p[k].p_flags & PF_X && p[k].p_filesz == plain.bytes &&
		    p[k].p_offset + plain.bytes <= f->bytes)
			f->with = (const uint8_t *)f->at + p[k].p_offset;
}

static bool map_file(struct file *f)
{
	char path[TW_PROGRAM_PATH];
	*f = (struct file){0};
	if (!tw_cc_maps_path(code_from(), path, sizeof path))
		return false;
	const int64_t fd = SYS(__NR_open, path, O_RDONLY | O_CLOEXEC, 0);
	const int64_t bytes = tw_cc_failed(fd) ? 0 : SYS(__NR_lseek, fd, 0, 2);
	const int64_t at = bytes > (int64_t)sizeof(Elf64_Ehdr) ? SYS(__NR_mmap, 0, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : -1;
	SYS(__NR_close, fd);
	if (tw_cc_failed(at))
		return false;
	f->at = (uint64_t)at;
	f->bytes = (uint64_t)bytes;
	find_without(f, (const Elf64_Ehdr *)at);
	find_with(f, (const Elf64_Ehdr *)at);
	return true;
}

/* Is the engine in this process? It runs the code as it is, and knows what was inserted. */
static bool is_translated(void)
{
	uint8_t there;
	return !tw_cc_failed(SYS(__NR_mincore, TW_ENGINE_PLACE, TW_PAGE, &there));
}

static bool protect(int how)
{
	const uint64_t from = code_from() & ~(uint64_t)(TW_PAGE - 1);
	return !tw_cc_failed(SYS(__NR_mprotect, from, code_from() + plain.bytes - from, how));
}

/*
 * Pages without inserted code stay as they are. One call for all pages is cheaper than a fault for each; kernels
 * before 5.14 do not have it, and pages fault there.
 */
static void write_over(const struct file *f)
{
	uint8_t *code = (uint8_t *)code_from();
	SYS(__NR_madvise, code_from() & ~(uint64_t)(TW_PAGE - 1), plain.bytes, MADV_POPULATE_WRITE);
	for (uint64_t at = 0, n; at < plain.bytes; at += n) {
		n = TW_PAGE - (uint64_t)(code + at) % TW_PAGE;
		n = n < plain.bytes - at ? n : plain.bytes - at;
		if (!tw_cc_same(f->with + at, f->without + at, n))
			tw_cc_copy(code + at, f->without + at, n);
	}
}

static struct tw_cc_plain_code *free_entry(struct tw_cc_process *p)
{
	for (uint32_t k = 0; k < TW_CC_MODULES; k++)
		if (!p->plain[k].from)
			return &p->plain[k];
	return 0;
}

void tw_cc_plain_enter(struct tw_cc_process *p)
{
	struct file f;
	if (!plain.id || tw_cc_has_run || is_translated() || !map_file(&f))
		return;
	const uint64_t mask = tw_cc_lock(p);
	struct tw_cc_plain_code *own = free_entry(p);
	if (own && f.with && f.without && tw_cc_same((const uint8_t *)code_from(), f.with, plain.bytes) &&
	    protect(PROT_READ | PROT_WRITE | PROT_EXEC)) {
		write_over(&f);
		protect(PROT_READ | PROT_EXEC);
		*own = (struct tw_cc_plain_code){code_from(), plain.bytes};
	}
	tw_cc_unlock(p, mask);
	SYS(__NR_munmap, f.at, f.bytes);
}

void tw_cc_plain_leave(struct tw_cc_process *p)
{
	const uint64_t mask = tw_cc_lock(p);
	for (uint32_t k = 0; k < TW_CC_MODULES; k++)
		if (plain.id && p->plain[k].from == code_from())
			p->plain[k].from = 0;
	tw_cc_unlock(p, mask);
}

static bool is_alone(void)
{
	struct stat s;
	enum { OWN_LINKS = 2 };
	return !tw_cc_failed(SYS(__NR_stat, "/proc/self/task", &s)) && s.st_nlink == OWN_LINKS + 1;
}

/* What the file has comes back where private pages are given up. */
void tw_cc_plain_undo(struct tw_cc_process *p)
{
	for (uint32_t k = 0; k < TW_CC_MODULES; k++) {
		struct tw_cc_plain_code *c = &p->plain[k];
		const uint64_t from = c->from & ~(uint64_t)(TW_PAGE - 1);
		if (c->from && is_alone() && !tw_cc_failed(SYS(__NR_madvise, from, c->from + c->bytes - from, MADV_DONTNEED)))
			c->from = 0;
	}
}
