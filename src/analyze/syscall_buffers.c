#include "analyze/syscall_buffers.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <trackway/analyzer.h>

/* How many bytes there are: so many as the result says, or, where the call has worked, so many. */
enum { BY_RESULT = 0 };

struct buffer {
	uint16_t number;
	uint8_t argument; /* where the buffer is */
	uint8_t type;
	uint16_t bytes;
};

static const struct buffer known[] = {
    {SYS_read, 1, TW_WRITE, BY_RESULT},
    {SYS_pread64, 1, TW_WRITE, BY_RESULT},
    {SYS_recvfrom, 1, TW_WRITE, BY_RESULT},
    {SYS_readlink, 1, TW_WRITE, BY_RESULT},
    {SYS_readlinkat, 2, TW_WRITE, BY_RESULT},
    {SYS_getdents64, 1, TW_WRITE, BY_RESULT},
    {SYS_getrandom, 0, TW_WRITE, BY_RESULT},
    {SYS_getcwd, 0, TW_WRITE, BY_RESULT},
    {SYS_write, 1, TW_READ, BY_RESULT},
    {SYS_pwrite64, 1, TW_READ, BY_RESULT},
    {SYS_sendto, 1, TW_READ, BY_RESULT},
    {SYS_stat, 1, TW_WRITE, sizeof(struct stat)},
    {SYS_fstat, 1, TW_WRITE, sizeof(struct stat)},
    {SYS_lstat, 1, TW_WRITE, sizeof(struct stat)},
    {SYS_newfstatat, 2, TW_WRITE, sizeof(struct stat)},
    {SYS_pipe, 0, TW_WRITE, 2 * sizeof(int)},
    {SYS_pipe2, 0, TW_WRITE, 2 * sizeof(int)},
    {SYS_socketpair, 3, TW_WRITE, 2 * sizeof(int)},
    {SYS_uname, 0, TW_WRITE, sizeof(struct utsname)},
};

int tw_syscall_buffer(const struct tw_syscall *call, uint64_t *addr, uint64_t *bytes)
{
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		const struct buffer *b = &known[i];
		if (call->number != b->number)
			continue;
		const int64_t n = b->bytes == BY_RESULT || call->result < 0 ? call->result : b->bytes;
		*addr = call->args[b->argument];
		*bytes = n > 0 ? (uint64_t)n : 0;
		return n > 0 && *addr ? b->type : 0;
	}
	return 0;
}
