/*
 * If pages are expensive malloc's memory is in huge pages; it behaves as usual, also beyond the reserved addresses,
 * and if data is limited nothing is allocated ahead.
 */
#include "base/heap.h"
#include "base/dear.h"
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void within_a_limit(void)
{
	struct rlimit was, l;
	const char *before = sbrk(0);
	getrlimit(RLIMIT_DATA, &was);
	l = (struct rlimit){1u << 30, was.rlim_max};
	CHECK(!setrlimit(RLIMIT_DATA, &l));
	tw_heap_to_store();
	CHECK((const char *)sbrk(0) - before < 1 << 20);
	setrlimit(RLIMIT_DATA, &was);
}

static void memory(void)
{
	enum { N = 64, BYTES = 3 << 20 };
	unsigned char *at[N];
	tw_heap_to_store();
	for (int k = 0; k < N; k++) {
		at[k] = calloc(1, (size_t)BYTES + (size_t)k);
		CHECK(at[k] && !at[k][0] && !at[k][BYTES - 1 + k]);
		memset(at[k], k, (size_t)BYTES / 16);
		free(k % 3 ? NULL : at[k]);
	}
	for (int k = 0; k < N; k++)
		if (k % 3) {
			CHECK(at[k][0] == k && at[k][BYTES / 16 - 1] == k && !at[k][BYTES / 16]);
			free(at[k]);
		}
}

int main(void)
{
	const int dear = tw_dear_pages();
	CHECK(dear == tw_dear_pages());
	within_a_limit();
	memory();
	return UNIT_END();
}
