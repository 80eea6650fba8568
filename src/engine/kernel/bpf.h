/* Which classic BPF programs the kernel accepts as system call filters. */
#ifndef TW_ENGINE_BPF_H
#define TW_ENGINE_BPF_H

#include "base/bpf.h"
#include "engine/lib.h"

/* Would the kernel take this program of n instructions (1 to BPF_MAXINSNS) as a seccomp filter? By one thread at a time. */
bool tw_bpf_valid(const struct sock_filter *code, u32 n);

#endif
