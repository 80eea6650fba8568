/*
 * Memory that the kernel reads or fills for a system call, as far as its arguments, its result and the pieces told with it say.
 */
#ifndef TW_SYSCALL_BUFFERS_H
#define TW_SYSCALL_BUFFERS_H

#include <stddef.h>
#include <trackway/event.h>

enum { TW_SYSCALL_BUFFERS = TW_SYSCALL_PIECES + 4 };

/* `type`: TW_WRITE: it has filled them; TW_READ: it has read them. There is a byte at least. */
struct tw_syscall_buffer {
	uint64_t addr, bytes;
	int type;
};

struct tw_syscall_buffers {
	size_t n;
	struct tw_syscall_buffer buffer[TW_SYSCALL_BUFFERS];
};

/* How many pieces are told with a call, behind it; 0 too where it has none, but a file's name. `bytes`: of the event's payload. */
size_t tw_syscall_n_pieces(const struct tw_syscall *call, uint32_t bytes);

/* `bytes`: as above. */
void tw_syscall_buffers(const struct tw_syscall *call, uint32_t bytes, struct tw_syscall_buffers *out);

#endif
