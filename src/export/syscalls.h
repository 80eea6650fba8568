/*
 * System calls as text: openat(AT_FDCWD, "/etc/passwd", 0x80000, 0) = 3. Names are those of the kernel's headers that Trackway was built with; how many arguments a call takes, and
 * what they are, is in a table here; of one that is not in it all six are shown.
 */
#ifndef TW_SYSCALLS_H
#define TW_SYSCALLS_H

#include "base/text.h"

#include <stdint.h>
#include <trackway/event.h>

/* The name of a call; NULL: it has none here. `number` as in struct tw_syscall. */
const char *tw_syscall_name(uint64_t number);

/* The call with its arguments and its result, without an end of line. `bytes`: of the event's payload. */
void tw_syscall_print(struct tw_text *t, const struct tw_syscall *call, uint32_t bytes);

#endif
