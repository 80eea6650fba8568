#include "report/symbols.h"
#include "analyze/profile.h"
#include "recording/array.h"
#include "report/functions.h"
#include "report/unchanged.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that was mapped somewhere. */
struct file {
	const char *path;  /* of the recording */
	const char *name;  /* the same without directories */
	Dwfl_Module *dwfl; /* NULL: it cannot be read */
	Elf *elf;          /* likewise, or it has changed */
	int has_changed;
	GElf_Addr bias;                 /* of libdwfl's addresses against the file's */
	struct tw_functions *functions; /* found when first asked for */
	int has_functions;
};

/* A place where a function begins, as some call says. */
struct target {
	uint32_t pid;
	uint64_t pc;
};

/* Addresses of an image at which a file is mapped. */
struct span {
	uint32_t image;
	uint64_t start, end;
	size_t module;
};

struct tw_symbols {
	const struct tw_recording *recording;
	Dwfl *dwfl;
	struct file *files;
	size_t n_files;
	size_t *file_of;        /* for each module of the recording */
	struct target *targets; /* sorted */
	size_t n_targets;
	struct span *spans; /* sorted, without overlap */
	size_t n_spans, spans_room;
	uint32_t *image_pid; /* the process each image began in */
};

/* Where an address is. */
struct place {
	const struct tw_module *module; /* NULL: unknown */
	struct file *file;
	uint64_t vaddr; /* the file's own address for it; its offset in the file if the file cannot be read */
};

/* ---- files ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* A path that is not absolute is taken from where the program was started. */
static void open_file(struct tw_symbols *s, struct file *f)
{
	char path[PATH_MAX];
	if (!f->path[0] || f->path[0] == '[')
		return;
	int n = snprintf(path, sizeof path, "%s/%s", f->path[0] == '/' ? "" : tw_recording_info(s->recording)->cwd, f->path);
	if (n < (int)sizeof path)
		f->dwfl = dwfl_report_offline(s->dwfl, f->name, path, -1);
}

static size_t find_file(struct tw_symbols *s, const char *path)
{
	for (size_t i = 0; i < s->n_files; i++)
		if (!strcmp(s->files[i].path, path))
			return i;
	struct file *f = &s->files[s->n_files];
	*f = (struct file){.path = path, .name = base_name(path)};
	open_file(s, f);
	return s->n_files++;
}

static void find_elf(struct file *f)
{
	f->elf = f->dwfl ? dwfl_module_getelf(f->dwfl, &f->bias) : NULL;
}

static int open_files(struct tw_symbols *s)
{
	static const Dwfl_Callbacks callbacks = {
	    .find_elf = dwfl_build_id_find_elf,
	    .find_debuginfo = dwfl_standard_find_debuginfo,
	    .section_address = dwfl_offline_section_address,
	};
	size_t n = tw_recording_n_modules(s->recording);
	s->dwfl = dwfl_begin(&callbacks);
	s->files = calloc(n + 1, sizeof *s->files);
	s->file_of = calloc(n + 1, sizeof *s->file_of);
	if (!s->dwfl || !s->files || !s->file_of)
		return 0;
	dwfl_report_begin(s->dwfl);
	for (size_t i = 0; i < n; i++)
		s->file_of[i] = find_file(s, tw_recording_module(s->recording, i)->path);
	dwfl_report_end(s->dwfl, NULL, NULL);
	for (size_t i = 0; i < s->n_files; i++)
		find_elf(&s->files[i]);
	return 1;
}

/* What a file says that has changed since is not of the code that ran. */
static int leave_out_changed(struct tw_symbols *s)
{
	struct tw_code_check *check = calloc(s->n_files + 1, sizeof *check);
	Elf **elf = calloc(s->n_files + 1, sizeof *elf);
	int ok = check && elf;
	for (size_t i = 0; ok && i < s->n_files; i++)
		elf[i] = s->files[i].elf;
	if (ok)
		tw_check_code(s->recording, s->file_of, elf, check);
	for (size_t i = 0; ok && i < s->n_files; i++) {
		s->files[i].has_changed = elf[i] && tw_code_changed(&check[i]);
		if (s->files[i].has_changed)
			s->files[i].elf = NULL;
	}
	free(check);
	free(elf);
	return ok;
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

/* ---- images ---- */

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* The first span that begins behind an address. */
static size_t span_after(const struct tw_symbols *s, uint32_t image, uint64_t pc)
{
	struct span key = {.image = image, .start = pc};
	return tw_array_until(&key, s->spans, s->n_spans, sizeof key, by_start);
}

static int insert_span(struct tw_symbols *s, size_t at, struct span span)
{
	struct span *spans = tw_array_room(s->spans, s->n_spans, &s->spans_room, sizeof *spans);
	if (!spans)
		return 0;
	s->spans = spans;
	memmove(s->spans + at + 1, s->spans + at, (s->n_spans++ - at) * sizeof span);
	s->spans[at] = span;
	return 1;
}

/* Adds what is not covered yet: newer mappings have been added before. */
static int add_span(struct tw_symbols *s, struct span add)
{
	while (add.start < add.end) {
		size_t at = span_after(s, add.image, add.start);
		const struct span *before = at ? &s->spans[at - 1] : NULL, *after = at < s->n_spans ? &s->spans[at] : NULL;
		struct span piece = add;
		if (before && before->image == add.image && before->end > add.start)
			piece.end = piece.start = before->end < add.end ? before->end : add.end;
		else if (after && after->image == add.image && after->start < add.end)
			piece.end = after->start;
		if (piece.start < piece.end && !insert_span(s, at, piece))
			return 0;
		add.start = piece.end;
	}
	return 1;
}

static int find_spans(struct tw_symbols *s)
{
	size_t n_threads = tw_recording_n_threads(s->recording);
	uint32_t *image = calloc(n_threads + 1, sizeof *image);
	s->image_pid = calloc(n_threads + 1, sizeof *s->image_pid);
	int ok = image && s->image_pid;
	for (size_t i = 0; ok && i < n_threads; i++) {
		image[i] = tw_profile_image_of_thread(s->recording, i);
		if (image[i] < n_threads && !s->image_pid[image[i]])
			s->image_pid[image[i]] = tw_recording_thread(s->recording, i)->pid;
	}
	for (size_t i = tw_recording_n_modules(s->recording); ok && i-- > 0;) {
		const struct tw_module *m = tw_recording_module(s->recording, i);
		size_t thread = tw_recording_find_thread(s->recording, m->thread);
		if (thread < n_threads)
			ok = add_span(s, (struct span){image[thread], m->address, m->address + m->length, i});
	}
	free(image);
	return ok;
}

/* ---- places ---- */

static void fill_place(const struct tw_symbols *s, size_t module, uint64_t pc, struct place *p)
{
	const struct tw_module *m = tw_recording_module(s->recording, module);
	p->module = m;
	p->file = &s->files[s->file_of[module]];
	p->vaddr = vaddr_of(p->file, pc - m->address + m->offset);
}

static struct place find_in_image(const struct tw_symbols *s, uint32_t image, uint64_t pc)
{
	struct place p = {0};
	size_t at = span_after(s, image, pc);
	const struct span *span = at ? &s->spans[at - 1] : NULL;
	if (span && span->image == image && pc < span->end)
		fill_place(s, span->module, pc, &p);
	return p;
}

static uint32_t parent_of(const struct tw_symbols *s, uint32_t pid)
{
	for (size_t i = 0; i < tw_recording_n_threads(s->recording); i++) {
		const struct tw_thread_info *t = tw_recording_thread(s->recording, i);
		if (t->pid == pid && t->parent_pid != pid)
			return t->parent_pid;
	}
	return 0;
}

/* The newest mapping that covers pc, of the process or of one it was forked from. */
static struct place find_place(const struct tw_symbols *s, uint32_t pid, uint64_t pc)
{
	enum { GENERATIONS = 64 };
	struct place p = {0};
	if (pid & TW_SYMBOLS_IMAGE(0))
		return find_in_image(s, pid & ~TW_SYMBOLS_IMAGE(0), pc);
	for (int k = 0; k < GENERATIONS && !p.module; k++, pid = parent_of(s, pid)) {
		for (size_t i = tw_recording_n_modules(s->recording); i-- > 0 && !p.module;) {
			const struct tw_module *m = tw_recording_module(s->recording, i);
			if (m->pid == pid && pc >= m->address && pc - m->address < m->length)
				fill_place(s, i, pc, &p);
		}
		if (!pid)
			break;
	}
	return p;
}

/* ---- functions without symbols ---- */

static int by_place(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static void note_targets(struct tw_symbols *s, const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	for (unsigned i = 0; i < d->n_blocks; i++)
		if (b[i].end == TW_END_CALL)
			s->targets[s->n_targets++] = (struct target){d->pid, b[i].target};
}

static int find_targets(struct tw_symbols *s)
{
	size_t n = 0, n_descriptors = tw_recording_n_descriptors(s->recording);
	for (size_t i = 0; i < n_descriptors; i++)
		n += tw_recording_descriptor_at(s->recording, i)->n_blocks;
	s->targets = calloc(n + 1, sizeof *s->targets);
	if (!s->targets)
		return 0;
	for (size_t i = 0; i < n_descriptors; i++)
		note_targets(s, tw_recording_descriptor_at(s->recording, i));
	qsort(s->targets, s->n_targets, sizeof *s->targets, by_place);
	return 1;
}

/* The nearest target of a call at or before pc that is not below `least`; pc if there is none. */
static uint64_t called_before(const struct tw_symbols *s, uint32_t pid, uint64_t pc, uint64_t least)
{
	uint32_t image = pid & ~TW_SYMBOLS_IMAGE(0);
	if (pid != image)
		pid = image < tw_recording_n_threads(s->recording) ? s->image_pid[image] : 0;
	struct target key = {pid, pc};
	size_t n = tw_array_until(&key, s->targets, s->n_targets, sizeof key, by_place);
	if (!n || s->targets[n - 1].pid != pid || s->targets[n - 1].pc < least)
		return pc;
	return s->targets[n - 1].pc;
}

/* ---- the face ---- */

struct tw_symbols *tw_symbols_new(const struct tw_recording *r)
{
	struct tw_symbols *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->recording = r;
	if (!open_files(s) || !leave_out_changed(s) || !find_targets(s) || !find_spans(s)) {
		tw_symbols_free(s);
		return NULL;
	}
	return s;
}

void tw_symbols_free(struct tw_symbols *s)
{
	if (!s)
		return;
	if (s->dwfl)
		dwfl_end(s->dwfl);
	for (size_t i = 0; i < s->n_files; i++)
		tw_functions_free(s->files[i].functions);
	free(s->files);
	free(s->file_of);
	free(s->targets);
	free(s->spans);
	free(s->image_pid);
	free(s);
}

static const struct tw_function *find_function(const struct place *p)
{
	struct file *f = p->file;
	if (!f || !f->elf)
		return NULL;
	if (!f->has_functions)
		f->functions = tw_functions_new(f->dwfl);
	f->has_functions = 1;
	return f->functions ? tw_functions_find(f->functions, p->vaddr) : NULL;
}

/* By the file's symbols and PLT. */
static int name_by_symbol(const struct place *p, uint64_t pc, struct tw_symbol *out)
{
	const struct tw_function *f = find_function(p);
	if (!f)
		return 0;
	int length = (int)strcspn(f->name, "@"); /* without the version of the symbol */
	snprintf(out->name, sizeof out->name, "%.*s%s", length, f->name, f->plt == TW_PLT_ENTRY ? "@plt" : "");
	out->offset = p->vaddr - f->start;
	out->start = pc - out->offset;
	out->known = 1;
	out->plt = f->plt;
	return 1;
}

/* By module and address of where the function seems to begin. */
static void name_by_address(const struct tw_symbols *s, const struct place *p, uint32_t pid, uint64_t pc, struct tw_symbol *out)
{
	uint64_t start = called_before(s, pid, pc, p->module->address);
	struct place at = find_place(s, pid, start);
	if (start != pc && (at.file != p->file || find_function(&at))) {
		start = pc;
		at = *p;
	}
	out->start = start;
	out->offset = pc - start;
	snprintf(out->name, sizeof out->name, "%s+0x%llx", p->file->name, (unsigned long long)at.vaddr);
}

void tw_symbols_function(struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol *out)
{
	struct place p = find_place(s, pid, pc);
	out->start = pc;
	out->offset = 0;
	out->known = 0;
	out->plt = 0;
	out->module = p.file && p.file->path[0] ? p.file->name : "[anon]";
	if (name_by_symbol(&p, pc, out))
		return;
	if (!p.file || !p.file->path[0])
		snprintf(out->name, sizeof out->name, "[anon 0x%llx]", (unsigned long long)pc);
	else if (p.file->path[0] == '[')
		snprintf(out->name, sizeof out->name, "%s", p.file->path);
	else
		name_by_address(s, &p, pid, pc, out);
}

int tw_symbols_line(struct tw_symbols *s, uint32_t pid, uint64_t pc, char *file, size_t size)
{
	struct place p = find_place(s, pid, pc);
	int line = 0;
	Dwfl_Line *found = p.file && p.file->elf ? dwfl_module_getsrc(p.file->dwfl, p.vaddr + p.file->bias) : NULL;
	const char *path = found ? dwfl_lineinfo(found, NULL, &line, NULL, NULL, NULL) : NULL;
	if (!path)
		return 0;
	snprintf(file, size, "%s", base_name(path));
	return line;
}

void tw_symbols_place(const struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol_place *out)
{
	struct place p = find_place(s, pid, pc);
	out->path = p.file ? p.file->path : "";
	out->vaddr = p.file ? p.vaddr : pc;
}

const char *tw_symbols_find_file(const struct tw_symbols *s, const char *name)
{
	const char *found = NULL;
	for (size_t i = 0; i < s->n_files; i++) {
		if (!strcmp(s->files[i].path, name))
			return s->files[i].path;
		if (!found && !strcmp(s->files[i].name, base_name(name)))
			found = s->files[i].path;
	}
	return found;
}

const char *tw_symbols_file(const struct tw_symbols *s, size_t n)
{
	return n < s->n_files ? s->files[n].path : NULL;
}

int tw_symbols_file_changed(const struct tw_symbols *s, size_t n)
{
	return s->files[n].has_changed;
}

Dwfl_Module *tw_symbols_dwfl(const struct tw_symbols *s, const char *path, uint64_t *bias)
{
	for (size_t i = 0; i < s->n_files; i++) {
		const struct file *f = &s->files[i];
		if (strcmp(f->path, path))
			continue;
		*bias = f->bias;
		return f->elf ? f->dwfl : NULL;
	}
	return NULL;
}

int tw_symbols_line_file(Dwfl_Line *line, char *file, size_t size)
{
	const char *path = dwfl_lineinfo(line, NULL, NULL, NULL, NULL, NULL);
	const char *from = path && path[0] != '/' ? dwfl_line_comp_dir(line) : NULL;
	int n = path ? snprintf(file, size, "%s%s%s", from ? from : "", from ? "/" : "", path) : -1;
	return n > 0 && (size_t)n < size;
}

int tw_symbols_source(struct tw_symbols *s, uint32_t pid, uint64_t pc, char *file, size_t size)
{
	struct place p = find_place(s, pid, pc);
	int line = 0;
	Dwfl_Line *found = p.file && p.file->elf ? dwfl_module_getsrc(p.file->dwfl, p.vaddr + p.file->bias) : NULL;
	if (!found || !dwfl_lineinfo(found, NULL, &line, NULL, NULL, NULL) || !tw_symbols_line_file(found, file, size))
		return 0;
	return line;
}
