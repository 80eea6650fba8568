#include "engine/record/cycles.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/time.h>
#include <linux/time_types.h>

#define MILLION 1000000u

u64 tw_cycles_clock(i32 which)
{
	struct __kernel_timespec now = {0, 0};
	tw_sys(__NR_clock_gettime, which, &now, 0);
	return (u64)now.tv_sec * 1000 * MILLION + (u64)now.tv_nsec;
}

/* ns per 2^20 cycles, measured since this process's first look; until then, the value of a counter faster than any real one. */
static struct {
	u64 tsc, ns, scale;
} since = {.scale = 1u << 18};

void tw_cycles_measure(u64 now)
{
	const u64 tsc = tw_tsc();
	if (!since.ns) {
		since.tsc = tsc;
		since.ns = now;
	} else if (now - since.ns > MILLION && tsc > since.tsc && now - since.ns < 1ull << 43) {
		since.scale = ((now - since.ns) << 20) / (tsc - since.tsc);
	}
}

u64 tw_cycles_to_ns(u64 cycles)
{
	return (cycles >> 10) * since.scale >> 10;
}

u64 tw_cycles_of_ns(u64 ns)
{
	return (ns << 10) / (since.scale ? since.scale : 1) << 10;
}
