#include "analyze/superblock.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

struct seed {
	uint64_t heat; /* instructions executed */
	uint32_t block;
};

struct search {
	const struct tw_profile *p;
	const struct tw_superblock_options *options;
	struct tw_superblocks *out;
	uint8_t *used; /* by block: is part of a path */
};

static int by_heat(const void *a, const void *b)
{
	const struct seed *x = a, *y = b;
	if (x->heat != y->heat)
		return x->heat > y->heat ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static struct seed *list_seeds(const struct tw_profile_blocks *all)
{
	struct seed *seeds = calloc(all->n_blocks + 1u, sizeof *seeds);
	for (uint32_t i = 0; seeds && i < all->n_blocks; i++)
		seeds[i] = (struct seed){all->blocks[i].executions * all->blocks[i].n_insns, i};
	if (seeds)
		qsort(seeds, all->n_blocks, sizeof *seeds, by_heat);
	return seeds;
}

static int contains(const uint32_t *blocks, uint32_t n, uint32_t block)
{
	for (uint32_t i = 0; i < n; i++)
		if (blocks[i] == block)
			return 1;
	return 0;
}

/* Follows the most frequent edges from `seed`, and appends the blocks to out->blocks. */
static struct tw_superblock follow(const struct search *s, uint32_t seed)
{
	const struct tw_profile_blocks *all = &s->p->fixed;
	uint32_t *blocks = s->out->blocks + s->out->n_blocks;
	struct tw_superblock path = {.first = s->out->n_blocks, .entries = all->blocks[seed].executions, .chance = 1};
	for (uint32_t at = seed;;) {
		const struct tw_profile_block *b = &all->blocks[at];
		const struct tw_profile_edge *e = &all->edges[b->first_edge];
		blocks[path.n++] = at;
		path.n_insns += b->n_insns;
		path.expected += path.chance * b->n_insns;
		double likely = b->n_edges ? (double)e->count / (double)b->executions : 0;
		int enough = likely >= s->options->edge && path.chance * likely >= s->options->path;
		path.loops = enough && e->to == seed;
		if (!enough || path.n == TW_SUPERBLOCK_MOST_BLOCKS || contains(blocks, path.n, e->to))
			return path;
		path.chance *= likely;
		at = e->to;
	}
}

static void find_paths(struct search *s, const struct seed *seeds)
{
	struct tw_superblocks *out = s->out;
	for (uint32_t i = 0; i < s->p->fixed.n_blocks && out->n < s->options->most; i++) {
		if (s->used[seeds[i].block])
			continue;
		struct tw_superblock path = follow(s, seeds[i].block);
		if (path.n == 1 && !path.loops)
			continue;
		for (uint32_t k = 0; k < path.n; k++)
			s->used[out->blocks[path.first + k]] = 1;
		out->paths[out->n++] = path;
		out->n_blocks += path.n;
	}
}

int tw_superblocks(const struct tw_profile *p, const struct tw_superblock_options *options, struct tw_superblocks *out)
{
	uint32_t n = p->fixed.n_blocks, most = options->most < n ? options->most : n;
	struct tw_superblock_options o = *options;
	struct search s = {p, &o, out, calloc(n + 1u, 1)};
	struct seed *seeds = list_seeds(&p->fixed);
	o.most = most;
	*out = (struct tw_superblocks){
	    .options = *options,
	    .paths = calloc(most + 1u, sizeof *out->paths),
	    .blocks = calloc((most + 1u) * (size_t)TW_SUPERBLOCK_MOST_BLOCKS, sizeof *out->blocks),
	};
	int ok = s.used && seeds && out->paths && out->blocks;
	if (ok)
		find_paths(&s, seeds);
	else
		tw_superblocks_free(out);
	free(s.used);
	free(seeds);
	return ok ? 0 : tw_fail(TW_ERR_MEMORY, "superblocks");
}

void tw_superblocks_free(struct tw_superblocks *s)
{
	free(s->paths);
	free(s->blocks);
	memset(s, 0, sizeof *s);
}
