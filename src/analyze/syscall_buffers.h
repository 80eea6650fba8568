/*
 * Memory that the kernel reads or fills for a system call, as far as its arguments, its result and the pieces told with it say.
 */
#ifndef TW_SYSCALL_BUFFERS_H
#define TW_SYSCALL_BUFFERS_H

#include <stddef.h>
#include <trackway/event.h>

enum { TW_SYSCALL_BUFFERS = TW_SYSCALL_PIECES + 4 };

/* `type`: TW_WRITE: it has filled all of them; TW_READ: it has read them. Each has a byte at least. */
struct tw_syscall_buffers {
	size_t n;
	int type;
	struct tw_syscall_piece buffer[TW_SYSCALL_BUFFERS];
};

/* `bytes`: of the event's payload. */
void tw_syscall_buffers(const struct tw_syscall *call, uint32_t bytes, struct tw_syscall_buffers *out);

#endif
