#include "engine/kernel/file_calls.h"
#include "engine/code/memory.h"
#include "engine/code/shared.h"
#include "engine/kernel/pass.h"
#include "engine/kernel/process.h"
#include "engine/kernel/status.h"
#include <asm/fcntl.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/uio.h>

/* The kernel writes no more at once. */
#define MOST_WRITTEN (1ull << 31)

/* ---- paths ---- */

static i64 give_exe(const char *exe, u64 buf, u64 size)
{
	u64 n = strlen(exe);
	n = n < size ? n : size;
	if ((i64)size <= 0)
		return ENGINE_EINVAL;
	return tw_copy((void *)buf, exe, n) ? (i64)n : ENGINE_EFAULT;
}

i64 tw_sys_readlink(struct thread *t, const u64 *a)
{
	const char *exe = tw_process_exe(AT_FDCWD, a[0]);
	return exe ? give_exe(exe, a[1], a[2]) : tw_pass(t, a);
}

i64 tw_sys_readlinkat(struct thread *t, const u64 *a)
{
	const char *exe = tw_process_exe((i32)a[0], a[1]);
	return exe ? give_exe(exe, a[2], a[3]) : tw_pass(t, a);
}

/*
 * Makes the call, with a path through /proc that names a program replaced. `k`: the path's argument; the directory's,
 * if any, precedes it.
 */
static i64 follow_exe(struct thread *t, const u64 *a, unsigned k, u64 not_if)
{
	const char *exe = not_if ? NULL : tw_process_exe(k ? (i32)a[k - 1] : AT_FDCWD, a[k]);
	u64 b[6];
	if (!exe)
		return tw_pass(t, a);
	memcpy(b, a, sizeof b);
	b[k] = (u64)exe;
	return tw_pass_with(t, t->kernel->call, b);
}

/* Has a file "mem" been opened? Until then, writes are not checked for it. */
static bool memory_opened;

/* Handles the result of an open with these flags: reads or writes of this file may need emulation. */
static i64 opened(i64 fd, u64 path, u64 flags)
{
	char p[256];
	if (tw_failed(fd))
		return fd;
	if (flags & O_TRUNC)
		tw_shared_file_written((int)fd);
	const char *name = tw_copy_string(p, (const void *)path, sizeof p) ? tw_base_name(p) : "";
	tw_status_opened((u64)fd, name);
	if (!memory_opened && tw_streq(name, "mem") && tw_status_in_proc((u64)fd))
		memory_opened = true;
	return fd;
}

i64 tw_sys_open(struct thread *t, const u64 *a)
{
	return opened(follow_exe(t, a, 0, a[1] & O_NOFOLLOW), a[0], a[1]);
}

i64 tw_sys_creat(struct thread *t, const u64 *a)
{
	return opened(tw_pass(t, a), a[0], O_TRUNC);
}

i64 tw_sys_truncate(struct thread *t, const u64 *a)
{
	const i64 r = tw_pass(t, a);
	if (!tw_failed(r))
		tw_shared_path_written(a[0]);
	return r;
}

/* stat, access, statfs, getxattr, listxattr, chmod, chown, mount */
i64 tw_sys_path(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 0, 0);
}

i64 tw_sys_openat(struct thread *t, const u64 *a)
{
	return opened(follow_exe(t, a, 1, a[2] & O_NOFOLLOW), a[1], a[2]);
}

/*
 * Any restriction of the path's resolution (RESOLVE_*) excludes such links in its way; with RESOLVE_CACHED, the
 * kernel does not follow them either.
 */
i64 tw_sys_openat2(struct thread *t, const u64 *a)
{
	struct open_how how = {0};
	const bool follows = a[3] >= sizeof how && tw_copy(&how, (const void *)a[2], sizeof how) && !how.resolve;
	return opened(follow_exe(t, a, 1, !follows || (how.flags & O_NOFOLLOW)), a[1], how.flags);
}

/* faccessat, fchmodat: there are no flags */
i64 tw_sys_faccessat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, 0);
}

i64 tw_sys_faccessat2(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[3] & AT_SYMLINK_NOFOLLOW);
}

i64 tw_sys_newfstatat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[3] & AT_SYMLINK_NOFOLLOW);
}

/* statx, open_tree */
i64 tw_sys_statx(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[2] & AT_SYMLINK_NOFOLLOW);
}

/* fchownat, linkat: the flags are the fifth argument; linkat follows a link only if they say so */
i64 tw_sys_fchownat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, a[4] & AT_SYMLINK_NOFOLLOW);
}

i64 tw_sys_linkat(struct thread *t, const u64 *a)
{
	return follow_exe(t, a, 1, !(a[4] & AT_SYMLINK_FOLLOW));
}

/* ---- reads ---- */

static i64 position(u64 fd)
{
	return tw_sys(__NR_lseek, fd, 0, SEEK_CUR);
}

/* The same for a read into one piece, at the file's position. */
static i64 read_piece(struct thread *t, const u64 *a, u64 to, u64 n)
{
	i64 r = tw_status_known(a[0]) ? tw_status_read(a[0], (u64)position(a[0]), to, n, true) : TW_STATUS_PASS;
	if (r != TW_STATUS_PASS)
		return r;
	r = tw_pass(t, a);
	if (!tw_status_begins(to, r) || position(a[0]) != r)
		return r;
	const i64 again = tw_status_read(a[0], 0, to, n, true);
	return again == TW_STATUS_PASS ? r : again;
}

i64 tw_sys_read(struct thread *t, const u64 *a)
{
	return read_piece(t, a, a[1], a[2]);
}

/* Reads into the first of several pieces only: readv may return less than would fit. */
i64 tw_sys_readv(struct thread *t, const u64 *a)
{
	u64 piece[2];
	return a[2] && tw_copy(piece, (void *)a[1], sizeof piece) ? read_piece(t, a, piece[0], piece[1]) : tw_pass(t, a);
}

i64 tw_sys_pread64(struct thread *t, const u64 *a)
{
	i64 r = tw_status_known(a[0]) ? tw_status_read(a[0], a[3], a[1], a[2], false) : TW_STATUS_PASS;
	if (r != TW_STATUS_PASS)
		return r;
	r = tw_pass(t, a);
	if (a[3] || !tw_status_begins(a[1], r))
		return r;
	const i64 again = tw_status_read(a[0], 0, a[1], a[2], false);
	return again == TW_STATUS_PASS ? r : again;
}

/* ---- writes ---- */

/* The address to which this call writes, if the file is a process's memory. */
static u64 memory_start(const struct thread *t, const u64 *a, int fd)
{
	const u64 nr = t->kernel->call;
	const bool at_offset = nr == __NR_pwrite64 || nr == __NR_pwritev || (nr == __NR_pwritev2 && a[3] != ~0ull);
	return at_offset ? a[3] : (u64)position((u64)fd);
}

/* How many bytes it would write. */
static u64 memory_bytes(const struct thread *t, const u64 *a)
{
	const u64 nr = t->kernel->call;
	struct iovec v;
	u64 n = 0;
	if (nr == __NR_write || nr == __NR_pwrite64)
		return a[2];
	if (nr != __NR_writev && nr != __NR_pwritev && nr != __NR_pwritev2)
		return 0;
	for (u64 k = 0; k < a[2] && k < UIO_MAXIOV && tw_copy(&v, (const void *)(a[1] + k * sizeof v), sizeof v); k++)
		n += v.iov_len;
	return n;
}

/* Unwatches pages there, since the kernel would refuse shared ones, and makes the code translated from them stale. */
static void memory_written(u64 start, u64 bytes)
{
	if (!bytes || start + bytes <= start)
		return;
	tw_lock(&tw_engine.lock);
	tw_memory_unwatch_range(start, bytes);
	tw_memory_written(start, start + bytes - 1);
	tw_unlock(&tw_engine.lock);
}

static i64 change_memory(struct thread *t, const u64 *a, int fd)
{
	const u64 start = memory_start(t, a, fd), bytes = memory_bytes(t, a), most = bytes < MOST_WRITTEN ? bytes : MOST_WRITTEN;
	memory_written(start, most);
	const i64 r = tw_pass(t, a);
	memory_written(start, r > 0 ? (u64)r : 0);
	return r;
}

static i64 change(struct thread *t, const u64 *a, int fd)
{
	if (memory_opened && tw_status_in_proc((u64)fd))
		return change_memory(t, a, fd);
	const i64 r = tw_pass(t, a);
	if (r >= 0)
		tw_shared_file_written(fd);
	return r;
}

i64 tw_sys_change_first(struct thread *t, const u64 *a)
{
	return change(t, a, (int)a[0]);
}

i64 tw_sys_change_third(struct thread *t, const u64 *a)
{
	return change(t, a, (int)a[2]);
}
