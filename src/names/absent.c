#include "names/absent.h"
#include "names/demangle.h"
#include "names/functions.h"
#include "names/near.h"
#include "names/symbols.h"
#include "recording/recording.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct look {
	const struct tw_recording *recording;
	struct tw_symbols *symbols;
	const char *wanted;
	struct tw_near near;
	struct tw_absent *out;
	int ok; /* there is memory */
};

static char *copy(struct look *l, const char *text)
{
	char *own = strdup(text);
	l->ok &= own != NULL;
	return own;
}

static void answer(struct look *l, enum tw_absent_what what, const char *function, const char *path)
{
	struct tw_absent *a = l->out;
	free(a->function);
	free(a->module);
	a->what = what;
	a->function = copy(l, function);
	a->module = copy(l, tw_base_name(path));
}

/* ---- symbols ---- */

/* Whether code in [start, end) of a file ran; the file's own addresses. */
static int has_run(const struct look *l, const char *path, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < tw_recording_n_descriptors(l->recording); i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(l->recording, i);
		const struct tw_block *b = tw_descriptor_blocks(d);
		for (unsigned k = 0; k < d->n_blocks; k++) {
			struct tw_symbol_place place;
			tw_symbols_place(l->symbols, d->pid, b[k].pc, &place);
			if (place.vaddr < end && place.vaddr + b[k].bytes > start && !strcmp(place.path, path))
				return 1;
		}
	}
	return 0;
}

/* Where the debug information says that the function begins. */
static void find_line(struct look *l, const char *path, uint64_t vaddr)
{
	uint64_t bias;
	int line = 0;
	Dwfl_Module *module = tw_symbols_dwfl(l->symbols, path, &bias);
	Dwfl_Line *at = module ? dwfl_module_getsrc(module, vaddr + bias) : NULL;
	const char *file = at ? dwfl_lineinfo(at, NULL, &line, NULL, NULL, NULL) : NULL;
	free(l->out->file);
	l->out->file = file && line > 0 ? copy(l, file) : NULL;
	l->out->line = (unsigned)line;
}

/* This is the requested function. Of several with that name, one that ran takes precedence. */
static void take(struct look *l, size_t file, const struct tw_functions *all, const struct tw_function *f, const char *shown)
{
	const char *path = tw_symbols_file(l->symbols, file);
	const struct tw_function *known = tw_functions_find(all, f->start);
	char *name = known ? tw_demangle(known->name) : NULL;
	if (has_run(l, path, f->start, tw_functions_end(all, f))) {
		answer(l, TW_ABSENT_RAN, name ? name : known ? known->name : shown, path);
	} else if (l->out->what == TW_ABSENT_NOWHERE) {
		answer(l, TW_ABSENT_IDLE, shown, path);
		l->out->address = f->start;
		find_line(l, path, f->start);
	}
	free(name);
}

static void look_at_symbols(struct look *l, size_t file, const struct tw_functions *all)
{
	const struct tw_function *f;
	size_t nameless = 0, named = 0;
	for (size_t i = 0; (f = tw_functions_at(all, i)) && l->ok && l->out->what != TW_ABSENT_RAN; i++) {
		char *readable = f->plt || !*f->name ? NULL : tw_demangle(f->name);
		const char *shown = readable ? readable : f->name;
		if (!f->plt && *f->name && (tw_name_is(shown, l->wanted) || !strcmp(f->name, l->wanted)))
			take(l, file, all, f, shown);
		else if (!f->plt && *f->name)
			tw_near_note(&l->near, shown);
		nameless += !f->plt && !*f->name;
		named += !f->plt && *f->name;
		free(readable);
	}
	if (nameless > named && !l->out->nameless)
		l->out->nameless = copy(l, tw_base_name(tw_symbols_file(l->symbols, file)));
}

/* ---- functions that are inlined ---- */

static int look_at_subprogram(Dwarf_Die *die, void *arg)
{
	struct look *l = arg;
	const char *name = dwarf_diename(die);
	if (!name || !dwarf_func_inline(die))
		return DWARF_CB_OK;
	tw_near_note(&l->near, name);
	if (!tw_name_is(name, l->wanted))
		return DWARF_CB_OK;
	l->out->function = copy(l, name);
	return DWARF_CB_ABORT;
}

static void look_at_inlined(struct look *l, const char *path)
{
	Dwarf_Addr bias;
	uint64_t file_bias;
	Dwfl_Module *m = tw_symbols_dwfl(l->symbols, path, &file_bias);
	for (Dwarf_Die *unit = NULL; m && !l->out->function && (unit = dwfl_module_nextcu(m, unit, &bias));)
		dwarf_getfuncs(unit, look_at_subprogram, l, 0);
	if (!l->out->function)
		return;
	l->out->what = TW_ABSENT_INLINED;
	l->out->module = copy(l, tw_base_name(path));
}

/* ---- the face ---- */

/* Calls `each` for the matching files until there is an answer. */
static void visit(struct look *l, const char *module, int inlined)
{
	const char *path;
	for (size_t i = 0; (path = tw_symbols_file(l->symbols, i)) && l->ok; i++) {
		if (!*path || *path == '[' || (module && !tw_is_module(path, module)) || l->out->what == TW_ABSENT_RAN ||
		    (inlined && l->out->what != TW_ABSENT_NOWHERE))
			continue;
		const struct tw_functions *all = tw_symbols_functions(l->symbols, i);
		if (all && inlined)
			look_at_inlined(l, path);
		else if (all)
			look_at_symbols(l, i, all);
		else if (!l->out->blind)
			l->out->blind = copy(l, path);
	}
}

int tw_absent_look(const struct tw_recording *r, const char *function, const char *module, struct tw_absent *out)
{
	*out = (struct tw_absent){.what = TW_ABSENT_NOWHERE};
	struct look l = {
	    .recording = r, .symbols = tw_symbols_new(r), .wanted = function, .near = {.wanted = function}, .out = out, .ok = 1};
	if (!l.symbols)
		return TW_ERR_MEMORY;
	visit(&l, module, 0);
	if (out->what == TW_ABSENT_NOWHERE)
		visit(&l, module, 1);
	tw_near_tell(&l.near, out->near, sizeof out->near);
	tw_near_free(&l.near);
	tw_symbols_free(l.symbols);
	return l.ok ? 0 : TW_ERR_MEMORY;
}

void tw_absent_free(struct tw_absent *a)
{
	free(a->function);
	free(a->module);
	free(a->file);
	free(a->blind);
	free(a->nameless);
	memset(a, 0, sizeof *a);
}

static char *sentence_of_nowhere(const struct tw_absent *a, const char *wanted)
{
	char *text = NULL, hidden[512] = "";
	const char *near = *a->near ? "; names like it: " : "";
	if (a->nameless)
		snprintf(hidden, sizeof hidden, "; %s has functions without symbols, which go by their addresses", a->nameless);
	if ((a->blind ? asprintf(&text, "no function %s ran; whether there is one is not known, since %s is missing or has changed%s%s%s",
	                         wanted, a->blind, hidden, near, a->near)
	              : asprintf(&text, "there is no function %s%s%s%s", wanted, hidden, near, a->near)) < 0)
		return NULL;
	return text;
}

char *tw_absent_sentence(const struct tw_absent *a, const char *wanted)
{
	char *text = NULL, place[512] = "";
	int n = 0;
	if (a->line)
		snprintf(place, sizeof place, " (%s:%u)", tw_base_name(a->file), a->line);
	switch (a->what) {
	case TW_ABSENT_NOWHERE:
		return sentence_of_nowhere(a, wanted);
	case TW_ABSENT_IDLE:
		n = asprintf(&text, "%s is in %s%s, and was not executed", a->function, a->module, place);
		break;
	case TW_ABSENT_INLINED:
		n = asprintf(&text, "%s is inlined wherever %s calls it: it has no code of its own, and counts as part of its callers",
		             a->function, a->module);
		break;
	case TW_ABSENT_RAN:
		n = tw_name_is(a->function, wanted)
		        ? asprintf(&text, "%s of %s ran, but not in this part of the recording", a->function, a->module)
		        : asprintf(&text, "%s is another name of %s in %s", wanted, a->function, a->module);
		break;
	}
	return n < 0 ? NULL : text;
}
