/* Addresses that only the data know: a linked list in scrambled order, an indexed sum with a stride, a histogram, a pointer to a pointer. */
#include "program_c.h"

struct node {
	struct node *next;
	uint64_t value;
};

enum { NODES = 61, BINS = 32 };
static struct node nodes[NODES];
static uint32_t order[NODES], bins[BINS];

/* uint64_t walk(list, order, n, bins): the sum of the list's values; then bins[order[i] & 31]++ for each i, backwards */
uint64_t walk(struct node *list, uint32_t *order, uint64_t n, uint32_t *bins);
__asm__(".intel_syntax noprefix\n"
        "region_begin: .globl region_begin\n"
        "walk: xor eax, eax\n"
        "1: test rdi, rdi\n"
        "	jz 2f\n"
        "	add rax, [rdi + 8]\n"
        "	mov rdi, [rdi]\n"
        "	jmp 1b\n"
        "2: test rdx, rdx\n"
        "	jz 3f\n"
        "	mov r8d, [rsi + rdx * 4 - 4]\n"
        "	and r8d, 31\n"
        "	inc dword ptr [rcx + r8 * 4]\n"
        "	dec rdx\n"
        "	jmp 2b\n"
        "3: ret\n"
        "region_end: .globl region_end\n"
        ".att_syntax\n");

static int program(void)
{
	uint64_t sum = 0;
	uint32_t seed = 1, at = 0;
	for (int i = 0; i < NODES; i++) {
		at = (at + 17) % NODES; /* 61 is prime: every node once */
		seed = seed * 1103515245 + 12345;
		order[i] = seed >> 16;
		nodes[at].value = seed >> 8;
		nodes[at].next = i == NODES - 1 ? NULL : &nodes[(at + 17) % NODES];
		sum += nodes[at].value;
	}
	for (struct node *n = &nodes[17]; n; n = n->next) {
		expect('R', &n->value, 8);
		expect('R', &n->next, 8);
	}
	for (int i = NODES - 1; i >= 0; i--) {
		expect('R', &order[i], 4);
		expect('M', &bins[order[i] & 31], 4);
	}
	uint64_t stack_at, found;
	__asm__ volatile("mov %%rsp, %0\n\tsub $256, %%rsp\n\tand $-64, %%rsp\n\tcall walk\n\tmov %0, %%rsp\n"
	                 : "=&b"(stack_at), "=a"(found)
	                 : "D"(&nodes[17]), "S"(order), "d"((uint64_t)NODES), "c"(bins)
	                 : "r8", "memory", "cc");
	expect('R', (void *)(((stack_at - 256) & ~63ull) - 8), 8); /* the return */
	check(found == sum, 1);
	uint32_t total = 0;
	for (int i = 0; i < BINS; i++)
		total += bins[i];
	check(total == NODES, 2);
	return 0;
}
