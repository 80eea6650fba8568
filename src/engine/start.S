/*
 * The engine's entry point: the kernel's stack, untouched. What the kernel has mapped for .bss is replaced by memory like that of the arena's areas, which begin
 * behind it: the kernel makes one mapping of all. Where it refuses, there is one more.
 */
#include "layout.h"

#define NR_MMAP 9
#define NR_MADVISE 28
#define HUGE_PAGES 14 /* MADV_HUGEPAGE */
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
	movl $NR_MADVISE, %eax
	movl $tw_bss_start, %edi
	movl $ARENA_CACHE, %esi
	subl %edi, %esi
	movl $HUGE_PAGES, %edx
	syscall
	movq %rsp, %rdi
	leaq tw_boot_stack_top(%rip), %rsp
	call tw_main
	ud2

	.bss
	.balign 16
	.skip 32768
tw_boot_stack_top:

	.section .note.GNU-stack,"",@progbits
