/* needs: xsave xsavec xsaveopt avx
 * xsave and its family: areas of legacy, AVX and all components, standard and compact; fxsave. The size of the reference depends on the CPU,
 * so there is no printed trace for all of it; the oracle computes it from CPUID. What was saved must come back. */
#include "program.inc"
	.text
	.globl _start
_start:
	lea rsp, stack_top[rip]
	vpcmpeqd ymm1, ymm1, ymm1
	vmovdqa ymm9, ymm1
	fld1
	fldpi
	xor edx, edx
	mov eax, 3
	xsave area[rip]
	vpxor xmm1, xmm1, xmm1
	xrstor area[rip]
	vptest ymm9, ymm9	/* AVX state was not restored, but neither was it saved: ymm9 is whole */
	OK nz
	vpcmpeqd ymm1, ymm1, ymm1
	mov eax, 7
	xsave64 area[rip]
	vzeroall
	xrstor64 area[rip]
	vpcmpeqd ymm2, ymm2, ymm2
	vptest ymm1, ymm2	/* carry: all ones again */
	OK c
	mov eax, -1
	mov edx, -1
	xsave area[rip]
	vzeroall
	mov eax, -1
	mov edx, -1
	xrstor area[rip]
	vptest ymm1, ymm2
	OK c
	mov eax, 7
	xor edx, edx
	xsaveopt area2[rip]
	mov eax, 2
	xsave area2[rip]
	xor eax, eax
	xsave area2[rip]
	xrstor area2[rip]
	/* compact */
	mov eax, -1
	xsavec compact[rip]
	mov rcx, compact[rip + 520]
	bt rcx, 63
	OK c
	vzeroall
	mov eax, -1
	xrstor compact[rip]
	vptest ymm1, ymm2
	OK c
	mov eax, 6
	lea rbx, compact[rip]
	xsavec64 [rbx]
	xrstor64 [rbx]
	mov eax, 0xe3
	xsavec [rbx + 64]
	/* legacy */
	fxsave area[rip]
	fninit
	fxrstor area[rip]
	fxsave64 area[rip + 512]
	fxrstor64 area[rip + 512]
	fstp st
	fld1
	fcomip st, st(1)
	OK e
	xor edi, edi
	jmp exit
	.section .expected
expected_end:

	.bss
	.balign 64
area:	.skip 16384
area2:	.skip 16384
compact: .skip 16384
stack:	.skip 4096
