/*
 * What the kernel shows others of the process - /proc/PID/cmdline, environ, auxv, the names in ps, a core dump's auxiliary vector - made the program's, where the
 * kernel lets a process say so (PR_SET_MM_MAP, CONFIG_CHECKPOINT_RESTORE); else it stays the engine's.
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
	u64 own_bytes; /* of the engine's variables, which stand between the last argument and the program's first variable */
};

/*
 * Once the program is mapped, the auxiliary vector its own, and nothing needs the engine's variables any more: the arguments move up over these, so that
 * they and the environment are one piece, which programs write titles to.
 */
void tw_identity_tell(struct start *s, const struct loaded *l, u64 brk);

/* brk is here by now, and the kernel's to move from there on. */
void tw_identity_tell_brk(u64 brk);

#endif
