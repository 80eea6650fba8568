/* Shadow memory against an array with an entry for each byte. */
#include "analyzers/shadow.h"
#include "unit.h"

#include <stdlib.h>

enum { BYTES = 20000 };
#define START 0x7ffff0003abcull

static unsigned seed = 7;

static unsigned next(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void compare(struct tw_shadow *s, const struct tw_written *plain, uint64_t at, uint64_t n)
{
	uint64_t same = 1;
	for (uint64_t left = n, piece; left; left -= piece, at += piece) {
		piece = left;
		const struct tw_written *w = tw_shadow_read(s, 5, START + at, &piece);
		CHECK(piece && piece <= left);
		for (uint64_t i = 0; i < piece; i++)
			same &= plain[at + i].writer == w->writer &&
			        (!w->writer || (plain[at + i].time == w->time && plain[at + i].thread == w->thread));
	}
	CHECK(same);
}

int main(void)
{
	static struct tw_written plain[BYTES];
	static const unsigned sizes[] = {1, 2, 4, 8, 8, 8, 16, 32, 100, 5000};
	struct tw_shadow s = {0};
	for (unsigned i = 1; i < 20000; i++) {
		uint64_t n = sizes[next(next(20) ? 8 : 10)], at = next(BYTES - 5000);
		at = next(3) ? at & ~7ull : at; /* START is aligned to 4 */
		const struct tw_written by = {.time = i, .writer = i % 100 + 1, .thread = i % 3};
		int forgets = !next(30);
		EQUAL(forgets ? tw_shadow_forget(&s, 5, START + at, n) : tw_shadow_write(&s, 5, START + at, n, &by), 0);
		for (uint64_t k = 0; k < n; k++)
			plain[at + k] = forgets ? (struct tw_written){0} : by;
		compare(&s, plain, next(BYTES - 5000), sizes[next(10)]);
	}
	EQUAL(tw_shadow_forget(&s, 5, 0, 1ull << 60), 0);
	memset(plain, 0, sizeof plain);
	compare(&s, plain, 0, BYTES);
	uint64_t n = 8;
	EQUAL(tw_shadow_read(&s, 6, START, &n)->writer, 0); /* another process */
	tw_shadow_free(&s);
	return UNIT_END();
}
