#include "engine/kernel/memory_calls.h"
#include "engine/code/inserted.h"
#include "engine/code/memory.h"
#include "engine/code/module.h"
#include "engine/code/shared.h"
#include "engine/code/snapshot_tables.h"
#include "engine/kernel/mlock.h"
#include "engine/kernel/pass.h"
#include "engine/record/buffer.h"
#include "engine/record/calls.h"
#include "engine/record/told.h"
#include "engine/record/window.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/personality.h>
#include <linux/shm.h>

#define TASK_END 0x7ffffffff000ull /* end of memory that a program gets, unless it asks for more (5-level page tables) */

static void tell_map(struct thread *t, u64 at, u64 length, int prot, int flags, int fd, u64 offset)
{
	char link[32], path[4096];
	struct tw_map m = {at, length, offset, (u32)prot, (u32)flags};
	i64 n = 0;
	if (!(flags & MAP_ANONYMOUS)) {
		tw_format(link, sizeof link, "/proc/self/fd/%d", fd);
		n = tw_sys(__NR_readlink, link, path, sizeof path - 1);
	}
	path[n > 0 ? n : 0] = 0;
	tw_buffer_event(t, TW_EVENT_MAP, &m, sizeof m, path, (u32)strlen(path) + 1);
	if (!(prot & PROT_EXEC))
		return;
	tw_window_mapped(path, at, length, offset);
	tw_calls_mapped(path, at, length, offset);
	tw_told_mapped(path, at, length, offset);
}

static void tell_unmap(struct thread *t, u64 at, u64 length)
{
	struct tw_unmap u = {at, length};
	tw_buffer_event(t, TW_EVENT_UNMAP, &u, sizeof u, NULL, 0);
}

/* Tells memory that is not a file's: the heap (brk), a shared-memory segment. */
static void tell_memory(struct thread *t, u64 at, u64 length, u32 prot, u32 flags, const char *name)
{
	struct tw_map m = {at, length, 0, prot, flags};
	tw_buffer_event(t, TW_EVENT_MAP, &m, sizeof m, name, (u32)strlen(name) + 1);
}

/* Is it ld.so's mapping of a library? A private file mapping with MAP_DENYWRITE, or anything executable, without a fixed address. */
static bool wants_arena(const u64 *a)
{
	int prot = (int)a[2], flags = (int)a[3];
	if (a[0] || (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN)) || a[1] > (256u << 20))
		return false;
	return (flags & MAP_DENYWRITE) || (prot & PROT_EXEC);
}

/* Has the application requested the personality in which all readable memory is executable, as GNU Common Lisp does? execve ends it. */
static bool read_implies_exec;

/* The protection that the kernel sets if the application asks for `prot`. */
static int effective(u64 prot)
{
	return (int)prot | (read_implies_exec && (prot & PROT_READ) ? PROT_EXEC : 0);
}

/* mmap with these arguments has given `at`. */
static void note_map(u64 at, const u64 *a)
{
	tw_memory_protected(at, a[1], effective(a[2]));
	tw_shared_mapped(at, a[1], effective(a[2]), (int)a[3], (int)a[4], a[5]);
	tw_inserted_gone(at, at + tw_page_up(a[1]));
	if ((a[2] & PROT_EXEC) && !(a[3] & MAP_ANONYMOUS))
		tw_inserted_mapped((int)a[4], at, tw_page_up(a[1]), a[5]);
	tw_module_watch *watch = tw_engine.n_threads == 1 ? tw_memory_watch_all : NULL; /* another thread may have written there already */
	if (tw_module_mapped((int)a[4], at, tw_page_up(a[1]), a[5], effective(a[2]), (int)a[3], watch))
		tw_snapshot_came();
}

i64 tw_sys_mmap(struct thread *t, const u64 *a)
{
	u64 b[6];
	memcpy(b, a, sizeof b);
	if ((a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && tw_memory_is_engine(a[0], a[1]))
		return a[3] & MAP_FIXED_NOREPLACE ? ENGINE_EEXIST : ENGINE_ENOMEM;
	tw_lock(&tw_engine.lock);
	u64 place = wants_arena(a) ? tw_memory_place(a[1]) : 0;
	if (place) {
		b[0] = place;
		b[3] |= MAP_FIXED_NOREPLACE;
	}
	i64 r = tw_pass_with(t, __NR_mmap, b);
	if (tw_failed(r) && place && r != TW_SYSCALL_ABORTED)
		r = tw_pass_with(t, __NR_mmap, a);
	if (!tw_failed(r) && r != TW_SYSCALL_ABORTED && !tw_mlock_mapped((u64)r, a[1])) {
		tw_sys(__NR_munmap, r, a[1], 0);
		r = ENGINE_EAGAIN;
	}
	if (!tw_failed(r))
		note_map((u64)r, a);
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r))
		tell_map(t, (u64)r, a[1], effective(a[2]), (int)a[3], (int)a[4], a[5]);
	return r;
}

/* Of what is between the engine's own. EINVAL: there is nothing. */
static i64 unmap_around(u64 at, u64 end)
{
	i64 r = ENGINE_EINVAL;
	for (u64 start, next; at < end; at = next) {
		if (!tw_memory_next_engine(at, &start, &next) || start > end)
			start = next = end;
		if (start > at)
			r = tw_sys(__NR_munmap, at, start - at, 0);
	}
	return r;
}

i64 tw_sys_munmap(struct thread *t, const u64 *a)
{
	const bool around = !(a[0] % TW_PAGE) && a[0] + a[1] > a[0] && a[0] + a[1] <= TASK_END && tw_memory_is_engine(a[0], a[1]);
	tw_lock(&tw_engine.lock);
	i64 r = around ? unmap_around(a[0], a[0] + tw_page_up(a[1])) : tw_pass_as_made(t);
	if (!tw_failed(r)) {
		tw_memory_protected(a[0], a[1], PROT_NONE);
		tw_shared_unmapped(a[0], a[0] + tw_page_up(a[1]));
		tw_calls_unmapped(a[0], a[0] + tw_page_up(a[1]));
		tw_inserted_gone(a[0], a[0] + tw_page_up(a[1]));
	}
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r))
		tell_unmap(t, a[0], a[1]);
	return r;
}

static void note_protection(u64 start, u64 length, int prot)
{
	tw_memory_protected(start, length, prot);
	tw_shared_protected(start, start + tw_page_up(length), prot);
}

/* How much of this is mapped, from its start on. */
static u64 mapped_bytes(u64 start, u64 length)
{
	u64 n = 0;
	while (n < length && tw_engine_mapped(start + n))
		n += TW_PAGE;
	return n;
}

i64 tw_sys_mprotect(struct thread *t, const u64 *a)
{
	if (tw_memory_is_engine(a[0], a[1]))
		return ENGINE_ENOMEM;
	tw_lock(&tw_engine.lock);
	if (a[2] & PROT_GROWSDOWN) /* reaches down to the start of the kernel's mapping, which watched pages would split */
		tw_memory_unwatch_stack(a[0] + tw_page_up(a[1]));
	i64 r = tw_pass_as_made(t);
	if (!tw_failed(r) && (a[2] & PROT_GROWSDOWN))
		tw_memory_stack_protected(a[0] + tw_page_up(a[1]), effective(a[2]));
	else if (!tw_failed(r))
		note_protection(a[0], a[1], effective(a[2]));
	else if (r == ENGINE_ENOMEM) /* a hole: what is before it has been protected */
		note_protection(a[0], mapped_bytes(a[0], a[1]), effective(a[2]));
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r) && (effective(a[2]) & PROT_EXEC))
		tell_map(t, a[0], a[1], effective(a[2]), MAP_ANONYMOUS, -1, 0);
	return r;
}

i64 tw_sys_mremap(struct thread *t, const u64 *a)
{
	if (tw_memory_is_engine(a[0], a[1]) || ((a[3] & MREMAP_FIXED) && tw_memory_is_engine(a[4], a[2])))
		return ENGINE_EINVAL;
	const u64 moved = a[1] ? a[1] : a[2]; /* shared memory of which no bytes are moved is doubled */
	u64 end;
	tw_lock(&tw_engine.lock);
	int prot = !tw_memory_executable(a[0], &end) ? 0 : PROT_READ | PROT_EXEC | (tw_memory_writable_code(a[0]) ? PROT_WRITE : 0);
	/* To the kernel, a watched page is a mapping of its own; mremap moves only one mapping, with its protection. */
	if ((prot & PROT_WRITE) || tw_shared_any(a[0], a[0] + moved))
		tw_memory_unwatch_range(a[0], moved);
	i64 r = tw_pass_as_made(t);
	if (!tw_failed(r)) {
		tw_memory_protected(a[0], a[1], a[3] & MREMAP_DONTUNMAP ? prot : PROT_NONE);
		tw_memory_protected((u64)r, a[2], prot);
		tw_inserted_gone(a[0], a[0] + a[1]);
		tw_inserted_gone((u64)r, (u64)r + a[2]);
		tw_shared_moved(a[0], a[1], (u64)r, a[2], (a[3] & MREMAP_DONTUNMAP) != 0);
	}
	tw_unlock(&tw_engine.lock);
	return r;
}

/* Told as executable as long as it is attached; its size is the segment's. */
i64 tw_sys_shmat(struct thread *t, const u64 *a)
{
	struct shmid64_ds segment;
	const bool known = !tw_sys(__NR_shmctl, a[0], IPC_STAT, &segment);
	const int prot = PROT_READ | (a[2] & SHM_EXEC ? PROT_EXEC : 0) | (a[2] & SHM_RDONLY ? 0 : PROT_WRITE);
	if ((a[2] & SHM_REMAP) && known && tw_memory_is_engine(a[1], segment.shm_segsz))
		return ENGINE_EINVAL;
	tw_lock(&tw_engine.lock);
	i64 r = tw_pass_as_made(t);
	if (!tw_failed(r) && known) {
		tw_memory_protected((u64)r, segment.shm_segsz, prot);
		tw_shared_attached((u64)r, segment.shm_segsz, prot, (int)a[0]);
	}
	tw_unlock(&tw_engine.lock);
	if (!tw_failed(r) && known)
		tell_memory(t, (u64)r, segment.shm_segsz, prot & ~PROT_EXEC, MAP_SHARED, "[shm]");
	return r;
}

static void gone(u64 start, u64 length)
{
	tw_memory_protected(start, length, PROT_NONE);
}

i64 tw_sys_shmdt(struct thread *t, const u64 *a)
{
	u64 end;
	tw_lock(&tw_engine.lock);
	bool code = tw_memory_executable(a[0], &end);
	if (code) /* the kernel detaches what is mapped as one */
		tw_memory_unwatch_range(a[0], end - a[0]);
	i64 r = tw_pass_as_made(t);
	if (!tw_failed(r) && code)
		tw_memory_written(a[0], end - 1);
	if (!tw_failed(r))
		tw_shared_detached(a[0], gone);
	tw_unlock(&tw_engine.lock);
	return r;
}

i64 tw_sys_brk(struct thread *t, const u64 *a)
{
	tw_lock(&tw_engine.lock);
	u64 now = tw_memory_brk(0), before = tw_page_up(now), r = tw_memory_brk(a[0]), after = tw_page_up(r);
	if (after > before && !tw_mlock_mapped(before, after - before)) {
		r = tw_memory_brk(now);
		after = before;
	}
	if (after > before)
		tw_memory_protected(before, after - before, effective(PROT_READ | PROT_WRITE));
	else if (after < before)
		tw_memory_protected(after, before - after, PROT_NONE);
	tw_unlock(&tw_engine.lock);
	if (after > before)
		tell_memory(t, before, after - before, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, "[heap]");
	else if (after < before)
		tell_unmap(t, after, before - after);
	return (i64)r;
}

/*
 * Writes to code are detected by removing the right to write (code/memory.h), which a sealed mapping could never get
 * back: for such memory the call does not exist, as on older kernels.
 */
i64 tw_sys_mseal(struct thread *t, const u64 *a)
{
	const u64 end = a[0] + tw_page_up(a[1]);
	tw_lock(&tw_engine.lock);
	const bool written = tw_memory_any_writable_code(a[0], end) || tw_shared_any(a[0], end);
	tw_unlock(&tw_engine.lock);
	return written ? ENGINE_ENOSYS : tw_pass(t, a);
}

i64 tw_sys_mlockall(struct thread *t, const u64 *a)
{
	tw_lock(&tw_engine.lock);
	const i64 r = tw_mlock_all(a[0]);
	tw_unlock(&tw_engine.lock);
	return r == TW_MLOCK_PASS ? tw_pass(t, a) : r;
}

i64 tw_sys_munlockall(struct thread *t, const u64 *a)
{
	tw_munlock_all();
	return tw_pass(t, a);
}

/* Values that older headers do not have. */
enum { ADVICE_DONTNEED_LOCKED = 24, ADVICE_GUARD_INSTALL = 102 };

/* May the contents change afterwards, to the file's or to zeros? */
static bool drops(u64 advice)
{
	return advice == MADV_DONTNEED || advice == ADVICE_DONTNEED_LOCKED || advice == MADV_FREE || advice == MADV_REMOVE ||
	       advice == ADVICE_GUARD_INSTALL;
}

/* Will a forked process have other contents there, or nothing? */
static bool drops_in_forks(u64 advice)
{
	return advice == MADV_DONTFORK || advice == MADV_WIPEONFORK;
}

/* This advice has been given for [start, start + bytes). If there is a hole, something may have been done all the same. */
static void advised(u64 start, u64 bytes, u64 advice)
{
	if (!bytes || start + bytes < start || (!drops(advice) && !drops_in_forks(advice)))
		return;
	const u64 end = start + tw_page_up(bytes);
	tw_lock(&tw_engine.lock);
	if (!tw_memory_any_code(start, end))
		; /* nothing was translated from it */
	else if (drops(advice))
		tw_memory_written(start, end - 1);
	else
		tw_memory_forks_differ();
	tw_unlock(&tw_engine.lock);
}

i64 tw_sys_madvise(struct thread *t, const u64 *a)
{
	if (tw_memory_is_engine(a[0], a[1]))
		return ENGINE_EINVAL;
	const i64 r = tw_pass(t, a);
	advised(a[0], a[1], (u32)a[2]);
	return r;
}

/* Since Linux 6.13 a process may give itself any advice so. Of another process's memory, these addresses only cost some translations. */
i64 tw_sys_process_madvise(struct thread *t, const u64 *a)
{
	enum { MOST_PIECES = 1024 };
	struct {
		u64 start, bytes;
	} piece;
	const i64 r = tw_pass(t, a);
	for (u64 k = 0; r > 0 && k < a[2] && k < MOST_PIECES && tw_copy(&piece, (const void *)(a[1] + k * sizeof piece), sizeof piece); k++)
		advised(piece.start, piece.bytes, (u32)a[3]);
	return r;
}

i64 tw_sys_personality(struct thread *t, const u64 *a)
{
	i64 r = tw_pass(t, a);
	if (!tw_failed(r) && (u32)a[0] != ~0u)
		read_implies_exec = (a[0] & READ_IMPLIES_EXEC) != 0;
	return r;
}
