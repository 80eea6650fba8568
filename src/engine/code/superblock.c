#include "engine/code/superblock.h"
#include "engine/code/fragments.h"
#include "engine/code/known_paths.h"
#include "engine/code/link.h"
#include "engine/code/translate.h"
#include "engine/record/describe.h"
#include "engine/record/instrumentor.h"

static u32 count_superblocks(u64 pc)
{
	u32 n = 0;
	for (struct fragment *f = tw_fragment_first(pc); f; f = tw_fragment_other(f))
		n += f->is_superblock;
	return n;
}

/* Is there to be a superblock of this path? */
static bool is_wanted(const struct tw_path *path)
{
	const struct fragment *there = tw_fragment_find(path->pc[0], path->context, true);
	if (there || path->old)
		return there && there == path->old;
	if (path->context == tw_instr()->context)
		return path->n > 1 || path->loops;
	return count_superblocks(path->pc[0]) < tw_engine.control->versions;
}

/*
 * s replaces the superblock f, of the same key: no branch leads to f any more, and it is not found. Threads inside it
 * continue to one of its exits.
 */
static void retire(struct fragment *f, struct fragment *s)
{
	tw_fragment_take_out(f);
	tw_link_take_exits(f, s);
	tw_link_take_lookups(f, s);
	s->remade = f->remade;
	f->superblock = s;
	__atomic_store_n(&f->superseded, true, __ATOMIC_RELEASE);
}

/* A path that starts like an earlier one, here or in another process (in *room then), is replaced by that one. */
static const struct tw_path *taken_before(const struct tw_path *path, struct tw_path *room)
{
	const struct tw_path *before = tw_known_path(path);
	if (before != path || path->n < 2)
		return before;
	*room = (struct tw_path){.context = path->context};
	room->n = tw_described_path(path->pc, path->context, room->pc, &room->loops);
	return room->n ? room : path;
}

void tw_superblock_join(const struct tw_path *path)
{
	const u32 plain = tw_instr()->context;
	if (!is_wanted(path))
		return;
	struct tw_path room;
	const struct tw_path *taken = path->old ? path : taken_before(path, &room);
	struct fragment *s = tw_translate_superblock(taken);
	if (!s)
		return;
	tw_known_path_keep(taken);
	tw_fragment_admit(s);
	if (path->old)
		retire(path->old, s);
	for (struct fragment *f = tw_fragment_first(s->rec.pc); f; f = tw_fragment_other(f)) {
		if (f == s || f->rec.number >> 16 == UNRECORDED_NUMBER >> 16) /* of another mode: window.h */
			continue;
		tw_link_take_exits(f, s);
		if (path->context == plain) {
			tw_link_take_lookups(f, s);
			tw_link_replace_entry(f, s);
			__atomic_store_n(&f->superblock, s, __ATOMIC_RELAXED);
			__atomic_store_n(&f->superseded, true, __ATOMIC_RELEASE);
		}
	}
}
