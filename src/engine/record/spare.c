#include "engine/record/spare.h"
#include "engine/record/guard.h"
#include "engine/record/instrumentor.h"
#include "engine/thread.h"
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/resource.h>

#define MOST_SPARES 128u
#define MARKS       4u /* pages, every second of which is another mapping than those beside it */

static u8 first[TW_BUFFER_STRIDE] __attribute__((aligned(TW_PAGE), section(".bss.guarded")));
static u8 *spare[MOST_SPARES];

/* From one thread's own buffer to the next. Where pages are dear its data ends where a huge page does, since the guard behind would split that. */
static u64 own_stride(void)
{
	return tw_dear_pages ? 2 * TW_HUGE_PAGE : TW_BUFFER_STRIDE;
}

/* Where threads' own buffers begin, behind the spare ones. */
static u64 own_at(u64 aside)
{
	const u64 at = aside + tw_sizes()->spares * (u64)TW_BUFFER_STRIDE;
	return tw_dear_pages ? (at + TW_HUGE_PAGE - 1) & -(u64)TW_HUGE_PAGE : at;
}

static u64 buffers_bytes(void)
{
	const u64 spares = tw_sizes()->spares * (u64)TW_BUFFER_STRIDE, align = tw_dear_pages ? TW_HUGE_PAGE : 0;
	return spares + (tw_tallies() ? align + tw_sizes()->threads * own_stride() : 0);
}

u64 tw_spare_set_aside(void)
{
	return tw_recorder.whole->records ? buffers_bytes() + MARKS * TW_PAGE : 0;
}

void tw_spare_lend_mappings(bool lend)
{
	const u64 at = tw_thread_set_aside() + buffers_bytes();
	for (u32 k = 0; k < MARKS && tw_recorder.whole->records; k += 2)
		tw_sys(__NR_mprotect, at + k * TW_PAGE, TW_PAGE, lend ? PROT_NONE : PROT_READ);
}

/* A buffer outside the image. NULL: there is no memory. Where one is mapped already it is replaced. Shared memory: so it counts against no limit on the program's data, and a fork does not copy it. */
static u8 *map_buffer(u8 *at)
{
	const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	return !tw_failed(tw_mmap((u64)at, TW_BUFFER_STRIDE, PROT_READ | PROT_WRITE, flags, -1, 0)) && tw_guard_open(at) ? at : NULL;
}

bool tw_spare_init(void)
{
	spare[0] = first;
	return !tw_recorder.whole->records || tw_guard_set(first);
}

u8 *tw_spare_buffer(const struct thread *t)
{
	const u32 k = tw_thread_index(t) % tw_sizes()->spares;
	u8 *there = __atomic_load_n(&spare[k], __ATOMIC_ACQUIRE);
	if (there || !__atomic_compare_exchange_n(&spare[k], &there, first, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return there;
	there =
	    map_buffer((u8 *)tw_thread_set_aside() +
	               (u64)k * TW_BUFFER_STRIDE); /* meanwhile others have the first: they must not come to one that has no guards yet */
	__atomic_store_n(&spare[k], there, __ATOMIC_RELEASE);
	return there ? there : first;
}

/* ---- a thread's own ---- */

/* What is mapped for it: a huge page, guard and slack. */
#define HUGE_BYTES (TW_HUGE_PAGE + TW_BUFFER_STRIDE - TW_BUFFER_BYTES)

static u64 own_place(const struct thread *t)
{
	return own_at(tw_thread_set_aside()) + tw_thread_index(t) * own_stride();
}

static bool is_data_limited(void)
{
	u64 limit[2];
	return tw_sys4(__NR_prlimit64, 0, RLIMIT_DATA, 0, limit) || limit[0] != RLIM64_INFINITY;
}

/* The same in a huge page, of which it is the end. It counts as data, and a fork does not have it. */
static u8 *map_huge(u64 place)
{
	u8 *at = (u8 *)place + TW_HUGE_PAGE - TW_BUFFER_BYTES;
	if (is_data_limited())
		return map_buffer(at);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	if (tw_failed(tw_mmap(place, HUGE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0)))
		return NULL;
	tw_sys(__NR_madvise, place, TW_HUGE_PAGE, MADV_HUGEPAGE);
	tw_sys(__NR_madvise, place, HUGE_BYTES, MADV_DONTFORK);
	return tw_guard_set(at) ? at : NULL;
}

bool tw_spare_own(struct thread *t)
{
	if (!t->record->own)
		t->record->own = tw_dear_pages ? map_huge(own_place(t)) : map_buffer((u8 *)own_place(t));
	return t->record->own;
}

void tw_spare_disown(struct thread *t)
{
	const u64 bytes = tw_dear_pages ? HUGE_BYTES : TW_BUFFER_STRIDE;
	if (t->record->own)
		tw_mmap(own_place(t), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	t->record->own = NULL;
}
