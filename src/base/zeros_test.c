#include "base/zeros.h"
#include "unit.h"

#include <stdint.h>

enum { BYTES = 64 << 20 };

int main(void)
{
	const long before = unit_faults();
	uint8_t *z = tw_zeros_new(BYTES);
	CHECK(z);
	EQUAL(z[0], 0);
	EQUAL(z[BYTES - 1], 0);
	z[BYTES / 2] = 1;
	CHECK(unit_faults() - before < 64);
	tw_zeros_free(z, BYTES);
	tw_zeros_free(NULL, BYTES);
	CHECK(!tw_zeros_new(SIZE_MAX / 2));
	return UNIT_END();
}
