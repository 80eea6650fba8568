/*
 * System calls as text: openat(AT_FDCWD, "/etc/passwd", 0x80000, 0) = 3. Names come from the kernel headers with
 * which Trackway was built. A table here has the number and kinds of a call's arguments; of a call that is not in it,
 * all six are shown.
 */
#ifndef TW_SYSCALLS_H
#define TW_SYSCALLS_H

#include "base/text.h"

#include <stdint.h>
#include <trackway/event.h>

/* The name of a call; NULL: unknown here. `number` as in struct tw_syscall. */
const char *tw_syscall_name(uint64_t number);

/* The call with arguments and result, without an end of line. `bytes`: of the event's payload. */
void tw_syscall_print(struct tw_text *t, const struct tw_syscall *call, uint32_t bytes);

#endif
