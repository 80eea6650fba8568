#include "names/gather.h"
#include "names/gather_lines.h"
#include "base/array.h"
#include "names/functions.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- functions ---- */

static int add_function(struct tw_name_table *t, const struct tw_functions *all, const struct tw_function *f)
{
	char name[4096];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(f->name, "@"), f->name); /* without the version of the symbol */
	struct tw_name_function item = {f->start, tw_functions_end(all, f), tw_name_table_text(t, name), (uint32_t)f->plt};
	return item.name != TW_NO_TEXT && tw_name_table_add(t, TW_NAME_FUNCTIONS, &item);
}

static int by_address(const void *a, const void *b)
{
	const struct tw_function *const *x = a, *const *y = b;
	return (*x > *y) - (*x < *y);
}

/* Adds the functions that pieces of code are in, each once. */
static int add_functions(struct tw_name_table *t, const struct tw_functions *all, const struct tw_ran_list *ran)
{
	const struct tw_function **found = calloc(ran->n + 1, sizeof *found);
	size_t n = 0;
	int ok = found != NULL;
	for (size_t i = 0; ok && i < ran->n; i++)
		if ((found[n] = tw_functions_find(all, ran->pieces[i].start)))
			n++;
	if (n < ran->n)
		t->why = TW_NAME_STRIPPED;
	if (n)
		qsort(found, n, sizeof *found, by_address);
	for (size_t i = 0; ok && i < n; i++)
		if (!i || found[i] != found[i - 1])
			ok = add_function(t, all, found[i]);
	free(found);
	return ok;
}

/* ---- variables ---- */

static int add_object(struct tw_name_table *t, Dwfl_Module *module, int i, uint64_t bias)
{
	GElf_Sym sym;
	GElf_Addr address;
	GElf_Word section;
	const char *name = dwfl_module_getsym_info(module, i, &sym, &address, &section, NULL, NULL);
	if (!name || !*name || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || !sym.st_size || section == SHN_UNDEF || section == SHN_ABS)
		return 1;
	char plain[1024];
	snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "@"), name);
	struct tw_name_object item = {.start = address - bias, .end = address - bias + sym.st_size, .name = tw_name_table_text(t, plain)};
	return item.name != TW_NO_TEXT && tw_name_table_add(t, TW_NAME_OBJECTS, &item);
}

static int add_objects(struct tw_name_table *t, Dwfl_Module *module, uint64_t bias)
{
	int n = dwfl_module_getsymtab(module), ok = 1;
	for (int i = 1; i < n && ok; i++)
		ok = add_object(t, module, i, bias);
	return ok;
}

/* ---- segments ---- */

static int add_segments(struct tw_name_table *t, Elf *elf)
{
	size_t n;
	GElf_Phdr ph;
	int ok = 1;
	if (elf_getphdrnum(elf, &n))
		return 1;
	for (int i = 0; ok && i < (int)n; i++)
		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_LOAD)
			ok = tw_name_table_add(t, TW_NAME_SEGMENTS,
			                       &(struct tw_name_segment){ph.p_offset, ph.p_filesz, ph.p_vaddr, ph.p_memsz, ph.p_flags});
	return ok;
}

/* ---- files ---- */

/* Why a file gives no names; TW_NAME_FINE: it does. */
static enum tw_name_why why_not(const struct tw_symbols *s, size_t file)
{
	char path[4096];
	if (tw_symbols_elf(s, file))
		return TW_NAME_FINE;
	if (tw_symbols_file_changed(s, file))
		return TW_NAME_CHANGED;
	if (!tw_symbols_file(s, file)[0])
		return TW_NAME_MADE;
	return tw_symbols_file_path(s, file, path) && access(path, F_OK) ? TW_NAME_MISSING : TW_NAME_UNREADABLE;
}

/* The pieces by the file's own addresses. */
static int by_vaddr(const struct tw_name_table *t, const struct tw_ran_list *ran, struct tw_ran_list *out)
{
	*out = (struct tw_ran_list){0};
	out->pieces = calloc(ran->n + 1, sizeof *out->pieces);
	for (size_t i = 0; out->pieces && i < ran->n; i++) {
		uint64_t start = tw_name_table_vaddr(t, ran->pieces[i].start);
		out->pieces[out->n++] = (struct tw_ran_piece){start, start + ran->pieces[i].end - ran->pieces[i].start};
	}
	if (out->n)
		qsort(out->pieces, out->n, sizeof *out->pieces, tw_by_number);
	return out->pieces != NULL;
}

/* Adds the first instruction of each function, whether it ran or not: it says which source the function is of. */
static int with_entries(const struct tw_name_table *t, struct tw_ran_list *at)
{
	const struct tw_name_function *f = t->items[TW_NAME_FUNCTIONS].at;
	size_t n = t->items[TW_NAME_FUNCTIONS].n;
	struct tw_ran_piece *pieces = realloc(at->pieces, (at->n + n + 1) * sizeof *pieces);
	if (!pieces)
		return 0;
	at->pieces = pieces;
	for (size_t i = 0; i < n; i++)
		at->pieces[at->n++] = (struct tw_ran_piece){f[i].start, f[i].start + 1};
	qsort(at->pieces, at->n, sizeof *at->pieces, tw_by_number);
	return 1;
}

static int gather_readable(struct tw_symbols *s, size_t file, const struct tw_ran_list *ran, struct tw_name_table *t)
{
	uint64_t bias;
	struct tw_ran_list at = {0}, joined = {0};
	const struct tw_functions *functions = tw_symbols_functions(s, file);
	Dwfl_Module *module = tw_symbols_dwfl(s, t->path, &bias);
	int ok = add_segments(t, tw_symbols_elf(s, file)) && by_vaddr(t, ran, &at);
	if (ok && functions)
		ok = add_functions(t, functions, &at);
	ok =
	    ok && with_entries(t, &at) && tw_ran_join(&at, &joined) && add_objects(t, module, bias) && tw_gather_lines(s, file, &joined, t);
	free(at.pieces);
	free(joined.pieces);
	return ok;
}

int tw_gather_file(struct tw_symbols *s, size_t file, const struct tw_ran_list *ran, struct tw_name_table *out)
{
	out->path = strdup(tw_symbols_file(s, file));
	out->why = why_not(s, file);
	if (!out->path || out->why)
		return out->path != NULL;
	return gather_readable(s, file, ran, out);
}
