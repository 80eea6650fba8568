#include "report/blocks.h"
#include "names/places.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int tw_blocks_shows(const struct tw_blocks_report *r, const struct tw_profile_block *b, const struct tw_profile_edge *e)
{
	return b->ending != TW_ENDING_IJ || (double)e->count >= r->threshold * (double)b->executions;
}

uint32_t tw_blocks_pid(const struct tw_blocks_report *r, const struct tw_profile_block *b)
{
	return r->profile->images[b->image].pid;
}

void tw_blocks_place(const struct tw_blocks_report *r, const struct tw_profile_block *b, char *to, size_t size)
{
	struct tw_code_name name;
	to[0] = 0;
	if (!r->names)
		return;
	tw_names_code(r->names, b->image, b->pc, &name);
	int n = snprintf(to, size, "%s", name.function);
	if (name.offset && n >= 0 && (size_t)n < size)
		n += snprintf(to + n, size - (size_t)n, "+0x%" PRIx64, name.offset);
	if (name.line && n >= 0 && (size_t)n < size)
		snprintf(to + n, size - (size_t)n, " %s:%" PRIu32, tw_base_name(name.file), name.line);
}

/* ---- text ---- */

static void print_edges(FILE *f, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, const struct tw_profile_block *b)
{
	const struct tw_profile_edge *e = all->edges + b->first_edge;
	for (uint32_t i = 0; i < b->n_edges; i++)
		if (tw_blocks_shows(r, b, &e[i]))
			fprintf(f, " %" PRIu32 ":%" PRIu64 "%s", e[i].to, e[i].count, e[i].fall ? "(ft)" : "");
}

static void print_row(FILE *f, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, uint32_t i)
{
	const struct tw_profile_block *b = &all->blocks[i];
	fprintf(f, "%7" PRIu32 " %12" PRIx64 " %12" PRIx64 " %6" PRIu32 " %12" PRIu64 "  %s    ", i, b->pc, b->last_pc, b->n_insns,
	        b->executions, tw_ending_name(b->ending));
	print_edges(f, r, all, b);
	fputc('\n', f);
}

static const char columns[] = "#    id        first         last  insns   executions  ending  edges\n";

static void print_header(FILE *f, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, const char *kind,
                         uint64_t executions)
{
	int is_static = all == &r->profile->fixed;
	fprintf(f, "# %s basic blocks of %s\n", kind, r->source);
	fprintf(f, "# %" PRIu32 " blocks, executed %" PRIu64 " times; %" PRIu64 " instructions executed\n#\n", all->n_blocks, executions,
	        r->profile->executions);
	fprintf(f, "%s",
	        is_static ? "# Every instruction that ran is in exactly one of these blocks.\n"
	                  : "# A block begins after each jump and ends with the next; an instruction may be in several.\n");
	fprintf(f, "# One row a block, by address:\n"
	           "#   id          number of the block; edges name blocks by it\n"
	           "#   first, last addresses of its first and its last instruction, hexadecimal\n"
	           "#   insns       instructions in it\n"
	           "#   executions  how often it ran\n"
	           "#   ending      NB  went on with the block behind it each time\n"
	           "#               UB  went to the same other block each time\n"
	           "#               CB  went on with the block behind it, or to one other\n"
	           "#               IJ  went to several others\n"
	           "#   edges       id:frequency for each block that ran next, the most frequent first;\n"
	           "#               frequency is how often; (ft): falls through, to the block behind it\n");
	if (r->threshold > 0)
		fprintf(f, "# Edges of IJ blocks below %g %% of their executions are left out.\n", 100 * r->threshold);
	fprintf(f, "#\n%s", columns);
}

void tw_blocks_text(FILE *f, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, const char *kind)
{
	const struct tw_profile *p = r->profile;
	print_header(f, r, all, kind, all == &p->fixed ? p->static_executions : p->dynamic_executions);
	for (uint32_t i = 0; i < all->n_blocks; i++) {
		uint32_t image = all->blocks[i].image;
		if (p->n_images > 1 && (!i || image != all->blocks[i - 1].image))
			fprintf(f, "# process %" PRIu32 ", from thread %" PRIu32 " on\n", p->images[image].pid, p->images[image].thread);
		print_row(f, r, all, i);
	}
}

/* ---- summary ---- */

static double percent(double part, double whole)
{
	/* A block cut short by the end of a stream counts as a whole one. */
	return part < whole ? 100 * part / whole : 100;
}

static void print_endings(FILE *f, const struct tw_profile_blocks *all, const char *kind, uint64_t executions)
{
	uint32_t n[TW_N_ENDINGS] = {0};
	for (uint32_t i = 0; i < all->n_blocks; i++)
		n[all->blocks[i].ending]++;
	fprintf(f, "%-7s %8" PRIu32 " %14" PRIu64 " %7" PRIu32 " %7" PRIu32 " %7" PRIu32 " %7" PRIu32 "\n", kind, all->n_blocks, executions,
	        n[TW_ENDING_NB], n[TW_ENDING_UB], n[TW_ENDING_CB], n[TW_ENDING_IJ]);
}

static void print_hot(FILE *f, const struct tw_blocks_report *r, const struct tw_profile_hot *hot)
{
	const struct tw_profile_block *b = &r->profile->fixed.blocks[hot->block];
	char place[300];
	tw_blocks_place(r, b, place, sizeof place);
	fprintf(f, "%6.2f%% %7" PRIu32 " %12" PRIx64 " %6" PRIu32 " %12" PRIu64 "  %s",
	        percent((double)hot->insns, (double)r->profile->executions), hot->block, b->pc, b->n_insns, b->executions,
	        tw_ending_name(b->ending));
	print_edges(f, r, &r->profile->fixed, b);
	fprintf(f, "%s%s\n", place[0] ? "  " : "", place);
}

static void print_hottest(FILE *f, const struct tw_blocks_report *r, uint64_t top)
{
	const struct tw_profile_blocks *all = &r->profile->fixed;
	struct tw_profile_hot *hot = tw_profile_hottest(all);
	fprintf(f, "\nStatic blocks that execute most instructions\n  share      id        first  insns   executions  ending and edges\n");
	for (uint32_t i = 0; hot && i < all->n_blocks && (!top || i < top); i++)
		print_hot(f, r, &hot[i]);
	free(hot);
}

static void print_path(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *all, const struct tw_superblock *path)
{
	char place[300];
	tw_blocks_place(r, &r->profile->fixed.blocks[all->blocks[path->first]], place, sizeof place);
	fprintf(f, "%6.2f%% %12" PRIu64 " %6" PRIu32 " %8.1f %6.1f%%  ",
	        percent(path->expected * (double)path->entries, (double)r->profile->executions), path->entries, path->n_insns,
	        path->expected, 100 * path->chance);
	for (uint32_t i = 0; i < path->n; i++)
		fprintf(f, "%s%" PRIu32, i ? " " : "", all->blocks[path->first + i]);
	fprintf(f, "%s%s%s\n", path->loops ? " (loop)" : "", place[0] ? "  " : "", place);
}

void tw_blocks_superblocks(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *paths)
{
	fprintf(f, "Likely paths, for superblocks: along edges of %g %% or more, as long as the chance to come so far is %g %%\n",
	        100 * paths->options.edge, 100 * paths->options.path);
	fprintf(f, "  share      entries  insns expected to end  static blocks\n");
	for (uint32_t i = 0; i < paths->n; i++)
		print_path(f, r, paths, &paths->paths[i]);
}

void tw_blocks_summary(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *paths, uint64_t top)
{
	const struct tw_profile *p = r->profile;
	fprintf(f, "%s: %" PRIu64 " instructions executed, %" PRIu32 " different ones\n", r->source, p->executions, p->n_insns);
	if (r->insns_once && r->insns_once != p->executions)
		fprintf(f, "(%" PRIu64 " as report counts them: string instructions that repeat count once there, here each time)\n",
		        r->insns_once);
	fputc('\n', f);
	fprintf(f, "blocks      there       executed      NB      UB      CB      IJ\n");
	print_endings(f, &p->fixed, "static", p->static_executions);
	print_endings(f, &p->dynamic, "dynamic", p->dynamic_executions);
	print_hottest(f, r, top);
	fputc('\n', f);
	tw_blocks_superblocks(f, r, paths);
}

/* ---- CSV ---- */

static void csv_rows(FILE *f, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, const char *kind)
{
	for (uint32_t i = 0; i < all->n_blocks; i++) {
		const struct tw_profile_block *b = &all->blocks[i];
		const struct tw_profile_edge *e = all->edges + b->first_edge;
		const char *separator = "";
		fprintf(f, "%s,%" PRIu32 ",%" PRIu32 ",%" PRIx64 ",%" PRIx64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%s,", kind, i,
		        tw_blocks_pid(r, b), b->pc, b->last_pc, b->bytes, b->n_insns, b->executions, tw_ending_name(b->ending));
		for (uint32_t k = 0; k < b->n_edges; k++) {
			if (!tw_blocks_shows(r, b, &e[k]))
				continue;
			fprintf(f, "%s%" PRIu32 ":%" PRIu64 "%s", separator, e[k].to, e[k].count, e[k].fall ? "(ft)" : "");
			separator = " ";
		}
		fputc('\n', f);
	}
}

void tw_blocks_csv(FILE *f, const struct tw_blocks_report *r)
{
	fprintf(f, "kind,id,process,first,last,bytes,instructions,executions,ending,edges\n");
	csv_rows(f, r, &r->profile->fixed, "static");
	csv_rows(f, r, &r->profile->dynamic, "dynamic");
}
