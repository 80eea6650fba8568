/* Two coroutines and their creator, which switch to each other: each keeps its own registers and floating-point state. */
#include "replay/coroutine.h"
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>

enum { STACK = 1 << 16, TURNS = 1000 };

struct worker {
	struct tw_coroutine here, *boss;
	long first, sum;
	double product;
};

static void work(void *arg)
{
	struct worker *w = arg;
	long a = w->first, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;
	double x = 1;
	CHECK((uintptr_t)__builtin_frame_address(0) % 16 == 0);
	for (;;) {
		a += 1, b += 2, c += 3, d += 4, e += 5, f += 6;
		x *= 1.5;
		w->sum = a + b + c + d + e + f;
		w->product = x;
		tw_coroutine_switch(&w->here, w->boss);
		x = x > 100 ? 1 : x;
	}
}

int main(void)
{
	struct tw_coroutine boss;
	struct worker w[2] = {{.boss = &boss, .first = 10}, {.boss = &boss, .first = 1000}};
	void *stacks[2];
	double x = 1;
	for (int i = 0; i < 2; i++) {
		stacks[i] = aligned_alloc(16, STACK);
		tw_coroutine_init(&w[i].here, stacks[i], STACK, work, &w[i]);
	}
	for (long turn = 1; turn <= TURNS; turn++) {
		x *= 1.5;
		for (int i = 0; i < 2; i++) {
			tw_coroutine_switch(&boss, &w[i].here);
			EQUAL(w[i].sum, 6 * w[i].first + 15 + 21 * turn);
			CHECK(w[i].product == x);
		}
		x = x > 100 ? 1 : x;
	}
	free(stacks[0]);
	free(stacks[1]);
	return UNIT_END();
}
