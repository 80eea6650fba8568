/*
 * Runs one sequence: void sequence_run(const uint64_t in[32], const uint64_t random[16], const void *vectors)
 *
 * `in` is struct sequence's in and mask; vectors: 16 of 32 bytes. Goes to sequence_entry and comes back through sequence_finish, with all
 * registers, flags, the x87 and vector registers folded into sequence_hash. sequence_finish may also be entered from a signal handler.
 */
	.intel_syntax noprefix
	.text
	.globl sequence_run, sequence_finish
	.type sequence_run, @function
sequence_run:
	push	rbx
	push	rbp
	push	r12
	push	r13
	push	r14
	push	r15
	mov	[saved_rsp], rsp
	push	0x202
	popfq	/* the last sequence may have left ID set */
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu	ymm\n, [rdx + 32 * \n]
	.endr
	.macro load reg, n
	mov	\reg, [rsi + 8 * \n]
	and	\reg, [rdi + 128 + 8 * \n]
	add	\reg, [rdi + 8 * \n]
	.endm
	mov	rsp, [rdi + 32]
	load	rax, 0
	load	rcx, 1
	load	rdx, 2
	load	rbx, 3
	load	rbp, 5
	load	r8, 8
	load	r9, 9
	load	r10, 10
	load	r11, 11
	load	r12, 12
	load	r13, 13
	load	r14, 14
	load	r15, 15
	load	rsi, 6
	mov	rdi, [rdi + 56]
	jmp	[sequence_entry]

sequence_finish:
	mov	[out + 0], rax
	mov	[out + 8], rcx
	mov	[out + 16], rdx
	mov	[out + 24], rbx
	mov	[out + 32], rsp
	mov	[out + 40], rbp
	mov	[out + 48], rsi
	mov	[out + 56], rdi
	mov	[out + 64], r8
	mov	[out + 72], r9
	mov	[out + 80], r10
	mov	[out + 88], r11
	mov	[out + 96], r12
	mov	[out + 104], r13
	mov	[out + 112], r14
	mov	[out + 120], r15
	mov	rsp, [saved_rsp]
	pushfq
	pop	rax
	cld
	and	eax, 0xcd5
	mov	[out + 128], rax
	/* each vector is mixed in at another place */
	.irp	n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vpxor	ymm0, ymm0, ymm\n
	vpsllq	ymm1, ymm0, 7
	vpaddq	ymm0, ymm0, ymm1
	vpermq	ymm0, ymm0, 0x39
	.endr
	vmovdqu	[out + 136], ymm0
	/* not the last opcode, instruction and data of the x87, bytes 6 to 23: they are the code cache's */
	fxsave64 [fx]
	mov	word ptr [fx + 6], 0
	/* registers that are all empty may lose what they held whenever the kernel saves and restores them */
	cmp	byte ptr [fx + 4], 0
	jne	1f
	vpxor	xmm0, xmm0, xmm0
	.irp	n, 0,1,2,3
	vmovdqu	[fx + 32 + 32 * \n], ymm0
	.endr
1:	fninit
	.rept	8
	fldz
	.endr
	fninit
	ldmxcsr	[initial_mxcsr]
	mov	rax, [sequence_hash]
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20
	imul	rax, rax, 31
	add	rax, [out + 8 * \n]
	ror	rax, 9
	.endr
	.irp	n, 0,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19
	imul	rax, rax, 31
	add	rax, [fx + 8 * \n]
	ror	rax, 9
	.endr
	mov	[sequence_hash], rax
	vzeroupper
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbp
	pop	rbx
	ret

/*
 * void sequence_fill(uint32_t n): fills a buffer of format `dep` with few records: 482 bytes in each, for address registers that are loaded.
 * A buffer of 1 MB is then read over nearly to its end, and each time it is full a few more paths become superblocks.
 */
	.globl sequence_fill
	.type sequence_fill, @function
sequence_fill:
	test	edi, edi
	jz	2f
	lea	rax, self[rip]
	mov	[rax], rax
	mov	rcx, rax
	mov	rdx, rax
	mov	rsi, rax
1:	.rept	15
	mov	rax, [rax]
	mov	rcx, [rcx]
	mov	rdx, [rdx]
	mov	rsi, [rsi]
	.endr
	dec	edi
	jnz	1b
2:	ret

	.data
	.balign 64
self:	.skip	64
fx:	.skip	512
out:	.skip	192
saved_rsp: .quad 0
initial_mxcsr:	.long	0x1f80, 0
	.globl sequence_entry, sequence_hash
sequence_entry: .quad 0
sequence_hash: .quad 0
	.section .note.GNU-stack,"",@progbits
