#include "engine/record/spare.h"
#include "engine/record/guard.h"
#include "engine/record/instrumentor.h"
#include "engine/thread.h"
#include <asm/unistd.h>
#include <linux/mman.h>

#define MOST_SPARES 128u
#define MARKS       4u /* pages, every second of which is a mapping of its own */

static u8 first[TW_BUFFER_STRIDE] __attribute__((aligned(TW_PAGE), section(".bss.guarded")));
static u8 *spare[MOST_SPARES];

static u64 buffers_bytes(void)
{
	return (u64)(tw_sizes()->spares + (tw_tallies() ? tw_sizes()->threads : 0)) * TW_BUFFER_STRIDE;
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

/*
 * Maps buffer k of those outside the image, replacing one that is there. NULL: no memory. Shared memory does not
 * count against limits on the program's data, and a fork does not copy it.
 */
static u8 *map_buffer(u32 k)
{
	const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	u8 *at = (u8 *)tw_thread_set_aside() + (u64)k * TW_BUFFER_STRIDE;
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
	there = map_buffer(k); /* meanwhile, others use the first: they must not get one that has no guards yet */
	__atomic_store_n(&spare[k], there, __ATOMIC_RELEASE);
	return there ? there : first;
}

bool tw_spare_own(struct thread *t)
{
	if (!t->record->own)
		t->record->own = map_buffer(tw_sizes()->spares + tw_thread_index(t));
	return t->record->own;
}

void tw_spare_disown(struct thread *t)
{
	if (t->record->own)
		tw_mmap((u64)t->record->own, TW_BUFFER_STRIDE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	t->record->own = NULL;
}
