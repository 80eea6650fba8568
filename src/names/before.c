#include "names/before.h"
#include "names/demangle.h"
#include "names/near.h"
#include "names/places.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = 120, MEANT = 4 };

struct look {
	const char *function;
	struct tw_before_answer *answer;
	int found, inlined;
	struct tw_near near;
	const char *meant[MEANT]; /* linker's names whose readable form is that of the function */
	int n_meant;
};

/* ---- one file ---- */

static int is_function(const GElf_Sym *symbol)
{
	const unsigned char type = GELF_ST_TYPE(symbol->st_info);
	return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Names may have a version behind them, from '@' on. */
static int is_name(const char *name, const char *function)
{
	const size_t n = strlen(function);
	return !strncmp(name, function, n) && (!name[n] || name[n] == '@');
}

/* The name without its scope and parameters: every linker name of it contains that. */
static void own_name(const char *function, char *to, size_t size)
{
	size_t n = strcspn(function, "("), from = n;
	while (from && function[from - 1] != ':')
		from--;
	snprintf(to, size, "%.*s", (int)(n - from), function + from);
}

static void note_meant(struct look *l, const char *name)
{
	char own[LONGEST], *readable = NULL;
	const size_t n = strlen(l->function);
	own_name(l->function, own, sizeof own);
	if (name[0] != '_' || !*own || !strstr(name, own) || !(readable = tw_demangle(name)))
		return;
	int is_meant = !strncmp(readable, l->function, n) && (!readable[n] || readable[n] == '(') && !strchr(name, '.');
	for (int i = 0; i < l->n_meant && is_meant; i++)
		is_meant = strcmp(l->meant[i], name) != 0;
	if (is_meant && l->n_meant < MEANT)
		l->meant[l->n_meant++] = name;
	free(readable);
}

/* If one function has this readable name, takes it. If several do, the answer lists them. */
static void take_meant(struct look *l, struct tw_where *w)
{
	char *to = l->answer->near, *end = to + sizeof l->answer->near;
	if (l->n_meant == 1 && strcspn(l->meant[0], "@") < sizeof w->function) {
		snprintf(w->function, sizeof w->function, "%.*s", (int)strcspn(l->meant[0], "@"), l->meant[0]);
		l->found = 1;
	}
	for (int i = 0; i < l->n_meant && l->n_meant > 1 && to < end; i++)
		to += snprintf(to, (size_t)(end - to), "%s%s", i ? ", " : "", l->meant[i]);
}

static void look_at_symbols(struct look *l, Dwfl_Module *m)
{
	const int n = dwfl_module_getsymtab(m);
	for (int i = 1; i < n && !l->found; i++) {
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym(m, i, &symbol, NULL);
		if (!name || !is_function(&symbol))
			continue;
		l->found = is_name(name, l->function);
		note_meant(l, name);
		if (GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE)
			tw_near_note(&l->near, name);
	}
}

static int look_at_subprogram(Dwarf_Die *die, void *arg)
{
	struct look *l = arg;
	const char *name = dwarf_diename(die);
	if (!name || strcmp(name, l->function) || !dwarf_func_inline(die))
		return DWARF_CB_OK;
	l->inlined = 1;
	return DWARF_CB_ABORT;
}

static void look_at_inlined(struct look *l, Dwfl_Module *m)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = NULL;
	while (!l->inlined && (unit = dwfl_module_nextcu(m, unit, &bias)))
		dwarf_getfuncs(unit, look_at_subprogram, l, 0);
}

/* Returns 0 if the file is invalid: then anything may be in it. */
static int look_at_file(struct look *l, Dwfl *dwfl, const char *path)
{
	dwfl_report_begin_add(dwfl);
	Dwfl_Module *m = dwfl_report_offline(dwfl, path, path, -1);
	dwfl_report_end(dwfl, NULL, NULL);
	snprintf(l->answer->file, sizeof l->answer->file, "%s", path);
	if (!m || dwfl_module_getsymtab(m) < 0)
		return 0;
	look_at_symbols(l, m);
	if (!l->found && !l->inlined)
		look_at_inlined(l, m);
	return 1;
}

/* The file's own address as an offset in it; 0: no loaded part of the file. */
static uint64_t offset_of(const char *path, uint64_t vaddr)
{
	uint64_t offset = 0;
	FILE *f = fopen(path, "re");
	Elf *elf = f && elf_version(EV_CURRENT) ? elf_begin(fileno(f), ELF_C_READ, NULL) : NULL;
	size_t n = 0;
	for (size_t i = 0; elf && !elf_getphdrnum(elf, &n) && i < n; i++) {
		GElf_Phdr header;
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD && vaddr - header.p_vaddr < header.p_filesz)
			offset = vaddr - header.p_vaddr + header.p_offset;
	}
	elf_end(elf);
	if (f)
		fclose(f);
	return offset;
}

/* ---- the files ---- */

/* The interpreter that the program asks for; "": none. */
static void interpreter_of(const char *program, char to[PATH_MAX])
{
	FILE *f = fopen(program, "re");
	Elf *elf = f && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fileno(f), ELF_C_READ, NULL) : NULL;
	size_t n = 0;
	to[0] = 0;
	for (size_t i = 0; elf && !elf_getphdrnum(elf, &n) && i < n; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP || header.p_filesz >= PATH_MAX)
			continue;
		const ssize_t got = pread(fileno(f), to, header.p_filesz, (off_t)header.p_offset);
		to[got > 0 ? got : 0] = 0;
	}
	elf_end(elf);
	if (f)
		fclose(f);
}

/* What the loader prints about the libraries loaded at the start; NULL: nothing. */
static FILE *list_libraries(const char *program, pid_t *pid)
{
	char loader[PATH_MAX];
	int ends[2];
	interpreter_of(program, loader);
	if (!loader[0] || pipe(ends))
		return NULL;
	*pid = fork();
	if (!*pid) {
		dup2(ends[1], 1);
		close(2);
		close(ends[0]);
		close(ends[1]);
		execl(loader, loader, "--list", program, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (*pid > 0)
		return fdopen(ends[0], "r");
	close(ends[0]);
	return NULL;
}

/* The path in a line "\tNAME => PATH (0x...)" or "\tPATH (0x...)"; NULL: none. It is as the program requests it, possibly relative. */
static char *path_in(char *line)
{
	char *arrow = strstr(line, "=> "), *path = arrow ? arrow + 3 : line + strspn(line, "\t "), *end = strstr(path, " (0x");
	if (!end)
		return NULL;
	*end = 0;
	return strchr(path, '/') ? path : NULL;
}

struct visit {
	struct look *l;
	Dwfl *dwfl;
	struct tw_where *w;
	char wanted[PATH_MAX]; /* the module; as an absolute path if it was given as a path */
	int looked, blind;     /* files that were looked through, and that make no sense */
};

static void visit(struct visit *v, const char *path)
{
	char real[PATH_MAX];
	if (v->l->found || (v->wanted[0] && !tw_is_module(path, v->wanted) && (!realpath(path, real) || strcmp(real, v->wanted))))
		return;
	if (v->wanted[0] == '/')
		snprintf(v->w->module, sizeof v->w->module, "%s", tw_base_name(path));
	v->looked++;
	if (v->w->function[0]) {
		v->blind += !look_at_file(v->l, v->dwfl, path);
		return;
	}
	v->w->value = offset_of(path, v->w->value);
	v->l->found = v->w->value != 0;
	snprintf(v->l->answer->file, sizeof v->l->answer->file, "%s", path);
}

static void visit_libraries(struct visit *v, const char *program)
{
	pid_t pid;
	char line[2 * PATH_MAX];
	FILE *list = list_libraries(program, &pid);
	while (list && fgets(line, sizeof line, list)) {
		const char *path = path_in(line);
		if (path)
			visit(v, path);
	}
	if (!list)
		return;
	fclose(list);
	waitpid(pid, NULL, 0);
}

void tw_before_look(const char *program, struct tw_where *w, struct tw_before_answer *answer)
{
	static const Dwfl_Callbacks callbacks = {
	    .find_elf = dwfl_build_id_find_elf,
	    .find_debuginfo = dwfl_standard_find_debuginfo,
	    .section_address = dwfl_offline_section_address,
	};
	*answer = (struct tw_before_answer){.what = TW_BEFORE_FOUND, .everywhere = !w->module[0]};
	struct look l = {.function = w->function, .answer = answer, .near = {.wanted = w->function}};
	struct visit v = {.l = &l, .dwfl = dwfl_begin(&callbacks), .w = w};
	if (!v.dwfl)
		return;
	if (!strchr(w->module, '/') || !realpath(w->module, v.wanted))
		snprintf(v.wanted, sizeof v.wanted, "%s", w->module);
	visit(&v, program);
	visit_libraries(&v, program);
	if (!l.found && l.n_meant)
		take_meant(&l, w);
	else
		tw_near_tell(&l.near, answer->near, sizeof answer->near);
	tw_near_free(&l.near);
	dwfl_end(v.dwfl);
	if (!w->function[0] && !l.found)
		answer->what = v.looked ? TW_BEFORE_MISSING : TW_BEFORE_NO_MODULE;
	else if (!l.found && v.looked && !v.blind)
		answer->what = l.n_meant > 1 ? TW_BEFORE_SEVERAL : l.inlined ? TW_BEFORE_INLINED : TW_BEFORE_MISSING;
}
