/* needs: avx512f avx512vl avx512bw avx512dq
 * Static broadcasts and instructions that read their whole operand whatever the mask; references as the oracle has them. */
#include "program.inc"
	BEGIN
	lea rax, table[rip]
	mov ecx, 0x8001
	kmovd k1, ecx
	kxorw k3, k3, k3
	xor edx, edx
	vpbroadcastd zmm1{k1}, dword ptr [rax]
	E R, table, 4
	vbroadcastsd zmm1{k1}{z}, qword ptr [rax]
	E R, table, 8
	vpbroadcastb zmm1, byte ptr [rax]
	E R, table, 1
	vpbroadcastw xmm1{k1}, word ptr [rax]
	E R, table, 2
	vbroadcastf32x4 zmm1, [rax]
	E R, table, 16
	vbroadcasti64x4 zmm1, [rax]
	E R, table, 32
	vbroadcastf32x2 ymm1, [rax]
	E R, table, 8
	vpbroadcastd zmm1{k3}, dword ptr [rdx]	/* none */
	vpermd zmm1, zmm2, [rax]
	E R, table, 64
	vpermt2ps zmm1, zmm2, [rax]
	E R, table, 64
	vshufps zmm1, zmm2, [rax], 0x4e
	E R, table, 64
	vinserti32x4 zmm1, zmm2, [rax], 2
	E R, table, 16
	vpslld zmm1, zmm2, [rax]
	E R, table, 16
	END

	.data
	.balign 64
table:	.skip 256, 1
