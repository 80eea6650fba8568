/* Frames: enter with every kind of nesting, leave. */
#include "program.inc"
#define T stack_top
	BEGIN
	mov rbp, 0x1122334455667788
	enter 32, 0
	E W, T-8, 8
	lea rax, stack_top[rip - 40]
	cmp rsp, rax
	OK e
	leave
	E R, T-8, 8
	lea rax, stack_top[rip]
	cmp rsp, rax
	OK e
	mov rcx, 0x1122334455667788
	cmp rbp, rcx
	OK e
	enter 0, 1
	E W, T-8, 8
	E W, T-16, 8
	lea rax, stack_top[rip - 8]
	cmp rbp, rax
	OK e
	enter 16, 2		/* copies the one frame pointer of the outer frame */
	E W, T-24, 8
	E R, T-16, 8
	E W, T-32, 8
	E W, T-40, 8
	enter 8, 3
	E W, T-64, 8
	E R, T-32, 8
	E W, T-72, 8
	E R, T-40, 8
	E W, T-80, 8
	E W, T-88, 8
	lea rax, stack_top[rip - 64]
	cmp rbp, rax
	OK e
	cmp [rbp - 24], rbp
	E R, T-88, 8
	OK e
	leave
	E R, T-64, 8
	leave
	E R, T-24, 8
	leave
	E R, T-8, 8
	cmp rbp, rcx
	OK e
	lea rax, stack_top[rip]
	cmp rsp, rax
	OK e
	END
