/* What the engine's decoder needs from the engine, in a program without an engine: it keeps nothing, and ends no block early. */
#include "engine/x86_64/decode.h"
#include "engine/x86_64/decode_cache.h"
#include "engine/x86_64/room.h"

bool tw_decode_cache_take(struct block *b, u64 pc, u64 room)
{
	(void)b;
	(void)pc;
	(void)room;
	return false;
}

void tw_decode_cache_keep(const struct block *b, u64 room)
{
	(void)b;
	(void)room;
}

static bool stops_at(u64 pc)
{
	(void)pc;
	return false;
}

static bool stands_alone(const struct insn *i)
{
	(void)i;
	return false;
}

static u64 behind_inserted(u64 pc)
{
	return pc;
}

const struct tw_x86_64_calls tw_x86_64_calls = {.stops_at = stops_at, .stands_alone = stands_alone, .behind_inserted = behind_inserted};

void tw_with_decoder(void (*fn)(void *), void *arg)
{
	fn(arg);
}
