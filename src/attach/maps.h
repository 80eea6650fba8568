/*
 * The memory map of a process, from /proc.
 */
#ifndef TW_MAPS_H
#define TW_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_maps_line {
	uint64_t start, end, offset, device, inode;
	int prot, shared; /* prot: as mmap has it */
	char path[4096];  /* "" if it has none */
};

/* Calls `each` for every mapping, in order, until a call returns something other than 0, which is returned. -1: the map cannot be read. */
int tw_maps_each(pid_t pid, int (*each)(void *context, const struct tw_maps_line *line), void *context);

/* The address of a system call instruction in the process's code, in the vDSO if there is one; 0: not found. */
uint64_t tw_maps_find_call(pid_t pid);

/* The whole file `name` from the process's directory in /proc, with a final NUL; allocated, *n bytes. NULL: empty or unreadable. */
char *tw_proc_read(pid_t pid, const char *name, size_t *n);

#endif
