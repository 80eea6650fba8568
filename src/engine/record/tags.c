#include "engine/record/tags.h"

#define PROBES 64u

/* A lower upper half could not be distinguished from other words that follow an escape. */
#define LOWEST_ADDRESS  ((u64)TW_ESCAPE_FIRST << 16)
#define HIGHEST_ADDRESS 0x7fffffffu

/*
 * Claims the address for the program. False: it is taken, or may be: two addresses with the same 64-bit hash count as
 * one, and a full neighbourhood in the table counts as taken. Either costs only an alias.
 */
static bool claim(u32 program, u64 pc)
{
	u64 *table = (u64 *)((u8 *)tw_engine.channel + tw_sizes()->claims_at);
	u64 key = (pc ^ (u64)program << 47) * 0x9e3779b97f4a7c15ull;
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull | 1;
	u64 first = key >> 40;
	for (u32 k = 0; k < PROBES; k++) {
		u64 *e = &table[(first + k) % tw_sizes()->claim_entries];
		if (*e == key)
			return false;
		if (!*e) {
			*e = key;
			return true;
		}
	}
	return false;
}

void tw_tag_draw(struct tw_descriptor *d)
{
	u64 pc = tw_descriptor_blocks(d)->pc;
	bool first = claim(d->program, pc);
	if (!first)
		d->flags |= TW_DESC_ANNOUNCED;
	if (first && pc >= LOWEST_ADDRESS && pc <= HIGHEST_ADDRESS) {
		d->tag = (u32)pc;
		return;
	}
	do {
		d->tag = ARENA_CACHE + tw_engine.control->aliases++ % (ARENA_CACHE_END - ARENA_CACHE);
	} while (!(d->tag & 0xffff));
}
