/*
 * Memory that the kernel reads or fills for a system call, as far as its arguments and its result tell.
 */
#ifndef TW_SYSCALL_BUFFERS_H
#define TW_SYSCALL_BUFFERS_H

#include <trackway/event.h>

/* TW_WRITE: it has filled [*addr, *addr + *bytes), of one byte at least; TW_READ: it has read that; 0: neither is known. */
int tw_syscall_buffer(const struct tw_syscall *call, uint64_t *addr, uint64_t *bytes);

#endif
