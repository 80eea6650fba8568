/* trackway blocks --json. */
#include "cli/blocks_json.h"
#include "names/places.h"
#include "report/json.h"

static void json_edges(struct tw_json *j, const struct tw_blocks_report *r, const struct tw_profile_blocks *all,
                       const struct tw_profile_block *b)
{
	tw_json_open(j, "edges", '[');
	for (uint32_t i = 0; i < b->n_edges; i++) {
		const struct tw_profile_edge *e = &all->edges[b->first_edge + i];
		if (!tw_blocks_shows(r, b, e))
			continue;
		tw_json_open(j, NULL, '{');
		tw_json_number(j, "to", e->to);
		tw_json_number(j, "count", e->count);
		tw_json_bool(j, "fall_through", e->fall);
		tw_json_close(j, '}');
	}
	tw_json_close(j, ']');
}

static void json_place(struct tw_json *j, const struct tw_blocks_report *r, const struct tw_profile_block *b)
{
	struct tw_code_name name;
	if (!r->names)
		return;
	tw_json_number(j, "process", tw_blocks_pid(r, b));
	tw_names_code(r->names, b->image, b->pc, &name);
	tw_json_text(j, "function", name.function);
	tw_json_number(j, "offset", name.offset);
	tw_json_text(j, "module", name.module);
	if (!name.line)
		return;
	tw_json_text(j, "file", tw_base_name(name.file));
	tw_json_number(j, "line", name.line);
}

static void json_block(struct tw_json *j, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, uint32_t i)
{
	const struct tw_profile_block *b = &all->blocks[i];
	tw_json_open(j, NULL, '{');
	tw_json_number(j, "id", i);
	tw_json_number(j, "first", b->pc);
	tw_json_number(j, "last", b->last_pc);
	tw_json_number(j, "bytes", b->bytes);
	tw_json_number(j, "instructions", b->n_insns);
	tw_json_number(j, "executions", b->executions);
	tw_json_text(j, "ending", tw_ending_name(b->ending));
	json_edges(j, r, all, b);
	json_place(j, r, b);
	tw_json_close(j, '}');
}

static void json_blocks(struct tw_json *j, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, const char *kind)
{
	tw_json_open(j, kind, '[');
	for (uint32_t i = 0; i < all->n_blocks; i++)
		json_block(j, r, all, i);
	tw_json_close(j, ']');
}

static void json_path(struct tw_json *j, const struct tw_superblocks *all, const struct tw_superblock *path)
{
	tw_json_open(j, NULL, '{');
	tw_json_open(j, "blocks", '[');
	for (uint32_t i = 0; i < path->n; i++)
		tw_json_number(j, NULL, all->blocks[path->first + i]);
	tw_json_close(j, ']');
	tw_json_number(j, "entries", path->entries);
	tw_json_number(j, "instructions", path->n_insns);
	tw_json_real(j, "expected_instructions", path->expected);
	tw_json_real(j, "chance_to_end", path->chance);
	tw_json_bool(j, "loops", path->loops);
	tw_json_close(j, '}');
}

void tw_blocks_json(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *paths)
{
	const struct tw_profile *p = r->profile;
	struct tw_json j = {.f = f};
	tw_json_begin(&j, "blocks");
	tw_json_text(&j, "source", r->source);
	tw_json_number(&j, "instructions", p->executions);
	tw_json_number(&j, "static_executions", p->static_executions);
	tw_json_number(&j, "dynamic_executions", p->dynamic_executions);
	tw_json_real(&j, "threshold", r->threshold);
	json_blocks(&j, r, &p->fixed, "static");
	json_blocks(&j, r, &p->dynamic, "dynamic");
	tw_json_real(&j, "superblock_edge", paths->options.edge);
	tw_json_real(&j, "superblock_path", paths->options.path);
	tw_json_open(&j, "superblocks", '[');
	for (uint32_t i = 0; i < paths->n; i++)
		json_path(&j, paths, &paths->paths[i]);
	tw_json_close(&j, ']');
	tw_json_close(&j, '}');
}
