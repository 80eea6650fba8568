/* Accesses relative to fs and gs, set by arch_prctl and by wrfsbase; with plain, vector, string and masked instructions. */
#include "program.inc"
	BEGIN
	mov edi, 0x1002		/* ARCH_SET_FS */
	lea rsi, tls[rip]
	mov eax, SYS_arch_prctl
	syscall
	mov rax, fs:[0]
	E R, tls, 8
	cmp rax, 11
	OK e
	/* of two segment prefixes the last one counts; the base of %gs is 0 */
	lea rbx, other[rip]
	.byte 0x64, 0x65, 0x48, 0x8b, 0x03	/* mov rax, gs:[rbx] */
	E R, other, 8
	mov rcx, -8
	mov rax, fs:[rcx]
	E R, tls-8, 8
	cmp rax, 10
	OK e
	mov rbx, 2
	add fs:[rbx * 8 - 8], rbx
	E M, tls + 8, 8
	movaps xmm0, fs:[rcx + 8]
	E R, tls, 16
	xor esi, esi
	lea rdi, other[rip]
	mov ecx, 2
	rep movs qword ptr es:[rdi], qword ptr fs:[rsi]	/* the segment is the source's alone */
	E R, tls, 8
	E W, other, 8
	E R, tls + 8, 8
	E W, other + 8, 8
	lods byte ptr fs:[rsi]
	E R, tls + 16, 1
	cmp qword ptr other[rip], 11
	E R, other, 8
	OK e
	push qword ptr fs:[8]
	E R, tls + 8, 8
	E W, stack_top-8, 8
	pop qword ptr fs:[16]
	E R, stack_top-8, 8
	E W, tls + 16, 8
	lea rax, 1f[rip]
	mov fs:[24], rax
	E W, tls + 24, 8
	jmp fs:[24]
	E R, tls + 24, 8
	ud2
1:	xor ebx, ebx
	mov al, 3
	xlat byte ptr fs:[rbx]
	E R, tls + 3, 1
	mov edi, 0x1002
	lea rsi, other[rip]
	mov eax, SYS_arch_prctl
	syscall
	mov rax, fs:[0]
	E R, other, 8
	cmp rax, 11
	OK e
	/* an address-size prefix cuts the offset, not the base */
	mov rbx, 0x1000000008
	mov rax, fs:[ebx]
	E R, other + 8, 8
	END

	.data
	.balign 64
	.quad 0, 0, 0, 0, 0, 0, 9, 10
tls:	.quad 11, 12, 13, 14, 15, 16, 17, 18
other:	.skip 64
