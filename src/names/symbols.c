#include "names/symbols.h"
#include "names/ahead.h"
#include "names/places.h"
#include "names/functions.h"
#include "names/dwarf_file.h"
#include "names/table.h"
#include "names/unchanged.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that was mapped somewhere. */
struct file {
	int has_changed, is_open;
	struct tw_dwarf_file file;      /* once it is open */
	Elf *elf;                       /* likewise, or it has changed */
	GElf_Addr bias;                 /* of libdwfl's addresses against the file's */
	struct tw_functions *functions; /* found when first asked for */
	int has_functions;
};

struct tw_symbols {
	struct tw_places places;
	struct file *files; /* beside those of the places */
	struct tw_ahead *ahead;
};

/* ---- files ---- */

/* The absolute path of a file: a relative path starts from the program's working directory. 0: too long. */
static int whole_path(const struct tw_symbols *s, const char *path, char whole[PATH_MAX])
{
	const char *cwd = path[0] == '/' ? "" : tw_recording_info(s->places.recording)->cwd;
	return snprintf(whole, PATH_MAX, "%s%s%s", cwd, *cwd ? "/" : "", path) < PATH_MAX;
}

/* The file as libdwfl sees it. Most users need few files, so each is opened when first asked for. */
static const struct file *open_file(const struct tw_symbols *s, size_t n)
{
	char whole[PATH_MAX];
	struct file *f = &s->files[n];
	if (f->is_open)
		return f;
	f->is_open = 1;
	if (f->has_changed || !tw_symbols_file_path(s, n, whole))
		return f;
	if (!tw_ahead_take(s->ahead, whole, &f->file))
		tw_dwarf_file_open(&f->file, whole);
	f->elf = f->file.module ? dwfl_module_getelf(f->file.module, &f->bias) : NULL;
	return f;
}

/* Leaves out files that have changed: they do not describe the code that ran. */
static int leave_out_changed(struct tw_symbols *s)
{
	char whole[PATH_MAX];
	size_t n = s->places.files.n;
	struct tw_code_check *check = calloc(n + 1, sizeof *check);
	for (size_t i = 0; check && i < n; i++)
		if (tw_symbols_file_path(s, i, whole))
			tw_code_check_begin(&check[i], whole);
	if (check)
		tw_check_code(s->places.recording, s->places.file_of, check);
	for (size_t i = 0; check && i < n; i++) {
		s->files[i].has_changed = tw_code_changed(&check[i]);
		tw_code_check_end(&check[i]);
	}
	free(check);
	return check != NULL;
}

/* The file's address of what stands at `offset` in it. */
static uint64_t vaddr_of(const struct file *f, uint64_t offset)
{
	size_t n;
	GElf_Phdr ph;
	if (!f->elf || elf_getphdrnum(f->elf, &n))
		return offset;
	for (int i = 0; i < (int)n; i++)
		if (gelf_getphdr(f->elf, i, &ph) && ph.p_type == PT_LOAD && offset >= ph.p_offset && offset - ph.p_offset < ph.p_filesz)
			return offset - ph.p_offset + ph.p_vaddr;
	return offset;
}

/* ---- the face ---- */

struct tw_symbols *tw_symbols_new(const struct tw_recording *r)
{
	struct tw_symbols *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	if (tw_places_init(&s->places, r) && (s->files = calloc(s->places.files.n + 1, sizeof *s->files)) && leave_out_changed(s))
		return s;
	tw_symbols_free(s);
	return NULL;
}

void tw_symbols_use(struct tw_symbols *s, struct tw_ahead *ahead)
{
	s->ahead = ahead;
}

void tw_symbols_free(struct tw_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->files && i < s->places.files.n; i++) {
		tw_functions_free(s->files[i].functions);
		tw_dwarf_file_close(&s->files[i].file);
	}
	free(s->files);
	tw_places_free(&s->places);
	free(s);
}

const struct tw_functions *tw_symbols_functions(struct tw_symbols *s, size_t n)
{
	struct file *f = &s->files[n];
	if (!f->has_functions && open_file(s, n)->elf)
		f->functions = tw_functions_new(f->file.module);
	if (!f->has_functions && f->functions && !tw_functions_add_nameless(f->functions, f->elf)) {
		tw_functions_free(f->functions);
		f->functions = NULL;
	}
	f->has_functions = 1;
	return f->functions;
}

void tw_symbols_place(const struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol_place *out)
{
	size_t module = tw_places_find(&s->places, pid, pc);
	*out = (struct tw_symbol_place){"", pc};
	if (module == TW_NO_MODULE)
		return;
	const struct tw_module *m = tw_recording_module(s->places.recording, module);
	out->path = m->path;
	out->vaddr = vaddr_of(open_file(s, s->places.file_of[module]), pc - m->address + m->offset);
}

const char *tw_symbols_find_file(const struct tw_symbols *s, const char *name)
{
	const char *found = NULL;
	for (size_t i = 0; i < s->places.files.n; i++) {
		const char *path = s->places.files.items[i];
		if (!strcmp(path, name))
			return path;
		if (!found && !strcmp(tw_base_name(path), tw_base_name(name)))
			found = path;
	}
	return found;
}

const char *tw_symbols_file(const struct tw_symbols *s, size_t n)
{
	return n < s->places.files.n ? s->places.files.items[n] : NULL;
}

int tw_symbols_file_changed(const struct tw_symbols *s, size_t n)
{
	return s->files[n].has_changed;
}

int tw_symbols_file_path(const struct tw_symbols *s, size_t n, char whole[4096])
{
	const char *path = s->places.files.items[n];
	return path[0] && path[0] != '[' && whole_path(s, path, whole);
}

Elf *tw_symbols_elf(const struct tw_symbols *s, size_t n)
{
	return open_file(s, n)->elf;
}

const struct tw_places *tw_symbols_places(const struct tw_symbols *s)
{
	return &s->places;
}

Dwfl_Module *tw_symbols_dwfl(const struct tw_symbols *s, const char *path, uint64_t *bias)
{
	for (size_t i = 0; i < s->places.files.n; i++) {
		if (strcmp(s->places.files.items[i], path))
			continue;
		const struct file *f = open_file(s, i);
		*bias = f->bias;
		return f->elf ? f->file.module : NULL;
	}
	return NULL;
}

const char *tw_symbols_trouble(const struct tw_symbols *s, const char *path)
{
	char whole[4096];
	const char *one;
	for (size_t i = 0; (one = tw_symbols_file(s, i)); i++) {
		if (strcmp(one, path) || !tw_symbols_file_path(s, i, whole))
			continue;
		if (access(whole, F_OK))
			return tw_name_why_text(TW_NAME_MISSING);
		return tw_symbols_file_changed(s, i) ? tw_name_why_text(TW_NAME_CHANGED) : NULL;
	}
	return NULL;
}
