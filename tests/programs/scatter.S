/* needs: avx512f avx512vl
 * Gathers and scatters of AVX-512 with partial masks. */
#include "program.inc"
	BEGIN
	vmovdqu32 zmm0, index32[rip]	/* 0 2 4 ... 30 */
	E R, index32, 64
	lea rax, table[rip]
	mov ecx, 0x8005
	kmovw k1, ecx
	vpgatherdd zmm3{k1}, [rax + zmm0 * 4]
	E R, table, 4
	E R, table + 16, 4
	E R, table + 120, 4
	kortestw k1, k1
	OK z
	kmovw k1, ecx
	vpscatterdd [rax + zmm0 * 2 + 4]{k1}, zmm3
	E W, table + 4, 4
	E W, table + 12, 4
	E W, table + 64, 4
	kmovw k1, ecx
	vpscatterdq [rax + ymm0 * 8]{k1}, zmm3	/* 8 lanes: 0 and 2 */
	E W, table, 8
	E W, table + 32, 8
	kxnorw k2, k2, k2
	vgatherdpd zmm4{k2}, [rax + ymm0 * 8]
	ESTEP R, table, 8, 8, 16
	kxnorw k2, k2, k2
	vscatterdps [rax + xmm0 * 4]{k2}, xmm3
	ESTEP W, table, 4, 4, 8
	kxnorw k2, k2, k2
	vpxor xmm5, xmm5, xmm5
	vpscatterqd [rax + zmm5 * 1]{k2}, ymm3	/* all lanes to one place */
	ESTEP W, table, 4, 8, 0
	mov ecx, 0xfe
	kmovw k2, ecx
	vpgatherqq ymm4{k2}, [rax + ymm5 * 1]
	ESTEP R, table, 8, 3, 0
	mov ecx, 2
	kmovw k2, ecx
	vscatterqpd [rax + xmm5 * 1]{k2}, xmm4
	E W, table, 8
	kxorw k3, k3, k3
	vpscatterdd [rax + zmm0 * 4]{k3}, zmm3	/* none */
	vpgatherdd zmm3{k3}, [rax + zmm0 * 4]
	vmovdqa32 zmm29, zmm0
	mov ecx, 0xc000
	kmovw k4, ecx
	vpgatherdd zmm31{k4}, [rax + zmm29 * 4]	/* the upper 16 registers */
	E R, table + 112, 4
	E R, table + 120, 4
	END

	.data
	.balign 64
index32: .set i, 0
	.rept 16
	.long i
	.set i, i + 2
	.endr
	.balign 64
table:	.skip 512
