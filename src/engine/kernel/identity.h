/*
 * What the kernel shows others of the process - /proc/PID/cmdline, environ, auxv, the names in ps, a core dump's
 * auxiliary vector - is set to the program's, if the kernel lets a process do so (PR_SET_MM_MAP,
 * CONFIG_CHECKPOINT_RESTORE); otherwise it stays the engine's.
 */
#ifndef TW_IDENTITY_H
#define TW_IDENTITY_H

#include "engine/kernel/loader.h"
#include <elf.h>

/* The kernel's initial stack, as words. */
struct start {
	u64 argc;
	char **argv, **envp;
	Elf64_auxv_t *auxv;
	u64 sp;
	u64 own_bytes; /* of the engine's variables, between the last argument and the program's first variable */
};

/*
 * Once the program is mapped, has its own auxiliary vector, and the engine's variables are no longer needed: the
 * arguments move up over these, so that they and the environment are contiguous. Programs write titles there.
 */
void tw_identity_tell(struct start *s, const struct loaded *l, u64 brk);

/* brk has reached this address; from now on the kernel moves it. */
void tw_identity_tell_brk(u64 brk);

#endif
