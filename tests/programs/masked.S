/* needs: avx2
 * Masked moves of MMX, SSE and AVX. */
#include "program.inc"
	BEGIN
	vmovdqu ymm1, mask32[rip]	/* lanes 0 3 6 */
	E R, mask32, 32
	lea rax, table[rip]
	vmaskmovps ymm2, ymm1, [rax]
	E R, table, 4
	E R, table + 12, 4
	E R, table + 24, 4
	vmaskmovps [rax + 32], ymm1, ymm2
	E W, table + 32, 4
	E W, table + 44, 4
	E W, table + 56, 4
	vpmaskmovd xmm2, xmm1, [rax + 4]
	E R, table + 4, 4
	E R, table + 16, 4
	vpmaskmovd [rax + 1], xmm1, xmm2
	E W, table + 1, 4
	E W, table + 13, 4
	vmaskmovpd ymm2, ymm1, [rax]	/* quadwords: 0 is -1<<32.., tops are lanes 1 3 5 7 of mask32 */
	E R, table + 8, 8
	vpmaskmovq [rax + 8], ymm1, ymm2
	E W, table + 16, 8
	vpxor xmm1, xmm1, xmm1
	vmaskmovps ymm2, ymm1, [0]	/* nothing, at an address that would fault */
	vmaskmovps [0], ymm1, ymm2
	vpcmpeqd ymm1, ymm1, ymm1
	vpmaskmovq [rax], ymm1, ymm2
	ESTEP W, table, 8, 4, 8
	lea rdi, table[rip + 100]
	movdqu xmm1, bytes[rip]
	E R, bytes, 16
	maskmovdqu xmm2, xmm1
	E W, table + 101, 1
	E W, table + 105, 1
	E W, table + 115, 1
	vmaskmovdqu xmm2, xmm1
	E W, table + 101, 1
	E W, table + 105, 1
	E W, table + 115, 1
	movq mm1, bytes[rip]
	E R, bytes, 8
	maskmovq mm2, mm1
	E W, table + 101, 1
	E W, table + 105, 1
	emms
	pxor xmm1, xmm1
	maskmovdqu xmm2, xmm1		/* nothing; the CPU may look at the address all the same */
	END

	.data
	.balign 64
mask32:	.long -1, 0, 1, 0x80000000, 0x7fffffff, 0, -1, 0
bytes:	.byte 0, 0x80, 1, 0x7f, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0
	.balign 64
table:	.skip 256
