#include "names/functions.h"
#include "base/array.h"
#include "names/frames.h"
#include "names/go_table.h"

#include <elf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { STUB_BYTES = 16, NESTING = 16, HIDDEN = 0x8000 };

struct tw_functions {
	struct tw_function *items;
	size_t n, room;
};

/* What fills a slot of the global offset table. */
struct slot {
	uint64_t at;
	const char *name;
};

struct slots {
	struct slot *items;
	size_t n;
};

static int add(struct tw_functions *f, struct tw_function function)
{
	struct tw_function *items = tw_array_room(f->items, f->n, &f->room, sizeof *items);
	if (!items)
		return 0;
	f->items = items;
	f->items[f->n++] = function;
	return 1;
}

/* ---- symbols ---- */

/* Whether a symbol names code; *sh is its section. */
static int is_code(Elf *elf, const GElf_Sym *sym, GElf_Word section, GElf_Shdr *sh)
{
	int type = GELF_ST_TYPE(sym->st_info);
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	Elf_Scn *scn = section != SHN_UNDEF && section < SHN_LORESERVE ? elf_getscn(elf, section) : NULL;
	return scn && gelf_getshdr(scn, sh) && sh->sh_flags & SHF_EXECINSTR;
}

/*
 * Of several names for one place, people know the global one without leading underscores. The lowest bit prefers a
 * name that is not of an old version.
 */
static int rank_of(const GElf_Sym *sym, const char *name)
{
	int rank = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE ? 0 : 8;
	if (GELF_ST_BIND(sym->st_info) != STB_LOCAL)
		rank += 4;
	return 2 * (rank + (name[0] != '_') + (strncmp(name, "__", 2) != 0)) + 1;
}

static int add_symbol(struct tw_functions *f, Dwfl_Module *module, int i, GElf_Addr bias)
{
	Elf *elf;
	GElf_Sym sym;
	GElf_Shdr sh;
	GElf_Addr address, elf_bias;
	GElf_Word section;
	const char *name = dwfl_module_getsym_info(module, i, &sym, &address, &section, &elf, &elf_bias);
	if (!name || !*name || !is_code(elf, &sym, section, &sh))
		return 1;
	struct tw_function function = {
	    .start = address - bias,
	    .bytes = sym.st_size ? sym.st_size : sh.sh_addr + sh.sh_size + elf_bias - address,
	    .open = !sym.st_size,
	    .name = name,
	    .rank = rank_of(&sym, name),
	};
	return add(f, function);
}

static int add_symbols(struct tw_functions *f, Dwfl_Module *module, GElf_Addr bias)
{
	int n = dwfl_module_getsymtab(module), ok = 1;
	for (int i = 1; i < n && ok; i++)
		ok = add_symbol(f, module, i, bias);
	return ok;
}

/* ---- names of old versions ---- */

/* The first of the items for this place. */
static struct tw_function *first_at(const struct tw_functions *f, uint64_t start)
{
	size_t lo = 0, hi = f->n;
	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;
		if (f->items[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return &f->items[lo];
}

/* In a symbol table, an old version follows its name. */
static int is_old_name(const char *name, const char *old)
{
	const size_t n = strlen(old);
	return !strncmp(name, old, n) && (!name[n] || (name[n] == '@' && name[n + 1] != '@'));
}

static void rank_old_name(const struct tw_functions *f, uint64_t start, const char *old)
{
	for (struct tw_function *at = first_at(f, start); at < f->items + f->n && at->start == start; at++)
		if (is_old_name(at->name, old))
			at->rank &= ~1;
}

/* A name kept only for programs linked long ago (cfree, an old version, for free) is not the one that people know. */
static void rank_old(const struct tw_functions *f, Elf *elf, Elf_Data *versions, const GElf_Shdr *sh)
{
	GElf_Shdr symbols_sh;
	Elf_Scn *symbols = elf_getscn(elf, sh->sh_link);
	Elf_Data *table = symbols && gelf_getshdr(symbols, &symbols_sh) ? elf_getdata(symbols, NULL) : NULL;
	const size_t n = versions->d_size / sizeof(GElf_Versym);
	for (size_t i = 1; table && i < n; i++) {
		GElf_Sym sym;
		GElf_Versym version;
		if (!gelf_getversym(versions, (int)i, &version) || !(version & HIDDEN) || !gelf_getsym(table, (int)i, &sym))
			continue;
		const char *name = elf_strptr(elf, symbols_sh.sh_link, sym.st_name);
		if (name)
			rank_old_name(f, sym.st_value, name);
	}
}

/* The symbols must be sorted before. */
static void rank_versions(const struct tw_functions *f, Elf *elf)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_versym ? elf_getdata(scn, NULL) : NULL;
		if (data)
			rank_old(f, elf, data, &sh);
	}
}

/* ---- Go ---- */

static int add_go_function(void *f, uint64_t start, uint64_t end, const char *name)
{
	return add(f, (struct tw_function){.start = start, .bytes = end - start, .name = name});
}

/* ---- PLT stubs ---- */

static int by_slot(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* What a relocation refers to: a symbol, or (IRELATIVE) a function that selects the one to be called. */
static const char *name_of(const struct tw_functions *f, Elf *elf, const GElf_Rela *r, Elf_Data *table, size_t strings)
{
	GElf_Sym sym;
	if (GELF_R_TYPE(r->r_info) == R_X86_64_IRELATIVE) {
		const struct tw_function *chooser = tw_functions_find(f, (uint64_t)r->r_addend);
		return chooser ? chooser->name : NULL;
	}
	return gelf_getsym(table, (int)GELF_R_SYM(r->r_info), &sym) && sym.st_name ? elf_strptr(elf, strings, sym.st_name) : NULL;
}

/* Adds the slots that the relocations of one section fill. */
static int add_slots(struct slots *s, const struct tw_functions *f, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *relocations = elf_getdata(scn, NULL);
	Elf_Scn *symbols = elf_getscn(elf, sh->sh_link);
	Elf_Data *table = symbols ? elf_getdata(symbols, NULL) : NULL;
	GElf_Shdr symbols_sh;
	if (!relocations || !table || !sh->sh_entsize || !gelf_getshdr(symbols, &symbols_sh))
		return 1;
	size_t n = sh->sh_size / sh->sh_entsize;
	struct slot *items = realloc(s->items, (s->n + n + 1) * sizeof *items);
	if (!items)
		return 0;
	s->items = items;
	for (size_t i = 0; i < n; i++) {
		GElf_Rela r;
		const char *name = gelf_getrela(relocations, (int)i, &r) ? name_of(f, elf, &r, table, symbols_sh.sh_link) : NULL;
		if (name)
			s->items[s->n++] = (struct slot){r.r_offset, name};
	}
	return 1;
}

static int find_slots(struct slots *s, const struct tw_functions *f, Elf *elf)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC && !add_slots(s, f, elf, scn, &sh))
			return 0;
	}
	if (s->n)
		qsort(s->items, s->n, sizeof *s->items, by_slot);
	return 1;
}

/* The slot a stub jumps through (jmp *disp(%rip)), 0 if it does not. */
static uint64_t slot_of(const uint8_t *code, unsigned bytes, uint64_t address)
{
	for (unsigned i = 0; i + 6 <= bytes; i++) {
		int32_t disp;
		memcpy(&disp, code + i + 2, sizeof disp);
		if (code[i] == 0xff && code[i + 1] == 0x25)
			return address + i + 6 + (uint64_t)(int64_t)disp;
	}
	return 0;
}

static int add_stubs(struct tw_functions *f, const struct slots *slots, Elf_Scn *scn, const GElf_Shdr *sh)
{
	const Elf_Data *data = elf_rawdata(scn, NULL);
	unsigned bytes = sh->sh_entsize == 8 ? 8 : STUB_BYTES;
	for (size_t at = 0; data && data->d_buf && at + bytes <= data->d_size; at += bytes) {
		struct slot key = {slot_of((const uint8_t *)data->d_buf + at, bytes, sh->sh_addr + at), NULL};
		const struct slot *slot = slots->n ? bsearch(&key, slots->items, slots->n, sizeof key, by_slot) : NULL;
		if (!add(f, (struct tw_function){sh->sh_addr + at, bytes, 0, slot ? slot->name : "plt", 0,
		                                 slot ? TW_PLT_ENTRY : TW_PLT_COMMON}))
			return 0;
	}
	return 1;
}

/* The symbols must be sorted before. */
static int add_plt(struct tw_functions *f, Elf *elf)
{
	struct slots slots = {NULL, 0};
	size_t names;
	int ok = !elf_getshdrstrndx(elf, &names) && find_slots(&slots, f, elf);
	for (Elf_Scn *scn = NULL; ok && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_PROGBITS ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (name && !strncmp(name, ".plt", 4))
			ok = add_stubs(f, &slots, scn, &sh);
	}
	free(slots.items);
	return ok;
}

/* ---- unwind information ---- */

/* Of `all`, those that have names; they stand first. */
struct nameless {
	struct tw_functions named, *all;
};

static int add_nameless(void *nameless, uint64_t start, uint64_t end)
{
	struct nameless *l = nameless;
	l->named.items = l->all->items;
	return tw_functions_find(&l->named, start) ||
	       add(l->all, (struct tw_function){.start = start, .bytes = end - start, .name = "", .rank = -1});
}

/* ---- the face ---- */

static int by_start(const void *a, const void *b)
{
	const struct tw_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(y->name, x->name);
}

static void sort(struct tw_functions *f)
{
	if (f->n)
		qsort(f->items, f->n, sizeof *f->items, by_start);
}

struct tw_functions *tw_functions_new(Dwfl_Module *module)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	struct tw_functions *f = elf ? calloc(1, sizeof *f) : NULL;
	if (!f)
		return NULL;
	const struct tw_go_visitor go = {.function = add_go_function, .context = f};
	int ok = add_symbols(f, module, bias) && tw_go_visit(elf, &go); /* symbols rank higher */
	sort(f);
	rank_versions(f, elf);
	ok = ok && add_plt(f, elf);
	sort(f);
	if (ok)
		return f;
	tw_functions_free(f);
	return NULL;
}

/* A program's start and end code has symbols only in the object files it is linked from: each is a section. */
static int add_sections(struct nameless *l, Elf *elf)
{
	size_t names;
	int ok = 1;
	if (elf_getshdrstrndx(elf, &names))
		return 1;
	for (Elf_Scn *scn = NULL; ok && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (name && (!strcmp(name, ".init") || !strcmp(name, ".fini")) && sh.sh_size)
			ok = add_nameless(l, sh.sh_addr, sh.sh_addr + sh.sh_size);
	}
	return ok;
}

int tw_functions_add_nameless(struct tw_functions *f, Elf *elf)
{
	struct nameless nameless = {*f, f};
	int ok = tw_frames_visit(elf, add_nameless, &nameless) && add_sections(&nameless, elf);
	sort(f);
	return ok;
}

void tw_functions_free(struct tw_functions *f)
{
	if (!f)
		return;
	free(f->items);
	free(f);
}

const struct tw_function *tw_functions_find(const struct tw_functions *f, uint64_t vaddr)
{
	size_t n = tw_array_until(&vaddr, f->items, f->n, sizeof *f->items, tw_by_number);
	/* The nearest start before may belong to a small function within or beside the one that covers vaddr. */
	for (size_t i = n; i-- > 0 && n - i <= NESTING;) {
		const struct tw_function *item = &f->items[i];
		if (vaddr - item->start < item->bytes && (!item->open || i + 1 == n))
			return item;
	}
	return NULL;
}

const struct tw_function *tw_functions_at(const struct tw_functions *f, size_t i)
{
	return i < f->n ? &f->items[i] : NULL;
}

uint64_t tw_functions_end(const struct tw_functions *f, const struct tw_function *function)
{
	uint64_t end = function->start + function->bytes;
	size_t next = tw_array_until(&function->start, f->items, f->n, sizeof *f->items, tw_by_number);
	return function->open && next < f->n && f->items[next].start < end ? f->items[next].start : end;
}
