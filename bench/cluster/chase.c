/* Follows indices that nothing foretells: a recording of many chunks. */
#include <stdio.h>

enum { N = 1 << 16, STEPS = 40000000 };
static unsigned next[N];

int main(void)
{
	unsigned at = 1;
	for (unsigned i = 0; i < N; i++)
		next[i] = (i * 40503u + 12345u) % N;
	for (int i = 0; i < STEPS; i++)
		at = next[at];
	return printf("%u\n", at) < 0;
}
