/* needs: avx2
 * Gathers of AVX2 with full, partial and empty masks; every combination of index and data width. */
#include "program.inc"
	BEGIN
	vmovdqu ymm0, index32[rip]	/* 0 3 1 -1 2 5 4 7 */
	E R, index32, 32
	vmovdqu ymm1, index64[rip]	/* 2 0 1 3 */
	E R, index64, 32
	lea rax, table[rip]
	vpcmpeqd ymm2, ymm2, ymm2
	vpgatherdd ymm3, [rax + ymm0 * 4], ymm2
	E R, table, 4
	E R, table + 12, 4
	E R, table + 4, 4
	E R, table-4, 4
	E R, table + 8, 4
	E R, table + 20, 4
	E R, table + 16, 4
	E R, table + 28, 4
	vptest ymm2, ymm2		/* a gather clears its mask */
	OK z
	vmovd ecx, xmm3
	cmp ecx, 100
	OK e
	vmovdqu ymm2, mask32[rip]	/* lanes 1 2 6 */
	E R, mask32, 32
	vgatherdps ymm4, [rax + ymm0 * 4], ymm2
	E R, table + 12, 4
	E R, table + 4, 4
	E R, table + 16, 4
	vpxor xmm2, xmm2, xmm2
	vpgatherdd ymm4, [rax + ymm0 * 4], ymm2	/* none */
	vpcmpeqd ymm2, ymm2, ymm2
	vpgatherdq ymm4, [rax + xmm0 * 8 + 8], ymm2
	E R, table + 8, 8
	E R, table + 32, 8
	E R, table + 16, 8
	E R, table + 0, 8
	vpcmpeqd xmm2, xmm2, xmm2
	vpgatherdd xmm4, [rax + xmm0 * 4], xmm2
	E R, table, 4
	E R, table + 12, 4
	E R, table + 4, 4
	E R, table-4, 4
	vpcmpeqd ymm2, ymm2, ymm2
	vpgatherqq ymm4, [rax + ymm1 * 8], ymm2
	E R, table + 16, 8
	E R, table, 8
	E R, table + 8, 8
	E R, table + 24, 8
	vpcmpeqd xmm2, xmm2, xmm2
	vpgatherqd xmm4, [rax + ymm1 * 2], xmm2
	E R, table + 4, 4
	E R, table, 4
	E R, table + 2, 4
	E R, table + 6, 4
	vpcmpeqd xmm2, xmm2, xmm2
	vgatherqps xmm4, [rax + xmm1 * 2], xmm2
	E R, table + 4, 4
	E R, table, 4
	vmovdqu ymm2, mask64[rip]	/* lanes 0 3 */
	E R, mask64, 32
	vgatherqpd ymm4, [rax + ymm1 * 1], ymm2
	E R, table + 2, 8
	E R, table + 3, 8
	vmovdqu ymm2, mask64[rip]
	E R, mask64, 32
	vgatherdpd xmm4, [rax + xmm0 * 1 + 1], xmm2
	E R, table + 1, 8
	vpcmpeqd xmm2, xmm2, xmm2
	vpgatherdd xmm4, [xmm5 * 4 + one], xmm2	/* no base, all indices 0 */
	E R, one, 4
	E R, one, 4
	E R, one, 4
	E R, one, 4
	END

	.data
	.balign 64
index32: .long 0, 3, 1, -1, 2, 5, 4, 7
index64: .quad 2, 0, 1, 3
mask32:	.long 1, -1, 0x80000000, 0x7fffffff, 0, 0, -1, 0
mask64:	.quad 1 << 63, 0, 0x7fffffffffffffff, -1
	.skip 64
table:	.long 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115
one:	.long 1, 2, 3, 4
