#include "engine/kernel/loader.h"
#include "engine/record/buffer.h"
#include "engine/code/inserted.h"
#include "engine/code/memory.h"
#include "engine/code/module.h"
#include "engine/record/calls.h"
#include "engine/record/told.h"
#include "engine/record/window.h"
#include <asm/unistd.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#define MAX_PHDRS    1170 /* 64 KB of them, as the kernel has it */
#define ERROR_NOEXEC (-8)
#define PAGE_MASK    (~(u64)(TW_PAGE - 1))

/* Mappings made here, for tw_load_tell. Paths are the program's and its interpreter's, which stay valid. */
static struct {
	struct tw_map map;
	const char *path;
} told[32];
static u32 n_told;

struct elf {
	i64 fd;
	Elf64_Ehdr eh;
	Elf64_Phdr ph[MAX_PHDRS];
	u64 low, high; /* of all segments */
	u64 bias;
	char interpreter[4096];
};

/* `flags`: MAP_ANONYMOUS where a file's variables begin as zeros. */
static void note(const char *path, u64 at, u64 length, u64 offset, int prot, int flags)
{
	if (!length || n_told == sizeof told / sizeof *told)
		return;
	told[n_told].map = (struct tw_map){at, length, offset, (u32)prot, (u32)(MAP_PRIVATE | flags)};
	told[n_told++].path = path;
}

static i64 read_headers(struct elf *f, const char *path)
{
	f->fd = tw_sys(__NR_open, path, O_RDONLY | O_CLOEXEC, 0);
	if (tw_failed(f->fd))
		return f->fd;
	if (tw_sys4(__NR_pread64, f->fd, &f->eh, sizeof f->eh, 0) != sizeof f->eh || f->eh.e_phnum > MAX_PHDRS)
		return ERROR_NOEXEC;
	i64 n = (i64)f->eh.e_phnum * (i64)sizeof(Elf64_Phdr);
	if (tw_sys4(__NR_pread64, f->fd, f->ph, n, f->eh.e_phoff) != n)
		return ERROR_NOEXEC;
	f->low = ~0ull;
	for (int i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];
		if (p->p_type == PT_INTERP && p->p_filesz < sizeof f->interpreter)
			tw_sys4(__NR_pread64, f->fd, f->interpreter, p->p_filesz, p->p_offset);
		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_vaddr < f->low)
			f->low = p->p_vaddr & PAGE_MASK;
		if (p->p_vaddr + p->p_memsz > f->high)
			f->high = p->p_vaddr + p->p_memsz;
	}
	return f->low == ~0ull ? ERROR_NOEXEC : 0;
}

static int protection(u32 flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

static i64 map_fixed(u64 at, u64 length, int prot, int flags, i64 fd, u64 offset)
{
	i64 r = tw_mmap(at, length, prot, MAP_PRIVATE | MAP_FIXED | flags, (int)fd, offset);
	return r == (i64)at ? 0 : tw_failed(r) ? r : -12;
}

static i64 map_segment(const struct elf *f, const Elf64_Phdr *p, const char *path)
{
	u64 start = f->bias + p->p_vaddr, page = start & PAGE_MASK, skew = start - page;
	u64 file_end = start + p->p_filesz, mem_end = start + p->p_memsz;
	u64 file_pages = tw_page_up(file_end);
	int prot = protection(p->p_flags);
	u64 zero = p->p_filesz ? file_pages : page;
	i64 r = 0;
	if (p->p_filesz)
		r = map_fixed(page, file_pages - page, prot, 0, f->fd, p->p_offset - skew);
	if (!r && mem_end > file_end) {
		if ((prot & PROT_WRITE) && p->p_filesz) /* to the end of the page, as the kernel does: ld.so's first malloc relies on it */
			memset((void *)file_end, 0, file_pages - file_end);
		if (mem_end > zero)
			r = map_fixed(zero, tw_page_up(mem_end) - zero, prot, MAP_ANONYMOUS, -1, 0);
	}
	tw_memory_protected(page, mem_end - page, prot);
	if (!r && p->p_filesz)
		tw_module_mapped((int)f->fd, page, file_pages - page, p->p_offset - skew, prot, MAP_PRIVATE, NULL);
	if (!r && p->p_filesz && (prot & PROT_EXEC))
		tw_inserted_mapped((int)f->fd, page, file_pages - page, p->p_offset - skew);
	note(path, page, zero - page, p->p_offset - skew, prot, 0);
	if (mem_end > zero)
		note(path, zero, tw_page_up(mem_end) - zero, 0, prot, MAP_ANONYMOUS);
	return r;
}

/* Reserves the address space of the whole image, at `at`; 0: anywhere. Returns its address, or an error. */
static i64 reserve(u64 at, u64 length)
{
	const int place = at ? MAP_FIXED_NOREPLACE : 0;
	return tw_mmap(at, tw_page_up(length), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | place, -1, 0);
}

/* Places a relocatable image: in the arena, where its code runs best, or where large images have room. */
static i64 choose(u64 length)
{
	u64 at = tw_memory_place(length);
	i64 r = at ? reserve(at, length) : -1;
	if (tw_failed(r) && length <= BRK_PLACE - PIE_PLACE)
		r = reserve(PIE_PLACE, length);
	return tw_failed(r) ? reserve(0, length) : r;
}

/* Chooses the place, reserves it whole, maps the segments over it. */
static i64 map_image(struct elf *f, const char *path)
{
	u64 length = f->high - f->low;
	i64 r = f->eh.e_type == ET_DYN ? choose(length) : reserve(f->low, length);
	if (tw_failed(r))
		return r;
	f->bias = (u64)r - f->low;
	if (f->eh.e_type != ET_DYN)
		tw_memory_place_behind(f->low, f->high);
	for (int i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && (r = map_segment(f, &f->ph[i], path)) < 0)
			return r;
	return 0;
}

/* `f` is all zeros; `name`: the path the recording gives it. */
static i64 load(struct elf *f, const char *path, const char *name)
{
	i64 r = read_headers(f, path);
	if (!r)
		r = map_image(f, name);
	if (f->fd >= 0)
		tw_sys(__NR_close, f->fd, 0, 0);
	return r;
}

static u64 phdr_address(const struct elf *f)
{
	for (int i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_PHDR)
			return f->bias + f->ph[i].p_vaddr;
	for (int i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && f->eh.e_phoff >= f->ph[i].p_offset &&
		    f->eh.e_phoff < f->ph[i].p_offset + f->ph[i].p_filesz)
			return f->bias + f->ph[i].p_vaddr + f->eh.e_phoff - f->ph[i].p_offset;
	return 0;
}

static bool wants_executable_stack(const struct elf *f)
{
	for (int i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_GNU_STACK)
			return f->ph[i].p_flags & PF_X;
	return false;
}

static void find_bounds(const struct elf *f, struct loaded *l)
{
	l->code = ~0ull;
	l->data = l->code_end = l->data_end = 0;
	for (int i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];
		const u64 start = f->bias + p->p_vaddr, end = start + p->p_filesz;
		if (p->p_type != PT_LOAD)
			continue;
		if ((p->p_flags & PF_X) && start < l->code)
			l->code = start;
		if ((p->p_flags & PF_X) && end > l->code_end)
			l->code_end = end;
		if (start > l->data)
			l->data = start;
		if (end > l->data_end)
			l->data_end = end;
	}
	if (!l->code_end)
		l->code = l->code_end = l->program_entry;
}

i64 tw_load_program(const char *path, struct loaded *l)
{
	static struct elf program, interpreter; /* large, and mostly never touched; a process loads once */
	i64 r = load(&program, path, tw_engine.program_path);
	if (r)
		return r;
	l->program_entry = l->entry = program.bias + program.eh.e_entry;
	l->phdr = phdr_address(&program);
	l->phnum = program.eh.e_phnum;
	l->phent = program.eh.e_phentsize;
	l->end = program.bias + program.high;
	l->pie = program.eh.e_type == ET_DYN;
	find_bounds(&program, l);
	l->executable_stack = wants_executable_stack(&program);
	l->interpreter_base = 0;
	if (!program.interpreter[0])
		return 0;
	r = load(&interpreter, program.interpreter, program.interpreter);
	l->entry = interpreter.bias + interpreter.eh.e_entry;
	l->interpreter_base = interpreter.bias;
	return r;
}

void tw_load_tell(struct thread *t)
{
	for (u32 i = 0; i < n_told; i++) {
		const struct tw_map *m = &told[i].map;
		tw_buffer_event(t, TW_EVENT_MAP, m, sizeof *m, told[i].path, (u32)strlen(told[i].path) + 1);
		if (!(m->prot & PROT_EXEC))
			continue;
		tw_window_mapped(told[i].path, m->address, m->length, m->offset);
		tw_calls_mapped(told[i].path, m->address, m->length, m->offset);
		tw_told_mapped(told[i].path, m->address, m->length, m->offset);
	}
}
