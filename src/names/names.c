/* The names of code: the file at its address (places), and that file's table. */
#include "names/gather.h"
#include "names/kept.h"
#include "names/names.h"
#include "names/names_state.h"
#include "base/array.h"
#include "recording/recording.h"
#include "names/functions.h"
#include "names/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

/* Gathers the names of what ran from the files. */
static int gather(struct tw_names *n, const struct tw_ran_block *more, size_t n_more, const struct tw_name_store *store)
{
	struct tw_ran ran = {0};
	struct tw_symbols *s = tw_symbols_new(n->recording);
	int ok = s && tw_ran_find(&n->places, more, n_more, &ran);
	n->tables = ok ? calloc(ran.n_files + ran.n_made + 1, sizeof *n->tables) : NULL;
	ok &= n->tables != NULL;
	for (size_t i = 0; ok && i < ran.n_files; i++)
		ok = tw_gather_file(s, i, &ran.files[i], store, &n->tables[n->n_tables++]);
	for (size_t i = 0; ok && i < ran.n_made; i++)
		ok = tw_gather_made(s, &ran.made[i], &n->tables[n->n_tables++]);
	tw_ran_free(&ran);
	tw_symbols_free(s);
	return ok;
}

static int text_of(const struct tw_texts *texts, const char *text)
{
	for (uint32_t i = 0; i < texts->n; i++)
		if (!strcmp(texts->items[i], text))
			return (int)i;
	return -1;
}

/* Reads the kept tables; those of files get the files' numbers. */
static int read_kept(struct tw_names *n)
{
	size_t kept = tw_recording_n_names(n->recording);
	n->n_tables = n->places.files.n;
	n->tables = calloc(n->n_tables + kept + 1, sizeof *n->tables);
	for (size_t i = 0; n->tables && i < kept; i++) {
		const struct tw_names_block *b = tw_recording_names(n->recording, i);
		struct tw_name_table t = {0};
		int error = tw_name_table_unpack(b->bytes, b->n, &t), file = error || t.pid ? -1 : text_of(&n->places.files, t.path);
		if (!error && t.pid)
			n->tables[n->n_tables++] = t;
		else if (file >= 0 && !n->tables[file].path)
			n->tables[file] = t;
		else
			tw_name_table_free(&t);
		if (error == TW_ERR_MEMORY)
			return 0;
	}
	return n->tables != NULL;
}

static int settle(struct tw_names *n, int mangled)
{
	int ok = 1;
	for (size_t i = 0; i < n->n_tables && ok; i++)
		ok = tw_name_table_settle(&n->tables[i], mangled);
	return ok;
}

/* ---- functions without symbols ---- */

static int by_place(const void *a, const void *b)
{
	const struct tw_name_target *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static void note_targets(struct tw_names *n, const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	for (unsigned i = 0; i < d->n_blocks; i++)
		if (b[i].end == TW_END_CALL)
			n->targets[n->n_targets++] = (struct tw_name_target){d->pid, b[i].target};
}

static int find_targets(struct tw_names *n)
{
	size_t all = 0, n_descriptors = tw_recording_n_descriptors(n->recording);
	for (size_t i = 0; i < n_descriptors; i++)
		all += tw_recording_descriptor_at(n->recording, i)->n_blocks;
	n->targets = calloc(all + 1, sizeof *n->targets);
	if (!n->targets)
		return 0;
	for (size_t i = 0; i < n_descriptors; i++)
		note_targets(n, tw_recording_descriptor_at(n->recording, i));
	if (n->n_targets)
		qsort(n->targets, n->n_targets, sizeof *n->targets, by_place);
	return 1;
}

/* The nearest call target at or before pc that is not below `least`; `none` if there is none. */
static uint64_t called_before(const struct tw_names *n, uint32_t pid, uint64_t pc, uint64_t least, uint64_t none)
{
	struct tw_name_target key = {tw_places_pid(&n->places, pid), pc};
	size_t until = tw_array_until(&key, n->targets, n->n_targets, sizeof key, by_place);
	if (!until || n->targets[until - 1].pid != key.pid || n->targets[until - 1].pc < least)
		return none;
	return n->targets[until - 1].pc;
}

/* ---- opening ---- */

static struct tw_names *begin(const struct tw_recording *r)
{
	struct tw_names *n = calloc(1, sizeof *n);
	if (!n)
		return NULL;
	n->recording = r;
	pthread_mutex_init(&n->lock, NULL);
	if (tw_places_init(&n->places, r) && tw_begins_find(r, &n->begins))
		return n;
	tw_names_close(n);
	return NULL;
}

/* `ok`: there are tables. */
static struct tw_names *finish(struct tw_names *n, int ok, int mangled)
{
	if (ok && settle(n, mangled) && find_targets(n)) {
		n->mangled = mangled;
		return n;
	}
	tw_names_close(n);
	return NULL;
}

struct tw_names *tw_names_open(const struct tw_recording *r, const struct tw_names_options *options)
{
	return tw_names_open_storing(r, options, NULL);
}

struct tw_names *tw_names_open_storing(const struct tw_recording *r, const struct tw_names_options *options,
                                       const struct tw_name_store *store)
{
	const int from_files = (options && options->from_files) || !tw_recording_n_names(r);
	struct tw_names *n = begin(r);
	return finish(n, n && (from_files ? gather(n, NULL, 0, store) : read_kept(n)), options && options->mangled);
}

struct tw_names *tw_names_open_with(const struct tw_recording *r, const struct tw_ran_block *more, size_t n_more)
{
	struct tw_names *n = begin(r);
	return finish(n, n && gather(n, more, n_more, NULL), 0);
}

void tw_names_close(struct tw_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n_tables; i++)
		tw_name_table_free(&n->tables[i]);
	free(n->tables);
	free(n->targets);
	tw_begins_free(&n->begins);
	tw_places_free(&n->places);
	tw_texts_free(&n->texts);
	tw_anonymous_free(&n->anonymous);
	tw_own_bases_free(&n->own_bases);
	tw_own_names_free(n->own);
	tw_members_free(n->members);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

const struct tw_recording *tw_names_recording(const struct tw_names *n)
{
	return n->recording;
}

int tw_names_begins(const struct tw_names *n, uint64_t pc, const struct tw_code_name *name)
{
	return !name->offset || tw_begins_at(&n->begins, name->start, pc);
}

uint32_t tw_names_image(const struct tw_names *n, uint32_t thread)
{
	size_t i = tw_recording_find_thread(n->recording, thread);
	return i < tw_recording_n_threads(n->recording) ? n->places.image_of[i] : UINT32_MAX;
}

/* ---- code ---- */

/* A permanent copy of the text; without memory "?", which is no name. */
static const char *own_text(struct tw_names *n, const char *text)
{
	pthread_mutex_lock(&n->lock);
	uint32_t number = tw_texts_number(&n->texts, text);
	const char *own = number == TW_NO_TEXT ? "?" : n->texts.items[number];
	pthread_mutex_unlock(&n->lock);
	return own;
}

static const struct tw_name_table *made_by(const struct tw_names *n, uint32_t pid)
{
	for (size_t i = n->places.files.n; i < n->n_tables; i++)
		if (n->tables[i].pid == pid)
			return &n->tables[i];
	return NULL;
}

struct tw_name_at tw_name_at(const struct tw_names *n, uint32_t pid, uint64_t pc)
{
	size_t module = tw_places_find(&n->places, pid, pc);
	if (module == TW_NO_MODULE)
		return (struct tw_name_at){NULL, made_by(n, tw_places_pid(&n->places, pid)), pc};
	const struct tw_module *m = tw_recording_module(n->recording, module);
	const struct tw_name_table *t = &n->tables[n->places.file_of[module]];
	return (struct tw_name_at){m, t, tw_name_table_vaddr(t, pc - m->address + m->offset)};
}

/* The function according to symbols, PLT, or unwind information (which has no name). NULL: unknown. */
static const struct tw_name_function *find_function(const struct tw_name_at *p)
{
	return p->table ? tw_name_table_function(p->table, p->vaddr) : NULL;
}

static int has_name(const struct tw_name_at *p, const struct tw_name_function *f)
{
	return *p->table->texts.items[f->name] != 0;
}

/* By the file's symbols and PLT. */
static int name_by_symbol(struct tw_names *n, const struct tw_name_at *p, struct tw_code_name *out)
{
	const struct tw_name_function *f = find_function(p);
	char stub[512];
	if (!f || !has_name(p, f))
		return 0;
	out->function = p->table->shown[f->name];
	if (f->plt == TW_PLT_ENTRY) {
		snprintf(stub, sizeof stub, "%s@plt", out->function);
		out->function = own_text(n, stub);
	}
	out->offset = p->vaddr - f->start;
	out->start -= out->offset;
	out->known = 1;
	out->plt = (int)f->plt;
	return 1;
}

/* Where code outside any function begins: after the previous function. In the file's addresses; 0: unknown. */
static uint64_t gap_before(const struct tw_name_at *p)
{
	enum { ALIGNED = 16 };
	const uint64_t gap = p->table ? tw_name_table_gap(p->table, p->vaddr) : 0, begin = (gap + ALIGNED - 1) & -(uint64_t)ALIGNED;
	return begin <= p->vaddr ? begin : gap;
}

/* The apparent start of a function without a symbol; `at` becomes that place. */
static uint64_t find_start(const struct tw_names *n, const struct tw_name_at *p, uint32_t pid, uint64_t pc, struct tw_name_at *at)
{
	const struct tw_name_function *f = find_function(p);
	const uint64_t shift = pc - p->vaddr, gap = f ? f->start : gap_before(p), least = gap ? gap + shift : p->module->address;
	uint64_t start = f ? least : called_before(n, pid, pc, least, pc);
	if (!f && start == pc && gap)
		start = least;
	*at = tw_name_at(n, pid, start);
	if (f || start == pc || (at->table == p->table && !find_function(at)))
		return start;
	*at = *p;
	return pc;
}

/* By module and address of where the function begins. */
static void name_by_address(struct tw_names *n, const struct tw_name_at *p, uint32_t pid, uint64_t pc, struct tw_code_name *out)
{
	char text[512];
	struct tw_name_at at;
	out->start = find_start(n, p, pid, pc, &at);
	out->offset = pc - out->start;
	snprintf(text, sizeof text, "%s+0x%llx", out->module, (unsigned long long)at.vaddr);
	out->function = own_text(n, text);
}

/* The mapping of code in no file; NULL: unknown. */
static const struct tw_anonymous_span *find_mapping(struct tw_names *n, uint32_t pid, uint64_t pc)
{
	pthread_mutex_lock(&n->lock);
	if (!n->has_anonymous && !tw_anonymous_find(&n->places, &n->anonymous)) {
		tw_anonymous_free(&n->anonymous);
		n->anonymous = (struct tw_anonymous){0};
	}
	n->has_anonymous = 1;
	pthread_mutex_unlock(&n->lock);
	return tw_anonymous_at(&n->anonymous, pid, pc);
}

/* Earliest start of a function in code made by a process: the mapping's start, or the end of the function named before it. */
static uint64_t least_made(const struct tw_name_at *p, const struct tw_anonymous_span *mapping)
{
	const uint64_t gap = gap_before(p);
	return gap > mapping->start ? gap : mapping->start;
}

/* Code in no file that nothing names. */
static void name_made(struct tw_names *n, const struct tw_name_at *p, uint32_t pid, uint64_t pc, struct tw_code_name *out)
{
	char text[512];
	const struct tw_anonymous_span *mapping = find_mapping(n, pid, pc);
	if (mapping) {
		const uint64_t least = least_made(p, mapping), start = called_before(n, pid, pc, least, least);
		out->module = mapping->label;
		out->start = start;
		out->offset = pc - out->start;
		snprintf(text, sizeof text, "%s+0x%llx", mapping->label, (unsigned long long)out->start);
	} else {
		snprintf(text, sizeof text, "[anonymous code 0x%llx]", (unsigned long long)pc);
	}
	out->function = own_text(n, text);
}

static void name_function(struct tw_names *n, const struct tw_name_at *p, uint32_t pid, uint64_t pc, struct tw_code_name *out)
{
	if (name_by_symbol(n, p, out)) {
		if (!*out->path)
			out->module = "[jit]";
	} else if (!*out->path) {
		name_made(n, p, pid, pc, out);
	} else if (*out->path == '[') {
		out->function = out->path;
	} else {
		name_by_address(n, p, pid, pc, out);
	}
}

/* Lines and inlined functions: the innermost first, the function itself last. */
static void add_frames(const struct tw_name_at *p, struct tw_code_name *out)
{
	const struct tw_name_line *line = p->table ? tw_name_table_line(p->table, p->vaddr) : NULL;
	const struct tw_name_inlined *inlined = p->table ? tw_name_table_inlined(p->table, p->vaddr) : NULL;
	struct tw_name_frame *frame = out->frame;
	*frame = (struct tw_name_frame){NULL, NULL, 0};
	if (line && line->line)
		*frame = (struct tw_name_frame){NULL, p->table->texts.items[line->source], line->line};
	for (uint32_t node = inlined ? inlined->node : TW_NAME_NONE; node != TW_NAME_NONE;) {
		const struct tw_name_node *in = tw_name_table_node(p->table, node);
		frame->function = p->table->shown[in->name];
		frame += frame < &out->frame[TW_NAME_FRAMES - 1];
		*frame = (struct tw_name_frame){NULL, in->source == TW_NAME_NONE ? NULL : p->table->texts.items[in->source], in->line};
		node = in->parent;
	}
	frame->function = out->function;
	out->n_frames = (unsigned)(frame - out->frame) + 1;
	out->file = out->frame[0].file;
	out->line = out->frame[0].line;
}

static const char *why_not(const struct tw_name_at *p, const struct tw_code_name *name)
{
	if (name->known && name->line)
		return "";
	if (name->path[0] == '[')
		return "the code is the kernel's (vdso)";
	if (!name->known)
		return tw_name_why_text(p->table && p->table->why ? (enum tw_name_why)p->table->why
		                        : *name->path             ? TW_NAME_STRIPPED
		                                                  : TW_NAME_MADE);
	if (name->plt)
		return "the linker made it";
	return p->table->has_lines ? "the debug information has no line for this code"
	                           : "there is no debug information (compile with -g, or install the file's debug package)";
}

void tw_names_code(struct tw_names *n, uint32_t image, uint64_t pc, struct tw_code_name *out)
{
	uint32_t pid = TW_SYMBOLS_IMAGE(image);
	struct tw_name_at p = tw_name_at(n, pid, pc);
	*out = (struct tw_code_name){.path = p.module ? p.module->path : "", .vaddr = p.vaddr, .start = pc};
	out->module = *out->path ? tw_base_name(out->path) : "[anon]";
	name_function(n, &p, pid, pc, out);
	add_frames(&p, out);
	out->why = why_not(&p, out);
}

int tw_names_is_bounded(struct tw_names *n, uint32_t image, uint64_t pc, uint64_t *least)
{
	struct tw_name_at p = tw_name_at(n, image, pc);
	const int bounded = find_function(&p) != NULL;
	const struct tw_anonymous_span *mapping = bounded || p.module ? NULL : find_mapping(n, image, pc);
	*least = bounded ? 0 : mapping ? least_made(&p, mapping) : gap_before(&p);
	return bounded;
}

void tw_names_place(struct tw_names *n, uint32_t pid, uint64_t pc, struct tw_name_place *out)
{
	struct tw_name_at p = tw_name_at(n, pid, pc);
	const struct tw_anonymous_span *mapping = p.module ? NULL : find_mapping(n, pid, pc);
	*out = (struct tw_name_place){p.module ? p.module->path : "",
	                              p.module  ? p.module->path
	                              : mapping ? mapping->label
	                                        : "[anon]",
	                              p.vaddr};
}

/* ---- sources ---- */

int tw_names_sources(const struct tw_names *n, void (*each)(void *context, const char *path), void *context)
{
	for (size_t i = 0; i < n->n_tables; i++) {
		const struct tw_name_table *t = &n->tables[i];
		const struct tw_name_line *line = t->items[TW_NAME_LINES].at;
		uint8_t *told = calloc(t->texts.n + 1, 1);
		if (!told)
			return 0;
		for (size_t k = 0; k < t->items[TW_NAME_LINES].n; k++)
			if (!told[line[k].source]) {
				told[line[k].source] = 1;
				each(context, t->texts.items[line[k].source]);
			}
		free(told);
	}
	return 1;
}

/* ---- what is wrong ---- */

const char *tw_names_problem(const struct tw_names *n, size_t wanted, const char **path)
{
	for (size_t i = 0; i < n->places.files.n; i++) {
		const struct tw_name_table *t = &n->tables[i];
		int told = t->why == TW_NAME_MISSING || t->why == TW_NAME_CHANGED || t->why == TW_NAME_UNREADABLE;
		if (!told || n->places.files.items[i][0] == '[' || wanted-- > 0)
			continue;
		*path = n->places.files.items[i];
		return tw_name_why_text((enum tw_name_why)t->why);
	}
	return NULL;
}
