/* x87: loads and stores of every size, environments and whole states. */
#include "program.inc"
	BEGIN
	lea rax, data[rip]
	fninit
	fld dword ptr [rax]
	E R, data, 4
	fld qword ptr [rax + 8]
	E R, data + 8, 8
	faddp
	fstp tbyte ptr [rax + 16]
	E W, data + 16, 10
	fld tbyte ptr [rax + 16]
	E R, data + 16, 10
	fst dword ptr [rax + 32]
	E W, data + 32, 4
	fst qword ptr [rax + 32]
	E W, data + 32, 8
	fistp word ptr [rax + 32]
	E W, data + 32, 2
	cmp word ptr [rax + 32], 4
	E R, data + 32, 2
	OK e
	fild word ptr [rax + 32]
	E R, data + 32, 2
	fist dword ptr [rax + 32]
	E W, data + 32, 4
	fild dword ptr [rax + 32]
	E R, data + 32, 4
	fistp qword ptr [rax + 32]
	E W, data + 32, 8
	fild qword ptr [rax + 32]
	E R, data + 32, 8
	fisttp dword ptr [rax + 40]
	E W, data + 40, 4
	fisttp qword ptr [rax + 40]
	E W, data + 40, 8
	fld1
	fbstp tbyte ptr [rax + 48]
	E W, data + 48, 10
	fbld tbyte ptr [rax + 48]
	E R, data + 48, 10
	fadd dword ptr [rax]
	E R, data, 4
	fmul qword ptr [rax + 8]
	E R, data + 8, 8
	fiadd word ptr [rax + 32]
	E R, data + 32, 2
	fidiv dword ptr [rax + 32]
	E R, data + 32, 4
	fcomp qword ptr [rax + 8]
	E R, data + 8, 8
	fnstcw [rax + 64]
	E W, data + 64, 2
	fldcw [rax + 64]
	E R, data + 64, 2
	fnstsw [rax + 66]
	E W, data + 66, 2
	fnstsw ax
	lea rax, data[rip]
	fldpi
	fnstenv [rax + 128]
	E W, data + 128, 28
	fldenv [rax + 128]
	E R, data + 128, 28
	fnsave [rax + 128]
	E W, data + 128, 108
	frstor [rax + 128]
	E R, data + 128, 108
	fldpi
	fcomip st, st(1)
	OK e
	fstenv [rax + 256]	/* fwait; fnstenv */
	E W, data + 256, 28
	emms
	END

	.data
	.balign 64
data:	.float 1.5
	.long 0
	.double 2.5
	.skip 512
