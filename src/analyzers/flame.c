#include "analyzers/flame.h"
#include "base/text.h"
#include "report/json.h"

#include <stdlib.h>
#include <string.h>

/* Numbers decide between functions of equal cost, so the order is always the same. */
struct ordered {
	uint32_t item;
	const struct tw_context_function *f;
};

static int dearest_first(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	if (x->f->all.insns != y->f->all.insns)
		return x->f->all.insns > y->f->all.insns ? -1 : 1;
	int order = strcmp(x->f->name ? x->f->name : "", y->f->name ? y->f->name : "");
	order = order ? order : strcmp(x->f->module ? x->f->module : "", y->f->module ? y->f->module : "");
	return order ? order : (x->item > y->item) - (x->item < y->item);
}

int tw_flame_children(const struct tw_context_tree *t, uint32_t **first, uint32_t **next)
{
	struct ordered *all = calloc(t->n + 1, sizeof *all);
	*first = calloc(t->n + 1, sizeof **first);
	*next = calloc(t->n + 1, sizeof **next);
	int error = all && *first && *next ? 0 : TW_ERR_MEMORY;
	for (size_t i = 0; i < t->n && !error; i++)
		all[i] = (struct ordered){(uint32_t)i, &t->items[i]};
	if (!error)
		qsort(all, t->n, sizeof *all, dearest_first);
	for (size_t i = t->n; i-- > 0 && !error;) {
		uint32_t item = all[i].item, parent = t->items[item].parent;
		if (!item)
			continue;
		(*next)[item] = (*first)[parent];
		(*first)[parent] = item;
	}
	free(all);
	return error;
}

/* The functions from the root to an item, `path` has room for all. Returns how many. */
static size_t find_path(const struct tw_context_tree *t, uint32_t i, uint32_t *path)
{
	size_t n = 0;
	for (uint32_t k = i; k; k = t->items[k].parent)
		n++;
	for (size_t at = n; at-- > 0; i = t->items[i].parent)
		path[at] = i;
	return n;
}

/* In the order of the tree, the dearest first. */
typedef void visit(FILE *f, const struct tw_context_tree *t, const uint32_t *path, size_t n, void *context);

static int for_all(FILE *f, const struct tw_context_tree *t, visit *v, void *context)
{
	uint32_t *first, *next, *path = calloc(t->n + 1, sizeof *path);
	int error = tw_flame_children(t, &first, &next);
	uint32_t i = !error && path ? first[0] : 0;
	while (i) {
		if (t->items[i].own.insns)
			v(f, t, path, find_path(t, i, path), context);
		if (first[i]) {
			i = first[i];
			continue;
		}
		while (i && !next[i])
			i = t->items[i].parent;
		i = next[i];
	}
	error = path ? error : TW_ERR_MEMORY;
	free(first);
	free(next);
	free(path);
	return error;
}

/*
 * All items, callers before callees, the most expensive first: the same for the same tree, whatever numbers its items
 * have. NULL: no memory.
 */
static uint32_t *list_items(const struct tw_context_tree *t)
{
	uint32_t *first, *next, *list = calloc(t->n + 1, sizeof *list), i = 0;
	size_t n = 0;
	int more = !tw_flame_children(t, &first, &next) && list;
	if (!more) {
		free(list);
		list = NULL;
	}
	while (more) {
		list[n++] = i;
		if (first[i]) {
			i = first[i];
			continue;
		}
		while (i && !next[i])
			i = t->items[i].parent;
		more = i != 0;
		i = next[i];
	}
	free(first);
	free(next);
	return list;
}

/* ---- folded ---- */

static void print_folded(FILE *f, const struct tw_context_tree *t, const uint32_t *path, size_t n, void *context)
{
	(void)context;
	for (size_t k = 0; k < n; k++) {
		if (k)
			fputc(';', f);
		for (const char *p = t->items[path[k]].name; *p; p++)
			fputc(*p == ';' || (unsigned char)*p < 0x20 ? ':' : *p, f);
	}
	fprintf(f, " %llu\n", (unsigned long long)t->items[path[n - 1]].own.insns);
}

int tw_flame_folded(FILE *f, const struct tw_context_tree *t)
{
	return for_all(f, t, print_folded, NULL);
}

/* ---- speedscope ---- */

/* Frames are numbered in the order of the list. */
struct frames {
	struct tw_json *j;
	uint32_t *number; /* by item */
};

static void print_sample(FILE *f, const struct tw_context_tree *t, const uint32_t *path, size_t n, void *context)
{
	const struct frames *frames = context;
	(void)f;
	(void)t;
	tw_json_open(frames->j, NULL, '[');
	for (size_t k = 0; k < n; k++)
		tw_json_number(frames->j, NULL, frames->number[path[k]]);
	tw_json_close(frames->j, ']');
}

static void print_weight(FILE *f, const struct tw_context_tree *t, const uint32_t *path, size_t n, void *context)
{
	(void)f;
	tw_json_number(context, NULL, t->items[path[n - 1]].own.insns);
}

static void print_frames(const struct frames *frames, const struct tw_context_tree *t, const uint32_t *list)
{
	struct tw_json *j = frames->j;
	tw_json_open(j, "shared", '{');
	tw_json_open(j, "frames", '[');
	for (size_t i = 0; i < t->n; i++) {
		const struct tw_context_function *c = &t->items[list[i]];
		frames->number[list[i]] = (uint32_t)i;
		tw_json_open(j, NULL, '{');
		tw_json_text(j, "name", c->name ? c->name : "(all)");
		tw_json_text(j, "file", c->module ? c->module : "");
		tw_json_close(j, '}');
	}
	tw_json_close(j, ']');
	tw_json_close(j, '}');
}

static int print_profile(FILE *f, const struct tw_context_tree *t, struct frames *frames)
{
	struct tw_json *j = frames->j;
	tw_json_open(j, NULL, '{');
	tw_json_text(j, "type", "sampled");
	tw_json_text(j, "name", "instructions");
	tw_json_text(j, "unit", "none");
	tw_json_number(j, "startValue", 0);
	tw_json_number(j, "endValue", t->items->all.insns);
	tw_json_open(j, "samples", '[');
	int error = for_all(f, t, print_sample, frames);
	tw_json_close(j, ']');
	tw_json_open(j, "weights", '[');
	if (!error)
		error = for_all(f, t, print_weight, j);
	tw_json_close(j, ']');
	tw_json_close(j, '}');
	return error;
}

int tw_flame_speedscope(FILE *f, const struct tw_context_tree *t)
{
	struct tw_json j = {.f = f};
	struct frames frames = {&j, calloc(t->n + 1, sizeof *frames.number)};
	uint32_t *list = list_items(t);
	int error = frames.number && list ? 0 : TW_ERR_MEMORY;
	if (!error) {
		tw_json_open(&j, NULL, '{');
		tw_json_text(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
		print_frames(&frames, t, list);
		tw_json_open(&j, "profiles", '[');
		error = print_profile(f, t, &frames);
		tw_json_close(&j, ']');
		tw_json_close(&j, '}');
	}
	free(frames.number);
	free(list);
	return error;
}

/* ---- SVG ---- */

enum { WIDTH = 1200, ROW = 18, TOP = 24, LETTER = 7 };

/* At most this many characters of a text; '?' for characters that XML does not allow. */
static void print_escaped(FILE *f, const char *s, size_t most)
{
	for (unsigned n; *s && most; s += n ? n : 1, most--) {
		n = tw_utf8_length((const unsigned char *)s);
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			if (!n || (unsigned char)*s < 0x20)
				fputc('?', f);
			else
				fwrite(s, 1, n, f);
		}
	}
}

static void print_box(FILE *f, const struct tw_context_tree *t, uint32_t i, double x, double width, uint32_t depth)
{
	const struct tw_context_function *c = &t->items[i];
	const char *name = c->name ? c->name : "all";
	unsigned hue = 0;
	for (const char *p = name; *p; p++)
		hue = hue * 31 + (unsigned char)*p;
	fprintf(f, "<g><title>");
	print_escaped(f, name, SIZE_MAX);
	fprintf(f, ": %llu instructions, %.2f%%; %llu of its own; %llu calls</title>", (unsigned long long)c->all.insns,
	        100.0 * (double)c->all.insns / (double)(t->items->all.insns + !t->items->all.insns), (unsigned long long)c->own.insns,
	        (unsigned long long)c->calls);
	fprintf(f, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"hsl(%u,70%%,70%%)\"/>", x, TOP + depth * ROW, width,
	        ROW - 1, hue % 60);
	if (width > 3 * LETTER) {
		fprintf(f, "<text x=\"%.2f\" y=\"%u\">", x + 3, TOP + depth * ROW + 13);
		print_escaped(f, name, (size_t)(width / LETTER));
		fputs("</text>", f);
	}
	fputs("</g>\n", f);
}

/* Where each box starts, and how deep it is; the deepest one wide enough to be visible. */
static uint32_t lay_out(const struct tw_context_tree *t, const uint32_t *first, const uint32_t *next, double *x, uint32_t *depth,
                        double scale)
{
	uint32_t deepest = 0;
	for (size_t i = 0; i < t->n; i++) {
		double at = x[i];
		for (uint32_t k = first[i]; k; k = next[k]) {
			x[k] = at;
			depth[k] = depth[i] + 1;
			at += (double)t->items[k].all.insns * scale;
		}
		if ((double)t->items[i].all.insns * scale >= 0.5 && depth[i] > deepest)
			deepest = depth[i];
	}
	return deepest;
}

int tw_flame_svg(FILE *f, const struct tw_context_tree *t)
{
	uint32_t *first, *next, *depth = calloc(t->n + 1, sizeof *depth), *list = list_items(t);
	double *x = calloc(t->n + 1, sizeof *x), scale = (double)WIDTH / (double)(t->items->all.insns + !t->items->all.insns);
	int error = tw_flame_children(t, &first, &next);
	error = depth && x && list ? error : TW_ERR_MEMORY;
	if (!error) {
		uint32_t deepest = lay_out(t, first, next, x, depth, scale);
		fprintf(
		    f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"monospace\" font-size=\"11\">\n",
		    WIDTH, TOP + (deepest + 1) * ROW);
		fprintf(f, "<text x=\"3\" y=\"15\">%llu instructions</text>\n", (unsigned long long)t->items->all.insns);
		for (size_t k = 0; k < t->n; k++) {
			const uint32_t i = list[k];
			if ((double)t->items[i].all.insns * scale >= 0.5)
				print_box(f, t, i, x[i], (double)t->items[i].all.insns * scale, depth[i]);
		}
		fputs("</svg>\n", f);
	}
	free(first);
	free(next);
	free(depth);
	free(x);
	free(list);
	return error;
}
