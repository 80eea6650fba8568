#include "engine/kernel/syscall_tell.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include <asm/unistd.h>

/* Which arguments of a call are names of files: a bit for each. */
static const u8 path_arguments[] = {
    [__NR_open] = 1,         [__NR_stat] = 1,       [__NR_lstat] = 1,      [__NR_access] = 1,   [__NR_execve] = 1,
    [__NR_truncate] = 1,     [__NR_chdir] = 1,      [__NR_rename] = 3,     [__NR_mkdir] = 1,    [__NR_rmdir] = 1,
    [__NR_creat] = 1,        [__NR_link] = 3,       [__NR_unlink] = 1,     [__NR_symlink] = 3,  [__NR_readlink] = 1,
    [__NR_chmod] = 1,        [__NR_chown] = 1,      [__NR_lchown] = 1,     [__NR_mknod] = 1,    [__NR_statfs] = 1,
    [__NR_chroot] = 1,       [__NR_getxattr] = 1,   [__NR_utimes] = 1,     [__NR_openat] = 2,   [__NR_mkdirat] = 2,
    [__NR_mknodat] = 2,      [__NR_fchownat] = 2,   [__NR_newfstatat] = 2, [__NR_unlinkat] = 2, [__NR_renameat] = 10,
    [__NR_linkat] = 10,      [__NR_symlinkat] = 5,  [__NR_readlinkat] = 2, [__NR_fchmodat] = 2, [__NR_faccessat] = 2,
    [__NR_utimensat] = 2,    [__NR_renameat2] = 10, [__NR_statx] = 2,      [__NR_openat2] = 2,  [__NR_faccessat2] = 2,
    [__NR_memfd_create] = 1,
};
enum { PATH_SHOWN = 256 }; /* of one that is longer only the beginning is told */

/* The names of files among the arguments, one after the other with a NUL behind each; returns how many bytes they are. */
static u32 put_paths(char *to, u64 nr, const u64 *a)
{
	const u8 which = nr < sizeof path_arguments ? path_arguments[nr] : 0;
	u32 n = 0;
	for (u32 i = 0; i < 6; i++) {
		if (!(which >> i & 1))
			continue;
		if (!tw_copy_string(to + n, (const char *)a[i], PATH_SHOWN))
			to[n + PATH_SHOWN - 1] = 0;
		n += (u32)strlen(to + n) + 1;
	}
	return n;
}

void tw_syscall_tell(struct thread *t, u64 nr, const u64 *a, i64 result, u64 began, u64 pc)
{
	char paths[2 * PATH_SHOWN] = "";
	if (!tw_recorder.whole->records)
		return;
	const u32 n = put_paths(paths, nr, a);
	struct tw_syscall e = {nr, {a[0], a[1], a[2], a[3], a[4], a[5]}, result, tw_buffer_time(t), began, pc};
	tw_buffer_event(t, TW_EVENT_SYSCALL, &e, sizeof e, paths, n);
}
