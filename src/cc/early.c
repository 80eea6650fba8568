#include "cc/early.h"
#include "base/array.h"
#include "cc/decode.h"
#include "cc/linked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct function {
	uint64_t at, bytes; /* `at` first: they are sorted by it (tw_by_number) */
	const char *name;
	uint8_t is_local, is_early, is_left, is_instrumented;
};

struct early {
	struct tw_cc_linked file;
	const Elf64_Phdr *code;
	uint8_t *own;         /* the code */
	const uint8_t *plain; /* the same without what was inserted */
	struct function *function;
	size_t n;
};

/* ---- what there is ---- */

/* Number of entries of section k, of `size` bytes each; 0: another kind of section, or not entirely in the file. */
static uint64_t entries(const struct tw_cc_linked *f, const Elf64_Shdr *s, uint32_t type, uint64_t size)
{
	return s->sh_type == type && tw_cc_linked_has(f, s->sh_offset, s->sh_size) ? s->sh_size / size : 0;
}

/* A function may have several names. It is local if all of them are. */
static void join_names(struct early *e)
{
	size_t n = 0;
	qsort(e->function, e->n, sizeof *e->function, tw_by_number);
	for (size_t k = 0; k < e->n; k++) {
		const struct function *f = &e->function[k];
		struct function *before = n ? &e->function[n - 1] : NULL;
		if (!before || before->at != f->at) {
			e->function[n++] = *f;
			continue;
		}
		before->bytes = before->bytes < f->bytes ? f->bytes : before->bytes;
		before->is_local &= f->is_local;
		before->is_early |= f->is_early;
	}
	e->n = n;
	for (size_t k = 0; k < n; k++) {
		const uint64_t from = e->function[k].at - e->code->p_vaddr;
		e->function[k].is_instrumented = memcmp(e->own + from, e->plain + from, e->function[k].bytes) != 0;
	}
}

static void add_function(struct early *e, const Elf64_Sym *s, const Elf64_Shdr *names)
{
	const int type = ELF64_ST_TYPE(s->st_info);
	const uint64_t from = s->st_value - e->code->p_vaddr;
	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_shndx == SHN_UNDEF || from >= e->code->p_filesz ||
	    s->st_size > e->code->p_filesz - from || s->st_name >= names->sh_size)
		return;
	e->function[e->n++] = (struct function){.at = s->st_value,
	                                        .bytes = s->st_size,
	                                        .name = (const char *)e->file.at + names->sh_offset + s->st_name,
	                                        .is_local = ELF64_ST_BIND(s->st_info) == STB_LOCAL,
	                                        .is_early = type == STT_GNU_IFUNC};
}

/* 0, or -1: there is no memory. */
static int find_functions(struct early *e)
{
	const struct tw_cc_linked *f = &e->file;
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Shdr *s = &f->section[k];
		const Elf64_Sym *symbol = (const Elf64_Sym *)(const void *)(f->at + s->sh_offset);
		const uint64_t n = s->sh_link < f->n_sections ? entries(f, s, SHT_SYMTAB, sizeof *symbol) : 0;
		if (!n)
			continue;
		e->function = calloc(n, sizeof *e->function);
		if (!e->function)
			return -1;
		for (uint64_t m = 0; m < n; m++)
			add_function(e, &symbol[m], &f->section[s->sh_link]);
		break;
	}
	return 0;
}

static int has_early(const struct early *e)
{
	size_t k = 0;
	while (k < e->n && !e->function[k].is_early)
		k++;
	return k < e->n;
}

/* The function that has this address; NULL: none. */
static struct function *function_at(const struct early *e, uint64_t address)
{
	const size_t n = tw_array_until(&address, e->function, e->n, sizeof *e->function, tw_by_number);
	struct function *f = n ? &e->function[n - 1] : NULL;
	return f && address - f->at < f->bytes ? f : NULL;
}

/* What the dynamic linker puts there: the address of a function of this file; 0: of another. */
static uint64_t filled_in(const struct early *e, uint64_t place)
{
	const struct tw_cc_linked *f = &e->file;
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Shdr *s = &f->section[k], *symbols = s->sh_link < f->n_sections ? &f->section[s->sh_link] : s;
		const Elf64_Rela *r = (const Elf64_Rela *)(const void *)(f->at + s->sh_offset);
		const Elf64_Sym *symbol = (const Elf64_Sym *)(const void *)(f->at + symbols->sh_offset);
		const uint64_t n_symbols = entries(f, symbols, SHT_DYNSYM, sizeof *symbol);
		for (uint64_t m = 0; m < entries(f, s, SHT_RELA, sizeof *r); m++) {
			const uint64_t of = ELF64_R_SYM(r[m].r_info);
			if (r[m].r_offset == place)
				return of && of < n_symbols && symbol[of].st_shndx ? symbol[of].st_value : 0;
		}
	}
	return 0;
}

/* ---- what leads where ---- */

typedef int each_edge(struct function *from, struct function *to);

/* The function that the instruction at `address`, of n bytes, branches to, possibly by a stub; NULL: none of this file. */
static struct function *led_to(const struct early *e, uint64_t address, unsigned n, int by_stub)
{
	enum { JUMP_BY_MEMORY = 0x25, CALL_BY_MEMORY = 0x15, STUB = 16 };
	const uint8_t *at = e->plain + (address - e->code->p_vaddr);
	const unsigned prefix = n > 1 && (*at == 0xf2 || *at == 0x3e || *at == 0x67);
	int32_t distance;
	at += prefix;
	if (n - prefix < 5) /* of the short ones none leaves its function */
		return NULL;
	memcpy(&distance, address + n - e->code->p_vaddr + e->plain - sizeof distance, sizeof distance);
	const uint64_t to = address + n + (uint64_t)(int64_t)distance;
	if (at[0] == 0xff && (at[1] == JUMP_BY_MEMORY || at[1] == CALL_BY_MEMORY)) {
		const uint64_t own = filled_in(e, to);
		return own ? function_at(e, own) : NULL;
	}
	if (at[0] != 0xe8 && at[0] != 0xe9 && !(at[0] == 0x0f && (at[1] & 0xf0) == 0x80))
		return NULL;
	struct function *f = function_at(e, to);
	for (uint64_t stub = to; !f && !by_stub && stub - to < STUB && stub - e->code->p_vaddr < e->code->p_filesz - STUB;) {
		const unsigned own = tw_cc_decode_length(e->plain + (stub - e->code->p_vaddr), STUB);
		f = own ? led_to(e, stub, own, 1) : NULL;
		stub += own ? own : STUB;
	}
	return f;
}

static int follow(const struct early *e, struct function *from, each_edge *fn)
{
	int found = 0;
	for (uint64_t at = from->at; at < from->at + from->bytes;) {
		const unsigned n = tw_cc_decode_length(e->plain + (at - e->code->p_vaddr), from->at + from->bytes - at);
		struct function *to = n ? led_to(e, at, n, 0) : NULL;
		if (to && to != from)
			found |= fn(from, to);
		at += n ? n : 1;
	}
	return found;
}

static int runs_early(struct function *from, struct function *to)
{
	const int is_new = from->is_early && !to->is_early;
	to->is_early |= from->is_early;
	return is_new;
}

/* If only this file can call a function, the callers' code and its own rely on each other. */
static int goes_together(struct function *from, struct function *to)
{
	if (!to->is_local || from->is_left == to->is_left || !from->is_instrumented || !to->is_instrumented)
		return 0;
	from->is_left = to->is_left = 1;
	return 1;
}

/* Returns whether any function is to be left. */
static int find_early(struct early *e)
{
	int any = 0;
	join_names(e);
	for (int more = 1; more;) {
		more = 0;
		for (size_t k = 0; k < e->n; k++)
			if (e->function[k].is_early && !e->function[k].is_left) {
				e->function[k].is_left = 1; /* followed */
				more |= follow(e, &e->function[k], runs_early) | 1;
			}
	}
	for (size_t k = 0; k < e->n; k++)
		any |= e->function[k].is_left && e->function[k].is_instrumented;
	for (int more = any; more;) {
		more = 0;
		for (size_t k = 0; k < e->n; k++)
			more |= follow(e, &e->function[k], goes_together);
	}
	return any;
}

static void leave(struct early *e, const char *path)
{
	for (size_t k = 0; k < e->n; k++) {
		const struct function *f = &e->function[k];
		const uint64_t from = f->at - e->code->p_vaddr;
		if (!f->is_left || !f->is_instrumented)
			continue;
		memcpy(e->own + from, e->plain + from, f->bytes);
		fprintf(stderr, "trackway cc: %s: %s is not instrumented: %s\n", path, f->name,
		        f->is_early ? "it may be called while the program is being linked"
		                    : "it is tied to code that may be called while the program is being linked");
	}
}

/* ---- programs without thread-local memory ---- */

static int has_flag(const struct tw_cc_linked *f, uint64_t flag)
{
	for (uint32_t k = 1; k < f->n_sections; k++) {
		const Elf64_Dyn *d = (const Elf64_Dyn *)(const void *)(f->at + f->section[k].sh_offset);
		for (uint64_t m = 0; m < entries(f, &f->section[k], SHT_DYNAMIC, sizeof *d); m++)
			if (d[m].d_tag == DT_FLAGS_1 && d[m].d_un.d_val & flag)
				return 1;
	}
	return 0;
}

/* A program that no dynamic linker prepares. */
static int begins_by_itself(const struct tw_cc_linked *f)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)f->at;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(f->at + h->e_phoff);
	for (uint32_t k = 0; k < h->e_phnum; k++)
		if (p[k].p_type == PT_INTERP)
			return 0;
	return h->e_type == ET_EXEC || has_flag(f, DF_1_PIE);
}

/* Is there an instruction that loads the number of arch_prctl into a register, or a wrfsbase? */
static int may_set_thread_pointer(const struct early *e)
{
	static const uint8_t number[4] = {158};
	const uint8_t *at = e->own, *end = at + e->code->p_filesz;
	for (; at + 5 <= end; at++) {
		const int loads = *at >> 3 == 0xb8 >> 3 || *at >> 3 == 0xc0 >> 3; /* mov: its opcode, or what comes last of it */
		if (loads && !memcmp(at + 1, number, sizeof number))
			return 1;
		const uint8_t *op = at + 1 + (at[1] >> 4 == 4);
		if (*at == 0xf3 && op[0] == 0x0f && op[1] == 0xae && op[2] >> 3 == 0xd0 >> 3)
			return 1;
	}
	return 0;
}

static void leave_all(struct early *e, const char *path)
{
	memcpy(e->own, e->plain, e->code->p_filesz);
	fprintf(stderr, "trackway cc: %s is not instrumented: it has no C library that sets up thread-local memory\n", path);
}

const char *tw_cc_early(const char *path)
{
	struct early e = {0};
	const char *why = NULL;
	if (tw_cc_linked_map(path, 1, &e.file))
		return strerror(errno);
	const Elf64_Shdr *plain = tw_cc_linked_read(&e.file) ? NULL : tw_cc_linked_section(&e.file, TW_CC_SECTION_PLAIN);
	e.code = plain ? tw_cc_linked_code(&e.file) : NULL;
	if (e.code && plain->sh_size == e.code->p_filesz + sizeof(struct tw_cc_plain)) {
		e.own = e.file.at + e.code->p_offset;
		e.plain = e.file.at + plain->sh_offset;
		if (begins_by_itself(&e.file) && !may_set_thread_pointer(&e))
			leave_all(&e, path);
		else if (find_functions(&e))
			why = "there is no memory";
		else if (has_early(&e) && find_early(&e))
			leave(&e, path);
	}
	free(e.function);
	munmap(e.file.at, e.file.n);
	return why;
}
