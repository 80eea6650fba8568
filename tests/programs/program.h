/*
 * What every test program in assembly begins with. A program looks like this:
 *
 *     #include "program.h"
 *     BEGIN                       sets up a stack at fixed addresses and starts the region whose trace is printed
 *         mov rax, [data]
 *         E R, data, 8            a reference that must show, at this place, in the region's trace
 *         cmp rax, 42
 *         OK e                    the condition must hold, else the program fails with a number that counts the OKs
 *     END                         prints the expected trace and exits with 0
 *         .data                   and so on
 *
 * Code inside the region must be straight-line as far as E is concerned: each E stands for one reference, in the order of the text.
 * Addresses given to E must be link-time constants; the stack starts at `stack_top`. For 17 and more references in a row there is
 * ESTEP TYPE, ADDRESS, SIZE, COUNT, STEP.
 */
	.intel_syntax noprefix

#define SYS_write 1
#define SYS_rt_sigaction 13
#define SYS_rt_sigreturn 15
#define SYS_mprotect 10
#define SYS_sigaltstack 131
#define SYS_arch_prctl 158
#define SYS_exit_group 231

	.set R, 82
	.set W, 87
	.set M, 77

	.macro E type, address, size
	.pushsection .expected, "a"
	.quad \address
	.long \size
	.long \type
	.popsection
	.endm

	.macro ESTEP type, address, size, count, step
	.set .Lat, 0
	.rept \count
	E \type, \address + .Lat, \size
	.set .Lat, .Lat + \step
	.endr
	.endm

	.set .Loks, 0
	.macro OK condition
	.set .Loks, .Loks + 1
	j\condition .Lok\@
	mov edi, .Loks
	jmp exit
.Lok\@:
	.endm

	.macro BEGIN
	.text
	.globl _start
_start:
	lea rsp, stack_top[rip]
	xor ebp, ebp
	.globl region_begin
region_begin:
	.endm

	.macro END
	.globl region_end
region_end:
	jmp finish
	.pushsection .expected, "a"
expected_end:
	.popsection
	.endm

	.section .expected, "a"
expected:

	.bss
	.balign 4096
	.skip 65536
stack_top:
	.skip 256

	.text
	/* Prints the expected trace, `R 404010 8`, and exits with 0. */
finish:
	cld
	lea rsp, stack_top[rip]
	lea rbx, expected[rip]
1:	lea rax, expected_end[rip]
	cmp rbx, rax
	jae 9f
	lea rdi, stack_top[rip]
	mov al, [rbx + 12]
	stosb
	mov al, 32
	stosb
	mov rdx, [rbx]
	mov ecx, 60
2:	mov rax, rdx		/* skip leading zeros, but not the last digit */
	shr rax, cl
	jnz 3f
	sub ecx, 4
	jnz 2b
3:	mov rax, rdx
	shr rax, cl
	and eax, 15
	lea rsi, digits[rip]
	mov al, [rsi + rax]
	stosb
	sub ecx, 4
	jns 3b
	mov al, 32
	stosb
	mov eax, [rbx + 8]
	mov ecx, 10
	lea rsi, stack_top[rip + 64]
	mov byte ptr [rsi], 10
4:	xor edx, edx
	div ecx
	add dl, 48
	dec rsi
	mov [rsi], dl
	test eax, eax
	jnz 4b
	lea rcx, stack_top[rip + 65]
	sub rcx, rsi
	rep movsb
	mov rdx, rdi
	lea rsi, stack_top[rip]
	sub rdx, rsi
	mov edi, 1
	mov eax, SYS_write
	syscall
	add rbx, 16
	jmp 1b
9:	xor edi, edi
exit:
	mov eax, SYS_exit_group
	syscall
	ud2

	.section .rodata
digits: .ascii "0123456789abcdef"
	.text
