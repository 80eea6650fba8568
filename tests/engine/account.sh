# The account of a budget and what is charged to it, the engine's own files run by themselves: threads draw halves, so that a period's share is spent in a few steps; small rests stay for the next
# period; what was overdrawn is taken from it; and waiting in the engine is not charged, as the program's processor time has none of it.
. "$(dirname "$0")/../lib.sh"
cc_program account -Wno-unused-function -std=c11 -D_GNU_SOURCE -DTW_ENGINE -I"$ROOT/src" -I"$ROOT/include" <<'END'
#include "engine/record/account.c"
#undef MILLION
#include "engine/record/charge.c"
#include "engine/record/cycles.c"
int printf(const char *format, ...);
int usleep(unsigned us);
struct engine tw_engine;
u64 tw_tsc(void) { return 0; }
u64 tw_price_cost(const struct thread *of, u64 engine, u64 in_code) { return of && in_code ? engine : 0; }
enum { SECOND = 1000000000 };
static struct tw_control in_channel;
static struct tw_record_thread record;
static struct thread t = {.record = &record};
static int failed;
static void is(const char *what, u64 found, u64 expected)
{
	failed |= found != expected;
	if (found != expected)
		printf("%s: %lu, not %lu\n", what, (unsigned long)found, (unsigned long)expected);
}
static const struct tw_account *begin(u64 ns)
{
	static struct tw_account a;
	in_channel = (struct tw_control){.budget = {.period = 1000 * MILLION, .budget = ns}};
	tw_engine.control = &in_channel;
	a = tw_account_of(&t);
	return &a;
}
static void halves(void)
{
	const struct tw_account a = *begin(1600000);
	u64 period = 0, steps = 0, sum = 0, n;
	is("the first is half", tw_account_draw(a, &period, 1, 0), 800000);
	is("the second a quarter", tw_account_draw(a, &period, 1, 0), 400000);
	tw_account_settle(a, 0, 400000, 100000);
	is("what was given back is drawn again", tw_account_draw(a, &period, 1, 0), 350000);
	while ((n = tw_account_draw(a, &period, 1, 0))) {
		sum += n;
		steps++;
	}
	is("the rest comes in few steps", steps <= 3, 1);
	is("and is all but a sixteenth at most", sum >= 250000 && sum <= 350000, 1);
}
static void periods(void)
{
	const struct tw_account a = *begin(1000000);
	u64 period = 0;
	const u64 n = tw_account_draw(a, &period, 1, 0);
	tw_account_settle(a, 0, n, n + 700000); /* so 200,000 more than there were */
	is("nothing is left", tw_account_has(a), 0);
	is("nothing is drawn", tw_account_draw(a, &period, 1, 0), 0);
	period = 1;
	is("its first fifth has been overdrawn", tw_account_draw(a, &period, 1, SECOND), 0);
	is("the next has half of what is left over", tw_account_draw(a, &period, 1, 2 * (u64)SECOND - 1), 400000);
	is("the overshoot is told", in_channel.budget.largest, 200000);
	period = 0;
	tw_account_draw(a, &period, 1, 0);
	is("who is behind comes to that period", period, 1);
}
static void parts(void)
{
	const struct tw_account a = *begin(1024000);
	u64 period = 1, sum = 0, n;
	while ((n = tw_account_draw(a, &period, 1, SECOND + SECOND / 2)))
		sum += n;
	is("of half of a later period there is that part, and a fifth of a second more", sum > 640000 && sum <= 716800, 1);
	is("more comes in a fifth of a second", tw_account_more_after(1, SECOND + SECOND / 2), SECOND / 5);
	is("or when the period ends", tw_account_more_after(1, 2 * (u64)SECOND - 10), 10);
	while ((n = tw_account_draw(a, &period, 1, 2 * (u64)SECOND - 1)))
		sum += n;
	is("and at its end there is all", sum > 960000 && sum <= 1024000, 1);
	in_channel.budget.bare = 1;
	period = 2;
	is("where something is learned it is there at once", tw_account_draw(a, &period, 1, 2 * (u64)SECOND), 512000);
}
static void carried(void)
{
	const struct tw_account a = *begin(100000);
	u64 period = 0;
	in_channel.budget.is_share = 1;
	tw_account_draw(a, &period, 1, 0);
	tw_account_settle(a, 0, 0, 0);
	__atomic_store_n(a.cpu, 500 * MILLION, __ATOMIC_RELAXED);
	period = 1;
	tw_account_draw(a, &period, 1, 0);
	is("a rest stays, up to the share of a whole period", *a.allowance > 45 * MILLION && *a.allowance <= 91 * MILLION, 1);
}
static void rests(void)
{
	const struct tw_account a = *begin(1024000);
	u64 period = 0, n = tw_account_draw(a, &period, 1, 0);
	is("what has been drawn is not used yet: half of the period, half of the share", tw_account_draw_rest(a, 0, 500 * MILLION), 512000);
	is("no more than there is", tw_account_draw_rest(a, 0, 1000 * MILLION), 0);
	tw_account_settle(a, 0, 512000, 400000);
	tw_account_settle(a, 0, n, n);
	is("what is given back is left", tw_account_draw_rest(a, 0, 1000 * MILLION) == 112000, 1);
	is("nothing for another period", tw_account_draw_rest(a, 1, 500 * MILLION), 0);
}
static void owed(void)
{
	const struct tw_account a = *begin(1000000);
	tw_account_owe(a, 100);
	is("before the first period nothing is there", in_channel.budget.owed, 100);
	tw_account_look(a, 0);
	is("which the first pays", (*a.word & TW_BUDGET_DRAWN) == 100 && !in_channel.budget.owed, 1);
	tw_account_owe(a, 2600000);
	is("what there is pays at once", tw_account_has(a), 0);
	tw_account_look(a, 1);
	is("the next pays with all that it has", tw_account_has(a), 0);
	tw_account_look(a, 2);
	is("so that one that comes later has less", *a.word & TW_BUDGET_DRAWN, 2600000 + 100 - 2000000);
	tw_account_look(a, 2);
	is("once", *a.word & TW_BUDGET_DRAWN, 600100);
	is("none is overdrawn", in_channel.budget.largest, 0);
}
static void charged(void)
{
	begin(1000000);
	record = (struct tw_record_thread){.recording = true};
	const u64 began = tw_charge_begin(&t);
	usleep(50000);
	tw_charge_end(&t, began);
	is("waiting is not charged", record.budget.engine < 20 * MILLION, 1);
	record.recording = false;
	is("who does not record is not charged", tw_charge_begin(&t), 0);
}
int main(void)
{
	halves();
	periods();
	parts();
	carried();
	rests();
	owed();
	charged();
	return failed;
}
END
run out err ./account || fail "the account is not right: $(cat out err)"
