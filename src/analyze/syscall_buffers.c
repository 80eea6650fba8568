#include "analyze/syscall_buffers.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <trackway/analyzer.h>

/* Number of bytes: a multiple of the result; or a fixed number if the call succeeded; or a fixed number if it also found something. */
enum counted { BY_RESULT, IF_IT_WORKED, IF_IT_FOUND };

enum { SIGNALS = 8, SIGACTION = 32, SIGINFO = 128, TERMIOS = 36 }; /* bytes, as the kernel has them */

struct buffer {
	uint16_t number;
	uint8_t argument; /* where the buffer is */
	uint8_t type;
	uint8_t counted;
	uint16_t bytes;
};

static const struct buffer known[] = {
    {SYS_read, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_pread64, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_recvfrom, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_readlink, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_readlinkat, 2, TW_WRITE, BY_RESULT, 1},
    {SYS_getdents64, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_getrandom, 0, TW_WRITE, BY_RESULT, 1},
    {SYS_getcwd, 0, TW_WRITE, BY_RESULT, 1},
    {SYS_getxattr, 2, TW_WRITE, BY_RESULT, 1},
    {SYS_epoll_wait, 1, TW_WRITE, BY_RESULT, sizeof(struct epoll_event)},
    {SYS_epoll_pwait, 1, TW_WRITE, BY_RESULT, sizeof(struct epoll_event)},
    {SYS_write, 1, TW_READ, BY_RESULT, 1},
    {SYS_pwrite64, 1, TW_READ, BY_RESULT, 1},
    {SYS_sendto, 1, TW_READ, BY_RESULT, 1},
    {SYS_stat, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct stat)},
    {SYS_fstat, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct stat)},
    {SYS_lstat, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct stat)},
    {SYS_newfstatat, 2, TW_WRITE, IF_IT_WORKED, sizeof(struct stat)},
    {SYS_statfs, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct statfs)},
    {SYS_fstatfs, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct statfs)},
    {SYS_pipe, 0, TW_WRITE, IF_IT_WORKED, 2 * sizeof(int)},
    {SYS_pipe2, 0, TW_WRITE, IF_IT_WORKED, 2 * sizeof(int)},
    {SYS_socketpair, 3, TW_WRITE, IF_IT_WORKED, 2 * sizeof(int)},
    {SYS_uname, 0, TW_WRITE, IF_IT_WORKED, sizeof(struct utsname)},
    {SYS_sysinfo, 0, TW_WRITE, IF_IT_WORKED, sizeof(struct sysinfo)},
    {SYS_times, 0, TW_WRITE, IF_IT_WORKED, sizeof(struct tms)},
    {SYS_getrusage, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct rusage)},
    {SYS_getrlimit, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct rlimit)},
    {SYS_prlimit64, 3, TW_WRITE, IF_IT_WORKED, sizeof(struct rlimit)},
    {SYS_gettimeofday, 0, TW_WRITE, IF_IT_WORKED, sizeof(struct timeval)},
    {SYS_clock_gettime, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct timespec)},
    {SYS_clock_getres, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct timespec)},
    {SYS_lgetxattr, 2, TW_WRITE, BY_RESULT, 1},
    {SYS_fgetxattr, 2, TW_WRITE, BY_RESULT, 1},
    {SYS_listxattr, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_llistxattr, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_flistxattr, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_sched_getaffinity, 2, TW_WRITE, BY_RESULT, 1},
    {SYS_mq_timedreceive, 1, TW_WRITE, BY_RESULT, 1},
    {SYS_getgroups, 1, TW_WRITE, BY_RESULT, sizeof(gid_t)},
    {SYS_recvfrom, 5, TW_WRITE, IF_IT_WORKED, sizeof(int)},
    {SYS_accept, 2, TW_WRITE, IF_IT_WORKED, sizeof(int)},
    {SYS_accept4, 2, TW_WRITE, IF_IT_WORKED, sizeof(int)},
    {SYS_getsockname, 2, TW_WRITE, IF_IT_WORKED, sizeof(int)},
    {SYS_getpeername, 2, TW_WRITE, IF_IT_WORKED, sizeof(int)},
    {SYS_getsockopt, 4, TW_WRITE, IF_IT_WORKED, sizeof(int)},
    {SYS_epoll_pwait2, 1, TW_WRITE, BY_RESULT, sizeof(struct epoll_event)},
    {SYS_statx, 4, TW_WRITE, IF_IT_WORKED, sizeof(struct statx)},
    {SYS_rt_sigaction, 2, TW_WRITE, IF_IT_WORKED, SIGACTION},
    {SYS_rt_sigprocmask, 2, TW_WRITE, IF_IT_WORKED, SIGNALS},
    {SYS_rt_sigtimedwait, 1, TW_WRITE, IF_IT_FOUND, SIGINFO},
    {SYS_sigaltstack, 1, TW_WRITE, IF_IT_WORKED, sizeof(stack_t)},
    {SYS_wait4, 1, TW_WRITE, IF_IT_FOUND, sizeof(int)},
    {SYS_wait4, 3, TW_WRITE, IF_IT_FOUND, sizeof(struct rusage)},
    {SYS_getitimer, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct itimerval)},
    {SYS_setitimer, 2, TW_WRITE, IF_IT_WORKED, sizeof(struct itimerval)},
    {SYS_timer_create, 2, TW_WRITE, IF_IT_WORKED, sizeof(int)},
    {SYS_timer_gettime, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct itimerspec)},
    {SYS_timer_settime, 3, TW_WRITE, IF_IT_WORKED, sizeof(struct itimerspec)},
    {SYS_timerfd_gettime, 1, TW_WRITE, IF_IT_WORKED, sizeof(struct itimerspec)},
    {SYS_timerfd_settime, 3, TW_WRITE, IF_IT_WORKED, sizeof(struct itimerspec)},
};

/* What ioctl fills. */
static const struct {
	uint16_t request, bytes;
} controls[] = {
    {TCGETS, TERMIOS},       {TIOCGWINSZ, sizeof(struct winsize)}, {FIONREAD, sizeof(int)},
    {TIOCOUTQ, sizeof(int)}, {TIOCGPGRP, sizeof(pid_t)},           {TIOCGSID, sizeof(pid_t)},
};

/* Calls whose pieces the kernel has read. */
static const uint16_t gathers[] = {
    SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_vmsplice, SYS_process_vm_writev, SYS_sendmsg, SYS_sendmmsg,
};

/* Calls whose pieces it has filled. */
static const uint16_t scatters[] = {
    SYS_readv,    SYS_preadv, SYS_preadv2, SYS_process_vm_readv, SYS_recvmsg,     SYS_recvmmsg,
    SYS_recvfrom, SYS_accept, SYS_accept4, SYS_getsockname,      SYS_getpeername, SYS_getsockopt,
};

static int is_one_of(const uint16_t *numbers, size_t n, uint64_t number)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return 1;
	return 0;
}

static void add(struct tw_syscall_buffers *out, int type, uint64_t addr, uint64_t bytes)
{
	if (addr && bytes && addr + bytes > addr && out->n < TW_SYSCALL_BUFFERS)
		out->buffer[out->n++] = (struct tw_syscall_buffer){addr, bytes, type};
}

static int has_filled(const struct buffer *b, const struct tw_syscall *call)
{
	return call->number == b->number && call->result >= (b->counted == IF_IT_FOUND);
}

static void add_known(struct tw_syscall_buffers *out, const struct tw_syscall *call)
{
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		const struct buffer *b = &known[i];
		if (has_filled(b, call))
			add(out, b->type, call->args[b->argument], b->counted == BY_RESULT ? b->bytes * (uint64_t)call->result : b->bytes);
	}
	for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
		if (call->number == SYS_ioctl && (uint32_t)call->args[1] == controls[i].request && call->result >= 0)
			add(out, TW_WRITE, call->args[2], controls[i].bytes);
}

/* Results for files that are waited for: in each struct pollfd; in sets, up to the word with the last file. */
static void add_waited_for(struct tw_syscall_buffers *out, const struct tw_syscall *call)
{
	const int polls = call->number == SYS_poll || call->number == SYS_ppoll,
	          selects = call->number == SYS_select || call->number == SYS_pselect6;
	if (call->result < 0)
		return;
	for (uint64_t i = 0; polls && i < call->args[1] && out->n < TW_SYSCALL_BUFFERS; i++)
		add(out, TW_WRITE, call->args[0] + i * sizeof(struct pollfd) + offsetof(struct pollfd, revents), sizeof(short));
	for (unsigned i = 1; selects && i <= 3; i++)
		add(out, TW_WRITE, call->args[i], (call->args[0] + 63) / 64 * sizeof(uint64_t));
}

/*
 * What the call writes into message headers: length of ancillary data, and flags, of a received message; for several
 * messages, the length of each, also when sending.
 */
static void add_headers(struct tw_syscall_buffers *out, const struct tw_syscall *call)
{
	enum {
		CONTROL_LENGTH = 40,
		FLAGS = 48,
		LENGTH = 56,
		ONE_OF_SEVERAL = 64
	}; /* bytes: in struct mmsghdr, which begins with a struct msghdr */
	const int receives = call->number == SYS_recvmsg || call->number == SYS_recvmmsg,
	          several = call->number == SYS_sendmmsg || call->number == SYS_recvmmsg;
	const int64_t n = several || call->result < 0 ? call->result : receives;
	for (int64_t i = 0; i < n && out->n < TW_SYSCALL_BUFFERS; i++) {
		const uint64_t at = call->args[1] + (uint64_t)i * ONE_OF_SEVERAL;
		add(out, TW_WRITE, receives ? at + CONTROL_LENGTH : 0, sizeof(uint64_t));
		add(out, TW_WRITE, receives ? at + FLAGS : 0, sizeof(int));
		add(out, TW_WRITE, several ? at + LENGTH : 0, sizeof(int));
	}
}

/* For a call that is told with pieces. 0: it is not. */
static int type_of_pieces(const struct tw_syscall *call)
{
	if (is_one_of(gathers, sizeof gathers / sizeof gathers[0], call->number))
		return TW_READ;
	return is_one_of(scatters, sizeof scatters / sizeof scatters[0], call->number) ? TW_WRITE : 0;
}

size_t tw_syscall_n_pieces(const struct tw_syscall *call, uint32_t bytes)
{
	return type_of_pieces(call) && bytes > sizeof *call ? (bytes - sizeof *call) / sizeof(struct tw_syscall_piece) : 0;
}

void tw_syscall_buffers(const struct tw_syscall *call, uint32_t bytes, struct tw_syscall_buffers *out)
{
	const struct tw_syscall_piece *p = (const void *)(call + 1);
	const int type = type_of_pieces(call);
	out->n = 0;
	add_known(out, call);
	add_waited_for(out, call);
	for (size_t n = tw_syscall_n_pieces(call, bytes); n-- > 0; p++)
		add(out, type, p->addr, p->bytes);
	add_headers(out, call);
}
