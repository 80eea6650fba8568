# What a byte of records costs, as the pace tells it, the engine's own file run by itself: points that come so often that they are taken back after some ms each tell something, and the price follows from all of it.
. "$(dirname "$0")/../lib.sh"
cc_program price -std=c11 -D_GNU_SOURCE -DTW_ENGINE -I"$ROOT/src" -I"$ROOT/include" <<'END'
#include "engine/record/price.c"
int printf(const char *format, ...);
struct tw_record_process tw_recorder;
static struct tw_record_thread record;
static struct thread t = {.record = &record};
static u64 written;
/* The thread runs for so long in one mode, and passes its point so often. */
static void run(bool bare, u64 ns, u64 times, u64 bytes)
{
	record.bare = bare;
	t.pace[0] += times;
	written += bytes;
	record.budget.past = written;
	tw_price_note(&t, ns);
	record.budget.bytes = written;
}
/* A point is there for 4 ms in each mode: bare code passes it once in 1,000 ns, code that records once in so many. */
static void cycle(u64 recording_ns)
{
	tw_recorder.points++;
	run(true, 0, 0, 0);
	run(false, 0, 0, WARM_BYTES);
	run(true, 4000000, 4000, 0);
	run(false, 4000 * recording_ns, 4000, 4000 * 1024);
}
int main(void)
{
	cycle(1200);
	const u64 first = tw_price_per_1024(&t);
	cycle(1800);
	const u64 both = tw_price_per_1024(&t);
	for (int k = 0; k < 50; k++)
		tw_price_forget(&t);
	cycle(1200);
	const u64 later = tw_price_per_1024(&t);
	if (first < 190 || first > 215 || both < 480 || both > 520 || later > 230)
		printf("%lu %lu %lu\n", (unsigned long)first, (unsigned long)both, (unsigned long)later);
	return first < 190 || first > 215 || both < 480 || both > 520 || later > 230;
}
END
run out err ./price || fail "a byte costs $(cat out err)"
