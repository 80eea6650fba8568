/* The names of variables: from an address to a name, by the file's table; and from a name to its places. */
#include "names/names.h"
#include "names/names_state.h"
#include "recording/recording.h"

#include <stdio.h>
#include <string.h>

/* Where a variable stands. */
struct stands {
	size_t file; /* its number in the places */
	struct tw_typed variable;
};

/* ---- data ---- */

/* Whether a page of a segment covers an address: the kernel maps whole pages. */
static int covers(const struct tw_name_segment *s, uint64_t vaddr)
{
	const uint64_t page = 4096, start = s->vaddr & -page, end = (s->vaddr + s->bytes + page - 1) & -page;
	return s->bytes && vaddr >= start && vaddr < end;
}

/* The module of an image whose file has a segment, as mapped there, that covers an address; p->vaddr is the file's address. */
static int find_data(const struct tw_names *n, uint32_t image, uint64_t address, struct tw_name_at *p)
{
	*p = tw_name_at(n, TW_SYMBOLS_IMAGE(image), address);
	for (size_t i = tw_recording_n_modules(n->recording); i-- > 0 && !p->module;) {
		const struct tw_module *m = tw_recording_module(n->recording, i);
		const struct tw_name_table *t = &n->tables[n->places.file_of[i]];
		const struct tw_name_segment *s = t->items[TW_NAME_SEGMENTS].at;
		if (tw_places_find(&n->places, TW_SYMBOLS_IMAGE(image), m->address) != i)
			continue;
		uint64_t vaddr = address - tw_name_table_shift(t, m);
		for (size_t k = 0; k < t->items[TW_NAME_SEGMENTS].n && !p->module; k++)
			if (covers(&s[k], vaddr))
				*p = (struct tw_name_at){m, t, vaddr};
	}
	return p->module != NULL;
}

/* ---- variables that threads have of their own ---- */

static void find_own(struct tw_names *n)
{
	if (n->has_own)
		return;
	pthread_mutex_lock(&n->lock);
	if (!n->has_own) {
		n->own = tw_own_bases_find(&n->places, &n->own_bases) ? tw_own_names_new(n->recording, n->mangled) : NULL;
		n->has_own = 1;
	}
	pthread_mutex_unlock(&n->lock);
}

int tw_names_has_own(struct tw_names *n, uint32_t image, uint64_t start, uint64_t bytes)
{
	find_own(n);
	const uint64_t base = n->own ? tw_own_base_above(&n->own_bases, image, start) : 0;
	return base && base + (uint64_t)tw_own_names_lowest(n->own, image) < start + bytes;
}

static int name_own(struct tw_names *n, uint32_t image, uint64_t address, struct tw_data_name *out, struct stands *in)
{
	find_own(n);
	const uint64_t base = n->own ? tw_own_base_above(&n->own_bases, image, address) : 0;
	const struct tw_own_name *own = base ? tw_own_names_at(n->own, image, (int64_t)(address - base)) : NULL;
	if (!own)
		return 0;
	out->object = own->name;
	out->module = own->module;
	out->bytes = own->variable.bytes;
	out->start = base + (uint64_t)own->variable.at;
	out->offset = address - out->start;
	out->known = 2;
	*in = (struct stands){own->variable.file, {own->variable.in_segment, 1}};
	return 1;
}

/* Names the variable at an address, and tells its place in its file, if known. */
static void name_variable(struct tw_names *n, uint32_t image, uint64_t address, struct tw_data_name *out, struct stands *in)
{
	struct tw_name_at p;
	*out = (struct tw_data_name){.object = "", .module = "", .start = address};
	if (tw_places_find(&n->places, TW_SYMBOLS_IMAGE(image), address) == TW_NO_MODULE && name_own(n, image, address, out, in))
		return;
	if (!find_data(n, image, address, &p))
		return;
	const struct tw_name_object *object = tw_name_table_object(p.table, p.vaddr);
	out->module = out->object = tw_base_name(p.module->path);
	if (!object)
		return;
	out->object = p.table->shown[object->name];
	out->bytes = object->end - object->start;
	out->offset = p.vaddr - object->start;
	out->start = address - out->offset;
	out->known = 1;
	*in = (struct stands){(size_t)(p.table - n->tables), {object->start, 0}};
}

void tw_names_data(struct tw_names *n, uint32_t image, uint64_t address, struct tw_data_name *out)
{
	struct stands in;
	name_variable(n, image, address, out, &in);
}

/* ---- their parts ---- */

static struct tw_members *find_members(struct tw_names *n)
{
	pthread_mutex_lock(&n->lock);
	if (!n->has_members)
		n->members = tw_members_new(n->recording);
	n->has_members = 1;
	pthread_mutex_unlock(&n->lock);
	return n->members;
}

uint64_t tw_names_variable(struct tw_names *n, uint32_t image, uint64_t address, char *text, size_t size)
{
	struct tw_data_name name;
	struct stands in;
	name_variable(n, image, address, &name, &in);
	text[0] = 0;
	if (!name.known)
		return 0;
	const uint64_t rest = name.bytes - name.offset;
	const int n_object = snprintf(text, size, "%s", name.object);
	if ((size_t)n_object >= size)
		return rest;
	const uint64_t bytes =
	    tw_members_name(find_members(n), in.file, in.variable, name.offset, text + n_object, size - (size_t)n_object);
	return bytes && bytes < rest ? bytes : rest;
}

int tw_names_part(struct tw_names *n, uint32_t image, uint64_t start, const char *path, struct tw_type_part *out, char *why, size_t size)
{
	struct tw_data_name name;
	struct stands in;
	name_variable(n, image, start, &name, &in);
	if (name.known && !name.offset)
		return tw_members_find(find_members(n), in.file, in.variable, path, out, why, size);
	snprintf(why, size, "it is no variable");
	return 0;
}

int tw_names_own_part(struct tw_names *n, const struct tw_own_variable *v, const char *path, struct tw_type_part *out, char *why,
                      size_t size)
{
	return tw_members_find(find_members(n), v->file, (struct tw_typed){v->in_segment, 1}, path, out, why, size);
}

/* ---- from a name to its places ---- */

struct search {
	const char *name;
	struct tw_named_place *places;
	size_t room, n;
};

static void add_place(struct search *s, uint32_t image, uint64_t start, uint64_t bytes)
{
	for (size_t i = 0; i < s->n && i < s->room; i++)
		if (s->places[i].image == image && s->places[i].start == start)
			return;
	if (s->n < s->room)
		s->places[s->n] = (struct tw_named_place){image, start, bytes};
	s->n++;
}

int tw_names_is(const struct tw_code_name *name, const char *wanted)
{
	return tw_name_is(name->function, wanted);
}

static int is_named(const struct search *s, const struct tw_name_table *t, uint32_t text)
{
	return tw_name_is(t->shown[text], s->name) || !strcmp(t->texts.items[text], s->name);
}

/* A static variable of a function: compilers number them, as in "count.3". */
static int is_numbered(const struct search *s, const char *symbol)
{
	const size_t n = strlen(s->name);
	return !strncmp(symbol, s->name, n) && symbol[n] == '.' && symbol[n + 1] && !symbol[n + 1 + strspn(symbol + n + 1, "0123456789")];
}

/* `shift`: from the file's addresses to those in memory. */
static void search_table(struct search *s, const struct tw_name_table *t, uint32_t image, uint64_t shift)
{
	const struct tw_name_function *f = t->items[TW_NAME_FUNCTIONS].at;
	const struct tw_name_object *o = t->items[TW_NAME_OBJECTS].at;
	for (size_t i = 0; i < t->items[TW_NAME_FUNCTIONS].n; i++)
		if (!f[i].plt && is_named(s, t, f[i].name))
			add_place(s, image, f[i].start + shift, f[i].end - f[i].start);
	for (size_t i = 0; i < t->items[TW_NAME_OBJECTS].n; i++)
		if (is_named(s, t, o[i].name) || is_numbered(s, t->texts.items[o[i].name]))
			add_place(s, image, o[i].start + shift, o[i].end - o[i].start);
}

size_t tw_names_find(struct tw_names *n, const char *module, const char *name, uint32_t image, struct tw_named_place *places, size_t room)
{
	struct search s = {.name = name, .places = places, .room = room};
	for (uint32_t k = 0; k < n->places.n_images; k++) {
		for (size_t i = 0; i < tw_recording_n_modules(n->recording); i++) {
			const struct tw_module *m = tw_recording_module(n->recording, i);
			const struct tw_name_table *t = &n->tables[n->places.file_of[i]];
			if ((image == UINT32_MAX || image == k) && (!module || tw_is_module(m->path, module)) &&
			    tw_places_find(&n->places, TW_SYMBOLS_IMAGE(k), m->address) == i)
				search_table(&s, t, k, tw_name_table_shift(t, m));
		}
	}
	return s.n;
}
