#include "names/own_variables.h"
#include "base/array.h"
#include "names/demangle.h"
#include "names/symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* A file mapped by an image, in order of mapping. */
struct loaded {
	size_t file;
	int is_early;                 /* it is there from the program's beginning */
	uint64_t bytes, align, first; /* of the variables; `first`: where in an alignment they begin */
	uint64_t below;               /* so far below the base of fs they stand */
};

/* A search for variables; `found` is called for each. */
struct search {
	struct tw_symbols *symbols;
	const char *module;
	struct loaded *loaded;
	size_t n_loaded;
	void (*found)(void *context, const struct tw_own_variable *v, const char *symbol, const char *path);
	void *context;
};

/* What one of a name was asked for. */
struct wanted {
	const char *name;
	struct tw_own_variable *out;
	size_t room, n;
};

struct tw_own_names {
	struct tw_own_name *items; /* texts are ours; by image, then place */
	size_t n, room;
	int mangled;
};

/* ---- files ---- */

static void read_segment(struct loaded *l, Elf *elf)
{
	size_t n;
	GElf_Phdr ph;
	if (!elf || elf_getphdrnum(elf, &n))
		return;
	for (int i = 0; i < (int)n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_TLS)
			continue;
		l->bytes = ph.p_memsz;
		l->align = ph.p_align ? ph.p_align : 1;
		l->first = ph.p_vaddr & (l->align - 1);
	}
}

/* Calls f for the text of each dynamic-section entry with this tag, until it returns 1, which is returned. */
static int each_dynamic(Elf *elf, GElf_Sxword tag, int (*f)(void *context, const char *text), void *context)
{
	GElf_Shdr sh;
	GElf_Dyn dyn;
	for (Elf_Scn *s = elf ? elf_nextscn(elf, NULL) : NULL; s; s = elf_nextscn(elf, s)) {
		if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_DYNAMIC)
			continue;
		Elf_Data *data = elf_getdata(s, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
			const char *text = dyn.d_tag == tag ? elf_strptr(elf, sh.sh_link, dyn.d_un.d_val) : NULL;
			if (text && f(context, text))
				return 1;
		}
	}
	return 0;
}

static int is_same(void *context, const char *text)
{
	return !strcmp(context, text);
}

/* A library needed by an early file is early, and so is everything mapped before it. */
static int note_needed(void *context, const char *needed)
{
	struct search *s = context;
	for (size_t i = s->n_loaded; i-- > 0;) {
		const size_t file = s->loaded[i].file;
		if (strcmp(tw_base_name(tw_symbols_file(s->symbols, file)), tw_base_name(needed)) != 0 &&
		    !each_dynamic(tw_symbols_elf(s->symbols, file), DT_SONAME, is_same, (void *)(uintptr_t)needed))
			continue;
		for (; i > 0 && !s->loaded[i].is_early; i--)
			s->loaded[i].is_early = 1;
		break;
	}
	return 0;
}

static size_t count_early(const struct search *s)
{
	size_t n = 0;
	while (n < s->n_loaded && s->loaded[n].is_early)
		n++;
	return n;
}

/* Early files stand before all others. */
static void find_early(struct search *s)
{
	s->loaded[0].is_early = 1;
	for (size_t i = 0; i < count_early(s); i++)
		each_dynamic(tw_symbols_elf(s->symbols, s->loaded[i].file), DT_NEEDED, note_needed, s);
}

static int is_of_image(const struct search *s, uint32_t image, size_t module)
{
	const struct tw_places *p = tw_symbols_places(s->symbols);
	const struct tw_module *m = tw_recording_module(p->recording, module);
	return m->path[0] && m->path[0] != '[' && tw_places_find(p, TW_SYMBOLS_IMAGE(image), m->address) == module;
}

static void find_loaded(struct search *s, uint32_t image)
{
	const struct tw_places *p = tw_symbols_places(s->symbols);
	s->n_loaded = 0;
	for (size_t i = 0; i < tw_recording_n_modules(p->recording); i++) {
		if (!is_of_image(s, image, i))
			continue;
		struct loaded *l = &s->loaded[s->n_loaded++];
		*l = (struct loaded){.file = p->file_of[i]};
		read_segment(l, tw_symbols_elf(s->symbols, l->file));
	}
	if (s->n_loaded)
		find_early(s);
}

/* ---- where they stand ---- */

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) / align * align;
}

/* The layout of glibc's loader: gaps left by alignment are used for blocks that fit. */
static void lay_out(struct search *s)
{
	uint64_t used = 0, free_from = 0, free_to = 0;
	for (size_t i = 0; i < s->n_loaded && s->loaded[i].is_early; i++) {
		struct loaded *l = &s->loaded[i];
		if (!l->bytes)
			continue;
		const uint64_t before = (l->align - l->first) & (l->align - 1);
		const uint64_t within = round_up(free_from + l->bytes - before, l->align) + before;
		l->below = round_up(used + l->bytes - before, l->align) + before;
		if (free_to - free_from >= l->bytes && within <= free_to) {
			l->below = free_from = within;
			continue;
		}
		if (l->below > used + l->bytes + (free_to - free_from)) {
			free_from = used;
			free_to = l->below - l->bytes;
		}
		used = l->below;
	}
}

static int is_named(const char *symbol, const char *name)
{
	char *shown = tw_demangle(symbol);
	const int is = tw_name_is(symbol, name) || (shown && tw_name_is(shown, name));
	free(shown);
	return is;
}

/* A file may have several (static) variables of one name; one variable may be in several tables. */
static void add_wanted(void *context, const struct tw_own_variable *v, const char *symbol, const char *path)
{
	(void)path;
	struct wanted *w = context;
	if (!is_named(symbol, w->name))
		return;
	for (size_t i = 0; i < w->n && i < w->room; i++)
		if (w->out[i].image == v->image && w->out[i].at == v->at)
			return;
	if (w->n < w->room)
		w->out[w->n] = *v;
	w->n++;
}

static void search_file(struct search *s, uint32_t image, const struct loaded *l)
{
	const char *path = tw_symbols_file(s->symbols, l->file);
	uint64_t bias;
	Dwfl_Module *m = !s->module || tw_is_module(path, s->module) ? tw_symbols_dwfl(s->symbols, path, &bias) : NULL;
	const int n = m ? dwfl_module_getsymtab(m) : 0;
	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		GElf_Word section;
		const char *name = dwfl_module_getsym_info(m, i, &sym, &address, &section, NULL, NULL);
		const struct tw_own_variable v = {image, (int64_t)(sym.st_value - l->below), sym.st_size, l->file, sym.st_value};
		if (name && GELF_ST_TYPE(sym.st_info) == STT_TLS && section != SHN_UNDEF)
			s->found(s->context, &v, name, path);
	}
}

static void search_image(struct search *s, uint32_t image)
{
	find_loaded(s, image);
	lay_out(s);
	for (size_t i = 0; i < s->n_loaded && s->loaded[i].is_early; i++)
		if (s->loaded[i].bytes)
			search_file(s, image, &s->loaded[i]);
}

static void search(struct search *s, const struct tw_recording *r)
{
	s->symbols = tw_symbols_new(r);
	s->loaded = calloc(tw_recording_n_modules(r) + 1, sizeof *s->loaded);
	for (uint32_t k = 0; s->symbols && s->loaded && k < tw_symbols_places(s->symbols)->n_images; k++)
		search_image(s, k);
	free(s->loaded);
	tw_symbols_free(s->symbols);
}

size_t tw_own_variables_find(const struct tw_recording *r, const char *module, const char *name, struct tw_own_variable *out, size_t room)
{
	struct wanted w = {.name = name, .out = out, .room = room};
	search(&(struct search){.module = module, .found = add_wanted, .context = &w}, r);
	return w.n;
}

/* ---- names ---- */

static void free_name(struct tw_own_name *n)
{
	free((void *)(uintptr_t)n->name);
	free((void *)(uintptr_t)n->module);
}

/* Without memory it is left out. */
static void add_named(void *context, const struct tw_own_variable *v, const char *symbol, const char *path)
{
	struct tw_own_names *o = context;
	struct tw_own_name *items = v->bytes ? tw_array_room(o->items, o->n, &o->room, sizeof *items) : NULL;
	if (!items)
		return;
	o->items = items;
	char *shown = o->mangled ? NULL : tw_demangle(symbol);
	items[o->n] = (struct tw_own_name){*v, shown ? shown : strdup(symbol), strdup(tw_base_name(path))};
	if (items[o->n].name && items[o->n].module)
		o->n++;
	else
		free_name(&items[o->n]);
}

static int by_place(const void *a, const void *b)
{
	const struct tw_own_variable *x = &((const struct tw_own_name *)a)->variable, *y = &((const struct tw_own_name *)b)->variable;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Of several in one place the same one is told always. */
static int by_place_and_name(const void *a, const void *b)
{
	const int order = by_place(a, b);
	return order ? order : strcmp(((const struct tw_own_name *)a)->name, ((const struct tw_own_name *)b)->name);
}

static void sort(struct tw_own_names *o)
{
	size_t n = 0;
	if (o->n)
		qsort(o->items, o->n, sizeof *o->items, by_place_and_name);
	for (size_t i = 0; i < o->n; i++) {
		if (n && !by_place(&o->items[n - 1], &o->items[i]))
			free_name(&o->items[i]);
		else
			o->items[n++] = o->items[i];
	}
	o->n = n;
}

struct tw_own_names *tw_own_names_new(const struct tw_recording *r, int mangled)
{
	struct tw_own_names *o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->mangled = mangled;
	search(&(struct search){.found = add_named, .context = o}, r);
	sort(o);
	return o;
}

const struct tw_own_name *tw_own_names_at(const struct tw_own_names *o, uint32_t image, int64_t at)
{
	const struct tw_own_name key = {.variable = {.image = image, .at = at}};
	const size_t until = tw_array_until(&key, o->items, o->n, sizeof key, by_place);
	const struct tw_own_name *n = until ? &o->items[until - 1] : NULL;
	return n && n->variable.image == image && (uint64_t)(at - n->variable.at) < n->variable.bytes ? n : NULL;
}

int64_t tw_own_names_lowest(const struct tw_own_names *o, uint32_t image)
{
	const struct tw_own_name key = {.variable = {.image = image, .at = INT64_MIN}};
	const size_t first = tw_array_before(&key, o->items, o->n, sizeof key, by_place);
	return first < o->n && o->items[first].variable.image == image ? o->items[first].variable.at : 0;
}

void tw_own_names_free(struct tw_own_names *o)
{
	for (size_t i = 0; o && i < o->n; i++)
		free_name(&o->items[i]);
	free(o ? o->items : NULL);
	free(o);
}
