#include "engine/record/known.h"
#include "engine/record/descriptor_table.h"
#include "engine/record/program.h"
#include "engine/heap.h"

#define PROBES 16u
#define SPREAD 256u /* places over which what begins at one address is spread */

/* For the comparison of two groups, fields that always differ are removed: number, tag and process. */
static u64 hash_group(u64 offset, u32 bytes)
{
	u64 h = tw_program_serial();
	for (u32 at = 0; at < bytes;) {
		const struct tw_descriptor *d = tw_table_descriptor(tw_recorder.table, offset + at);
		const u64 *w = (const u64 *)(d + 1);
		h = (h ^ (u64)d->n_insns << 32 ^ d->context ^ (u64)d->bytes << 16) * 0x9e3779b97f4a7c15ull;
		for (u32 k = 0; k < (d->bytes - sizeof *d) / 8; k++)
			h = (h ^ w[k] ^ h >> 29) * 0x9e3779b97f4a7c15ull;
		at += d->bytes;
	}
	return h ^ h >> 32;
}

static bool equal_one(const struct tw_descriptor *a, const struct tw_descriptor *b)
{
	struct tw_descriptor head = *a;
	head.number = b->number;
	head.pid = b->pid;
	head.tag = b->tag;
	head.flags = (u8)((head.flags & ~TW_DESC_ANNOUNCED) | (b->flags & TW_DESC_ANNOUNCED));
	return !memcmp(&head, b, sizeof head) && !memcmp(a + 1, b + 1, a->bytes - sizeof *a);
}

static bool equal_groups(u64 a, u64 b, u32 bytes)
{
	const struct tw_descriptor *one, *other;
	for (u32 at = 0; at < bytes; at += other->bytes) {
		one = tw_table_descriptor(tw_recorder.table, a + at);
		other = tw_table_descriptor(tw_recorder.table, b + at);
		if (!equal_one(one, other))
			return false;
	}
	return true;
}

static struct tw_known *entry(u64 n)
{
	struct tw_known *table = (struct tw_known *)((u8 *)tw_engine.channel + tw_sizes()->known_at);
	return &table[n % tw_sizes()->known_entries];
}

/* Was this group published by this program? A thread that noted one may have been killed or restarted before it published it. */
static bool is_published(const struct tw_known *e)
{
	return e->program == tw_program_serial() && e->offset + e->bytes <= tw_recorder.table->used;
}

/* The first of the places near to each other for code that begins at pc. */
static u64 first_near(u64 pc)
{
	return pc >> 2;
}

/*
 * Where to look the n-th time: first near the entries of neighbouring code, so that a small program uses few pages of
 * the table; if all are taken, anywhere, since the hottest code of a server's many forks exceeds the room there.
 */
static struct tw_known *place_of(u64 pc, u64 hash, u32 n)
{
	const u64 near = first_near(pc) + hash % SPREAD, far = hash >> 32;
	return entry((n < PROBES ? near : far) + n % PROBES);
}

/* If pages are expensive: an entry was noted here; when so many of its pages are used, the rest of the huge page will probably be too. */
static void use_huge_page(const struct tw_known *e)
{
	enum { PARTS = 16, MANY = TW_HUGE_FROM / TW_PAGE };
	static u8 noted[PARTS];
	const u64 part = ((u64)e - (u64)tw_engine.channel) / TW_HUGE_PAGE;
	if (tw_dear_pages && part < PARTS && noted[part] < MANY && ++noted[part] == MANY)
		tw_heap_shared_later((u64)e);
}

const struct tw_descriptor *tw_known_find(u64 offset, u32 bytes)
{
	const u64 pc = tw_descriptor_blocks(tw_table_descriptor(tw_recorder.table, offset))->pc, hash = hash_group(offset, bytes);
	struct tw_known *place = NULL;
	for (u32 n = 0; n < (place ? PROBES : 2 * PROBES); n++) {
		struct tw_known *e = place_of(pc, hash, n);
		const bool published = is_published(e);
		if (published && e->bytes == bytes && equal_groups(e->offset, offset, bytes))
			return tw_table_descriptor(tw_recorder.table, e->offset);
		if (!published && !place)
			place = e;
	}
	place = place ? place : place_of(pc, hash, PROBES);
	*place = (struct tw_known){offset, tw_program_serial(), bytes};
	use_huge_page(place);
	return NULL;
}

/* Does the group begin with the same two blocks, with the same registers known? */
static bool begins_like(const struct tw_descriptor *d, const u64 *pc, u32 context)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	return d->bytes && d->n_blocks > 1 && d->context == context && b[0].pc == pc[0] && b[1].pc == pc[1];
}

const struct tw_descriptor *tw_known_like(const u64 *pc, u32 context, u32 *bytes)
{
	for (u32 n = 0; n < SPREAD + PROBES; n++) {
		const struct tw_known *e = entry(first_near(pc[0]) + n);
		const struct tw_descriptor *d = is_published(e) ? tw_table_descriptor(tw_recorder.table, e->offset) : NULL;
		*bytes = e->bytes;
		if (d && begins_like(d, pc, context))
			return d;
	}
	return NULL;
}
