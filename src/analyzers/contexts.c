#include "analyzers/contexts.h"
#include "analyze/packed.h"
#include "base/array.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

static uint32_t hash_of(uint64_t a, uint64_t b)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15ull ^ b) * 0xc2b2ae3d27d4eb4full;
	return (uint32_t)(h >> 32);
}

/* Puts item n in, by its hash. There is room. */
static void put(struct tw_context_index *x, uint32_t hash, uint32_t n)
{
	uint32_t i = hash & (x->n_slots - 1);
	while (x->slots[i])
		i = (i + 1) & (x->n_slots - 1);
	x->slots[i] = n + 1;
}

static uint32_t block_hash(const struct tw_context_block *b)
{
	return hash_of(b->pc, b->program);
}

static uint32_t node_hash(const struct tw_context_node *n)
{
	return hash_of((uint64_t)n->parent << 32 | n->site, n->entry);
}

static uint32_t part_hash(const struct tw_context_part *p)
{
	return hash_of(p->node, p->block);
}

static uint32_t root_hash(const struct tw_context_root *r)
{
	return hash_of(r->tsc ^ r->slot, r->back ^ ((uint64_t)r->pid << 32 | r->before));
}

/* Twice as many slots, when half of them are taken. `hash`: of item n. 0: no memory. */
static int make_room(struct tw_context_index *x, size_t n, uint32_t (*hash)(const void *items, size_t n), const void *items)
{
	enum { FIRST = 1024 };
	if (2 * n < x->n_slots)
		return 1;
	struct tw_context_index more = {.n_slots = x->n_slots ? 2 * x->n_slots : FIRST};
	more.slots = tw_array_table(more.n_slots, sizeof *more.slots);
	if (!more.slots || n >= UINT32_MAX / 4) {
		free(more.slots);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		put(&more, hash(items, i), (uint32_t)i);
	free(x->slots);
	*x = more;
	return 1;
}

static uint32_t hash_block(const void *items, size_t n)
{
	return block_hash((const struct tw_context_block *)items + n);
}

static uint32_t hash_node(const void *items, size_t n)
{
	return node_hash((const struct tw_context_node *)items + n);
}

static uint32_t hash_part(const void *items, size_t n)
{
	return part_hash((const struct tw_context_part *)items + n);
}

static uint32_t hash_root(const void *items, size_t n)
{
	return root_hash((const struct tw_context_root *)items + n);
}

/* ---- blocks, nodes, parts, roots ---- */

uint32_t tw_contexts_block(struct tw_contexts *c, uint32_t program, uint32_t thread, uint64_t pc)
{
	const struct tw_context_block wanted = {pc, program, thread};
	uint32_t hash = block_hash(&wanted);
	if (!make_room(&c->by_block, c->n_blocks, hash_block, c->blocks))
		return TW_CONTEXT_NONE;
	for (uint32_t i = hash & (c->by_block.n_slots - 1), n; (n = c->by_block.slots[i]); i = (i + 1) & (c->by_block.n_slots - 1))
		if (c->blocks[n - 1].pc == pc && c->blocks[n - 1].program == program)
			return n - 1;
	struct tw_context_block *blocks = tw_array_room(c->blocks, c->n_blocks, &c->blocks_room, sizeof *blocks);
	if (!blocks)
		return TW_CONTEXT_NONE;
	c->blocks = blocks;
	blocks[c->n_blocks] = wanted;
	put(&c->by_block, hash, (uint32_t)c->n_blocks);
	return (uint32_t)c->n_blocks++;
}

static int same_node(const struct tw_context_node *n, const struct tw_context_node *wanted)
{
	return n->parent == wanted->parent && n->site == wanted->site && n->entry == wanted->entry;
}

uint32_t tw_contexts_node(struct tw_contexts *c, uint32_t parent, uint32_t site, uint32_t entry)
{
	const struct tw_context_node wanted = {parent, parent != TW_CONTEXT_NONE && site < c->n_joined ? c->joined[site] : site, entry, 0};
	uint32_t hash = node_hash(&wanted);
	if (!make_room(&c->by_node, c->n_nodes, hash_node, c->nodes))
		return TW_CONTEXT_NONE;
	for (uint32_t i = hash & (c->by_node.n_slots - 1), n; (n = c->by_node.slots[i]); i = (i + 1) & (c->by_node.n_slots - 1))
		if (same_node(&c->nodes[n - 1], &wanted))
			return n - 1;
	struct tw_context_node *nodes = tw_array_room(c->nodes, c->n_nodes, &c->nodes_room, sizeof *nodes);
	if (!nodes)
		return TW_CONTEXT_NONE;
	c->nodes = nodes;
	nodes[c->n_nodes] = wanted;
	put(&c->by_node, hash, (uint32_t)c->n_nodes);
	return (uint32_t)c->n_nodes++;
}

uint32_t tw_contexts_part(struct tw_contexts *c, uint32_t node, uint32_t block)
{
	const struct tw_context_part wanted = {.node = node, .block = tw_contexts_united(c, block)};
	uint32_t hash = part_hash(&wanted);
	if (!make_room(&c->by_part, c->n_parts, hash_part, c->parts))
		return TW_CONTEXT_NONE;
	for (uint32_t i = hash & (c->by_part.n_slots - 1), n; (n = c->by_part.slots[i]); i = (i + 1) & (c->by_part.n_slots - 1))
		if (c->parts[n - 1].node == node && c->parts[n - 1].block == wanted.block)
			return n - 1;
	struct tw_context_part *parts = tw_array_room(c->parts, c->n_parts, &c->parts_room, sizeof *parts);
	if (!parts)
		return TW_CONTEXT_NONE;
	c->parts = parts;
	parts[c->n_parts] = wanted;
	put(&c->by_part, hash, (uint32_t)c->n_parts);
	return (uint32_t)c->n_parts++;
}

uint32_t tw_contexts_root(struct tw_contexts *c, const struct tw_context_root *root)
{
	uint32_t hash = root_hash(root);
	if (!make_room(&c->by_root, c->n_roots, hash_root, c->roots))
		return TW_CONTEXT_NONE;
	for (uint32_t i = hash & (c->by_root.n_slots - 1), n; (n = c->by_root.slots[i]); i = (i + 1) & (c->by_root.n_slots - 1))
		if (!memcmp(&c->roots[n - 1], root, sizeof *root))
			return n - 1;
	struct tw_context_root *roots = tw_array_room(c->roots, c->n_roots, &c->roots_room, sizeof *roots);
	if (!roots)
		return TW_CONTEXT_NONE;
	c->roots = roots;
	roots[c->n_roots] = *root;
	put(&c->by_root, hash, (uint32_t)c->n_roots);
	return (uint32_t)c->n_roots++;
}

void tw_contexts_expect_part(const struct tw_contexts *c, uint32_t node, uint32_t block)
{
	if (c->by_part.n_slots)
		__builtin_prefetch(&c->by_part.slots[hash_of(node, tw_contexts_united(c, block)) & (c->by_part.n_slots - 1)]);
}

/* ---- merging ---- */

static uint32_t mapped(const uint32_t *map, uint32_t n)
{
	return n == TW_CONTEXT_NONE || !map ? n : map[n];
}

static int map_blocks(struct tw_contexts *c, const struct tw_contexts *more, struct tw_context_maps *m)
{
	m->block = calloc(more->n_blocks + 1, sizeof *m->block);
	if (!m->block)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < more->n_blocks; i++) {
		const struct tw_context_block *b = &more->blocks[i];
		m->block[i] = tw_contexts_block(c, b->program, b->thread, b->pc);
		if (m->block[i] == TW_CONTEXT_NONE)
			return TW_ERR_MEMORY;
	}
	return 0;
}

/* What a root was before comes before it. */
static int map_roots(struct tw_contexts *c, const struct tw_contexts *more, uint32_t *root)
{
	for (size_t i = 0; i < more->n_roots; i++) {
		struct tw_context_root r = more->roots[i];
		r.before = mapped(root, r.before);
		root[i] = tw_contexts_root(c, &r);
		if (root[i] == TW_CONTEXT_NONE)
			return TW_ERR_MEMORY;
	}
	return 0;
}

static int map_node(struct tw_contexts *c, const struct tw_context_node *n, const struct tw_context_maps *m, size_t i)
{
	const int begins = n->parent == TW_CONTEXT_NONE;
	m->node[i] =
	    tw_contexts_node(c, mapped(m->node, n->parent), mapped(begins ? m->root : m->block, n->site), mapped(m->block, n->entry));
	return m->node[i] == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
}

static int add_parts(struct tw_contexts *c, const struct tw_contexts *more, const struct tw_context_maps *m)
{
	for (size_t i = 0; i < more->n_parts; i++) {
		const struct tw_context_part *p = &more->parts[i];
		uint32_t part = tw_contexts_part(c, m->node[p->node], mapped(m->block, p->block));
		if (part == TW_CONTEXT_NONE)
			return TW_ERR_MEMORY;
		c->parts[part].runs += p->runs;
		c->parts[part].cost.insns += p->cost.insns;
		c->parts[part].cost.refs += p->cost.refs;
	}
	return 0;
}

int tw_contexts_add_nodes(struct tw_contexts *c, const struct tw_contexts *more, const struct tw_context_maps *m)
{
	int error = 0;
	for (size_t i = 0; i < more->n_nodes && !error; i++) {
		error = map_node(c, &more->nodes[i], m, i);
		if (!error)
			c->nodes[m->node[i]].calls += more->nodes[i].calls;
	}
	return error ? error : add_parts(c, more, m);
}

/* Blocks have the same numbers in both. */
static int make_maps(struct tw_context_maps *m, const struct tw_contexts *of)
{
	m->block = NULL;
	m->node = calloc(of->n_nodes + 1, sizeof *m->node);
	m->root = calloc(of->n_roots + 1, sizeof *m->root);
	return m->node && m->root ? 0 : TW_ERR_MEMORY;
}

static void free_maps(struct tw_context_maps *m)
{
	free(m->block);
	free(m->node);
	free(m->root);
}

int tw_contexts_merge(struct tw_contexts *c, const struct tw_contexts *more)
{
	struct tw_context_maps m;
	int error = make_maps(&m, more);
	error = error ? error : map_blocks(c, more, &m);
	error = error ? error : map_roots(c, more, m.root);
	error = error ? error : tw_contexts_add_nodes(c, more, &m);
	free_maps(&m);
	return error;
}

/* Copies a block; a root. TW_CONTEXT_NONE stays. 0: no memory. */
static int copy_block(struct tw_contexts *c, const struct tw_contexts *from, uint32_t *block)
{
	const struct tw_context_block *b = *block == TW_CONTEXT_NONE ? NULL : &from->blocks[*block];
	*block = b ? tw_contexts_block(c, b->program, b->thread, b->pc) : TW_CONTEXT_NONE;
	return !b || *block != TW_CONTEXT_NONE;
}

uint32_t tw_contexts_copy_root(struct tw_contexts *c, const struct tw_contexts *from, uint32_t root)
{
	struct tw_context_root r = from->roots[root];
	if (r.before != TW_CONTEXT_NONE && (r.before = tw_contexts_copy_root(c, from, r.before)) == TW_CONTEXT_NONE)
		return TW_CONTEXT_NONE;
	return tw_contexts_root(c, &r);
}

static int copy_root(struct tw_contexts *c, const struct tw_contexts *from, uint32_t *root)
{
	if (*root == TW_CONTEXT_NONE)
		return 1;
	*root = tw_contexts_copy_root(c, from, *root);
	return *root != TW_CONTEXT_NONE;
}

uint32_t tw_contexts_copy_node(struct tw_contexts *c, const struct tw_contexts *from, uint32_t node)
{
	size_t depth = 0;
	for (uint32_t i = node; i != TW_CONTEXT_NONE; i = from->nodes[i].parent)
		depth++;
	uint32_t *path = calloc(depth + 1, sizeof *path), made = TW_CONTEXT_NONE;
	for (uint32_t i = node, k = (uint32_t)depth; path && k-- > 0; i = from->nodes[i].parent)
		path[k] = i;
	int possible = path != NULL;
	for (size_t k = 0; k < depth && possible; k++) {
		struct tw_context_node n = from->nodes[path[k]];
		possible = (k ? copy_block : copy_root)(c, from, &n.site) && copy_block(c, from, &n.entry);
		made = possible ? tw_contexts_node(c, made, n.site, n.entry) : TW_CONTEXT_NONE;
		possible = made != TW_CONTEXT_NONE;
	}
	free(path);
	return possible ? made : TW_CONTEXT_NONE;
}

/* ---- resolving ---- */

static int resolve_node(struct tw_contexts *to, const struct tw_contexts *c, const struct tw_context_maps *m, size_t i,
                        tw_contexts_ask *ask, void *context)
{
	const struct tw_context_node *n = &c->nodes[i];
	uint32_t found = TW_CONTEXT_NONE, root = n->site;
	int error = 0;
	if (n->parent != TW_CONTEXT_NONE || root == TW_CONTEXT_NONE)
		return map_node(to, n, m, i);
	error = ask(context, to, c, n, &found);
	if (error || found != TW_CONTEXT_NONE) {
		m->node[i] = found;
		return error;
	}
	if (!copy_root(to, c, &root))
		return TW_ERR_MEMORY;
	m->root[n->site] = root;
	return map_node(to, n, m, i);
}

int tw_contexts_resolve(struct tw_contexts *c, tw_contexts_ask *ask, void *context)
{
	struct tw_context_maps m;
	struct tw_contexts to = {.blocks = c->blocks,
	                         .n_blocks = c->n_blocks,
	                         .blocks_room = c->blocks_room,
	                         .by_block = c->by_block,
	                         .joined = c->joined,
	                         .n_joined = c->n_joined,
	                         .united = c->united,
	                         .n_united = c->n_united};
	struct tw_contexts from = *c;
	int error = make_maps(&m, c);
	for (size_t i = 0; i < from.n_nodes && !error; i++) {
		from.blocks = to.blocks;
		error = resolve_node(&to, &from, &m, i, ask, context);
		if (!error)
			to.nodes[m.node[i]].calls += from.nodes[i].calls;
	}
	error = error ? error : add_parts(&to, &from, &m);
	free_maps(&m);
	from.blocks = NULL;
	from.by_block.slots = NULL;
	from.joined = from.united = NULL;
	tw_contexts_free(&from);
	*c = to;
	return error;
}

/* ---- as bytes ---- */

int tw_contexts_pack(const struct tw_contexts *c, FILE *to)
{
	int error = tw_pack_array(to, c->blocks, c->n_blocks, sizeof *c->blocks);
	if (!error)
		error = tw_pack_array(to, c->nodes, c->n_nodes, sizeof *c->nodes);
	if (!error)
		error = tw_pack_array(to, c->parts, c->n_parts, sizeof *c->parts);
	return error ? error : tw_pack_array(to, c->roots, c->n_roots, sizeof *c->roots);
}

/* Whether all that they name is there, parents before children. */
static int is_possible(const struct tw_contexts *c)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		const struct tw_context_node *n = &c->nodes[i];
		const size_t n_sites = n->parent == TW_CONTEXT_NONE ? c->n_roots : c->n_blocks;
		if ((n->parent != TW_CONTEXT_NONE && n->parent >= i) || n->entry >= c->n_blocks ||
		    (n->site != TW_CONTEXT_NONE && n->site >= n_sites))
			return 0;
	}
	for (size_t i = 0; i < c->n_roots; i++) {
		const struct tw_context_root *r = &c->roots[i];
		const uint32_t depth = r->before == TW_CONTEXT_NONE || r->before >= i ? 0 : c->roots[r->before].depth + 1;
		if ((r->before != TW_CONTEXT_NONE && r->before >= i) || r->depth != depth || depth > TW_CONTEXT_DEEPEST)
			return 0;
	}
	for (size_t i = 0; i < c->n_parts; i++)
		if (c->parts[i].node >= c->n_nodes || c->parts[i].block >= c->n_blocks)
			return 0;
	return 1;
}

int tw_contexts_unpack(struct tw_contexts *c, FILE *from)
{
	struct tw_contexts more = {0};
	int error = tw_unpack_array(from, (void **)&more.blocks, &more.n_blocks, &more.blocks_room, sizeof *more.blocks);
	if (!error)
		error = tw_unpack_array(from, (void **)&more.nodes, &more.n_nodes, &more.nodes_room, sizeof *more.nodes);
	if (!error)
		error = tw_unpack_array(from, (void **)&more.parts, &more.n_parts, &more.parts_room, sizeof *more.parts);
	if (!error)
		error = tw_unpack_array(from, (void **)&more.roots, &more.n_roots, &more.roots_room, sizeof *more.roots);
	if (!error)
		error = is_possible(&more) ? tw_contexts_merge(c, &more) : TW_ERR_DAMAGED;
	tw_contexts_free(&more);
	return error;
}

void tw_contexts_free(struct tw_contexts *c)
{
	free(c->blocks);
	free(c->nodes);
	free(c->parts);
	free(c->roots);
	free(c->by_block.slots);
	free(c->by_node.slots);
	free(c->by_part.slots);
	free(c->by_root.slots);
	free(c->joined);
	free(c->united);
	memset(c, 0, sizeof *c);
}

/* ---- by names ---- */

/* What the names say of a block. */
struct named {
	const char *name, *module;
	int plt, begins; /* begins: the function does here */
};

struct naming {
	const struct tw_contexts *c;
	struct tw_context_tree *tree;
	struct named *block;
	uint32_t *place; /* of each node, in the tree */
	uint8_t *passes; /* of each node: it was entered through a stub, and represents the stub's caller */
};

static uint32_t function_hash(const struct tw_context_function *f)
{
	return hash_of((uintptr_t)f->name ^ (uintptr_t)f->module << 7, f->parent);
}

static uint32_t hash_function(const void *items, size_t n)
{
	return function_hash((const struct tw_context_function *)items + n);
}

/* The function below `parent`. Texts of one name are one text. */
static uint32_t child_of(struct tw_context_tree *t, uint32_t parent, const struct named *named)
{
	const struct tw_context_function wanted = {.name = named->name, .module = named->module, .parent = parent};
	uint32_t hash = function_hash(&wanted);
	if (!make_room(&t->index, t->n, hash_function, t->items))
		return TW_CONTEXT_NONE;
	for (uint32_t i = hash & (t->index.n_slots - 1), n; (n = t->index.slots[i]); i = (i + 1) & (t->index.n_slots - 1)) {
		const struct tw_context_function *f = &t->items[n - 1];
		if (f->name == wanted.name && f->module == wanted.module && f->parent == parent)
			return n - 1;
	}
	struct tw_context_function *items = tw_array_room(t->items, t->n, &t->room, sizeof *items);
	if (!items)
		return TW_CONTEXT_NONE;
	t->items = items;
	items[t->n] = wanted;
	put(&t->index, hash, (uint32_t)t->n);
	return (uint32_t)t->n++;
}

static int is_function(const struct tw_context_function *f, const struct named *named)
{
	return f->name == named->name && f->module == named->module;
}

/*
 * The node to which code of a function that ran within a node belongs: the node's own function; one that is active
 * further up, to which control returned; or one that was jumped to.
 */
static uint32_t place_in(const struct naming *n, uint32_t node, const struct named *named)
{
	struct tw_context_tree *t = n->tree;
	uint32_t own = n->place[node];
	if (named->plt || is_function(&t->items[own], named))
		return own;
	for (uint32_t up = own; up && !n->passes[node]; up = t->items[up].parent)
		if (is_function(&t->items[up], named))
			return up;
	return child_of(t, own, named);
}

static int place_node(struct naming *n, uint32_t i)
{
	const struct tw_context_node *node = &n->c->nodes[i];
	const struct named *entry = &n->block[node->entry];
	uint32_t above = node->parent == TW_CONTEXT_NONE ? 0 : place_in(n, node->parent, &n->block[node->site]);
	if (above == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	n->passes[i] = entry->plt != 0;
	n->place[i] = entry->plt ? above : child_of(n->tree, above, entry);
	if (n->place[i] == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	n->tree->items[n->place[i]].calls += n->passes[i] ? 0 : node->calls;
	return 0;
}

static int place_part(struct naming *n, const struct tw_context_part *p)
{
	const struct named *named = &n->block[p->block];
	uint32_t place = place_in(n, p->node, named);
	if (!place) /* a stub that nobody is known to have called */
		place = child_of(n->tree, 0, named);
	if (place == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	struct tw_context_function *f = &n->tree->items[place];
	f->own.insns += p->cost.insns;
	f->own.refs += p->cost.refs;
	if (named->begins && !named->plt && place != n->place[p->node])
		f->calls += p->runs;
	return 0;
}

static void name_blocks(struct naming *n, struct tw_names *names)
{
	struct tw_code_name name;
	for (size_t i = 0; i < n->c->n_blocks; i++) {
		const struct tw_context_block *b = &n->c->blocks[i];
		tw_names_code(names, tw_names_image(names, b->thread), b->pc, &name);
		n->block[i] = (struct named){name.function, name.module, name.plt, tw_names_begins(names, b->pc, &name)};
	}
}

static void sum_up(struct tw_context_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->items[i].all = t->items[i].own;
	for (size_t i = t->n; i-- > 1;) {
		t->items[t->items[i].parent].all.insns += t->items[i].all.insns;
		t->items[t->items[i].parent].all.refs += t->items[i].all.refs;
	}
}

static int fill_tree(struct naming *n)
{
	static const struct named root;
	int error = child_of(n->tree, 0, &root) == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
	for (size_t i = 0; i < n->c->n_nodes && !error; i++)
		error = place_node(n, (uint32_t)i);
	for (size_t i = 0; i < n->c->n_parts && !error; i++)
		error = place_part(n, &n->c->parts[i]);
	sum_up(n->tree);
	return error;
}

int tw_context_tree(const struct tw_contexts *c, struct tw_names *names, struct tw_context_tree *out)
{
	struct naming n = {.c = c, .tree = out};
	memset(out, 0, sizeof *out);
	n.block = calloc(c->n_blocks + 1, sizeof *n.block);
	n.place = calloc(c->n_nodes + 1, sizeof *n.place);
	n.passes = calloc(c->n_nodes + 1, sizeof *n.passes);
	int error = n.block && n.place && n.passes ? 0 : TW_ERR_MEMORY;
	if (!error) {
		name_blocks(&n, names);
		error = fill_tree(&n);
	}
	free(n.block);
	free(n.place);
	free(n.passes);
	return error;
}

void tw_context_tree_free(struct tw_context_tree *t)
{
	free(t->items);
	free(t->index.slots);
	memset(t, 0, sizeof *t);
}
