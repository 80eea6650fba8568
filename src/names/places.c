#include "names/places.h"
#include "analyze/profile.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* Addresses of an image at which a file is mapped. */
struct tw_place_span {
	uint32_t image;
	uint64_t start, end;
	size_t module;
};

const char *tw_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* ---- images ---- */

static int by_start(const void *a, const void *b)
{
	const struct tw_place_span *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* The first span that begins behind an address. */
static size_t span_after(const struct tw_places *p, uint32_t image, uint64_t pc)
{
	struct tw_place_span key = {.image = image, .start = pc};
	return tw_array_until(&key, p->spans, p->n_spans, sizeof key, by_start);
}

static int insert_span(struct tw_places *p, size_t at, struct tw_place_span span)
{
	struct tw_place_span *spans = tw_array_room(p->spans, p->n_spans, &p->spans_room, sizeof *spans);
	if (!spans)
		return 0;
	p->spans = spans;
	memmove(p->spans + at + 1, p->spans + at, (p->n_spans++ - at) * sizeof span);
	p->spans[at] = span;
	return 1;
}

/* Adds what is not yet covered: newer mappings have been added before. */
static int add_span(struct tw_places *p, struct tw_place_span add)
{
	while (add.start < add.end) {
		size_t at = span_after(p, add.image, add.start);
		const struct tw_place_span *before = at ? &p->spans[at - 1] : NULL, *after = at < p->n_spans ? &p->spans[at] : NULL;
		struct tw_place_span piece = add;
		if (before && before->image == add.image && before->end > add.start)
			piece.end = piece.start = before->end < add.end ? before->end : add.end;
		else if (after && after->image == add.image && after->start < add.end)
			piece.end = after->start;
		if (piece.start < piece.end && !insert_span(p, at, piece))
			return 0;
		add.start = piece.end;
	}
	return 1;
}

static int find_images(struct tw_places *p)
{
	size_t n = tw_recording_n_threads(p->recording);
	p->image_of = calloc(n + 1, sizeof *p->image_of);
	p->image_pid = calloc(n + 1, sizeof *p->image_pid);
	for (size_t i = 0; p->image_of && p->image_pid && i < n; i++) {
		uint32_t image = p->image_of[i] = tw_profile_image_of_thread(p->recording, i);
		if (image >= n)
			continue;
		p->n_images = image < p->n_images ? p->n_images : image + 1;
		if (!p->image_pid[image])
			p->image_pid[image] = tw_recording_thread(p->recording, i)->pid;
	}
	return p->image_of && p->image_pid;
}

static int find_spans(struct tw_places *p)
{
	size_t n_threads = tw_recording_n_threads(p->recording);
	int ok = 1;
	for (size_t i = tw_recording_n_modules(p->recording); ok && i-- > 0;) {
		const struct tw_module *m = tw_recording_module(p->recording, i);
		size_t thread = tw_recording_find_thread(p->recording, m->thread);
		if (thread < n_threads)
			ok = add_span(p, (struct tw_place_span){p->image_of[thread], m->address, m->address + m->length, i});
	}
	return ok;
}

static int is_of(const struct tw_ancestor *ancestors, size_t n, const struct tw_module *m)
{
	for (size_t i = 0; i < n; i++)
		if (m->pid == ancestors[i].pid && m->thread >= ancestors[i].from && m->thread < ancestors[i].to)
			return 1;
	return 0;
}

/* Mappings inherited by an image from threads of which nothing is recorded (--ring has dropped it). */
static int add_inherited(struct tw_places *p, uint32_t image, const struct tw_ancestor *ancestors, size_t n)
{
	int ok = 1;
	for (size_t i = tw_recording_n_modules(p->recording); ok && i-- > 0;) {
		const struct tw_module *m = tw_recording_module(p->recording, i);
		if (is_of(ancestors, n, m))
			ok = add_span(p, (struct tw_place_span){image, m->address, m->address + m->length, i});
	}
	return ok;
}

static int some_are_dropped(const struct tw_recording *r)
{
	size_t n = tw_recording_n_threads(r);
	for (size_t i = tw_recording_n_modules(r); i-- > 0;)
		if (tw_recording_find_thread(r, tw_recording_module(r, i)->thread) == n)
			return 1;
	return 0;
}

static int find_inherited(struct tw_places *p)
{
	struct tw_ancestor ancestors[TW_LINEAGE];
	uint32_t image = 0; /* they are numbered as their first threads are */
	int ok = 1;
	if (!some_are_dropped(p->recording))
		return 1;
	for (size_t i = 0; ok && i < tw_recording_n_threads(p->recording); i++)
		if (p->image_of[i] == image) {
			size_t n = tw_recording_lineage(p->recording, tw_recording_thread(p->recording, i), ancestors);
			ok = add_inherited(p, image++, ancestors, n);
		}
	return ok;
}

static int find_files(struct tw_places *p)
{
	size_t n = tw_recording_n_modules(p->recording);
	p->file_of = calloc(n + 1, sizeof *p->file_of);
	for (size_t i = 0; p->file_of && i < n; i++) {
		p->file_of[i] = tw_texts_number(&p->files, tw_recording_module(p->recording, i)->path);
		if (p->file_of[i] == TW_NO_TEXT)
			return 0;
	}
	return p->file_of != NULL;
}

int tw_places_init(struct tw_places *p, const struct tw_recording *r)
{
	*p = (struct tw_places){.recording = r};
	return find_files(p) && find_images(p) && find_spans(p) && find_inherited(p);
}

void tw_places_free(struct tw_places *p)
{
	tw_texts_free(&p->files);
	free(p->file_of);
	free(p->image_of);
	free(p->image_pid);
	free(p->spans);
	memset(p, 0, sizeof *p);
}

/* ---- places ---- */

static size_t find_in_image(const struct tw_places *p, uint32_t image, uint64_t pc)
{
	size_t at = span_after(p, image, pc);
	const struct tw_place_span *span = at ? &p->spans[at - 1] : NULL;
	return span && span->image == image && pc < span->end ? span->module : TW_NO_MODULE;
}

static uint32_t parent_of(const struct tw_recording *r, uint32_t pid)
{
	for (size_t i = 0; i < tw_recording_n_threads(r); i++) {
		const struct tw_thread_info *t = tw_recording_thread(r, i);
		if (t->pid == pid && t->parent_pid != pid)
			return t->parent_pid;
	}
	return 0;
}

static size_t find_in_process(const struct tw_places *p, uint32_t pid, uint64_t pc)
{
	for (size_t i = tw_recording_n_modules(p->recording); i-- > 0;) {
		const struct tw_module *m = tw_recording_module(p->recording, i);
		if (m->pid == pid && pc >= m->address && pc - m->address < m->length)
			return i;
	}
	return TW_NO_MODULE;
}

size_t tw_places_find(const struct tw_places *p, uint32_t pid, uint64_t pc)
{
	enum { GENERATIONS = 64 };
	size_t found = TW_NO_MODULE;
	if (pid & TW_SYMBOLS_IMAGE(0))
		return find_in_image(p, pid & ~TW_SYMBOLS_IMAGE(0), pc);
	for (int k = 0; k < GENERATIONS && found == TW_NO_MODULE; k++, pid = parent_of(p->recording, pid)) {
		found = find_in_process(p, pid, pc);
		if (!pid)
			break;
	}
	return found;
}

uint32_t tw_places_pid(const struct tw_places *p, uint32_t pid)
{
	uint32_t image = pid & ~TW_SYMBOLS_IMAGE(0);
	if (pid == image)
		return pid;
	return image < p->n_images ? p->image_pid[image] : 0;
}

int tw_is_module(const char *path, const char *wanted)
{
	const char *name = tw_base_name(path);
	const size_t n = strlen(wanted);
	if (!strcmp(path, wanted) || !strcmp(name, wanted))
		return 1;
	if (strncmp(name, wanted, n))
		return 0;
	return !strncmp(name + n, ".so", 3) || (name[n] == '.' && n > 3 && !strcmp(wanted + n - 3, ".so"));
}

/* ---- words for functions ---- */

/* Where a symbol's version begins, as in memcpy@@GLIBC_2.14; the end if it has none. A PLT stub has none: memcpy@plt. */
static size_t version_at(const char *name)
{
	const char *at = strchr(name, '@');
	return at && strcmp(at, "@plt") ? (size_t)(at - name) : strlen(name);
}

/* Versions say the same however many @ they begin with. */
static int is_version(const char *version, const char *wanted)
{
	return !*version || !*wanted || !strcmp(version + strspn(version, "@"), wanted + strspn(wanted, "@"));
}

int tw_name_is(const char *name, const char *wanted)
{
	const size_t n = strlen(wanted), version = version_at(name), of_wanted = version_at(wanted);
	if (!strncmp(name, wanted, n) && (!name[n] || name[n] == '('))
		return 1;
	return version == of_wanted && !strncmp(name, wanted, version) && is_version(name + version, wanted + of_wanted);
}
