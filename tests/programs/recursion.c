/* A recursive function with saved registers: Fibonacci numbers by calls, pushes and pops; then the same through a pointer. */
#include "program_c.h"

uint64_t fib(uint64_t n, void *stack);
__asm__(".intel_syntax noprefix\n"
        "region_begin: .globl region_begin\n"
        "fib: mov rbp, rsp\n" /* on a stack of its own, at an address that C knows */
        "	mov rsp, rsi\n"
        "	call 1f\n"
        "	mov rsp, rbp\n"
        "	ret\n"
        "7: 1: cmp rdi, 2\n"
        "	jb 2f\n"
        "	push rbx\n"
        "	push rdi\n"
        "	dec rdi\n"
        "	call 1b\n"
        "	mov rbx, rax\n"
        "	mov rdi, [rsp]\n"
        "	sub rdi, 2\n"
        "	call pointer[rip]\n"
        "	add rax, rbx\n"
        "	pop rdi\n"
        "	pop rbx\n"
        "	ret\n"
        "2: mov rax, rdi\n"
        "	ret\n"
        "region_end: .globl region_end\n"
        ".pushsection .data\n"
        "pointer: .quad 7b\n"
        ".popsection\n"
        ".att_syntax\n");
extern uint64_t pointer;

static char stack[8192] __attribute__((aligned(64)));

static uint64_t model(uint64_t n, char *sp) /* sp: as it is at the entry, at the return address */
{
	uint64_t r = n;
	if (n >= 2) {
		expect('W', sp - 8, 8);
		expect('W', sp - 16, 8);
		expect('W', sp - 24, 8);
		r = model(n - 1, sp - 24);
		expect('R', sp - 16, 8);
		expect('R', &pointer, 8);
		expect('W', sp - 24, 8);
		r += model(n - 2, sp - 24);
		expect('R', sp - 16, 8);
		expect('R', sp - 8, 8);
	}
	expect('R', sp, 8);
	return r;
}

static int program(void)
{
	uint64_t found, entry;
	char *top = stack + sizeof stack - 64;
	expect('W', top - 8, 8);
	check(model(7, top - 8) == 13, 1);
	__asm__ volatile("mov %%rsp, %1\n\tsub $256, %%rsp\n\tand $-64, %%rsp\n\tpush %%rbp\n\tcall fib\n\tpop %%rbp\n\tmov %1, %%rsp\n"
	                 : "=a"(found), "=&r"(entry)
	                 : "D"(7ull), "S"(top)
	                 : "memory", "cc");
	expect('R', (void *)(((entry - 256) & ~63ull) - 16), 8);
	check(found == 13, 2);
	return 0;
}
