/* needs: cx16
 * Compare and exchange of every size, matching or not: always one modification; with and without lock. */
#include "program.inc"
	BEGIN
	lea rdi, data[rip]
	xor eax, eax
	mov ecx, 1
	cmpxchg [rdi], cl
	E M, data, 1
	OK e
	cmpxchg [rdi], cx	/* differs now */
	E M, data, 2
	OK ne
	cmp eax, 1
	OK e
	lock cmpxchg [rdi], ecx
	E M, data, 4
	OK e
	lock cmpxchg [rdi], rcx
	E M, data, 8
	OK e
	mov eax, 1
	xor edx, edx
	mov ebx, 5
	mov ecx, 6
	cmpxchg8b [rdi]
	E M, data, 8
	OK e
	lock cmpxchg8b [rdi]
	E M, data, 8
	OK ne
	cmp edx, 6
	OK e
	mov rax, [rdi]
	E R, data, 8
	xor edx, edx
	cmpxchg16b [rdi]
	E M, data, 16
	OK e
	lock cmpxchg16b [rdi]
	E M, data, 16
	OK ne
	cmp rax, 5
	OK e
	cmp rdx, 6
	OK e
	xchg [rdi], rax
	E M, data, 8
	xchg [rdi + 1], al
	E M, data + 1, 1
	xadd [rdi], ecx
	E M, data, 4
	lock xadd [rdi + 8], rcx
	E M, data + 8, 8
	END

	.data
	.balign 64
data:	.quad 0, 0
