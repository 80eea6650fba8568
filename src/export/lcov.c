#include "export/lcov.h"
#include "export/line_counts.h"
#include "base/array.h"
#include "recording/recording.h"
#include "report/printable.h"
#include "report/line_table.h"

#include <Zydis/Zydis.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A way out of a branch. */
struct way {
	uint32_t source, line;
	uint64_t branch; /* address of the branch */
	uint64_t to;
	uint64_t count;
	int executed; /* the branch was */
};

struct function {
	struct tw_line_function at;
	uint64_t count;
};

struct lcov {
	const struct tw_profile *profile;
	const struct tw_symbols *symbols;
	struct tw_texts sources;
	struct tw_line_count *lines;
	struct way *ways;
	struct function *functions;
	size_t n_lines, n_ways, n_functions, ways_room;
	/* the file being taken */
	struct tw_file_profile file;
	struct tw_line_table table;
};

/* ---- lines and functions ---- */

static int take_lines(struct lcov *l)
{
	struct tw_line_count *counts;
	size_t n;
	int error = tw_line_counts(&l->file, &l->table, &counts, &n);
	if (error)
		return error;
	struct tw_line_count *lines = realloc(l->lines, (l->n_lines + n + 1) * sizeof *lines);
	if (lines) {
		memcpy(lines + l->n_lines, counts, n * sizeof *lines);
		l->lines = lines;
		l->n_lines += n;
	}
	free(counts);
	return lines ? 0 : TW_ERR_MEMORY;
}

/* How often a function was entered: executions of its first instruction, without jumps from within. */
static uint64_t count_entries(const struct lcov *l, const struct tw_line_function *f)
{
	const struct tw_file_insn *first = tw_file_profile_find(&l->file, f->entry);
	uint64_t n = first ? first->executions : 0;
	for (size_t i = 0; n && i < l->file.n_edges; i++) {
		const struct tw_file_edge *e = &l->file.edges[i];
		int call = e->end == TW_END_CALL || e->end == TW_END_ICALL;
		if (e->to == f->entry && e->from >= f->entry && e->from < f->end && !call)
			n -= e->count;
	}
	return n;
}

static int take_functions(struct lcov *l)
{
	struct function *functions = realloc(l->functions, (l->n_functions + l->table.n_functions + 1) * sizeof *functions);
	if (!functions)
		return TW_ERR_MEMORY;
	l->functions = functions;
	for (size_t i = 0; i < l->table.n_functions; i++)
		functions[l->n_functions++] = (struct function){l->table.functions[i], count_entries(l, &l->table.functions[i])};
	return 0;
}

/* ---- branches ---- */

static int add_way(struct lcov *l, const struct tw_line_row *row, uint64_t branch, uint64_t to, uint64_t count, int executed)
{
	struct way *ways = tw_array_room(l->ways, l->n_ways, &l->ways_room, sizeof *ways);
	if (!ways)
		return TW_ERR_MEMORY;
	l->ways = ways;
	l->ways[l->n_ways++] = (struct way){row->source, row->line, branch, to, count, executed};
	return 0;
}

/* The edges that leave the instruction at `from`; *n of them. */
static const struct tw_file_edge *edges_from(const struct tw_file_profile *p, uint64_t from, size_t *n)
{
	size_t first = tw_array_before(&from, p->edges, p->n_edges, sizeof *p->edges, tw_by_number);
	*n = tw_array_until(&from, p->edges, p->n_edges, sizeof *p->edges, tw_by_number) - first;
	return p->edges + first;
}

static int take_conditional(struct lcov *l, const struct tw_line_row *row, uint64_t branch, uint64_t past)
{
	size_t n;
	uint64_t counts[2] = {0, 0};
	const struct tw_file_edge *e = edges_from(&l->file, branch, &n);
	const struct tw_file_insn *insn = tw_file_profile_find(&l->file, branch);
	for (size_t i = 0; i < n; i++)
		counts[e[i].to != past] += e[i].count;
	int error = add_way(l, row, branch, 0, counts[0], insn != NULL);
	return error ? error : add_way(l, row, branch, 1, counts[1], insn != NULL);
}

static int take_indirect(struct lcov *l, const struct tw_line_row *row, uint64_t branch)
{
	size_t n;
	int error = 0;
	const struct tw_file_edge *e = edges_from(&l->file, branch, &n);
	for (size_t i = 0; i < n && !error; i++)
		error = add_way(l, row, branch, i, e[i].count, 1);
	return error;
}

static int is_conditional(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_COND_BR;
}

static int is_indirect(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR && !(insn->attributes & ZYDIS_ATTRIB_IS_RELATIVE);
}

/* The branches in the code of one row. */
static int take_row(struct lcov *l, const ZydisDecoder *decoder, const struct tw_line_row *row, const uint8_t *code)
{
	ZydisDecodedInstruction insn;
	int error = 0;
	for (uint64_t at = row->start; at < row->end && !error; at += insn.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, code + (at - row->start), row->end - at, &insn)))
			break;
		if (is_conditional(&insn))
			error = take_conditional(l, row, at, at + insn.length);
		else if (is_indirect(&insn))
			error = take_indirect(l, row, at);
	}
	return error;
}

/* The bytes of [vaddr, end) in the file, NULL if they are not there. */
static const uint8_t *code_at(Elf *elf, uint64_t vaddr, uint64_t end)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) || vaddr < sh.sh_addr || end - sh.sh_addr > sh.sh_size)
			continue;
		const Elf_Data *data = elf_rawdata(scn, NULL);
		return data && data->d_buf ? (const uint8_t *)data->d_buf + (vaddr - sh.sh_addr) : NULL;
	}
	return NULL;
}

static int take_branches(struct lcov *l, const char *path)
{
	ZydisDecoder decoder;
	uint64_t bias;
	GElf_Addr elf_bias;
	Dwfl_Module *module = tw_symbols_dwfl(l->symbols, path, &bias);
	Elf *elf = module ? dwfl_module_getelf(module, &elf_bias) : NULL;
	int error = 0;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; elf && i < l->table.n_rows && !error; i++) {
		const struct tw_line_row *row = &l->table.rows[i];
		const uint8_t *code = row->line ? code_at(elf, row->start, row->end) : NULL;
		error = code ? take_row(l, &decoder, row, code) : 0;
	}
	return error;
}

/* ---- files ---- */

static int take_file(struct lcov *l, const char *path)
{
	int error = tw_line_table(l->symbols, path, &l->sources, &l->table);
	if (error || !l->table.n_rows)
		return error;
	error = tw_file_profile(l->profile, l->symbols, path, &l->file);
	if (!error) {
		tw_line_table_move_openings(&l->table);
		error = take_lines(l);
		if (!error)
			error = take_functions(l);
		if (!error)
			error = take_branches(l, path);
		tw_file_profile_free(&l->file);
	}
	tw_line_table_free(&l->table);
	return error;
}

static int by_line(const void *a, const void *b)
{
	const struct tw_line_count *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int by_branch(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->branch != y->branch)
		return x->branch < y->branch ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int by_function(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	if (x->at.source != y->at.source)
		return x->at.source < y->at.source ? -1 : 1;
	if (x->at.line != y->at.line)
		return x->at.line < y->at.line ? -1 : 1;
	return strcmp(x->at.name, y->at.name);
}

/* Sorts everything by source file, and merges what several files have of one line or function (headers). */
static void sort(struct lcov *l)
{
	size_t n = 0;
	qsort(l->lines, l->n_lines, sizeof *l->lines, by_line);
	for (size_t i = 0; i < l->n_lines; i++) {
		if (n && !by_line(&l->lines[n - 1], &l->lines[i]))
			l->lines[n - 1].count += l->lines[i].count;
		else
			l->lines[n++] = l->lines[i];
	}
	l->n_lines = n;
	n = 0;
	qsort(l->functions, l->n_functions, sizeof *l->functions, by_function);
	for (size_t i = 0; i < l->n_functions; i++) {
		if (n && !by_function(&l->functions[n - 1], &l->functions[i]))
			l->functions[n - 1].count += l->functions[i].count;
		else
			l->functions[n++] = l->functions[i];
	}
	l->n_functions = n;
	if (l->n_ways)
		qsort(l->ways, l->n_ways, sizeof *l->ways, by_branch);
}

/* ---- output ---- */

static size_t put_functions(FILE *f, const struct lcov *l, uint32_t source, size_t i)
{
	size_t end, hit = 0;
	for (end = i; end < l->n_functions && l->functions[end].at.source == source; end++)
		fprintf(f, "FN:%u,%s\n", l->functions[end].at.line, l->functions[end].at.name);
	for (size_t k = i; k < end; k++) {
		fprintf(f, "FNDA:%llu,%s\n", (unsigned long long)l->functions[k].count, l->functions[k].at.name);
		hit += l->functions[k].count != 0;
	}
	fprintf(f, "FNF:%zu\nFNH:%zu\n", end - i, hit);
	return end;
}

static size_t put_branches(FILE *f, const struct lcov *l, uint32_t source, size_t i)
{
	size_t end, hit = 0;
	unsigned block = 0;
	for (end = i; end < l->n_ways && l->ways[end].source == source; end++) {
		const struct way *w = &l->ways[end], *before = end > i ? w - 1 : NULL;
		if (!before || before->line != w->line)
			block = 0;
		else if (before->branch != w->branch)
			block++;
		fprintf(f, "BRDA:%u,%u,%llu,", w->line, block, (unsigned long long)w->to);
		if (w->executed)
			fprintf(f, "%llu\n", (unsigned long long)w->count);
		else
			fputs("-\n", f);
		hit += w->count != 0;
	}
	fprintf(f, "BRF:%zu\nBRH:%zu\n", end - i, hit);
	return end;
}

static size_t put_lines(FILE *f, const struct lcov *l, uint32_t source, size_t i)
{
	size_t end, hit = 0;
	for (end = i; end < l->n_lines && l->lines[end].source == source; end++) {
		fprintf(f, "DA:%u,%llu\n", l->lines[end].line, (unsigned long long)l->lines[end].count);
		hit += l->lines[end].count != 0;
	}
	fprintf(f, "LF:%zu\nLH:%zu\n", end - i, hit);
	return end;
}

/* Passes over what there is of sources before this one. */
static void skip_to(const struct lcov *l, uint32_t source, size_t *function, size_t *way, size_t *line)
{
	while (*function < l->n_functions && l->functions[*function].at.source < source)
		++*function;
	while (*way < l->n_ways && l->ways[*way].source < source)
		++*way;
	while (*line < l->n_lines && l->lines[*line].source < source)
		++*line;
}

/* Returns how many source files there were. */
static size_t put_all(FILE *f, const struct lcov *l, size_t *left_out)
{
	size_t line = 0, way = 0, function = 0, n = 0;
	for (uint32_t s = 0; s < l->sources.n; s++) {
		skip_to(l, s, &function, &way, &line);
		if (line == l->n_lines || l->lines[line].source != s)
			continue;
		n++;
		if (access(l->sources.items[s], R_OK)) {
			++*left_out;
			continue;
		}
		fputs("TN:\nSF:", f);
		tw_print_safe(f, l->sources.items[s]);
		fputc('\n', f);
		function = put_functions(f, l, s, function);
		way = put_branches(f, l, s, way);
		line = put_lines(f, l, s, line);
		fputs("end_of_record\n", f);
	}
	return n;
}

int tw_lcov(const struct tw_profile *p, const struct tw_symbols *symbols, const char *path, FILE *f, size_t *left_out)
{
	struct lcov l = {.profile = p, .symbols = symbols};
	const char *one;
	int error = 0;
	*left_out = 0;
	for (size_t i = 0; !error && (one = tw_symbols_file(symbols, i)); i++)
		if (!path || !strcmp(path, one))
			error = take_file(&l, one);
	if (!error && !l.n_lines) {
		const char *trouble = path ? tw_symbols_trouble(symbols, path) : NULL;
		error = tw_fail(TW_ERR_SYSTEM, "%s: no source lines, which coverage needs: %s",
		                path ? path : "the program and its libraries", trouble ? trouble : "compile with -g");
	}
	if (!error) {
		sort(&l);
		if (put_all(f, &l, left_out) == *left_out)
			error =
			    tw_fail(TW_ERR_SYSTEM, "no source file can be read (%s, for one), which coverage needs", l.sources.items[0]);
	}
	free(l.lines);
	free(l.ways);
	free(l.functions);
	tw_texts_free(&l.sources);
	return error;
}
