/*
 * Classic BPF as in seccomp: programs that examine a system call's number and arguments, and decide what happens to
 * it. Run by the engine, in place of the kernel, and by the run-time part of programs instrumented by `trackway cc`,
 * to know what a filter would do to its calls. Freestanding.
 */
#ifndef TW_BPF_H
#define TW_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* Runs a program of n instructions and returns its result. For a program that the kernel would not accept the result is arbitrary. */
uint32_t tw_bpf_run(const struct sock_filter *code, uint32_t n, const struct seccomp_data *data);

#endif
