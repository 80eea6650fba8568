/* Switching between application and engine. See glue.h for what each is for, layout.h for the offsets. */
#include "engine/layout.h"

#define gs_reg(n) %gs:(T_REGS + 8 * n)

/*
 * Flags that are rarely set: all except arithmetic flags, IF, and the bit that is always 1. Engine code runs with them
 * clear. popfq is slow, and executed only if one of them is set.
 */
#define FLAGS_RARE 0xfff528

	.text

.macro save_registers
	movq %rax, gs_reg(0)
	movq %rcx, gs_reg(1)
	movq %rdx, gs_reg(2)
	movq %rbx, gs_reg(3)
	movq %rsp, gs_reg(4)
	movq %rbp, gs_reg(5)
	movq %rsi, gs_reg(6)
	movq %rdi, gs_reg(7)
	movq %r8, gs_reg(8)
	movq %r9, gs_reg(9)
	movq %r10, gs_reg(10)
	movq %r11, gs_reg(11)
	movq %r12, gs_reg(12)
	movq %r13, gs_reg(13)
	movq %r14, gs_reg(14)
	movq %r15, gs_reg(15)
	movq %gs:T_STACK_TOP, %rsp
	pushfq
	popq %rax
	movq %rax, %gs:T_FLAGS
	testl $FLAGS_RARE, %eax
	jz .Lclear\@
	pushq $2
	popfq
.Lclear\@:
.endm

/* The callee-saved registers. */
.macro push_kept
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
.endm
.macro pop_kept
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
.endm

	.globl tw_exit_cache
tw_exit_cache:
	save_registers
	movq %gs:T_SELF, %rdi
	call *tw_x86_64_calls+CALLS_LEFT
	movq %rax, %gs:T_HOST_TARGET
	jmp tw_enter_cache

	.globl tw_clean_call
tw_clean_call:
	save_registers
	movq %gs:T_SELF, %rdi
	call *tw_x86_64_calls+CALLS_CALL_MADE
	movq %rax, %gs:T_HOST_TARGET
	jmp tw_enter_cache

	.globl tw_reenter
tw_reenter:
	save_registers
	movq %gs:T_SELF, %rdi
	call *tw_x86_64_calls+CALLS_STOPPED
	movq %rax, %gs:T_HOST_TARGET
	jmp tw_enter_cache

	.globl tw_resume_cache
tw_resume_cache:
	movq %gs:T_STACK_TOP, %rsp
	pushq $2
	popfq
	movq %gs:T_SELF, %rdi
	call *tw_x86_64_calls+CALLS_RESUME
	movq %rax, %gs:T_HOST_TARGET

	.globl tw_enter_cache, tw_enter_begin, tw_enter_end
tw_enter_cache:
tw_enter_begin:
	cmpq $0, %gs:T_HAS_DEFERRED
	jne turn_back
go_on:	testl $FLAGS_RARE, %gs:T_FLAGS
	jnz 1f
	movb %gs:(T_FLAGS + 1), %al
	movb %gs:T_FLAGS, %ah
	shrb $3, %al
	andb $1, %al
	addb $127, %al /* OF */
	sahf           /* the others */
	jmp 2f
1:	pushq %gs:T_FLAGS
	popfq
2:	movq gs_reg(0), %rax
	movq gs_reg(1), %rcx
	movq gs_reg(2), %rdx
	movq gs_reg(3), %rbx
	movq gs_reg(5), %rbp
	movq gs_reg(6), %rsi
	movq gs_reg(7), %rdi
	movq gs_reg(8), %r8
	movq gs_reg(9), %r9
	movq gs_reg(10), %r10
	movq gs_reg(11), %r11
	movq gs_reg(12), %r12
	movq gs_reg(13), %r13
	movq gs_reg(14), %r14
	movq gs_reg(15), %r15
	movq gs_reg(4), %rsp
	jmp *%gs:T_HOST_TARGET
tw_enter_end:

/* A signal came after the dispatcher's check: as if it had come between the two labels. (Or it did; then no other can come now.) */
turn_back:
	leaq tw_reenter(%rip), %rax
	movq %gs:T_HOST_TARGET, %rcx
	cmpq %rax, %rcx
	je go_on
	movq %rcx, %gs:T_RESUME_HOST
	movq %rax, %gs:T_HOST_TARGET
	jmp go_on

/* i64 tw_app_syscall(struct thread *t, const u64 *regs) */
	.globl tw_app_syscall, tw_syscall_begin, tw_syscall_insn, tw_syscall_end, tw_syscall_abort
tw_app_syscall:
	movq (8 * 0)(%rsi), %rax
	movq (8 * 7)(%rsi), %rdi
	movq (8 * 2)(%rsi), %rdx
	movq (8 * 10)(%rsi), %r10
	movq (8 * 8)(%rsi), %r8
	movq (8 * 9)(%rsi), %r9
	movq (8 * 6)(%rsi), %rsi
	xorl %ecx, %ecx /* tw_syscall_end once the kernel has seen the call */
tw_syscall_begin:
	cmpq $0, %gs:T_HAS_DEFERRED
	jne tw_syscall_abort
tw_syscall_insn:
	syscall
tw_syscall_end:
	ret
tw_syscall_abort:
	movq $-512, %rax
	ret

/* i64 tw_app_int80(struct thread *t, const u64 *regs) */
	.globl tw_app_int80, tw_int80_begin, tw_int80_insn, tw_int80_end, tw_int80_abort, tw_int80_fault
tw_app_int80:
	pushq %rbx
	pushq %rbp
	movq (8 * 0)(%rsi), %rax
	movq (8 * 3)(%rsi), %rbx
	movq (8 * 1)(%rsi), %rcx
	movq (8 * 2)(%rsi), %rdx
	movq (8 * 7)(%rsi), %rdi
	movq (8 * 5)(%rsi), %rbp
	movq (8 * 6)(%rsi), %rsi
tw_int80_begin:
	cmpq $0, %gs:T_HAS_DEFERRED
	jne tw_int80_abort
tw_int80_insn:
	int $0x80
tw_int80_end:
	popq %rbp
	popq %rbx
	ret
tw_int80_abort:
	movq $-512, %rax
	jmp tw_int80_end
tw_int80_fault:
	movq $-600, %rax
	jmp tw_int80_end

/* i64 tw_clone_thread(const u64 *regs): number, rdi, rsi, rdx, r10, r8 */
	.globl tw_clone_thread
tw_clone_thread:
	movq 0(%rdi), %rax
	movq 16(%rdi), %rsi
	movq 24(%rdi), %rdx
	movq 32(%rdi), %r10
	movq 40(%rdi), %r8
	movq 8(%rdi), %rdi
	movq %rsp, %r9
	syscall
	cmpq %rsp, %r9
	jne 1f
	ret
1:	popq %rdi
	popq %rax
	xorl %ebp, %ebp
	call *%rax
	ud2

	.globl tw_exit_thread
tw_exit_thread:
	movl $0, (%rdi)
	movl %esi, %edi
	movl %edx, %eax
	syscall
	ud2

/* int tw_restartable(int (*section)(void *arg), void *arg): see glue.h. */
	.globl tw_restartable
tw_restartable:
	push_kept
	subq $8, %rsp
	movq %rsp, %gs:T_RESTART
	movq %rdi, %rax
	movq %rsi, %rdi
	leaq section(%rip), %rcx
	movq %rcx, %gs:T_RSEQ_SECTION
	call *%rax
	movq $0, %gs:T_RSEQ_SECTION
leave_restartable:
	addq $8, %rsp
	pop_kept
	ret

	.section .anew, "ax"
	.long TW_RSEQ_SIGNATURE
anew:
	movq %gs:T_RESTART, %rsp
	movl $-1, %eax
	jmp leave_restartable

	.section .rodata
	.balign 32
section: /* struct rseq_cs: all of the engine's code except where it restarts */
	.long 0, 0
	.quad tw_anew_end, tw_restartable_bytes, anew

	.text
	.globl tw_restorer
tw_restorer:
	movl $15, %eax
	syscall

/* bool tw_xrstor(const void *image, u64 mask) */
	.globl tw_xrstor, tw_xrstor_insn
tw_xrstor:
	movl %esi, %eax
	movq %rsi, %rdx
	shrq $32, %rdx
tw_xrstor_insn:
	xrstor64 (%rdi)
	movl $1, %eax
	ret

/* bool tw_load_fs(u16 selector), bool tw_load_gs(u16 selector) */
	.globl tw_load_fs, tw_load_fs_insn, tw_load_gs, tw_load_gs_insn
tw_load_fs:
tw_load_fs_insn:
	movw %di, %fs
	movl $1, %eax
	ret
tw_load_gs:
tw_load_gs_insn:
	movw %di, %gs
	movl $1, %eax
	ret

/* void tw_sigreturn(const void *ucontext): like the restorer of the handler to whose frame it belongs */
	.globl tw_sigreturn
tw_sigreturn:
	movq %rdi, %rsp
	movl $15, %eax
	syscall

/* bool tw_sigreturn_here(struct tw_ucontext *context) */
	.globl tw_sigreturn_here, tw_sigreturned, tw_sigreturn_fault
tw_sigreturn_here:
	push_kept
	leaq tw_sigreturned(%rip), %rax
	movq %rax, UC_RIP(%rdi)
	movq %rsp, UC_RSP(%rdi)
	jmp tw_sigreturn
tw_sigreturned:
	movl $1, %eax
1:	pop_kept
	ret
tw_sigreturn_fault:
	xorl %eax, %eax
	jmp 1b

/* u64 tw_tsc(void): read after all earlier loads have completed, for which rdtsc alone does not wait */
	.globl tw_tsc, tw_tsc_insn, tw_tsc_fault
tw_tsc:
	lfence
tw_tsc_insn:
	rdtsc
	shlq $32, %rdx
	orq %rdx, %rax
	ret
tw_tsc_fault:
	xorl %eax, %eax
	ret

/* void tw_with_decoder(void (*fn)(void *), void *arg): saves the vector registers, which the decoder uses. */
	.globl tw_with_decoder
tw_with_decoder:
	pushq %rbp
	movq %rsp, %rbp
	subq $256, %rsp
	andq $-16, %rsp
	movups %xmm0, 0x00(%rsp)
	movups %xmm1, 0x10(%rsp)
	movups %xmm2, 0x20(%rsp)
	movups %xmm3, 0x30(%rsp)
	movups %xmm4, 0x40(%rsp)
	movups %xmm5, 0x50(%rsp)
	movups %xmm6, 0x60(%rsp)
	movups %xmm7, 0x70(%rsp)
	movups %xmm8, 0x80(%rsp)
	movups %xmm9, 0x90(%rsp)
	movups %xmm10, 0xa0(%rsp)
	movups %xmm11, 0xb0(%rsp)
	movups %xmm12, 0xc0(%rsp)
	movups %xmm13, 0xd0(%rsp)
	movups %xmm14, 0xe0(%rsp)
	movups %xmm15, 0xf0(%rsp)
	movq %rdi, %rax
	movq %rsi, %rdi
	call *%rax
	movups 0x00(%rsp), %xmm0
	movups 0x10(%rsp), %xmm1
	movups 0x20(%rsp), %xmm2
	movups 0x30(%rsp), %xmm3
	movups 0x40(%rsp), %xmm4
	movups 0x50(%rsp), %xmm5
	movups 0x60(%rsp), %xmm6
	movups 0x70(%rsp), %xmm7
	movups 0x80(%rsp), %xmm8
	movups 0x90(%rsp), %xmm9
	movups 0xa0(%rsp), %xmm10
	movups 0xb0(%rsp), %xmm11
	movups 0xc0(%rsp), %xmm12
	movups 0xd0(%rsp), %xmm13
	movups 0xe0(%rsp), %xmm14
	movups 0xf0(%rsp), %xmm15
	movq %rbp, %rsp
	popq %rbp
	ret

	.section .note.GNU-stack, "", @progbits
