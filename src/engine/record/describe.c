#include "engine/record/describe.h"
#include "engine/record/known.h"
#include "engine/record/descriptor_lock.h"
#include "engine/record/descriptor_table.h"
#include "engine/record/slot.h"
#include "engine/record/tags.h"
#include "engine/thread.h"
#include "engine/record/instrumentor.h"
#include "engine/record/program.h"
#include "engine/x86_64/room.h"
#include <asm/unistd.h>

/* One way through a fragment: its first n_insns instructions. */
struct path {
	u32 number;
	u16 n_blocks, n_insns, n_ops, n_values, code_bytes;
	u8 flags; /* enum tw_descriptor_flags */
};

static struct path path_to(const struct block *b, const struct plan *p, u32 number, u16 n_insns)
{
	struct path path = {number, 0, n_insns, p->n_ops, p->n_values, 0, p->flags};
	while (path.n_blocks < b->n_parts && b->part[path.n_blocks].first_insn < n_insns) {
		const struct part *part = &b->part[path.n_blocks++];
		path.code_bytes += (u16)(part->bytes - part->lead);
	}
	if (n_insns < b->n_insns) {
		path.n_ops = p->after[n_insns - 1].n_ops;
		path.n_values = p->after[n_insns - 1].n_values;
	}
	return path;
}

static u32 descriptor_bytes(const struct path *path)
{
	return tw_descriptor_size(path->n_blocks, path->n_ops, path->n_insns, path->code_bytes);
}

static void fill_descriptor(struct tw_descriptor *d, const struct tw_recorded *f, const struct block *b, const struct plan *p,
                            const struct path *path)
{
	d->number = path->number;
	d->bytes = descriptor_bytes(path);
	d->pid = tw_engine.pid;
	d->n_blocks = path->n_blocks;
	d->n_ops = path->n_ops;
	d->n_insns = path->n_insns;
	d->n_values = path->n_values;
	d->code_bytes = path->code_bytes;
	d->format = tw_instr()->format;
	d->flags = path->flags;
	d->context = (u16)f->context;
	d->program = tw_form_of(d->format) == TW_FORM_PLAIN ? 0 : (u16)tw_program_serial();
	d->tag = 0;
	struct tw_block *blk = (struct tw_block *)(d + 1);
	for (u16 k = 0; k < path->n_blocks; k++) {
		const struct part *part = &b->part[k];
		const u64 target = part->target ? tw_x86_64_calls.behind_inserted(part->target) : 0;
		*blk++ = (struct tw_block){
		    part->pc + part->lead, target, part->first_insn, part->n_insns, (u16)(part->bytes - part->lead), part->end, 0};
	}
	struct tw_op *op = (struct tw_op *)blk;
	memcpy(op, p->op, path->n_ops * sizeof *op);
	u8 *len = (u8 *)(op + path->n_ops), *code = len + path->n_insns;
	for (u16 k = 0; k < path->n_insns; k++) {
		const struct insn *i = &b->insn[k];
		*len++ = i->span;
		memcpy(code, i->raw, i->len);
		if (i->span > i->len)
			memcpy(code + i->len, (const void *)(i->pc + i->len), i->span - i->len);
		code += i->span;
	}
}

/* Tallied: gives the group entries in windows, if all its executions count the same and entries are left. */
static void draw_entries(u64 offset, u32 bytes)
{
	struct tw_descriptor_table *table = tw_recorder.table;
	struct tw_descriptor *d;
	u32 first = table->entries ? table->entries : 1, end = first;
	for (u64 at = offset; at < offset + bytes; at += d->bytes) {
		d = tw_table_descriptor(table, at);
		end++;
		if (d->flags & TW_DESC_DYNAMIC)
			return;
	}
	if (end > tw_sizes()->tally_entries)
		return;
	table->entries = end;
	for (u64 at = offset; at < offset + bytes; at += d->bytes) {
		d = tw_table_descriptor(table, at);
		d->tag = first++;
	}
}

/* Writes the descriptors of the n paths at `offset` of the table, numbered from 0. */
static void fill_group(u64 offset, const struct tw_recorded *f, const struct block *b, const struct plan *p, const struct path *path, u32 n)
{
	for (u32 k = 0; k < n; k++) {
		fill_descriptor(tw_table_descriptor(tw_recorder.table, offset), f, b, p, &path[k]);
		offset += descriptor_bytes(&path[k]);
	}
}

/* Gives the group of n descriptors at `offset` its numbers, and a tag in forms that have tags, and publishes it. False: no numbers left. */
static bool publish_group(u64 offset, u32 bytes, u32 n)
{
	struct tw_descriptor *d = tw_table_descriptor(tw_recorder.table, offset);
	u32 first = tw_table_numbers(n);
	if (!first)
		return false;
	for (u64 at = offset; at < offset + bytes; at += tw_table_descriptor(tw_recorder.table, at)->bytes)
		tw_table_descriptor(tw_recorder.table, at)->number += first;
	if (tw_form_of(d->format) != TW_FORM_PLAIN)
		tw_tag_draw(d);
	else if (tw_tallies())
		draw_entries(offset, bytes);
	tw_table_publish(offset, bytes);
	return true;
}

/*
 * Describes the n paths, unless an equal group exists. Returns the first descriptor of either; NULL: no room. Under
 * the descriptor lock.
 */
static const struct tw_descriptor *describe(const struct tw_recorded *f, const struct block *b, const struct plan *p,
                                            const struct path *path, u32 n, u32 bytes)
{
	u64 offset = tw_table_place_for(bytes);
	if (!offset)
		return NULL;
	struct tw_descriptor *d = tw_table_descriptor(tw_recorder.table, offset);
	tw_table_clear_rest(offset + bytes); /* who held the lock before may not have finished here */
	fill_group(offset, f, b, p, path, n);
	const struct tw_descriptor *known = tw_known_find(offset, bytes);
	return known ? known : publish_group(offset, bytes, n) ? d : NULL;
}

void tw_describe_tagged(struct tw_recorded *f, u32 last_tag)
{
	f->upper_in = (u16)(f->tag >> 16);
	f->upper_out = (u16)(last_tag >> 16);
	f->any_upper = !(f->tag & 0xffff);
	f->head = f->any_upper ? TW_ZERO_BYTES : 2;
}

/* Sets the upper halves that must be in force at f's entry and are in force at its exit, and the length of its record's head. */
static void set_upper(struct tw_recorded *f)
{
	switch (tw_form_now()) {
	case TW_FORM_PLAIN:
		f->upper_in = f->upper_out = (u16)(f->number >> 16);
		return;
	case TW_FORM_BITS:
		f->upper_in = f->upper_out = 0;
		f->any_upper = true;
		f->head = 0;
		return;
	case TW_FORM_TAGGED:
		break;
	}
	tw_describe_tagged(f, f->tag);
}

/* What is to be described, and what has become of it. */
struct group {
	const struct tw_recorded *f;
	const struct block *block;
	const struct plan *plan;
	struct path path[BLOCK_MAX_PARTS + 1];
	u32 n, bytes;
	const struct tw_descriptor *d; /* NULL: there is no room */
};

static void divide(struct group *g)
{
	const struct tw_recorded *f = g->f;
	g->n = tw_path_count(f);
	g->bytes = 0;
	for (u32 k = 0; k < g->n; k++) {
		g->path[k] = path_to(g->block, g->plan, k, k && k <= f->n_sides ? f->side[k - 1].n_insns : f->n_insns);
		if (k > f->n_sides) {
			g->path[k].flags |= TW_DESC_LOOP;
			g->path[k].n_values = 1;
		}
		g->bytes += descriptor_bytes(&g->path[k]);
	}
}

static void describe_group(void *arg)
{
	struct group *g = arg;
	g->d = describe(g->f, g->block, g->plan, g->path, g->n, g->bytes);
}

void tw_describe(struct tw_recorded *f, const struct block *b, const struct plan *p)
{
	struct group g = {.f = f, .block = b, .plan = p};
	divide(&g);
	f->number = 0;
	if (!tw_with_descriptors(describe_group, &g, g.bytes)) { /* so nobody reads what is recorded here */
		set_upper(f);
		return;
	}
	if (g.d) {
		f->number = g.d->number;
		f->tag = g.d->tag;
		f->tally = tw_tallies() ? g.d->tag : 0;
		f->descriptor = tw_form_of(g.d->format) == TW_FORM_TAGGED ? g.d : NULL;
		f->announced = g.d->flags & TW_DESC_ANNOUNCED;
	} else {
		tw_engine_fail(TW_FAILURE_CHANNEL, "no more room for descriptors");
	}
	set_upper(f);
}

/* Does the group have a descriptor of a counted loop? */
static bool has_loop(const struct tw_descriptor *d, u32 bytes)
{
	bool loops = false;
	for (const u8 *at = (const u8 *)d, *end = at + bytes; at < end && d->bytes; at += d->bytes) {
		d = (const struct tw_descriptor *)at;
		loops |= (d->flags & TW_DESC_LOOP) != 0;
	}
	return loops;
}

/* The blocks of the group's first descriptor are the superblock's path. */
static u32 copy_blocks(const struct tw_descriptor *d, u64 *blocks)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	if (d->n_blocks > BLOCK_MAX_PARTS)
		return 0;
	for (u32 k = 0; k < d->n_blocks; k++)
		blocks[k] = b[k].pc;
	return d->n_blocks;
}

/* A superblock that is looked for, and what was found. */
struct wanted {
	const u64 *pc;
	u32 context, n;
	u64 *blocks;
	bool *loops;
};

static void look_for(void *arg)
{
	struct wanted *w = arg;
	u32 bytes;
	w->n = 0;
	const struct tw_descriptor *d = tw_known_like(w->pc, w->context, &bytes);
	if (!d)
		return;
	w->n = copy_blocks(d, w->blocks);
	*w->loops = has_loop(d, bytes);
}

u32 tw_described_path(const u64 *pc, u32 context, u64 *blocks, bool *loops)
{
	struct wanted w = {.pc = pc, .context = context, .blocks = blocks, .loops = loops};
	return tw_program_forked() && tw_with_descriptors(look_for, &w, 0) ? w.n : 0;
}
