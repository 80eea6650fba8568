#include "export/syscalls.h"
#include "analyze/syscall_buffers.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <string.h>

/* Texts are in the tables themselves: pointers would be relocated at each start of the tool. */
enum { LONGEST_NAME = 31, MOST_ARGUMENTS = 6 };

static const char names[][LONGEST_NAME + 1] = {
#include "syscall_names_64.h"
};
static const char names32[][LONGEST_NAME + 1] = {
#include "syscall_names_32.h"
};

/*
 * One letter for each argument: i a number, u an unsigned one, x hexadecimal (addresses, flags), o octal, d a file
 * descriptor, D a directory's descriptor, p a file name. - is none.
 */
static const char arguments[][MOST_ARGUMENTS + 1] = {
    [__NR_read] = "dxu",
    [__NR_write] = "dxu",
    [__NR_open] = "pxo",
    [__NR_close] = "d",
    [__NR_stat] = "px",
    [__NR_fstat] = "dx",
    [__NR_lstat] = "px",
    [__NR_poll] = "xui",
    [__NR_lseek] = "dii",
    [__NR_mmap] = "xuxxdx",
    [__NR_mprotect] = "xux",
    [__NR_munmap] = "xu",
    [__NR_brk] = "x",
    [__NR_rt_sigaction] = "ixxu",
    [__NR_rt_sigprocmask] = "ixxu",
    [__NR_rt_sigreturn] = "-",
    [__NR_ioctl] = "dxx",
    [__NR_pread64] = "dxui",
    [__NR_pwrite64] = "dxui",
    [__NR_readv] = "dxu",
    [__NR_writev] = "dxu",
    [__NR_access] = "po",
    [__NR_pipe] = "x",
    [__NR_select] = "ixxxx",
    [__NR_sched_yield] = "-",
    [__NR_mremap] = "xuuxx",
    [__NR_msync] = "xux",
    [__NR_madvise] = "xui",
    [__NR_dup] = "d",
    [__NR_dup2] = "dd",
    [__NR_pause] = "-",
    [__NR_nanosleep] = "xx",
    [__NR_alarm] = "u",
    [__NR_setitimer] = "ixx",
    [__NR_getpid] = "-",
    [__NR_sendfile] = "ddxu",
    [__NR_socket] = "ixi",
    [__NR_connect] = "dxu",
    [__NR_accept] = "dxx",
    [__NR_sendto] = "dxuxxu",
    [__NR_recvfrom] = "dxuxxx",
    [__NR_sendmsg] = "dxx",
    [__NR_recvmsg] = "dxx",
    [__NR_shutdown] = "di",
    [__NR_bind] = "dxu",
    [__NR_listen] = "di",
    [__NR_getsockname] = "dxx",
    [__NR_getpeername] = "dxx",
    [__NR_socketpair] = "ixix",
    [__NR_setsockopt] = "diixu",
    [__NR_getsockopt] = "diixx",
    [__NR_clone] = "xxxxx",
    [__NR_fork] = "-",
    [__NR_vfork] = "-",
    [__NR_execve] = "pxx",
    [__NR_exit] = "i",
    [__NR_wait4] = "ixxx",
    [__NR_kill] = "ii",
    [__NR_uname] = "x",
    [__NR_fcntl] = "dix",
    [__NR_flock] = "di",
    [__NR_fsync] = "d",
    [__NR_fdatasync] = "d",
    [__NR_truncate] = "pi",
    [__NR_ftruncate] = "di",
    [__NR_getdents] = "dxu",
    [__NR_getcwd] = "xu",
    [__NR_chdir] = "p",
    [__NR_fchdir] = "d",
    [__NR_rename] = "pp",
    [__NR_mkdir] = "po",
    [__NR_rmdir] = "p",
    [__NR_creat] = "po",
    [__NR_link] = "pp",
    [__NR_unlink] = "p",
    [__NR_symlink] = "pp",
    [__NR_readlink] = "pxu",
    [__NR_chmod] = "po",
    [__NR_fchmod] = "do",
    [__NR_chown] = "puu",
    [__NR_fchown] = "duu",
    [__NR_lchown] = "puu",
    [__NR_umask] = "o",
    [__NR_gettimeofday] = "xx",
    [__NR_getrlimit] = "ix",
    [__NR_getrusage] = "ix",
    [__NR_sysinfo] = "x",
    [__NR_times] = "x",
    [__NR_getuid] = "-",
    [__NR_getgid] = "-",
    [__NR_setuid] = "u",
    [__NR_setgid] = "u",
    [__NR_geteuid] = "-",
    [__NR_getegid] = "-",
    [__NR_setpgid] = "ii",
    [__NR_getppid] = "-",
    [__NR_getpgrp] = "-",
    [__NR_setsid] = "-",
    [__NR_getpgid] = "i",
    [__NR_sigaltstack] = "xx",
    [__NR_mknod] = "pox",
    [__NR_statfs] = "px",
    [__NR_fstatfs] = "dx",
    [__NR_prctl] = "ixxxx",
    [__NR_arch_prctl] = "xx",
    [__NR_setrlimit] = "ix",
    [__NR_chroot] = "p",
    [__NR_sync] = "-",
    [__NR_gettid] = "-",
    [__NR_getxattr] = "pxxu",
    [__NR_tkill] = "ii",
    [__NR_time] = "x",
    [__NR_futex] = "xiuxxu",
    [__NR_sched_setaffinity] = "iux",
    [__NR_sched_getaffinity] = "iux",
    [__NR_epoll_create] = "i",
    [__NR_getdents64] = "dxu",
    [__NR_set_tid_address] = "x",
    [__NR_fadvise64] = "diii",
    [__NR_timer_create] = "ixx",
    [__NR_clock_gettime] = "ix",
    [__NR_clock_getres] = "ix",
    [__NR_clock_nanosleep] = "iixx",
    [__NR_exit_group] = "i",
    [__NR_epoll_wait] = "dxii",
    [__NR_epoll_ctl] = "didx",
    [__NR_tgkill] = "iii",
    [__NR_utimes] = "px",
    [__NR_waitid] = "iixxx",
    [__NR_inotify_add_watch] = "dpx",
    [__NR_openat] = "Dpxo",
    [__NR_mkdirat] = "Dpo",
    [__NR_mknodat] = "Dpox",
    [__NR_fchownat] = "Dpuux",
    [__NR_newfstatat] = "Dpxx",
    [__NR_unlinkat] = "Dpx",
    [__NR_renameat] = "DpDp",
    [__NR_linkat] = "DpDpx",
    [__NR_symlinkat] = "pDp",
    [__NR_readlinkat] = "Dpxu",
    [__NR_fchmodat] = "Dpo",
    [__NR_faccessat] = "Dpo",
    [__NR_pselect6] = "ixxxxx",
    [__NR_ppoll] = "xuxxu",
    [__NR_set_robust_list] = "xu",
    [__NR_splice] = "dxdxux",
    [__NR_utimensat] = "Dpxx",
    [__NR_epoll_pwait] = "dxiixu",
    [__NR_timerfd_create] = "ix",
    [__NR_eventfd] = "u",
    [__NR_fallocate] = "diii",
    [__NR_timerfd_settime] = "dxxx",
    [__NR_accept4] = "dxxx",
    [__NR_eventfd2] = "ux",
    [__NR_epoll_create1] = "x",
    [__NR_dup3] = "ddx",
    [__NR_pipe2] = "xx",
    [__NR_inotify_init1] = "x",
    [__NR_prlimit64] = "iixx",
    [__NR_syncfs] = "d",
    [__NR_getcpu] = "xxx",
    [__NR_renameat2] = "DpDpx",
    [__NR_getrandom] = "xux",
    [__NR_memfd_create] = "px",
    [__NR_membarrier] = "ixi",
    [__NR_copy_file_range] = "dxdxux",
    [__NR_statx] = "Dpxxx",
    [__NR_rseq] = "xuxx",
    [__NR_clone3] = "xu",
    [__NR_close_range] = "uux",
    [__NR_openat2] = "Dpxu",
    [__NR_faccessat2] = "Dpox",
};

/* NULL: it has none. */
#define ITEM(table, i) ((i) < sizeof(table) / sizeof *(table) && *(table)[i] ? (table)[i] : NULL)

const char *tw_syscall_name(uint64_t number)
{
	return number & TW_SYSCALL_INT80 ? ITEM(names32, number & ~(uint64_t)TW_SYSCALL_INT80) : ITEM(names, number);
}

/* A quoted file name; moves *at behind it. */
static void print_path(struct tw_text *t, const char **at, const char *end, uint64_t address)
{
	const char *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
	if (!nul || !address) {
		tw_text_printf(t, address ? "0x%llx" : "NULL", (unsigned long long)address);
	} else {
		tw_text_put(t, "\"", 1);
		tw_text_safe(t, *at);
		tw_text_put(t, "\"", 1);
	}
	*at = nul ? nul + 1 : end;
}

static void print_argument(struct tw_text *t, char kind, uint64_t value)
{
	switch (kind) {
	case 'D':
	case 'd':
	case 'i':
		if (kind == 'D' && (int)value == AT_FDCWD)
			tw_text_printf(t, "AT_FDCWD");
		else
			tw_text_printf(t, "%lld",
			               kind == 'i' && value >> 32 && value >> 32 != UINT32_MAX ? (long long)value : (long long)(int)value);
		break;
	case 'u':
		tw_text_printf(t, "%llu", (unsigned long long)value);
		break;
	case 'o':
		tw_text_printf(t, (uint32_t)value ? "0%llo" : "0", (unsigned long long)(uint32_t)value);
		break;
	default:
		tw_text_printf(t, value ? "0x%llx" : "0", (unsigned long long)value);
	}
}

static int gives_address(uint64_t number)
{
	return number == __NR_mmap || number == __NR_mremap || number == __NR_brk || number == __NR_shmat;
}

static void print_result(struct tw_text *t, uint64_t number, int64_t result)
{
	enum { LARGEST_ERROR = 4095 };
	const char *error = result < 0 && result >= -LARGEST_ERROR ? strerrorname_np((int)-result) : NULL;
	if (error)
		tw_text_printf(t, " = -1 %s", error);
	else
		tw_text_printf(t, gives_address(number) || result > UINT32_MAX || result < -LARGEST_ERROR ? " = 0x%llx" : " = %lld",
		               (long long)result);
}

/* Contents that the call read or filled, of the buffers in a list. */
static void print_pieces(struct tw_text *t, const struct tw_syscall *call, uint32_t bytes)
{
	const struct tw_syscall_piece *p = (const void *)(call + 1);
	const size_t n = tw_syscall_n_pieces(call, bytes);
	for (size_t i = 0; i < n; i++)
		tw_text_printf(t, "%s0x%llx+%llu", i ? ", " : " [", (unsigned long long)p[i].addr, (unsigned long long)p[i].bytes);
	tw_text_put(t, "]", n != 0);
}

void tw_syscall_print(struct tw_text *t, const struct tw_syscall *call, uint32_t bytes)
{
	const char *name = tw_syscall_name(call->number), *kinds = call->number & TW_SYSCALL_INT80 ? NULL : ITEM(arguments, call->number);
	const char *path = (const char *)(call + 1), *end = (const char *)call + bytes;
	if (name)
		tw_text_printf(t, "%s(", name);
	else
		tw_text_printf(t, "syscall_%llu(", (unsigned long long)(call->number & ~(uint64_t)TW_SYSCALL_INT80));
	kinds = kinds ? kinds : "xxxxxx";
	for (unsigned i = 0; kinds[i] && kinds[i] != '-'; i++) {
		if (i)
			tw_text_put(t, ", ", 2);
		if (kinds[i] == 'p')
			print_path(t, &path, end, call->args[i]);
		else
			print_argument(t, kinds[i], call->args[i]);
	}
	tw_text_put(t, ")", 1);
	print_result(t, call->number, call->result);
	print_pieces(t, call, bytes);
}
