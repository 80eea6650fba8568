#include "recording/slab.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>

/* Things of all sizes, some larger than a slab, do not overlap and are aligned. */
int main(void)
{
	enum { N = 3000 };
	static uint8_t *at[N];
	static size_t size[N];
	struct tw_slab *slabs = NULL;
	for (int i = 0; i < N; i++) {
		size[i] = i % 1000 == 999 ? 3000000 : (size_t)i;
		at[i] = tw_slab_take(&slabs, size[i]);
		CHECK(at[i] && (uintptr_t)at[i] % 8 == 0);
		memset(at[i], i & 0xff, size[i]);
	}
	for (int i = 0; i < N; i++) {
		size_t same = 0;
		while (same < size[i] && at[i][same] == (i & 0xff))
			same++;
		EQUAL(same, size[i]);
	}
	tw_slab_free(slabs);
	tw_slab_free(NULL);
	return UNIT_END();
}
