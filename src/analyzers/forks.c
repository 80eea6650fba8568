#include "analyzers/forks.h"
#include "analyze/packed.h"
#include "base/array.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The calls that were open: many forks of one place share them. */
struct stack {
	size_t n;
	struct tw_context_frame frames[]; /* with nodes of tw_forks.tree */
};

struct fork {
	uint32_t parent, child;
	uint64_t tsc;
	uint64_t stack;
	uint64_t next; /* number + 1 of the one before with the same `child` in its lowest bits; 0: none */
};

enum { HEADS = 4096, SIMILAR = 16, GENERATIONS = 4096 };

struct tw_forks {
	struct tw_forks *next;
	const struct tw_context *context;
	size_t n_users;       /* these under the lock of all */
	pthread_mutex_t lock; /* of the rest */
	struct tw_contexts tree;
	struct stack **stacks;
	struct fork *forks;
	size_t n_stacks, stacks_room, n_forks, forks_room;
	uint64_t head[HEADS];
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tw_forks *all;

/* ---- those of a run ---- */

struct tw_forks *tw_forks_take(const struct tw_context *c)
{
	pthread_mutex_lock(&all_lock);
	struct tw_forks *f = all;
	while (f && f->context != c)
		f = f->next;
	if (!f && (f = calloc(1, sizeof *f))) {
		f->context = c;
		pthread_mutex_init(&f->lock, NULL);
		f->next = all;
		all = f;
	}
	if (f)
		f->n_users++;
	pthread_mutex_unlock(&all_lock);
	return f;
}

static void free_forks(struct tw_forks *f)
{
	for (size_t i = 0; i < f->n_stacks; i++)
		free(f->stacks[i]);
	free(f->stacks);
	free(f->forks);
	tw_contexts_free(&f->tree);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void tw_forks_leave(struct tw_forks *f)
{
	struct tw_forks **at = &all;
	if (!f)
		return;
	pthread_mutex_lock(&all_lock);
	const int last = !--f->n_users;
	while (last && *at != f)
		at = &(*at)->next;
	if (last)
		*at = f->next;
	pthread_mutex_unlock(&all_lock);
	if (last)
		free_forks(f);
}

/* ---- what was met ---- */

/* The number of a stack, which is the forks' own then; SIZE_MAX: no memory. */
static size_t keep_stack(struct tw_forks *f, struct stack *s)
{
	for (size_t i = f->n_stacks; i-- > 0 && f->n_stacks - i <= SIMILAR;) {
		if (f->stacks[i]->n != s->n || memcmp(f->stacks[i]->frames, s->frames, s->n * sizeof *s->frames))
			continue;
		free(s);
		return i;
	}
	struct stack **stacks = tw_array_room(f->stacks, f->n_stacks, &f->stacks_room, sizeof(struct stack *));
	if (!stacks) {
		free(s);
		return SIZE_MAX;
	}
	f->stacks = stacks;
	stacks[f->n_stacks] = s;
	return f->n_stacks++;
}

static int keep_fork(struct tw_forks *f, struct fork new)
{
	struct fork *forks = tw_array_room(f->forks, f->n_forks, &f->forks_room, sizeof *forks);
	if (!forks)
		return TW_ERR_MEMORY;
	f->forks = forks;
	new.next = f->head[new.child % HEADS];
	forks[f->n_forks] = new;
	f->head[new.child % HEADS] = ++f->n_forks;
	return 0;
}

static int add(struct tw_forks *f, struct fork new, const struct tw_contexts *tree, const struct tw_context_frame *frames, size_t n)
{
	struct stack *s = calloc(1, sizeof *s + n * sizeof *frames);
	int error = s ? 0 : TW_ERR_MEMORY;
	for (size_t i = 0; i < n && !error; i++) {
		const uint32_t node = tw_contexts_copy_node(&f->tree, tree, frames[i].node);
		s->frames[s->n++] =
		    (struct tw_context_frame){.node = node, .site = TW_CONTEXT_NONE, .slot = frames[i].slot, .back = frames[i].back};
		error = node == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
	}
	if (error) {
		free(s);
		return error;
	}
	new.stack = keep_stack(f, s);
	return new.stack == SIZE_MAX ? TW_ERR_MEMORY : keep_fork(f, new);
}

int tw_forks_add(struct tw_forks *f, uint32_t parent, uint32_t child, uint64_t tsc, const struct tw_contexts *tree,
                 const struct tw_context_frame *frames, size_t n)
{
	pthread_mutex_lock(&f->lock);
	int error = add(f, (struct fork){.parent = parent, .child = child, .tsc = tsc}, tree, frames, n);
	pthread_mutex_unlock(&f->lock);
	return error;
}

/* ---- resolving ---- */

static uint64_t between(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* The calls in which a process started; NULL: its fork was not met. Process numbers are reused: the fork made at that time counts. */
static const struct stack *find(const struct tw_forks *f, const struct tw_context_root *r)
{
	const struct fork *best = NULL;
	for (uint64_t i = f->head[r->pid % HEADS]; i; i = f->forks[i - 1].next) {
		const struct fork *one = &f->forks[i - 1];
		if (one->child == r->pid && one->parent == r->parent_pid &&
		    (!best || between(one->tsc, r->tsc) < between(best->tsc, r->tsc)))
			best = one;
	}
	return best ? f->stacks[best->stack] : NULL;
}

/* How many of n calls are left after a return has led to pc; 0: the outermost has returned. */
static size_t left_by_return(const struct stack *s, size_t n, uint64_t pc)
{
	for (size_t i = n, k = 0; i-- > 1 && k < TW_CONTEXT_DEEPEST; k++)
		if (s->frames[i].back == pc)
			return i;
	return n > 1 ? n : 0;
}

/* Where a process stands in its parent's calls. */
struct place {
	const struct stack *stack; /* NULL: the fork was not met */
	size_t n;                  /* so many calls of it are open; 0: all have returned */
	uint32_t root;             /* the only open one was inherited itself: its root, one of `to`; TW_CONTEXT_NONE: it was not */
};

static uint32_t outer_root(const struct tw_forks *f, const struct place *p)
{
	const struct tw_context_node *bottom = p->n == 1 ? &f->tree.nodes[p->stack->frames[0].node] : NULL;
	return bottom && bottom->parent == TW_CONTEXT_NONE ? bottom->site : TW_CONTEXT_NONE;
}

/* If only the outermost call is left, this is the same as if its own parent's calls had lost as much. 0 or TW_ERR_MEMORY. */
static int inherit(const struct tw_forks *f, struct tw_contexts *to, struct place *p, uint64_t slot)
{
	const uint32_t outer = outer_root(f, p);
	if (outer == TW_CONTEXT_NONE)
		return 0;
	p->root = tw_contexts_copy_root(to, &f->tree, outer);
	if (p->root == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	struct tw_context_root r = to->roots[p->root];
	if (slot > r.slot) {
		r.slot = slot;
		p->root = tw_contexts_root(to, &r);
	}
	return p->root == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
}

static int place(const struct tw_forks *f, struct tw_contexts *to, const struct tw_contexts *c, uint32_t root, struct place *p)
{
	const struct tw_context_root *r = &c->roots[root];
	if (r->before == TW_CONTEXT_NONE) {
		*p = (struct place){.stack = find(f, r), .root = TW_CONTEXT_NONE};
		p->n = p->stack ? p->stack->n : 0;
		while (r->slot && p->n > 1 && p->stack->frames[p->n - 1].slot <= r->slot)
			p->n--;
		return inherit(f, to, p, r->slot);
	}
	int error = place(f, to, c, r->before, p);
	if (error || !p->n)
		return error;
	if (p->root == TW_CONTEXT_NONE) {
		p->n = left_by_return(p->stack, p->n, r->back);
		return inherit(f, to, p, 0);
	}
	struct tw_context_root more = to->roots[p->root];
	if (more.depth == TW_CONTEXT_DEEPEST)
		return 0;
	more.before = p->root;
	more.back = r->back;
	more.depth++;
	p->root = tw_contexts_root(to, &more);
	return p->root == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
}

struct resolving {
	const struct tw_forks *forks;
	int any; /* something was resolved */
};

static int ask(void *context, struct tw_contexts *to, const struct tw_contexts *c, const struct tw_context_node *beginning, uint32_t *node)
{
	struct resolving *resolving = context;
	const struct tw_forks *f = resolving->forks;
	struct place p;
	int error = place(f, to, c, beginning->site, &p);
	if (error || !p.stack)
		return error;
	resolving->any = 1;
	if (!p.n)
		*node = tw_contexts_node(to, TW_CONTEXT_NONE, TW_CONTEXT_NONE, beginning->entry);
	else if (p.root == TW_CONTEXT_NONE || p.root == tw_contexts_copy_root(to, &f->tree, outer_root(f, &p)))
		*node = tw_contexts_copy_node(to, &f->tree, p.stack->frames[p.n - 1].node);
	else
		*node = tw_contexts_node(to, TW_CONTEXT_NONE, p.root, beginning->entry);
	return *node == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
}

/* What a process has inherited may be what its parent had inherited, and so on. */
static int resolve(struct tw_forks *f, struct tw_contexts *tree)
{
	struct resolving r = {.forks = f, .any = 1};
	int error = 0;
	for (int i = 0; i < GENERATIONS && tree->n_roots && r.any && !error; i++) {
		r.any = 0;
		error = tw_contexts_resolve(tree, ask, &r);
	}
	return error;
}

int tw_forks_resolve(struct tw_forks *f, struct tw_contexts *tree)
{
	pthread_mutex_lock(&f->lock);
	int error = resolve(f, tree);
	pthread_mutex_unlock(&f->lock);
	return error;
}

/* ---- as bytes ---- */

static int pack_all(const struct tw_forks *f, FILE *to)
{
	int error = tw_contexts_pack(&f->tree, to);
	error = error ? error : tw_pack_number(to, f->n_stacks);
	for (size_t i = 0; i < f->n_stacks && !error; i++)
		error = tw_pack_array(to, f->stacks[i]->frames, f->stacks[i]->n, sizeof *f->stacks[i]->frames);
	return error ? error : tw_pack_array(to, f->forks, f->n_forks, sizeof *f->forks);
}

int tw_forks_pack(struct tw_forks *f, FILE *to)
{
	pthread_mutex_lock(&f->lock);
	int error = pack_all(f, to);
	pthread_mutex_unlock(&f->lock);
	return error;
}

/* What was packed, before it is added. */
struct packed {
	struct tw_contexts tree;
	struct tw_context_frame **frames;
	size_t *n_frames;
	struct fork *forks;
	uint64_t n_stacks;
	size_t n_forks, room;
};

static int unpack_stack(struct packed *p, size_t i, FILE *from)
{
	size_t room = 0;
	int error = tw_unpack_array(from, (void **)&p->frames[i], &p->n_frames[i], &room, sizeof *p->frames[i]);
	for (size_t k = 0; k < p->n_frames[i] && !error; k++)
		error = p->frames[i][k].node < p->tree.n_nodes ? 0 : TW_ERR_DAMAGED;
	return error;
}

static int unpack_all(struct packed *p, FILE *from)
{
	enum { MOST = 1 << 28 };
	int error = tw_contexts_unpack(&p->tree, from);
	error = error ? error : tw_unpack_number(from, &p->n_stacks);
	if (!error && p->n_stacks > MOST)
		error = TW_ERR_DAMAGED;
	if (error) {
		p->n_stacks = 0;
		return error;
	}
	p->frames = calloc(p->n_stacks + 1, sizeof(struct tw_context_frame *));
	p->n_frames = calloc(p->n_stacks + 1, sizeof *p->n_frames);
	if (!p->frames || !p->n_frames) {
		p->n_stacks = 0;
		return TW_ERR_MEMORY;
	}
	for (size_t i = 0; i < p->n_stacks && !error; i++)
		error = unpack_stack(p, i, from);
	return error ? error : tw_unpack_array(from, (void **)&p->forks, &p->n_forks, &p->room, sizeof *p->forks);
}

static int is_known(const struct tw_forks *f, const struct fork *one)
{
	for (uint64_t i = f->head[one->child % HEADS]; i; i = f->forks[i - 1].next)
		if (f->forks[i - 1].child == one->child && f->forks[i - 1].parent == one->parent && f->forks[i - 1].tsc == one->tsc)
			return 1;
	return 0;
}

int tw_forks_unpack(struct tw_forks *f, FILE *from)
{
	struct packed p = {0};
	int error = unpack_all(&p, from);
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < p.n_forks && !error; i++) {
		const struct fork *one = &p.forks[i];
		if (one->stack >= p.n_stacks)
			error = TW_ERR_DAMAGED;
		else if (!is_known(f, one))
			error = add(f, *one, &p.tree, p.frames[one->stack], p.n_frames[one->stack]);
	}
	pthread_mutex_unlock(&f->lock);
	for (size_t i = 0; i < p.n_stacks; i++)
		free(p.frames[i]);
	free(p.frames);
	free(p.n_frames);
	free(p.forks);
	tw_contexts_free(&p.tree);
	return error;
}
