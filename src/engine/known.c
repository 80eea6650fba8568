#include "engine/known.h"

#define PROBES 16u
#define SPREAD 256u /* places over which what begins at one address is spread */

static u32 program; /* since which execve */

void tw_known_init(void)
{
	program = 1 + __atomic_fetch_add((u32 *)&tw_engine.control->next_program, 1, __ATOMIC_RELAXED);
}

u32 tw_known_program(void)
{
	return program;
}

/* What number, tag and process make different is taken out while two groups are compared. */
static u64 hash_group(u64 offset, u32 bytes)
{
	u64 h = program;
	for (u32 at = 0; at < bytes;) {
		const struct tw_descriptor *d = tw_room_descriptor(tw_engine.room, offset + at);
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
		one = tw_room_descriptor(tw_engine.room, a + at);
		other = tw_room_descriptor(tw_engine.room, b + at);
		if (!equal_one(one, other))
			return false;
	}
	return true;
}

/* Where to begin: what is close together in the program is so in the table too, so that a small program uses few of its pages. */
static u32 first_place(u64 offset, u32 bytes)
{
	const u64 pc = tw_descriptor_blocks(tw_room_descriptor(tw_engine.room, offset))->pc;
	return (u32)((pc >> 2) + hash_group(offset, bytes) % SPREAD) % TW_KNOWN_ENTRIES;
}

const struct tw_descriptor *tw_known_find(u64 offset, u32 bytes)
{
	struct tw_known *table = (struct tw_known *)((u8 *)tw_engine.channel + TW_KNOWN_AT);
	const u32 first = first_place(offset, bytes);
	struct tw_known *place = &table[first];
	for (u32 k = 0; k < PROBES; k++) {
		struct tw_known *e = &table[(first + k) % TW_KNOWN_ENTRIES];
		if (e->program == program && e->bytes == bytes && equal_groups(e->offset, offset, bytes))
			return tw_room_descriptor(tw_engine.room, e->offset);
		if (e->program != program && place->program == program)
			place = e;
	}
	*place = (struct tw_known){offset, program, bytes};
	return NULL;
}
