/* Address sizes and forms: 32-bit addresses that wrap, 64-bit absolute ones, rip-relative ones, high byte registers; loop, jrcxz and jecxz. */
#include "program.inc"
	BEGIN
	lea rbx, data[rip]
	mov rcx, 0x7700000000
	or rbx, rcx		/* upper half that an address-size prefix drops */
	mov rax, [ebx]
	E R, data, 8
	cmp rax, 21
	OK e
	mov edx, -8
	mov [ebx + edx + 16], eax	/* wraps at 32 bits */
	E W, data + 8, 4
	mov eax, [edx * 2 + ebx + 16]
	E R, data, 4
	lea eax, [ebx + 4]
	mov al, byte ptr [eip + data]
	E R, data, 1
	inc dword ptr [ebx]
	E M, data, 4
	lea esi, data[rip]
	lea edi, data[rip + 64]
	mov rcx, 0x500000002	/* ecx = 2 */
	addr32 rep movsb
	E R, data, 1
	E W, data + 64, 1
	E R, data + 1, 1
	E W, data + 65, 1
	mov rcx, 0x500000000	/* ecx = 0 */
	addr32 rep stosb
	mov rcx, 0x500000000
	jecxz 1f
	ud2
1:	jrcxz 2f
	jmp 3f
2:	ud2
3:	movabs al, [data]
	E R, data, 1
	movabs rax, [data + 8]
	E R, data + 8, 8
	movabs [data + 16], eax
	E W, data + 16, 4
	movabs [data + 24], ax
	E W, data + 24, 2
	mov rax, [data]			/* absolute, 32 bits */
	E R, data, 8
	mov rax, data[rip + 8]
	E R, data + 8, 8
	add dword ptr data[rip], 0x01020304	/* rip-relative with an immediate behind it */
	E M, data, 4
	mov ah, data[rip]
	E R, data, 1
	mov data[rip], bh
	E W, data, 1
	mov ecx, 3
4:	loop 4b
	mov ecx, 3
5:	inc rax
	xor edx, edx
	loopz 5b
	OK z
	mov ecx, 3
	xor rax, rax
6:	add rax, 1
	loopnz 6b
	cmp rax, 3
	OK e
	xor ecx, ecx
	jrcxz 7f
	ud2
7:	mov rcx, 0x300000002
8:	addr32 loop 8b
	shr rcx, 32
	cmp ecx, 3	/* addr32: ecx counts, which clears the upper half... */
	OK ne
	mov rsi, 8
	mov r12, rbx
	lea r12, data[rip]
	mov rax, [r12 + rsi * 2]	/* bases that need a SIB byte or a displacement */
	E R, data + 16, 8
	lea r13, data[rip]
	mov rax, [r13 + 0]
	E R, data, 8
	mov rax, [rsi + data]
	E R, data + 8, 8
	mov rax, [rsi * 8 + data - 64]
	E R, data, 8
	END

	.data
	.balign 64
data:	.quad 21, 22, 23, 24
	.skip 128
