#include "engine/kernel/syscall_tell.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include <asm/unistd.h>
#include <trackway/event.h>

/* Which arguments of a call are file names: one bit each. */
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

/* The file names among the arguments, each with a NUL; returns the number of bytes. */
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

/* What describes the buffers of a call, and in which argument. */
enum told_by { NOTHING, PIECES, MESSAGE, MESSAGES, LENGTH };
static const struct {
	u8 told_by, argument;
} lists[] = {
    [__NR_readv] = {PIECES, 1},      [__NR_writev] = {PIECES, 1},           [__NR_preadv] = {PIECES, 1},
    [__NR_pwritev] = {PIECES, 1},    [__NR_preadv2] = {PIECES, 1},          [__NR_pwritev2] = {PIECES, 1},
    [__NR_vmsplice] = {PIECES, 1},   [__NR_process_vm_readv] = {PIECES, 1}, [__NR_process_vm_writev] = {PIECES, 1},
    [__NR_recvmsg] = {MESSAGE, 1},   [__NR_sendmsg] = {MESSAGE, 1},         [__NR_recvmmsg] = {MESSAGES, 1},
    [__NR_sendmmsg] = {MESSAGES, 1}, [__NR_recvfrom] = {LENGTH, 4},         [__NR_accept] = {LENGTH, 1},
    [__NR_accept4] = {LENGTH, 1},    [__NR_getsockname] = {LENGTH, 1},      [__NR_getpeername] = {LENGTH, 1},
    [__NR_getsockopt] = {LENGTH, 3},
};

struct pieces {
	struct tw_syscall_piece piece[TW_SYSCALL_PIECES];
	u32 n;
};

static void add_piece(struct pieces *p, u64 addr, u64 bytes)
{
	if (addr && bytes && p->n < TW_SYSCALL_PIECES)
		p->piece[p->n++] = (struct tw_syscall_piece){addr, bytes};
}

/* The first so many bytes of a buffer in n pieces. */
static void add_vector(struct pieces *p, u64 at, u64 n, u64 bytes)
{
	struct tw_syscall_piece v;
	for (u64 i = 0; i < n && bytes && p->n < TW_SYSCALL_PIECES && tw_copy(&v, (const void *)(at + i * sizeof v), sizeof v); i++) {
		const u64 taken = v.bytes < bytes ? v.bytes : bytes;
		add_piece(p, v.addr, taken);
		bytes -= taken;
	}
}

/*
 * Adds the data, the peer's name and ancillary data; for a receiving call (`receives`), also the length of the name.
 * `bytes` of data; UINT64_MAX: as the message says, for sendmmsg and recvmmsg.
 */
static void add_message(struct pieces *p, u64 at, u64 bytes, bool receives)
{
	struct {
		u64 name;
		u32 name_bytes, padding;
		u64 vector, n;
		u64 control, control_bytes;
		u64 flags;
		u32 bytes;
	} m = {0};
	if (!tw_copy(&m, (const void *)at, bytes == UINT64_MAX ? sizeof m : __builtin_offsetof(__typeof__(m), bytes)))
		return;
	add_vector(p, m.vector, m.n, bytes == UINT64_MAX ? m.bytes : bytes);
	add_piece(p, m.name, m.name_bytes);
	add_piece(p, m.control, m.control_bytes);
	add_piece(p, receives && m.name ? at + __builtin_offsetof(__typeof__(m), name_bytes) : 0, sizeof m.name_bytes);
}

static void add_length(struct pieces *p, u64 addr, u64 at)
{
	u32 bytes;
	if (at && tw_copy(&bytes, (const void *)at, sizeof bytes))
		add_piece(p, addr, bytes);
}

/* Memory that the kernel has read or filled, if structures in memory describe it; returns the bytes of the list. */
static u32 put_pieces(struct pieces *p, u64 nr, const u64 *a, i64 result)
{
	enum { MESSAGE_BYTES = 64 };
	p->n = 0;
	if (nr >= sizeof lists / sizeof lists[0] || result < 0)
		return 0;
	const u64 at = a[lists[nr].argument];
	const bool receives = nr == __NR_recvmsg || nr == __NR_recvmmsg;
	switch (lists[nr].told_by) {
	case PIECES:
		add_vector(p, at, a[2], (u64)result);
		break;
	case MESSAGE:
		add_message(p, at, (u64)result, receives);
		break;
	case MESSAGES:
		for (i64 i = 0; i < result && p->n < TW_SYSCALL_PIECES; i++)
			add_message(p, at + (u64)i * MESSAGE_BYTES, UINT64_MAX, receives);
		break;
	case LENGTH:
		add_length(p, at, a[lists[nr].argument + 1]);
		break;
	default:
		break;
	}
	return p->n * (u32)sizeof p->piece[0];
}

void tw_syscall_tell(struct thread *t, u64 nr, const u64 *a, i64 result, u64 began, u64 pc)
{
	union {
		char paths[2 * PATH_SHOWN];
		struct pieces pieces;
	} more;
	if (!tw_recorder.whole->records)
		return;
	u32 n = put_paths(more.paths, nr, a);
	n = n ? n : put_pieces(&more.pieces, nr, a, result);
	struct tw_syscall e = {nr, {a[0], a[1], a[2], a[3], a[4], a[5]}, result, tw_buffer_time(t), began, pc};
	tw_buffer_event(t, TW_EVENT_SYSCALL, &e, sizeof e, &more, n);
}
