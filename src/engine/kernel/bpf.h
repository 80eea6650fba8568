/*
 * Classic BPF as seccomp has it: programs that look at a system call's number and arguments, and say what is to become of it.
 */
#ifndef TW_BPF_H
#define TW_BPF_H

#include "engine/lib.h"
#include <linux/filter.h>
#include <linux/seccomp.h>

/* Would the kernel take this program of n instructions (1 to BPF_MAXINSNS) as a seccomp filter? By one thread at a time. */
bool tw_bpf_valid(const struct sock_filter *code, u32 n);

/* Runs a program that is valid: what it returns. */
u32 tw_bpf_run(const struct sock_filter *code, const struct seccomp_data *data);

#endif
