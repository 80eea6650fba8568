/* needs: avx512f avx512vl avx512bw avx512dq avx512_vbmi2
 * AVX-512 memory operands under masks: moves, arithmetic, compares, broadcasts, narrowing and widening, compress and expand, scalars. */
#include "program.inc"
	BEGIN
	lea rax, table[rip]
	mov ecx, 0x8001
	kmovd k1, ecx
	kmovw k2, word ptr halves[rip]
	E R, halves, 2
	kmovq halves[rip], k1
	E W, halves, 8
	vmovdqu8 xmm1{k1}, [rax]
	E R, table, 1
	E R, table + 15, 1
	vmovdqu8 [rax + 3]{k1}, xmm1
	E W, table + 3, 1
	E W, table + 18, 1
	vmovdqu16 zmm1{k1}{z}, [rax]
	E R, table, 2
	E R, table + 30, 2
	vmovdqa32 [rax]{k1}, zmm1
	E W, table, 4
	E W, table + 60, 4
	vmovupd zmm1{k1}, [rax]		/* 8 lanes: only lane 0 */
	E R, table, 8
	vmovups ymm1{k1}, [rax]
	E R, table, 4
	vpaddd zmm1{k1}, zmm1, [rax + 64]
	E R, table + 64, 4
	E R, table + 124, 4
	vpaddd zmm1{k1}, zmm1, dword ptr [rax + 4]{1to16}
	E R, table + 4, 4
	vaddpd zmm1{k1}, zmm1, qword ptr [rax + 8]{1to8}
	E R, table + 8, 8
	vpaddd zmm1, zmm1, dword ptr [rax + 4]{1to16}
	E R, table + 4, 4
	vpaddd zmm1, zmm1, [rax]
	E R, table, 64
	kxorw k3, k3, k3
	xor edx, edx
	vpaddd zmm1{k3}, zmm1, dword ptr [rdx]{1to16}	/* none, and no fault */
	vmovdqu32 zmm1{k3}{z}, [rdx]
	vmovdqu32 [rdx]{k3}, zmm1
	vpcmpeqd k4{k1}, zmm1, [rax]
	E R, table, 4
	E R, table + 60, 4
	vptestmb k4{k1}, xmm1, [rax]
	E R, table, 1
	E R, table + 15, 1
	vaddss xmm1{k1}, xmm1, dword ptr [rax]
	E R, table, 4
	vmovss xmm1{k1}, dword ptr [rax + 4]
	E R, table + 4, 4
	vmovsd qword ptr [rax + 8]{k1}, xmm1
	E W, table + 8, 8
	vmovss xmm1{k3}, dword ptr [rdx]
	vpmovdb [rax]{k1}, zmm1
	E W, table, 1
	E W, table + 15, 1
	vpmovqw [rax + 2]{k1}, zmm1
	E W, table + 2, 2
	vpmovwb [rax]{k1}, zmm1
	E W, table, 1
	E W, table + 15, 1
	vpmovzxbd zmm1{k1}, [rax + 16]
	E R, table + 16, 1
	E R, table + 31, 1
	vpmovsxwd zmm1{k1}{z}, [rax]
	E R, table, 2
	E R, table + 30, 2
	vcvtps2ph [rax]{k1}, zmm1, 0
	E W, table, 2
	E W, table + 30, 2
	vcvtph2ps zmm1{k1}, [rax]
	E R, table, 2
	E R, table + 30, 2
	vcvtdq2pd zmm1{k1}, [rax]
	E R, table, 4
	vcvtpd2ps ymm1{k1}, zmmword ptr [rax]
	E R, table, 8
	vextracti32x4 [rax]{k1}, zmm1, 1
	E W, table, 4

	/* packed: as many elements as there are bits, adjacent */
	mov ecx, 0xa05
	kmovw k5, ecx
	vpcompressd [rax + 4]{k5}, zmm1
	ESTEP W, table + 4, 4, 4, 4
	vpexpandd zmm1{k5}, [rax + 8]
	ESTEP R, table + 8, 4, 4, 4
	vcompresspd [rax]{k5}, zmm1
	ESTEP W, table, 8, 2, 8
	vexpandps ymm1{k5}{z}, [rax]
	ESTEP R, table, 4, 2, 4
	vpcompressb [rax + 1]{k5}, xmm1
	ESTEP W, table + 1, 1, 4, 1
	vpexpandw zmm1{k5}, [rax]
	ESTEP R, table, 2, 4, 2
	vpcompressd [rdx]{k3}, zmm1
	vpexpandd zmm1{k3}, [rdx]
	END

	.data
halves:	.quad 0x1234
	.balign 64
table:	.skip 256, 1
