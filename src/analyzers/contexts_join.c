#include "analyzers/contexts_join.h"
#include "names/names.h"

#include <trackway/recording.h>

#include <stdlib.h>

/* A block that made calls. */
struct site {
	const char *function, *module; /* as the names have them */
	int plt;
	uint32_t block;
};

static int compare_texts(const char *a, const char *b)
{
	return a < b ? -1 : a > b;
}

/* By function, then by number. Texts are told apart by where they are, as in the tree by names. */
static int compare_sites(const void *pa, const void *pb)
{
	const struct site *a = pa, *b = pb;
	const int by_function = compare_texts(a->function, b->function), by_module = compare_texts(a->module, b->module);
	if (by_function || by_module)
		return by_function ? by_function : by_module;
	if (a->plt != b->plt)
		return a->plt - b->plt;
	return a->block < b->block ? -1 : a->block > b->block;
}

static int is_of_same_function(const struct site *a, const struct site *b)
{
	return a->function == b->function && a->module == b->module && a->plt == b->plt;
}

/* The sites of all calls, each once, by function; one[block] is the block itself, of other blocks TW_CONTEXT_NONE. Returns how many are listed. */
static size_t list_sites(const struct tw_contexts *c, struct tw_names *names, int are_last, uint32_t *one, struct site *sites)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n_blocks; i++)
		one[i] = TW_CONTEXT_NONE;
	for (size_t i = 0; i < c->n_nodes; i++) {
		const uint32_t block = c->nodes[i].site;
		if (c->nodes[i].parent == TW_CONTEXT_NONE || one[block] != TW_CONTEXT_NONE)
			continue;
		const struct tw_context_block *b = &c->blocks[block];
		struct tw_code_name name;
		one[block] = block;
		tw_names_code(names, tw_names_image(names, b->thread), b->pc, &name);
		if (are_last || (name.known && name.path[0]))
			sites[n++] = (struct site){name.function, name.module, name.plt, block};
	}
	qsort(sites, n, sizeof *sites, compare_sites);
	return n;
}

/* one: by block its representative as a site. */
static int choose_sites(const struct tw_contexts *c, struct tw_names *names, int are_last, uint32_t *one)
{
	struct site *sites = malloc((c->n_blocks + 1) * sizeof *sites);
	if (!sites)
		return TW_ERR_MEMORY;
	const size_t n = list_sites(c, names, are_last, one, sites);
	for (size_t i = 1; i < n; i++)
		if (is_of_same_function(&sites[i - 1], &sites[i]))
			one[sites[i].block] = one[sites[i - 1].block];
	for (size_t i = 0; i < c->n_blocks; i++) {
		const uint32_t before = i < c->n_joined ? c->joined[i] : (uint32_t)i;
		if (one[i] == TW_CONTEXT_NONE)
			one[i] = one[before] == TW_CONTEXT_NONE ? before : one[before];
	}
	free(sites);
	return 0;
}

static void free_nodes(const struct tw_contexts *c)
{
	free(c->nodes);
	free(c->parts);
	free(c->by_node.slots);
	free(c->by_part.slots);
	free(c->joined);
}

int tw_contexts_join(struct tw_contexts *c, struct tw_names *names, int are_last, uint32_t *node)
{
	/* Blocks and roots are those of both. */
	struct tw_contexts joined = *c;
	joined.nodes = NULL, joined.parts = NULL;
	joined.n_nodes = joined.nodes_room = joined.n_parts = joined.parts_room = 0;
	joined.by_node = joined.by_part = (struct tw_context_index){NULL, 0};
	joined.joined = malloc((c->n_blocks + 1) * sizeof *joined.joined);
	joined.n_joined = c->n_blocks;
	int error = joined.joined ? choose_sites(c, names, are_last, joined.joined) : TW_ERR_MEMORY;
	error = error ? error : tw_contexts_add_nodes(&joined, c, &(struct tw_context_maps){.node = node});
	free_nodes(error ? &joined : c);
	if (!error)
		*c = joined;
	return error;
}

/* The same as a site: that of a function's first block differs in `plt`. */
static struct site name_block(const struct tw_contexts *c, struct tw_names *names, uint32_t block)
{
	const struct tw_context_block *b = &c->blocks[block];
	struct tw_code_name name;
	tw_names_code(names, tw_names_image(names, b->thread), b->pc, &name);
	return (struct site){name.function, name.module, name.plt << 1 | tw_names_begins(names, b->pc, &name), block};
}

int tw_contexts_unite(struct tw_contexts *c, struct tw_names *names)
{
	const size_t n = c->n_blocks;
	struct site *blocks = malloc((n + 1) * sizeof *blocks);
	uint32_t *united = malloc((n + 1) * sizeof *united);
	if (!blocks || !united) {
		free(blocks);
		free(united);
		return TW_ERR_MEMORY;
	}
	for (uint32_t i = 0; i < n; i++)
		blocks[i] = name_block(c, names, i);
	qsort(blocks, n, sizeof *blocks, compare_sites);
	for (size_t i = 0; i < n; i++) {
		const int is_same = i && is_of_same_function(&blocks[i - 1], &blocks[i]);
		united[blocks[i].block] = is_same ? united[blocks[i - 1].block] : blocks[i].block;
	}
	free(blocks);
	free(c->united);
	c->united = united;
	c->n_united = n;
	return 0;
}
