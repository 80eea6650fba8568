#include "html/function_json.h"
#include "base/array.h"

#include <stdlib.h>

/* Lines of one source file that have code. */
struct lines {
	uint32_t least, most;
};

struct function_json {
	struct tw_listing *l;
	const struct tw_cache_misses *misses;
	struct tw_compact *c;
	const struct tw_listing_function *f;
	struct tw_texts files;
	struct lines *lines; /* by number of the file */
	size_t lines_room;
};

static const struct tw_profile_insn *insn_at(const struct function_json *j, size_t i)
{
	return &j->l->profile.insns[j->l->order[j->f->first + i].insn];
}

/* The number of a source file of which a line is shown; -1: none. */
static int64_t file_number(struct function_json *j, const char *file, uint32_t line)
{
	uint32_t n = file && line ? tw_texts_number(&j->files, file) : TW_NO_TEXT;
	struct lines *lines = n == TW_NO_TEXT ? NULL : tw_array_zeros(j->lines, n, &j->lines_room, sizeof *lines);
	if (!lines)
		return -1;
	j->lines = lines;
	lines[n].least = !lines[n].least || line < lines[n].least ? line : lines[n].least;
	lines[n].most = line > lines[n].most ? line : lines[n].most;
	return n;
}

static void put_insn(struct function_json *j, const struct tw_profile_insn *p)
{
	struct tw_code_name name;
	char text[256];
	tw_names_code(j->l->names, p->image, p->pc, &name);
	tw_listing_disassemble(j->l, p, text, sizeof text);
	int64_t file = file_number(j, name.file, name.line);
	const struct tw_cache_miss *missed = tw_cache_miss_of(j->misses, p->image, p->pc);
	tw_compact_open(j->c, NULL, '[');
	tw_compact_address(j->c, NULL, p->pc);
	tw_compact_number(j->c, NULL, p->executions);
	tw_compact_number(j->c, NULL, p->reads);
	tw_compact_number(j->c, NULL, p->writes);
	tw_compact_real(j->c, NULL, (double)file);
	tw_compact_number(j->c, NULL, name.line);
	tw_compact_text(j->c, NULL, text);
	if (missed) {
		tw_compact_number(j->c, NULL, missed->first);
		tw_compact_number(j->c, NULL, missed->last);
	}
	tw_compact_close(j->c, ']');
}

/* A block with its instructions in the listing: it may have begun before the function. */
struct listed {
	uint32_t block;
	size_t first, n_insns;
};

/* The blocks of a function, by number. */
struct blocks {
	struct listed *items;
	size_t n;
};

static int by_block(const void *a, const void *b)
{
	uint32_t x = ((const struct listed *)a)->block, y = ((const struct listed *)b)->block;
	return (x > y) - (x < y);
}

static int has_block(const struct blocks *b, uint32_t block, size_t *where)
{
	const struct listed key = {.block = block};
	*where = tw_array_before(&key, b->items, b->n, sizeof key, by_block);
	return *where < b->n && b->items[*where].block == block;
}

static void find_blocks(const struct function_json *j, struct blocks *b)
{
	b->items = calloc(j->f->n + 1, sizeof *b->items);
	for (size_t i = 0; b->items && i < j->f->n; i++)
		b->items[b->n++].block = insn_at(j, i)->block;
	size_t n = b->n, k;
	b->n = 0;
	if (n)
		qsort(b->items, n, sizeof *b->items, by_block);
	for (size_t i = 0; i < n; i++)
		if (!b->n || b->items[b->n - 1].block != b->items[i].block)
			b->items[b->n++] = b->items[i];
	for (size_t i = 0; i < n; i++)
		if (has_block(b, insn_at(j, i)->block, &k) && !b->items[k].n_insns++)
			b->items[k].first = i;
}

static void put_blocks(struct function_json *j, const struct blocks *b)
{
	tw_compact_open(j->c, "blocks", '[');
	for (size_t i = 0; i < b->n; i++) {
		const struct tw_profile_block *p = &j->l->profile.fixed.blocks[b->items[i].block];
		tw_compact_open(j->c, NULL, '[');
		tw_compact_number(j->c, NULL, b->items[i].first);
		tw_compact_number(j->c, NULL, b->items[i].n_insns);
		tw_compact_number(j->c, NULL, p->executions);
		tw_compact_text(j->c, NULL, tw_ending_name((enum tw_ending)p->ending));
		tw_compact_close(j->c, ']');
	}
	tw_compact_close(j->c, ']');
}

static void put_edge(struct function_json *j, const struct blocks *b, size_t from, const struct tw_profile_edge *e)
{
	const struct tw_profile_block *to = &j->l->profile.fixed.blocks[e->to];
	struct tw_owned owned;
	size_t where;
	int inside = has_block(b, e->to, &where);
	tw_compact_open(j->c, NULL, '[');
	tw_compact_number(j->c, NULL, from);
	tw_compact_real(j->c, NULL, inside ? (double)where : -1);
	tw_compact_number(j->c, NULL, e->count);
	tw_compact_number(j->c, NULL, e->fall);
	if (!inside && !tw_owners_find(&j->l->owners, to->image, to->pc, 0, &owned))
		tw_compact_text(j->c, NULL, j->l->owners.items[owned.owner].name);
	tw_compact_close(j->c, ']');
}

static void put_edges(struct function_json *j, const struct blocks *b)
{
	enum { MOST = 64 }; /* of one block: an indirect branch may have thousands */
	tw_compact_open(j->c, "edges", '[');
	for (size_t i = 0; i < b->n; i++) {
		const struct tw_profile_block *p = &j->l->profile.fixed.blocks[b->items[i].block];
		for (uint32_t k = 0; k < p->n_edges && k < MOST; k++)
			put_edge(j, b, i, &j->l->profile.fixed.edges[p->first_edge + k]);
	}
	tw_compact_close(j->c, ']');
}

static void put_source(struct function_json *j)
{
	enum { AROUND = 3, MOST = 600 };
	tw_compact_open(j->c, "source", '[');
	for (uint32_t i = 0; i < j->files.n; i++) {
		uint32_t from = j->lines[i].least > AROUND ? j->lines[i].least - AROUND : 1, to = j->lines[i].most + AROUND;
		const char *line = tw_source_line(&j->l->sources, j->files.items[i], from);
		if (!line)
			continue;
		tw_compact_open(j->c, NULL, '[');
		tw_compact_number(j->c, NULL, i);
		tw_compact_number(j->c, NULL, from);
		tw_compact_open(j->c, NULL, '[');
		for (uint32_t n = from; line && n <= to && n < from + MOST; line = tw_source_line(&j->l->sources, j->files.items[i], ++n))
			tw_compact_text(j->c, NULL, line);
		tw_compact_close(j->c, ']');
		tw_compact_close(j->c, ']');
	}
	tw_compact_close(j->c, ']');
}

static void put_head(struct function_json *j)
{
	tw_compact_text(j->c, "name", j->f->name);
	tw_compact_text(j->c, "module", j->f->module);
	tw_compact_text(j->c, "file", j->f->file);
	tw_compact_number(j->c, "line", j->f->line);
}

size_t tw_function_json(struct tw_listing *l, const struct tw_cache_misses *misses, struct tw_compact *c,
                        const struct tw_listing_function *f)
{
	struct function_json j = {.l = l, .misses = misses, .c = c, .f = f};
	struct blocks blocks = {0};
	find_blocks(&j, &blocks);
	tw_compact_open(c, NULL, '{');
	put_head(&j);
	tw_compact_open(c, "insns", '[');
	for (size_t i = 0; i < f->n; i++)
		put_insn(&j, insn_at(&j, i));
	tw_compact_close(c, ']');
	tw_compact_open(c, "files", '[');
	for (uint32_t i = 0; i < j.files.n; i++)
		tw_compact_text(c, NULL, j.files.items[i]);
	tw_compact_close(c, ']');
	put_blocks(&j, &blocks);
	put_edges(&j, &blocks);
	put_source(&j);
	tw_compact_close(c, '}');
	free(blocks.items);
	free(j.lines);
	tw_texts_free(&j.files);
	return f->n;
}
