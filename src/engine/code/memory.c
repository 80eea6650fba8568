#include "engine/code/memory.h"
#include "engine/code/stale.h"
#include "engine/code/module.h"
#include "engine/code/shared.h"
#include "engine/thread.h"
#include <asm/unistd.h>
#include <linux/mman.h>

#define MAX_RANGES 8192

/* A stack: the kernel keeps this much free below one, whatever its limit. */
#define STACK_MOST (128ull << 20)

/* Executable ranges, sorted, not overlapping. */
struct range {
	u64 start, end;
	bool writable; /* the application may write here: pages translated from are write-protected */
};

static struct range ranges[MAX_RANGES];
static u32 n_ranges;

/* Pages of writable code that are write-protected by the engine: an open hash set of addresses | 1, without gaps in its probe sequences. */
#define WATCH_BITS  18
#define WATCH_SLOTS (1u << WATCH_BITS)
static TW_SPARSE u64 watched[WATCH_SLOTS];
static u32 n_watched;
static u64 watch_changes;

static u64 page_down(u64 a)
{
	return a & ~(u64)(TW_PAGE - 1);
}

/* Index of the first range that ends after `a`. */
static u32 find(u64 a)
{
	u32 lo = 0, hi = n_ranges;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (ranges[mid].end > a)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void insert(u32 at, struct range r)
{
	if (n_ranges == MAX_RANGES) {
		tw_engine_fail(TW_FAILURE_ENGINE, "more than %d executable ranges", MAX_RANGES);
		return;
	}
	memmove(&ranges[at + 1], &ranges[at], (n_ranges - at) * sizeof *ranges);
	ranges[at] = r;
	n_ranges++;
}

/* Takes [start, end) out of the list. True if anything of it was there. */
static bool remove_range(u64 start, u64 end)
{
	bool any = false;
	u32 i = find(start);
	while (i < n_ranges && ranges[i].start < end) {
		struct range r = ranges[i];
		any = true;
		memmove(&ranges[i], &ranges[i + 1], (n_ranges - i - 1) * sizeof *ranges);
		n_ranges--;
		if (r.start < start)
			insert(i++, (struct range){r.start, start, r.writable});
		if (r.end > end)
			insert(i, (struct range){end, r.end, r.writable});
	}
	return any;
}

/* Where the entry is, or would be. There always is a free slot. */
static u32 watch_slot(u64 entry)
{
	u32 at = tw_hash(entry, WATCH_BITS);
	while (watched[at] && watched[at] != entry)
		at = (at + 1) % WATCH_SLOTS;
	return at;
}

/* What the application may do on this page except write. */
static int unwritten(u64 page)
{
	return PROT_READ | (tw_memory_writable_code(page) ? PROT_EXEC : 0);
}

static bool protect(u64 start, u64 end, int prot)
{
	return !tw_sys(__NR_mprotect, start, end - start, prot);
}

/* The entry is in the set. False: it is full. */
static bool add_entry(u64 page)
{
	const u32 at = watch_slot(page | 1);
	if (watched[at])
		return true;
	if (n_watched == WATCH_SLOTS / 4 * 3)
		return false;
	watched[at] = page | 1;
	n_watched++;
	watch_changes++;
	return true;
}

/* The range around this page with the same protection, as far as is known: changing all of it takes no more mappings. */
static void alike(u64 page, u64 *start, u64 *end)
{
	const u32 i = find(page);
	*start = page;
	*end = page + TW_PAGE;
	if (i < n_ranges && ranges[i].start <= page) {
		*start = ranges[i].start;
		*end = ranges[i].end;
	} else {
		tw_shared_view(page, start, end);
	}
}

/* The kernel does not allow the mappings needed to protect one page: watches everything with the same protection. */
static bool watch_alike(u64 page)
{
	u64 start, end;
	alike(page, &start, &end);
	if ((end - start) / TW_PAGE > WATCH_SLOTS / 2 || !protect(start, end, unwritten(page)))
		return false;
	bool all = true;
	for (u64 p = start; p < end; p += TW_PAGE)
		all &= add_entry(p);
	return all;
}

/* The page, which the application may write, cannot be written. */
static void watch_page(u64 page)
{
	if (watched[watch_slot(page | 1)])
		return;
	if (!add_entry(page))
		tw_engine_fail(TW_FAILURE_ENGINE, "more than %u pages of code that can be written", n_watched);
	else if (!protect(page, page + TW_PAGE, unwritten(page)) && !watch_alike(page))
		tw_engine_fail(TW_FAILURE_ENGINE, "no more memory mappings to see by when code is written");
}

void tw_memory_watch(u64 pc, u64 bytes)
{
	u32 i = find(pc);
	if (i == n_ranges || ranges[i].start > pc)
		return;
	for (u64 p = page_down(pc); p < pc + bytes; p += TW_PAGE) {
		if (ranges[i].writable)
			watch_page(p);
		tw_shared_writers(p, watch_page);
	}
}

bool tw_memory_watch_all(u64 start, u64 end)
{
	const u64 pages = (end - start) / TW_PAGE;
	if (pages > WATCH_SLOTS / 4 || n_watched + pages > WATCH_SLOTS / 2 || !protect(start, end, unwritten(start)))
		return false;
	for (u64 page = start; page < end; page += TW_PAGE)
		add_entry(page);
	return true;
}

/* Entries that were placed after this one because its slot was taken move up. */
static void remove_entry(u32 at)
{
	for (u32 next = (at + 1) % WATCH_SLOTS; watched[next]; next = (next + 1) % WATCH_SLOTS) {
		u32 passed = (next - tw_hash(watched[next], WATCH_BITS)) % WATCH_SLOTS; /* slots that it found taken */
		if (passed < (next - at) % WATCH_SLOTS)
			continue;
		watched[at] = watched[next];
		at = next;
	}
	watched[at] = 0;
	n_watched--;
	watch_changes++;
}

static bool unwatch(u64 page)
{
	u32 at = watch_slot(page | 1);
	if (!watched[at])
		return false;
	remove_entry(at);
	return true;
}

static void forget(u64 start, u64 end)
{
	if (n_watched && (end - start) / TW_PAGE < WATCH_SLOTS / 16)
		for (u64 p = start; p < end; p += TW_PAGE)
			unwatch(p);
	else if (n_watched)
		for (u32 at = 0; at < WATCH_SLOTS; at++)
			while (watched[at] >= start && watched[at] < end)
				remove_entry(at);
	tw_fragment_invalidate(start, end);
}

void tw_memory_protected(u64 start, u64 length, int prot)
{
	u64 end = start + tw_page_up(length);
	bool was = remove_range(start, end);
	tw_module_touched(start, end);
	if (was || tw_shared_any(start, end))
		forget(start, end);
	if (prot & PROT_EXEC)
		insert(find(start), (struct range){start, end, (prot & PROT_WRITE) != 0});
}

void tw_memory_stack_protected(u64 end, int prot)
{
	tw_memory_protected(end - STACK_MOST, STACK_MOST, prot);
}

bool tw_memory_executable(u64 pc, u64 *end)
{
	u32 i = find(pc);
	if (i == n_ranges || ranges[i].start > pc)
		return false;
	*end = ranges[i].end;
	for (i++; i < n_ranges && ranges[i].start == *end; i++)
		*end = ranges[i].end;
	return true;
}

bool tw_memory_any_code(u64 start, u64 end)
{
	const u32 i = find(start);
	return i < n_ranges && ranges[i].start < end;
}

bool tw_memory_any_writable_code(u64 start, u64 end)
{
	for (u32 i = find(start); i < n_ranges && ranges[i].start < end; i++)
		if (ranges[i].writable)
			return true;
	return false;
}

u64 tw_memory_code_end(u64 pc, bool *beyond_file)
{
	const u64 next = page_down(pc) + TW_PAGE;
	u64 end;
	u8 byte;
	*beyond_file = false;
	if (!tw_memory_executable(pc, &end))
		return pc;
	*beyond_file = !tw_copy(&byte, (const void *)pc, sizeof byte);
	if (*beyond_file)
		return pc;
	*beyond_file = next < end && !tw_copy(&byte, (const void *)next, sizeof byte);
	return *beyond_file ? next : end;
}

bool tw_memory_writable_code(u64 address)
{
	u32 i = find(address);
	return i < n_ranges && ranges[i].start <= address && ranges[i].writable;
}

static void invalidate_page(u64 page)
{
	tw_fragment_invalidate(page, page + TW_PAGE);
}

/*
 * The kernel does not allow the mappings needed to make one page writable: no page with the same protection is
 * watched any more. If it allows nothing, the store faults again.
 */
static void let_write_alike(u64 page)
{
	u64 start, end;
	alike(page, &start, &end);
	if (!protect(start, end, unwritten(page) | PROT_WRITE))
		return;
	for (u64 p = start; p < end; p += TW_PAGE)
		if (unwatch(p))
			tw_memory_written(p, p);
}

static void let_write(u64 page)
{
	if (!protect(page, page + TW_PAGE, unwritten(page) | PROT_WRITE))
		let_write_alike(page);
}

bool tw_memory_let_write(u64 address)
{
	if (!tw_memory_writable_code(address) && !tw_shared_writable_code(address))
		return false;
	let_write(page_down(address));
	return true;
}

bool tw_memory_unwatch(u64 address)
{
	u64 page = page_down(address);
	if (!unwatch(page))
		return false;
	let_write(page);
	return true;
}

u64 tw_memory_watch_changes(void)
{
	return __atomic_load_n(&watch_changes, __ATOMIC_RELAXED);
}

bool tw_memory_watches(void)
{
	return __atomic_load_n(&n_watched, __ATOMIC_RELAXED) != 0;
}

void tw_memory_unwatch_range(u64 start, u64 length)
{
	for (u64 page = page_down(start); n_watched && page < start + length; page += TW_PAGE)
		if (tw_memory_unwatch(page))
			tw_memory_written(page, page);
}

void tw_memory_unwatch_stack(u64 end)
{
	tw_memory_unwatch_range(end - STACK_MOST, STACK_MOST);
}

bool tw_memory_unwatch_all(void)
{
	bool any = false;
	for (u32 at = 0; n_watched && at < WATCH_SLOTS; at++) {
		while (watched[at]) {
			u64 page = page_down(watched[at]);
			tw_memory_unwatch(page);
			tw_memory_written(page, page);
			any = true;
		}
	}
	return any;
}

void tw_memory_written(u64 first, u64 last)
{
	tw_fragment_invalidate(page_down(first), page_down(last) + TW_PAGE);
	for (u64 page = page_down(first); page <= last; page += TW_PAGE)
		tw_shared_code(page, invalidate_page);
}

static bool forks_differ;

void tw_memory_forks_differ(void)
{
	forks_differ = true;
}

void tw_memory_forked(void)
{
	if (!forks_differ)
		return;
	for (u32 i = 0; i < n_ranges; i++)
		tw_memory_written(ranges[i].start, ranges[i].end - 1);
}

static u64 next_place = ARENA_MODULES;

void tw_memory_place_behind(u64 start, u64 end)
{
	if (start < ARENA_MODULES_END && end > next_place)
		next_place = end < ARENA_MODULES_END ? tw_page_up(end + (ARENA_MODULES_END - end) / 2) : ARENA_MODULES_END;
}

u64 tw_memory_place(u64 length)
{
	u64 at = next_place;
	length = tw_page_up(length);
	if (length > ARENA_MODULES_END - ARENA_MODULES || at + length > ARENA_MODULES_END)
		return 0;
	next_place = at + length + 16 * TW_PAGE;
	return at;
}

extern char tw_image_end[]; /* of the engine's own file, by the linker */

bool tw_memory_next_engine(u64 from, u64 *start, u64 *end)
{
	const u64 channel = (u64)tw_engine.channel, threads = tw_thread_place();
	const u64 areas[][2] = {
	    {ARENA_CACHE, tw_arena_cache_end()},
	    {ARENA_STUBS, tw_arena_stubs_end()},
	    {ARENA_ENGINE, (u64)tw_image_end},
	    {ARENA_HEAP, tw_arena_heap_end()},
	    {channel, channel ? channel + tw_mapped_bytes(tw_engine.control) : 0},
	    {threads, threads ? threads + tw_thread_bytes() : 0},
	};
	*start = ~0ull;
	for (u32 k = 0; k < sizeof areas / sizeof *areas; k++) {
		if (areas[k][1] <= from || areas[k][0] >= *start)
			continue;
		*start = areas[k][0];
		*end = areas[k][1];
	}
	return *start != ~0ull;
}

bool tw_memory_is_engine(u64 start, u64 length)
{
	u64 first, end;
	return tw_memory_next_engine(start, &first, &end) && first < start + length;
}

static u64 brk_start, brk_now, brk_mapped;

void tw_memory_brk_init(u64 start)
{
	brk_start = brk_now = brk_mapped = tw_page_up(start);
}

static bool brk_kept;

void tw_memory_brk_keep(void)
{
	brk_kept = true;
}

u64 tw_memory_brk_moved(void)
{
	return brk_kept ? 0 : brk_now;
}

u64 tw_memory_brk(u64 to)
{
	u64 end = tw_page_up(to);
	if (brk_kept)
		return (u64)tw_sys(__NR_brk, to, 0, 0);
	if (to < brk_start)
		return brk_now;
	if (end > brk_mapped) {
		i64 r =
		    tw_mmap(brk_mapped, end - brk_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (r != (i64)brk_mapped) {
			if (!tw_failed(r))
				tw_sys(__NR_munmap, r, end - brk_mapped, 0);
			return brk_now;
		}
	} else if (end < brk_mapped) {
		tw_sys(__NR_munmap, end, brk_mapped - end, 0);
	}
	brk_mapped = end;
	brk_now = to;
	return to;
}
