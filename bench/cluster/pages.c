/* Touches 200,000 pages in no order: the state of an analyzer that keeps something of each page. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGES = 200000, PAGE = 4096 };

int main(void)
{
	char *m = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned x = 1;
	for (size_t i = 0; m != MAP_FAILED && i < 4 * PAGES; i++) {
		x = x * 1664525u + 1013904223u;
		m[(size_t)(x >> 8) % PAGES * PAGE + x % PAGE] = 1;
	}
	return m == MAP_FAILED || printf("%d\n", m[7]) < 0;
}
