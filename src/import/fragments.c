#include "import/fragments.h"
#include "base/channel.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024, REF_SIZE = 0xffffff };

struct node {
	uint64_t pc;
	uint32_t parent;
	uint32_t first, recent; /* of its children; 0: none */
	uint32_t number;        /* of the fragment that ends here; 0: none */
	uint32_t refs;          /* of this instruction: index in f->refs */
	uint16_t n_refs;
	uint8_t length;
	uint8_t deviates; /* the same instruction made other references the first time */
	struct tw_fragment_counts counts;
};

struct tw_fragments {
	struct node *nodes; /* 0 is the root */
	uint32_t n, room;
	uint32_t *refs;
	size_t n_refs, room_refs;
	uint32_t *table; /* nodes but the root, open addressing; 0: empty */
	uint32_t mask;
	uint32_t next_number;
};

struct tw_fragments *tw_fragments_new(void)
{
	struct tw_fragments *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->n = 1;
	f->room = FIRST_ROOM;
	f->room_refs = FIRST_ROOM;
	f->mask = 4 * FIRST_ROOM - 1;
	f->next_number = TW_TAG_FIRST;
	f->nodes = calloc(f->room, sizeof *f->nodes);
	f->refs = calloc(f->room_refs, sizeof *f->refs);
	f->table = calloc(f->mask + 1u, sizeof *f->table);
	if (f->nodes && f->refs && f->table)
		return f;
	tw_fragments_free(f);
	return NULL;
}

void tw_fragments_free(struct tw_fragments *f)
{
	if (!f)
		return;
	free(f->nodes);
	free(f->refs);
	free(f->table);
	free(f);
}

/* ---- the tree ---- */

static uint32_t hash(uint32_t parent, uint64_t pc, uint8_t length, const uint32_t *refs, uint16_t n_refs)
{
	uint64_t h = (pc ^ (uint64_t)parent << 32 ^ length) * 0x9e3779b97f4a7c15u;
	for (uint16_t i = 0; i < n_refs; i++)
		h = (h ^ refs[i]) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(h >> 32);
}

static int is_insn(const struct tw_fragments *f, uint32_t node, const struct tw_fragment_insn *insn)
{
	const struct node *n = &f->nodes[node];
	return n->pc == insn->pc && n->length == insn->length && n->n_refs == insn->n_refs &&
	       !memcmp(f->refs + n->refs, insn->refs, insn->n_refs * sizeof *insn->refs);
}

static void put(struct tw_fragments *f, uint32_t node)
{
	const struct node *n = &f->nodes[node];
	uint32_t at = hash(n->parent, n->pc, n->length, f->refs + n->refs, n->n_refs);
	while (f->table[at & f->mask])
		at++;
	f->table[at & f->mask] = node;
}

static uint32_t find(const struct tw_fragments *f, uint32_t parent, const struct tw_fragment_insn *insn)
{
	uint32_t at = hash(parent, insn->pc, insn->length, insn->refs, insn->n_refs), node;
	for (; (node = f->table[at & f->mask]); at++)
		if (f->nodes[node].parent == parent && is_insn(f, node, insn))
			return node;
	return 0;
}

/* Makes room for one more node, with the table at most half full, and for its references. */
static int make_room(struct tw_fragments *f, uint16_t n_refs)
{
	if (f->n_refs + n_refs > f->room_refs) {
		uint32_t *more = f->n_refs > UINT32_MAX / 2 ? NULL : realloc(f->refs, 2 * f->room_refs * sizeof *more);
		if (!more)
			return 0;
		f->refs = more;
		f->room_refs *= 2;
	}
	if (f->n < f->room)
		return 1;
	struct node *nodes = f->room > UINT32_MAX / 8 ? NULL : realloc(f->nodes, 2 * (size_t)f->room * sizeof *nodes);
	if (!nodes)
		return 0;
	f->nodes = nodes;
	f->room *= 2;
	uint32_t *table = calloc(4 * (size_t)f->room, sizeof *table);
	if (!table)
		return 0;
	free(f->table);
	f->table = table;
	f->mask = 4 * f->room - 1;
	for (uint32_t i = 1; i < f->n; i++)
		put(f, i);
	return 1;
}

static void count(struct node *n, const struct tw_fragment_insn *insn)
{
	n->counts.insns++;
	n->counts.refs = (uint16_t)(n->counts.refs + insn->n_refs);
	for (uint16_t i = 0; i < insn->n_refs; i++) {
		uint32_t type = insn->refs[i] >> 24;
		n->counts.reads = (uint16_t)(n->counts.reads + (type & TW_READ));
		n->counts.writes = (uint16_t)(n->counts.writes + (type >> 1));
	}
}

static uint32_t add(struct tw_fragments *f, uint32_t parent, const struct tw_fragment_insn *insn)
{
	if (!make_room(f, insn->n_refs))
		return 0;
	struct node *up = &f->nodes[parent], *n = &f->nodes[f->n];
	const struct node *first = &f->nodes[up->first];
	*n = (struct node){
	    .pc = insn->pc,
	    .parent = parent,
	    .refs = (uint32_t)f->n_refs,
	    .n_refs = insn->n_refs,
	    .length = insn->length,
	    .deviates = parent && up->first && first->pc == insn->pc && first->length == insn->length,
	    .counts = up->counts,
	};
	count(n, insn);
	memcpy(f->refs + f->n_refs, insn->refs, insn->n_refs * sizeof *insn->refs);
	f->n_refs += insn->n_refs;
	if (!up->first)
		up->first = f->n;
	put(f, f->n);
	return f->n++;
}

uint32_t tw_fragments_step(struct tw_fragments *f, uint32_t position, const struct tw_fragment_insn *insn)
{
	uint32_t next = f->nodes[position].recent;
	if (next && is_insn(f, next, insn))
		return next;
	next = find(f, position, insn);
	if (!next)
		next = add(f, position, insn);
	f->nodes[position].recent = next;
	return next;
}

int tw_fragments_ends(const struct tw_fragments *f, uint32_t position, uint64_t next)
{
	const struct node *n = &f->nodes[position];
	return n->number || n->deviates || n->counts.insns == TW_FRAGMENT_INSNS || n->counts.refs >= TW_FRAGMENT_REFS ||
	       n->pc + n->length != next;
}

struct tw_fragment_counts tw_fragments_counts(const struct tw_fragments *f, uint32_t position)
{
	return f->nodes[position].counts;
}

/* ---- fragments ---- */

uint32_t tw_fragments_number(struct tw_fragments *f, uint32_t position, int *is_new)
{
	struct node *n = &f->nodes[position];
	*is_new = !n->number;
	if (n->number)
		return n->number;
	n->number = f->next_number++;
	if (!(f->next_number & 0xffff))
		f->next_number += TW_TAG_FIRST;
	return n->number;
}

/* Fills operations and lengths from the last instruction backwards. */
static void describe_insns(const struct tw_fragments *f, uint32_t position, struct tw_op *ops, uint8_t *lengths)
{
	for (; position; position = f->nodes[position].parent) {
		const struct node *n = &f->nodes[position];
		unsigned insn = n->counts.insns - 1u, value = (unsigned)n->counts.refs - n->n_refs;
		lengths[insn] = n->length;
		for (unsigned i = 0; i < n->n_refs; i++, value++) {
			uint32_t ref = f->refs[n->refs + i];
			struct tw_op op = {.insn = (uint8_t)insn, .base = TW_RAX, .index = TW_NOREG};
			ops[2 * value] = op;
			ops[2 * value].kind = TW_OP_RECORD;
			ops[2 * value].value = (uint16_t)value;
			ops[2 * value + 1] = op;
			ops[2 * value + 1].kind = TW_OP_REF;
			ops[2 * value + 1].type = (uint8_t)(ref >> 24);
			ops[2 * value + 1].size = ref & REF_SIZE;
		}
	}
}

static uint64_t first_pc(const struct tw_fragments *f, uint32_t position)
{
	while (f->nodes[position].parent)
		position = f->nodes[position].parent;
	return f->nodes[position].pc;
}

size_t tw_fragments_describe(const struct tw_fragments *f, uint32_t position, void *to)
{
	const struct node *n = &f->nodes[position];
	uint32_t bytes = tw_descriptor_size(1, 2u * n->counts.refs, n->counts.insns, 0);
	struct tw_descriptor *d = to;
	if (!d)
		return bytes;
	memset(d, 0, bytes);
	*d = (struct tw_descriptor){
	    .number = n->number,
	    .bytes = bytes,
	    .n_blocks = 1,
	    .n_ops = (uint16_t)(2 * n->counts.refs),
	    .n_insns = n->counts.insns,
	    .n_values = n->counts.refs,
	    .format = TW_FORMAT_DEP,
	};
	struct tw_block *b = (struct tw_block *)(d + 1);
	struct tw_op *ops = (struct tw_op *)(b + 1);
	uint64_t pc = first_pc(f, position);
	*b = (struct tw_block){
	    .pc = pc,
	    .n_insns = n->counts.insns,
	    .bytes = (uint16_t)(n->pc + n->length - pc),
	    .end = TW_END_UNKNOWN,
	};
	describe_insns(f, position, ops, (uint8_t *)(ops + d->n_ops));
	return bytes;
}
