/*
 * Memory that the kernel reads or fills for a system call, as far as known from its arguments, its result and the
 * recorded pieces.
 */
#ifndef TW_SYSCALL_BUFFERS_H
#define TW_SYSCALL_BUFFERS_H

#include <stddef.h>
#include <trackway/event.h>

enum { TW_SYSCALL_BUFFERS = TW_SYSCALL_PIECES + 4 };

/* `type`: TW_WRITE: filled; TW_READ: read. At least one byte. */
struct tw_syscall_buffer {
	uint64_t addr, bytes;
	int type;
};

struct tw_syscall_buffers {
	size_t n;
	struct tw_syscall_buffer buffer[TW_SYSCALL_BUFFERS];
};

/* Number of pieces recorded with a call, after it; 0 also if it has none but a file's name. `bytes`: of the event's payload. */
size_t tw_syscall_n_pieces(const struct tw_syscall *call, uint32_t bytes);

/* `bytes`: as above. */
void tw_syscall_buffers(const struct tw_syscall *call, uint32_t bytes, struct tw_syscall_buffers *out);

#endif
