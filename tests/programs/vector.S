/* needs: avx512f avx512vl avx512bw
 * Vector accesses of every size, aligned, unaligned and non-temporal; parts of vectors; loads that widen. */
#include "program.inc"
	BEGIN
	lea rax, table[rip]
	movaps xmm1, [rax]
	E R, table, 16
	movups [rax + 1], xmm1
	E W, table + 1, 16
	movdqa [rax + 16], xmm1
	E W, table + 16, 16
	lddqu xmm1, [rax + 3]
	E R, table + 3, 16
	vmovdqu ymm1, [rax + 5]
	E R, table + 5, 32
	vmovaps [rax + 32], ymm1
	E W, table + 32, 32
	vmovdqu64 zmm1, [rax + 7]
	E R, table + 7, 64
	vmovdqa64 [rax + 64], zmm1
	E W, table + 64, 64
	vmovups zmm17, [rax + 63]	/* across a line, upper registers, compressed displacement */
	E R, table + 63, 64
	vmovups [rax + 128], zmm17
	E W, table + 128, 64
	/* non-temporal */
	movntps [rax], xmm1
	E W, table, 16
	movntdq [rax + 16], xmm1
	E W, table + 16, 16
	movntdqa xmm1, [rax]
	E R, table, 16
	vmovntdq [rax + 32], ymm1
	E W, table + 32, 32
	vmovntpd [rax + 64], zmm1
	E W, table + 64, 64
	movnti [rax], ecx
	E W, table, 4
	movnti [rax + 8], rcx
	E W, table + 8, 8
	movq mm0, [rax]
	E R, table, 8
	movntq [rax + 8], mm0
	E W, table + 8, 8
	paddb mm0, [rax + 16]
	E R, table + 16, 8
	emms
	sfence
	prefetcht0 [rax]
	prefetchnta [0]
	prefetchw [rax]
	clflush [rax]
	nop dword ptr [rax + rax * 1]
	lea rdx, [rax + 8]
	/* parts */
	movd xmm1, dword ptr [rax]
	E R, table, 4
	movq xmm1, qword ptr [rax]
	E R, table, 8
	movq [rax + 8], xmm1
	E W, table + 8, 8
	movss xmm2, [rax + 4]
	E R, table + 4, 4
	movsd xmm2, [rax + 8]
	E R, table + 8, 8
	movss [rax], xmm2
	E W, table, 4
	movlps [rax], xmm2
	E W, table, 8
	movhps [rax + 8], xmm2
	E W, table + 8, 8
	movhpd xmm2, [rax]
	E R, table, 8
	movddup xmm2, [rax]
	E R, table, 8
	movshdup xmm2, [rax]
	E R, table, 16
	addss xmm2, [rax]
	E R, table, 4
	mulsd xmm2, [rax]
	E R, table, 8
	addps xmm2, [rax]
	E R, table, 16
	sqrtsd xmm2, [rax]
	E R, table, 8
	comiss xmm2, [rax]
	E R, table, 4
	ucomisd xmm2, [rax]
	E R, table, 8
	cvtsi2sd xmm2, dword ptr [rax]
	E R, table, 4
	cvtsi2sd xmm2, qword ptr [rax]
	E R, table, 8
	cvttsd2si rcx, [rax]
	E R, table, 8
	cvtps2pd xmm2, [rax]
	E R, table, 8
	cvtdq2pd xmm2, [rax]
	E R, table, 8
	pinsrb xmm2, byte ptr [rax], 3
	E R, table, 1
	pinsrw xmm2, word ptr [rax], 3
	E R, table, 2
	pinsrq xmm2, qword ptr [rax], 1
	E R, table, 8
	pextrb [rax], xmm2, 2
	E W, table, 1
	pextrw [rax], xmm2, 2
	E W, table, 2
	pextrd [rax], xmm2, 2
	E W, table, 4
	extractps [rax], xmm2, 2
	E W, table, 4
	insertps xmm2, [rax], 0x10
	E R, table, 4
	pmovzxbw xmm2, [rax]
	E R, table, 8
	pmovsxbq xmm2, [rax]
	E R, table, 2
	pmovzxwd xmm2, [rax]
	E R, table, 8
	pshufb xmm2, [rax]
	E R, table, 16
	vbroadcastss ymm2, [rax]
	E R, table, 4
	vbroadcastf128 ymm2, [rax]
	E R, table, 16
	vinsertf128 ymm2, ymm2, [rax], 1
	E R, table, 16
	vextracti128 [rax], ymm2, 1
	E W, table, 16
	vpmovzxbq ymm2, [rax]
	E R, table, 4
	vpmovqb [rax], zmm2
	E W, table, 8
	vpmovdw [rax], ymm2
	E W, table, 16
	vcvtps2ph [rax], ymm2, 0
	E W, table, 16
	vextractf64x4 [rax], zmm2, 1
	E W, table, 32
	vpcmpistri xmm2, [rax], 0
	E R, table, 16
	stmxcsr [rax]
	E W, table, 4
	ldmxcsr [rax]
	E R, table, 4
	ptest xmm2, [rax]
	E R, table, 16
	vfmadd231sd xmm2, xmm3, [rax]
	E R, table, 8
	vfmadd231ps zmm2, zmm3, [rax]
	E R, table, 64
	aesenc xmm2, [rax]
	E R, table, 16
	END

	.data
	.balign 64
table:	.skip 512
