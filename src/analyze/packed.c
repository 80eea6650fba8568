#include "analyze/packed.h"
#include "recording/recording.h"

#include <stdlib.h>

int tw_pack_bytes(FILE *to, const void *bytes, size_t n)
{
	return !n || fwrite(bytes, n, 1, to) == 1 ? 0 : tw_fail(TW_ERR_MEMORY, "packed state");
}

int tw_pack_number(FILE *to, uint64_t n)
{
	return tw_pack_bytes(to, &n, sizeof n);
}

int tw_pack_array(FILE *to, const void *items, size_t n, size_t size)
{
	int error = tw_pack_number(to, n);
	return error ? error : tw_pack_bytes(to, items, n * size);
}

int tw_unpack_bytes(FILE *from, void *bytes, size_t n)
{
	return !n || fread(bytes, n, 1, from) == 1 ? 0 : tw_fail(TW_ERR_DAMAGED, "packed state");
}

int tw_unpack_number(FILE *from, uint64_t *n)
{
	return tw_unpack_bytes(from, n, sizeof *n);
}

/* Memory is allocated as items come: with a wrong number, the bytes end before the memory does. */
int tw_unpack_array(FILE *from, void **items, size_t *n, size_t *room, size_t size)
{
	enum { PIECE = 1 << 16 };
	uint64_t left;
	int error = tw_unpack_number(from, &left);
	for (*n = 0; left && !error;) {
		size_t more = left < PIECE ? (size_t)left : PIECE;
		if (*n + more > *room) {
			size_t want = *n + more > 2 * *n ? *n + more : 2 * *n;
			void *larger = reallocarray(*items, want, size);
			if (!larger)
				return tw_fail(TW_ERR_MEMORY, "packed state");
			*items = larger;
			*room = want;
		}
		error = tw_unpack_bytes(from, (char *)*items + *n * size, more * size);
		*n += error ? 0 : more;
		left -= more;
	}
	return error;
}
