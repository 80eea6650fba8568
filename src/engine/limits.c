#include "engine/limits.h"
#include "engine/process.h"
#include "engine/tally.h"
#include <asm/resource.h>
#include <asm/unistd.h>
#include <linux/mman.h>

#define ERROR_EFAULT (-14)
#define INFINITE     (~0ull)
#define ROOM_TO_GROW (512ull << 20) /* 400 threads and more */

struct limit {
	u64 now, most;
};

_Static_assert(ARENA_HEAP_END - ARENA_CACHE <= TW_ENGINE_DATA_BYTES, "what the engine maps privately is within what is allowed for it");
_Static_assert(TW_ENGINE_PLACE == ARENA_CACHE && TW_ENGINE_PLACE_END == ARENA_HEAP_END, "it is where others are told that it is");
_Static_assert(TW_MAPPED_BYTES + TW_ENGINE_DATA_BYTES + TW_THREADS * (THREAD_BYTES + TW_TALLY_BYTES + TW_BUFFER_STRIDE) <=
                   TW_ENGINE_SPACE_BYTES,
               "and so is all of it");

/* What the engine may take of this resource. */
static u64 own_share(u32 resource)
{
	return resource == RLIMIT_AS ? TW_ENGINE_SPACE_BYTES : resource == RLIMIT_DATA ? TW_ENGINE_DATA_BYTES : 0;
}

static u64 with(u64 limit, u64 share)
{
	return limit > INFINITE - share ? INFINITE : limit + share;
}

static u64 without(u64 limit, u64 share)
{
	return limit == INFINITE ? INFINITE : limit < share ? 0 : limit - share;
}

/* What the engine maps from its start on. */
static u64 own_space(void)
{
	const u64 stride = THREAD_BYTES + (tw_tallies() ? TW_TALLY_BYTES : 0);
	return TW_MAPPED_BYTES + (ARENA_HEAP_END - ARENA_CACHE) + TW_THREADS * stride;
}

void tw_limits_fill(void)
{
	static bool filled;
	struct limit l = {INFINITE, INFINITE};
	tw_sys4(__NR_prlimit64, 0, RLIMIT_AS, NULL, &l);
	if (filled || l.now == INFINITE || own_space() + ROOM_TO_GROW >= TW_ENGINE_SPACE_BYTES)
		return;
	filled = true;
	const u64 rest = TW_ENGINE_SPACE_BYTES - ROOM_TO_GROW - own_space();
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	tw_mmap(FILL_PLACE, rest, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
}

i64 tw_limits_prlimit(u32 pid, u32 resource, u64 set, u64 old)
{
	struct limit to, from;
	u64 share = !pid || tw_process_is_recorded(pid) ? own_share(resource) : 0;
	if (set && !tw_copy(&to, (void *)set, sizeof to))
		return ERROR_EFAULT;
	if (set)
		to = (struct limit){with(to.now, share), with(to.most, share)};
	i64 r = tw_sys4(__NR_prlimit64, pid, resource, set ? &to : NULL, old ? &from : NULL);
	if (!r && set && share && resource == RLIMIT_AS)
		tw_limits_fill();
	if (r || !old)
		return r;
	from = (struct limit){without(from.now, share), without(from.most, share)};
	return tw_copy((void *)old, &from, sizeof from) ? 0 : ERROR_EFAULT;
}
