#include "engine/kernel/limits.h"
#include "engine/kernel/process.h"
#include "engine/thread.h"
#include <asm/resource.h>
#include <asm/unistd.h>
#include <linux/mman.h>

#define ERROR_EFAULT (-14)
#define INFINITE     TW_UNLIMITED
#define RLIMIT_NOT   RLIM_NLIMITS /* none in which the engine has a share */

struct limit {
	u64 now, most;
};

_Static_assert(TW_ENGINE_PLACE == ARENA_ENGINE && TW_ENGINE_PLACE_END == ARENA_HEAP_END, "it is where others are told that it is");
_Static_assert(TW_CACHE_BYTES == ARENA_CACHE_END - ARENA_CACHE && TW_STUBS_BYTES == ARENA_STUBS_END - ARENA_STUBS &&
                   TW_HEAP_BYTES == ARENA_HEAP_END - ARENA_HEAP && TW_THREAD_BYTES == THREAD_BYTES,
               "and as large");

/*
 * What the engine may use of a resource: the kernel's limits exceed the program's by that much. Limits from `within`
 * on are the program's own.
 */
struct share {
	u64 bytes, within;
};

static struct share share_of(u32 resource)
{
	const struct tw_sizes *z = tw_sizes();
	if (resource == RLIMIT_AS)
		return (struct share){z->space, z->within_space};
	if (resource == RLIMIT_DATA)
		return (struct share){z->data, z->within_data};
	return (struct share){0, INFINITE};
}

static u64 with(u64 limit, struct share share)
{
	if (limit >= share.within)
		return limit;
	const u64 sum = limit > INFINITE - share.bytes ? INFINITE : limit + share.bytes;
	return sum < share.within ? sum : share.within;
}

static u64 without(u64 limit, struct share share)
{
	if (limit == INFINITE || limit >= share.within)
		return limit;
	return limit < share.bytes ? 0 : limit - share.bytes;
}

extern char tw_data_start[], tw_image_end[]; /* of the engine's own file, by the linker */

/* What the engine maps, from its start on. */
static u64 own_space(void)
{
	const u64 image = (u64)tw_image_end - ARENA_ENGINE;
	const struct tw_sizes *z = tw_sizes();
	return tw_mapped_at_once(tw_engine.control) + z->cache_bytes + z->stubs_bytes + image + z->heap_bytes + tw_thread_bytes();
}

/* The private and writable part of it. This includes thread blocks: so many threads are assumed from the start. */
static u64 own_data(void)
{
	const u64 image = (u64)tw_image_end - (u64)tw_data_start, n_threads = 16;
	const struct tw_sizes *z = tw_sizes();
	return z->cache_bytes + z->stubs_bytes + image + z->heap_bytes + n_threads * THREAD_BYTES;
}

/* The rest of the share, if the kernel's limit includes one. */
static u64 rest_of(u32 resource, u64 taken)
{
	const struct share share = share_of(resource);
	struct limit l = {INFINITE, INFINITE};
	tw_sys4(__NR_prlimit64, 0, resource, NULL, &l);
	return l.now != INFINITE && l.now < share.within && share.bytes > taken ? share.bytes - taken : 0;
}

/* Occupies so much address space at FILL_PLACE; the first `data` bytes also count as data. */
static void fill(u64 bytes, u64 data)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	tw_mmap(FILL_PLACE, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
	if (data)
		tw_sys(__NR_mprotect, FILL_PLACE, data, PROT_READ | PROT_WRITE);
}

static u64 filled, filled_data;

void tw_limits_filled(u64 *start, u64 *end)
{
	*start = FILL_PLACE;
	*end = FILL_PLACE + filled;
}

void tw_limits_fill(void)
{
	const u64 bytes = rest_of(RLIMIT_AS, own_space()), data = rest_of(RLIMIT_DATA, own_data());
	if (filled >= bytes && filled_data >= data)
		return;
	tw_sys(__NR_munmap, FILL_PLACE, filled, 0);
	filled = bytes > data ? bytes : data;
	filled_data = data;
	fill(filled, data);
}

i64 tw_limits_prlimit(u32 pid, u32 resource, u64 set, u64 old)
{
	struct limit to, from;
	const struct share share = share_of(!pid || tw_process_is_recorded(pid) ? resource : RLIMIT_NOT);
	if (set && !tw_copy(&to, (void *)set, sizeof to))
		return ERROR_EFAULT;
	if (set)
		to = (struct limit){with(to.now, share), with(to.most, share)};
	i64 r = tw_sys4(__NR_prlimit64, pid, resource, set ? &to : NULL, old ? &from : NULL);
	if (!r && set && share.bytes)
		tw_limits_fill();
	if (r || !old)
		return r;
	from = (struct limit){without(from.now, share), without(from.most, share)};
	return tw_copy((void *)old, &from, sizeof from) ? 0 : ERROR_EFAULT;
}

/* ---- programs that run natively ---- */

static const u32 shared[] = {RLIMIT_AS, RLIMIT_DATA};

/* Changes a limit to the program's own, or to one with the engine's share. If the hard limit cannot be changed, only the soft one is. */
static void change(u32 resource, u64 convert(u64 limit, struct share share))
{
	const struct share share = share_of(resource);
	struct limit l, to;
	if (!share.bytes || tw_sys4(__NR_prlimit64, 0, resource, NULL, &l) || l.now == INFINITE)
		return;
	to = (struct limit){convert(l.now, share), convert(l.most, share)};
	/* A process that may not raise a hard limit could not undo lowering it. */
	const struct limit more = {l.now, l.most == INFINITE ? INFINITE : l.most + 1};
	if (tw_sys4(__NR_prlimit64, 0, resource, &more, NULL))
		to.most = l.most;
	tw_sys4(__NR_prlimit64, 0, resource, &to, NULL);
}

void tw_limits_leave(void)
{
	for (u32 i = 0; i < sizeof shared / sizeof *shared; i++)
		change(shared[i], without);
}

void tw_limits_return(void)
{
	for (u32 i = 0; i < sizeof shared / sizeof *shared; i++)
		change(shared[i], with);
}
