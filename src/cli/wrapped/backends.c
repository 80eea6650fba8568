/*
 * Replaces, from libdw's archive, its knowledge of processors on which Trackway does not run: libdw then does
 * without. The tables there are full of pointers, which would be relocated at each start of the tool.
 */
#include <elfutils/libdw.h>

typedef void *backend(Elf *elf, GElf_Half machine, void *room);

#define NONE(init)                                                                                                                         \
	backend init;                                                                                                                      \
	void *init(Elf *elf, GElf_Half machine, void *room)                                                                                \
	{                                                                                                                                  \
		(void)elf;                                                                                                                 \
		(void)machine;                                                                                                             \
		(void)room;                                                                                                                \
		return NULL;                                                                                                               \
	}

NONE(aarch64_init)
NONE(alpha_init)
NONE(arm_init)
NONE(bpf_init)
NONE(csky_init)
NONE(ia64_init)
NONE(m68k_init)
NONE(ppc64_init)
NONE(ppc_init)
NONE(riscv_init)
NONE(s390_init)
NONE(sh_init)
NONE(sparc_init)
