#include "engine/thread.h"
#include <asm/unistd.h>
#include <linux/mman.h>

static u32 n_blocks; /* handed out at least once */
static tw_lock_t blocks_lock;
static u64 blocks, stride, set_aside;
static bool (*begin_block)(struct thread *t);

static struct thread *block_at(u32 i)
{
	return (struct thread *)(blocks + i * stride);
}

static bool is_used(const struct thread *t)
{
	return __atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE);
}

u32 tw_thread_index(const struct thread *t)
{
	return (u32)(((u64)t - blocks) / stride);
}

bool tw_thread_init(u64 behind, u64 aside, bool (*begin)(struct thread *t))
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	begin_block = begin;
	stride = THREAD_BYTES + behind;
	set_aside = aside;
	i64 at = tw_mmap(THREADS_PLACE, tw_thread_bytes(), PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
	if (tw_failed(at))
		at = tw_mmap(0, tw_thread_bytes(), PROT_NONE, flags, -1, 0);
	blocks = (u64)at;
	return !tw_failed(at);
}

u64 tw_thread_place(void)
{
	return blocks;
}

u64 tw_thread_bytes(void)
{
	return tw_sizes()->threads * stride + set_aside;
}

u64 tw_thread_set_aside(void)
{
	return blocks + tw_sizes()->threads * stride;
}

void tw_thread_leave_out_of_dump(void)
{
	tw_sys(__NR_madvise, blocks, tw_thread_bytes(), MADV_DONTDUMP);
}

static struct thread *find_block(void)
{
	const bool all_used =
	    __atomic_load_n(&tw_engine.n_threads, __ATOMIC_ACQUIRE) >= n_blocks; /* no more than there are blocks in use */
	for (u32 i = 0; i < n_blocks && !all_used; i++)
		if (!is_used(block_at(i)))
			return block_at(i);
	if (n_blocks == tw_sizes()->threads)
		return NULL;
	struct thread *t = block_at(n_blocks);
	i64 r = tw_mmap((u64)t, THREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (tw_failed(r) || !begin_block(t))
		return NULL;
	__atomic_store_n(&n_blocks, n_blocks + 1, __ATOMIC_RELEASE);
	return t;
}

struct thread *tw_thread_take_block(void (*make)(struct thread *t))
{
	tw_thread_lock_blocks();
	struct thread *t = find_block();
	if (t) {
		make(t);
		__atomic_store_n(&t->in_use, 1, __ATOMIC_RELEASE);
	}
	tw_thread_unlock_blocks();
	return t;
}

void tw_thread_lock_blocks(void)
{
	tw_lock(&blocks_lock);
}

void tw_thread_unlock_blocks(void)
{
	tw_unlock(&blocks_lock);
}

struct thread *tw_thread_any(const struct thread *after)
{
	const u32 n = __atomic_load_n(&n_blocks, __ATOMIC_ACQUIRE);
	for (u32 i = after ? tw_thread_index(after) + 1 : 0; i < n; i++)
		if (is_used(block_at(i)))
			return block_at(i);
	return NULL;
}

struct thread *tw_thread_next(const struct thread *t, const struct thread *after)
{
	struct thread *other = tw_thread_any(after);
	while (other && (other->pid != t->pid || other == t))
		other = tw_thread_any(other);
	return other;
}

const struct thread *tw_thread_of(u32 tid)
{
	const struct thread *t = tw_thread_any(NULL);
	while (t && t->tid != tid)
		t = tw_thread_any(t);
	return t;
}

void tw_thread_forget_others(const struct thread *t)
{
	for (u32 i = 0; i < n_blocks; i++)
		if (block_at(i) != t)
			block_at(i)->in_use = 0;
	tw_engine.n_threads = 1;
}
