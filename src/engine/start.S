/*
 * The engine's entry point: the kernel's stack, untouched. What the kernel has mapped for .bss is replaced by memory like that of the arena's areas, which begin
 * behind it: the kernel makes one mapping of all. Where it refuses, there is one more. It is in huge pages where small ones are dear, that is where the first one takes so many cycles.
 */
#include "layout.h"

#define NR_MMAP 9
#define NR_MADVISE 28
#define HUGE_PAGES 14     /* MADV_HUGEPAGE */
#define HUGE_PAGE 0x200000
#define NR_PRCTL 157
#define GET_TSC 25        /* PR_GET_TSC: a process whose time stamp counter is disabled has small pages */
#define TSC_ENABLED 1
#define DEAR_CYCLES 16000 /* elsewhere it takes 2,000 to 5,000 */
#define FIXED_NORESERVED_PRIVATE_ANONYMOUS 0x4032
#define READ_WRITE_EXECUTE 7

	.globl tw_start
tw_start:
	xorl %ebp, %ebp
	movl $NR_MMAP, %eax
	movl $tw_bss_start, %edi
	movl $ARENA_CACHE, %esi
	subl %edi, %esi
	movl $READ_WRITE_EXECUTE, %edx
	movl $FIXED_NORESERVED_PRIVATE_ANONYMOUS, %r10d
	orq $-1, %r8
	xorl %r9d, %r9d
	syscall
	movl $NR_PRCTL, %eax
	movl $GET_TSC, %edi
	leaq -8(%rsp), %rsi
	syscall
	testb $TSC_ENABLED, -8(%rsp)
	jz small_pages
	rdtsc
	movl %eax, %ebx
	movl $0, tw_bss_start
	rdtsc
	subl %ebx, %eax
	cmpl $DEAR_CYCLES, %eax
	jb small_pages
	movl $NR_MADVISE, %eax
	movl $tw_dense_start, %edi
	movl $HUGE_PAGE, %esi
	movl $HUGE_PAGES, %edx
	syscall
	movb $1, tw_dear_pages
small_pages:
	movq %rsp, %rdi
	leaq tw_boot_stack_top(%rip), %rsp
	call tw_main
	ud2

	.bss
	.balign 16
	.skip 32768
tw_boot_stack_top:

	.section .note.GNU-stack,"",@progbits
