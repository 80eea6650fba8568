#include "names/gather.h"
#include "names/gather_lines.h"
#include "base/array.h"
#include "names/dwarf_file.h"
#include "names/file_names.h"
#include "names/functions.h"
#include "names/go_table.h"

#include <elfutils/libdwelf.h>
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

static int add_functions(struct tw_name_table *t, const struct tw_functions *all)
{
	const struct tw_function *f;
	int ok = 1;
	for (size_t i = 0; ok && all && (f = tw_functions_at(all, i)); i++)
		ok = add_function(t, all, f);
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

/* ---- what names come from ---- */

/* Adds the paths where a missing separate debug file would be looked for: it may appear there. 0: there may be other places. */
static int add_absent(struct tw_name_sources *sources, Elf *elf, const char *file)
{
	char path[TW_NAME_SOURCE_PATH], id[64] = "";
	const void *build;
	const ssize_t n = dwelf_elf_gnu_build_id(elf, &build);
	GElf_Word crc;
	const char *link = dwelf_elf_gnu_debuglink(elf, &crc);
	const int directory = (int)(tw_base_name(file) - file);
	int ok = !tw_debuginfod_is_asked();
	for (ssize_t i = 0; i < n && i < 31; i++)
		sprintf(id + 2 * i, "%02x", ((const unsigned char *)build)[i]);
	if (n > 1) {
		snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
		ok &= tw_name_sources_add(sources, path);
	}
	static const char *const where[] = {"%.0s%.*s%s", "%.0s%.*s.debug/%s", "%s%.*s%s"};
	for (unsigned k = 0; link && k < 3; k++) {
		const int bytes = snprintf(path, sizeof path, where[k], "/usr/lib/debug", directory, file, link);
		ok &= bytes < (int)sizeof path && tw_name_sources_add(sources, path);
	}
	return ok;
}

/* 0: what is known now of the file at `path` must not be stored. */
static int find_sources(const struct tw_symbols *s, size_t file, const char *path, struct tw_name_sources *out)
{
	const char *debug = NULL;
	uint64_t bias;
	Dwarf_Addr dwarf_bias;
	Dwfl_Module *module = tw_symbols_dwfl(s, tw_symbols_file(s, file), &bias);
	out->n = 0;
	if (!module || !tw_name_sources_add(out, path))
		return 0;
	const int has_debug = dwfl_module_getdwarf(module, &dwarf_bias) != NULL;
	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, &debug);
	if (debug && has_debug)
		return tw_name_sources_add(out, debug);
	return has_debug || add_absent(out, tw_symbols_elf(s, file), path);
}

/* ---- the names of one file ---- */

/* What is known of a file, and whether the store has the same. */
struct known {
	const struct tw_file_names *names;
	int is_mapped; /* it is the store's */
	int is_new;    /* it is not in the store */
};

static void forget(struct known *k)
{
	if (k->is_mapped)
		tw_name_store_release(k->names);
	else
		free((void *)k->names);
	*k = (struct known){0};
}

static int replace(struct known *k, struct tw_name_table *t, const struct tw_ran_list *ran)
{
	forget(k);
	k->names = tw_file_names_new(t, ran);
	k->is_new = 1;
	return k->names != NULL;
}

static int add_go_line(void *table, uint64_t start, uint64_t end, const char *file, uint32_t line)
{
	struct tw_name_line item = {start, end, tw_name_table_text(table, file), line};
	return item.source != TW_NO_TEXT && tw_name_table_add(table, TW_NAME_LINES, &item);
}

/* Without lines, except those that Go keeps in programs without DWARF. */
static int gather_symbols(struct tw_symbols *s, size_t file, struct known *out)
{
	uint64_t bias;
	Dwarf_Addr dwarf_bias;
	struct tw_name_table t = {0};
	Dwfl_Module *module = tw_symbols_dwfl(s, tw_symbols_file(s, file), &bias);
	const struct tw_go_visitor go = {.line = add_go_line, .context = &t};
	t.has_lines = dwfl_module_getdwarf(module, &dwarf_bias) != NULL;
	int ok = t.has_lines || tw_go_visit(tw_symbols_elf(s, file), &go);
	t.has_lines |= t.items[TW_NAME_LINES].n > 0;
	ok = ok && add_segments(&t, tw_symbols_elf(s, file)) && add_functions(&t, tw_symbols_functions(s, file)) &&
	     add_objects(&t, module, bias) && replace(out, &t, &(struct tw_ran_list){0});
	tw_name_table_free(&t);
	return ok;
}

/* Adds missing lines: those of `missing`, and all others of the same units. */
static int gather_missing(struct tw_symbols *s, size_t file, struct tw_ran_list *missing, struct known *k)
{
	struct tw_name_table t = {0};
	struct tw_ran_list known = {0};
	int ok =
	    tw_file_names_unpack(k->names, &t) && tw_file_names_known(k->names, &known) && tw_gather_lines(s, file, missing, &t, &known);
	for (size_t i = 0; ok && i < missing->n; i++)
		ok = tw_ran_add(&known, missing->pieces[i].start, missing->pieces[i].end);
	if (ok) {
		tw_ran_sort(&known);
		ok = replace(k, &t, &known);
	}
	free(known.pieces);
	tw_name_table_free(&t);
	return ok;
}

static int gather_known(struct tw_symbols *s, size_t file, const struct tw_ran_list *ran, struct known *k, struct tw_name_table *out)
{
	struct tw_ran_list at = {0}, wanted = {0}, missing = {0};
	int ok = tw_file_names_by_vaddr(k->names, ran, &at) && tw_file_names_wanted(k->names, &at, &wanted);
	if (ok && k->names->has_lines) {
		ok = tw_file_names_missing(k->names, &wanted, &missing);
		if (ok && missing.n)
			ok = gather_missing(s, file, &missing, k);
	}
	ok = ok && tw_file_names_extract(k->names, &at, &wanted, out);
	free(at.pieces);
	free(wanted.pieces);
	free(missing.pieces);
	return ok;
}

/* Why a file gives no names; TW_NAME_FINE: it does. `path`: "" if it has none. */
static enum tw_name_why why_not(const struct tw_symbols *s, size_t file, const char *path)
{
	if (tw_symbols_file_changed(s, file))
		return TW_NAME_CHANGED;
	if (!tw_symbols_file(s, file)[0])
		return TW_NAME_MADE;
	return *path && access(path, F_OK) ? TW_NAME_MISSING : TW_NAME_FINE;
}

int tw_gather_file(struct tw_symbols *s, size_t file, const struct tw_ran_list *ran, const struct tw_name_store *store,
                   struct tw_name_table *out)
{
	char path[4096] = "";
	struct tw_name_sources sources;
	if (!tw_symbols_file_path(s, file, path))
		path[0] = 0;
	out->path = strdup(tw_symbols_file(s, file));
	out->why = why_not(s, file, path);
	if (!out->path || out->why)
		return out->path != NULL;
	const struct tw_file_names *found = tw_name_store_find(store, path);
	struct known known = {found, found != NULL, 0};
	if (!found && !tw_symbols_elf(s, file)) {
		out->why = TW_NAME_UNREADABLE;
		return 1;
	}
	const int ok = (found || gather_symbols(s, file, &known)) && gather_known(s, file, ran, &known, out);
	if (ok && store && known.is_new && find_sources(s, file, path, &sources))
		tw_name_store_put(store, known.names, &sources);
	forget(&known);
	return ok;
}
