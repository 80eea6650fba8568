/*
 * Classic BPF as seccomp has it: programs that look at a system call's number and arguments, and say what is to become of it. Run by the engine, in the kernel's place, and by what programs carry that
 * `trackway cc` has instrumented, to know what a filter would do to its calls. Freestanding.
 */
#ifndef TW_BPF_H
#define TW_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* Runs a program of n instructions: what it returns. One that the kernel would not take returns something. */
uint32_t tw_bpf_run(const struct sock_filter *code, uint32_t n, const struct seccomp_data *data);

#endif
