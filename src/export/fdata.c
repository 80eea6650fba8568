#include "export/fdata.h"
#include "base/array.h"
#include "recording/recording.h"
#include "names/functions.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* A symbol with its BOLT name: local symbols of the same name are numbered from 1 in the order of their addresses. */
struct symbol {
	uint64_t vaddr;
	const char *name;
	uint32_t local; /* its number; 0: global */
	uint8_t function;
};

struct symbols {
	struct symbol *items; /* by address */
	size_t n;
};

struct fdata {
	FILE *f;
	struct symbols symbols;
	struct tw_functions *functions;
};

/* ---- names ---- */

static int by_vaddr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return y->function - x->function;
}

static int by_name(const void *a, const void *b)
{
	const struct symbol *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);
	return order ? order : (*x > *y) - (*x < *y);
}

/* Numbers the local symbols, which are sorted by address. */
static int number_locals(struct symbols *s)
{
	size_t n = 0;
	struct symbol **local = calloc(s->n + 1, sizeof *local);
	if (!local)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].local)
			local[n++] = &s->items[i];
	qsort(local, n, sizeof *local, by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(local[i]->name, local[i - 1]->name))
			local[i]->local = local[i - 1]->local + 1;
	free(local);
	return 0;
}

static int takes_part(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_COMMON && type != STT_FILE && type != STT_SECTION && type != STT_TLS;
}

static int read_symbols(struct symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	s->items = calloc(n + 1, sizeof *s->items);
	if (!s->items)
		return TW_ERR_MEMORY;
	for (size_t i = 1; data && i < n; i++) {
		GElf_Sym sym;
		const char *name = gelf_getsym(data, (int)i, &sym) ? elf_strptr(elf, sh->sh_link, sym.st_name) : NULL;
		if (name && *name && takes_part(&sym))
			s->items[s->n++] = (struct symbol){
			    .name = name,
			    .vaddr = sym.st_value,
			    .local = GELF_ST_BIND(sym.st_info) == STB_LOCAL,
			    .function = GELF_ST_TYPE(sym.st_info) == STT_FUNC,
			};
	}
	qsort(s->items, s->n, sizeof *s->items, by_vaddr);
	return number_locals(s);
}

static int find_symbols(struct symbols *s, Elf *elf)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return read_symbols(s, elf, scn, &sh);
	}
	return 0;
}

/* The symbol for the function at `start`: the first function there, otherwise the first symbol. */
static const struct symbol *symbol_at(const struct symbols *s, uint64_t start)
{
	size_t i = tw_array_before(&start, s->items, s->n, sizeof *s->items, tw_by_number);
	return i < s->n && s->items[i].vaddr == start ? &s->items[i] : NULL;
}

/* ---- lines ---- */

/* A place as "1 FUNCTION OFFSET"; code in no function or in other files as "0 [unknown] 0". */
static void put_place(const struct fdata *d, uint64_t vaddr)
{
	const struct tw_function *function = vaddr == TW_OUTSIDE ? NULL : tw_functions_find(d->functions, vaddr);
	const struct symbol *symbol = function ? symbol_at(&d->symbols, function->start) : NULL;
	unsigned long long offset = function ? vaddr - function->start : 0;
	if (function && function->plt == TW_PLT_ENTRY)
		fprintf(d->f, "1 %s@PLT %llx ", function->name, offset);
	else if (symbol && symbol->local)
		fprintf(d->f, "1 %s/%u %llx ", symbol->name, symbol->local, offset);
	else if (symbol)
		fprintf(d->f, "1 %s %llx ", symbol->name, offset);
	else
		fputs("0 [unknown] 0 ", d->f);
}

static int is_stub(const struct fdata *d, uint64_t vaddr)
{
	const struct tw_function *function = vaddr == TW_OUTSIDE ? NULL : tw_functions_find(d->functions, vaddr);
	return function && function->plt;
}

static int in_one_function(const struct fdata *d, uint64_t a, uint64_t b)
{
	return a != TW_OUTSIDE && b != TW_OUTSIDE && tw_functions_find(d->functions, a) == tw_functions_find(d->functions, b);
}

static int is_entry(const struct fdata *d, uint64_t vaddr)
{
	const struct tw_function *function = tw_functions_find(d->functions, vaddr);
	return function && function->start == vaddr;
}

/* PLT stubs belong to no function. Falling through counts only if branches also lead there. */
static int is_told(const struct fdata *d, const struct tw_file_edge *e)
{
	int branches = e->end == TW_END_CALL || e->end == TW_END_ICALL || e->end == TW_END_JUMP || e->end == TW_END_IJUMP;
	if (e->end == TW_END_RETURN || is_stub(d, e->from))
		return 0;
	if (e->from == TW_OUTSIDE)
		return is_entry(d, e->to);
	if (e->end == TW_END_COND || (branches && !e->fall))
		return 1;
	return e->joins && in_one_function(d, e->from, e->to);
}

static void put_edges(const struct fdata *d, const struct tw_file_profile *p)
{
	for (size_t i = 0; i < p->n_edges; i++) {
		const struct tw_file_edge *e = &p->edges[i];
		if (!is_told(d, e))
			continue;
		put_place(d, e->from);
		put_place(d, e->to);
		fprintf(d->f, "0 %llu\n", (unsigned long long)e->count);
	}
}

int tw_fdata(const struct tw_file_profile *p, const struct tw_symbols *symbols, const char *path, FILE *f)
{
	struct fdata d = {.f = f};
	uint64_t bias;
	Dwfl_Module *module = tw_symbols_dwfl(symbols, path, &bias);
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	int error = elf ? find_symbols(&d.symbols, elf) : 0;
	if (!error && !d.symbols.n) {
		const char *trouble = tw_symbols_trouble(symbols, path);
		error = tw_fail(TW_ERR_SYSTEM, "%s: no symbol table, which BOLT needs%s%s", path[0] ? path : "no program",
		                trouble ? ": " : "", trouble ? trouble : "");
	}
	d.functions = error ? NULL : tw_functions_new(module);
	if (!error && !d.functions)
		error = TW_ERR_MEMORY;
	if (!error)
		put_edges(&d, p);
	tw_functions_free(d.functions);
	free(d.symbols.items);
	return error;
}
