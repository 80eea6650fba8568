#include "replay/coroutine.h"

#include <stdint.h>

/* Callee-saved registers are on the stack of the coroutine that has switched away, with the return address above them. */
__asm__(".text\n"
        ".globl tw_coroutine_switch\n"
        ".type tw_coroutine_switch, @function\n"
        "tw_coroutine_switch:\n"
        "	push %rbp\n"
        "	push %rbx\n"
        "	push %r12\n"
        "	push %r13\n"
        "	push %r14\n"
        "	push %r15\n"
        "	mov %rsp, (%rdi)\n"
        "	mov (%rsi), %rsp\n"
        "	pop %r15\n"
        "	pop %r14\n"
        "	pop %r13\n"
        "	pop %r12\n"
        "	pop %rbx\n"
        "	pop %rbp\n"
        "	ret\n"
        ".size tw_coroutine_switch, . - tw_coroutine_switch\n"
        /* The first time: rbx is run, r12 its argument. */
        ".type begin_coroutine, @function\n"
        "begin_coroutine:\n"
        "	mov %r12, %rdi\n"
        "	xor %ebp, %ebp\n"
        "	call *%rbx\n"
        "	ud2\n"
        ".size begin_coroutine, . - begin_coroutine\n");

extern void begin_coroutine(void);

void tw_coroutine_init(struct tw_coroutine *c, void *stack, size_t bytes, void (*run)(void *arg), void *arg)
{
	enum { RBX = 4, R12 = 3, BACK = 6, WORDS = 9 }; /* in the order in which they are popped: r15, r14, r13, r12, rbx, rbp */
	uintptr_t *top = (uintptr_t *)((uintptr_t)stack + bytes) - WORDS;
	for (int i = 0; i < WORDS; i++)
		top[i] = 0;
	top[R12] = (uintptr_t)arg;
	top[RBX] = (uintptr_t)run;
	top[BACK] = (uintptr_t)begin_coroutine;
	c->stands = top;
}
