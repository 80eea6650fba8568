/* Budgets and periods, as words; what is taken of the channel's figures; how overshoots are counted. */
#include "channel/budget.h"
#include "unit.h"

#include <stdlib.h>

static void share(const char *text, uint64_t millionths)
{
	struct tw_budget_asked asked = {0};
	CHECK(tw_budget_parse(text, &asked));
	EQUAL(asked.is_share, 1);
	EQUAL(asked.budget, millionths);
}

static void time_of(const char *text, uint64_t ns)
{
	struct tw_budget_asked asked = {0};
	CHECK(tw_budget_parse(text, &asked));
	EQUAL(asked.is_share, 0);
	EQUAL(asked.budget, ns);
}

static void parse(void)
{
	static const char *const bad[] = {"",     "10",   "%",    "0%",  "0.01%",  "-5%",  "1001%", "10%%", "1e1%",
	                                  "ten%", "10 %", "5s s", "1us", "1.2.3s", "inf%", "nan%",  "s"};
	struct tw_budget_asked asked = {0};
	share("10%", 100000);
	share("0.5%", 5000);
	share("150%", 1500000);
	time_of("100ms", 100000000);
	time_of("1.5s", 1500000000);
	time_of("250us", 250000);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!tw_budget_parse(bad[i], &asked));
	CHECK(tw_budget_parse_period("50ms", &asked));
	EQUAL(asked.period, 50000000);
	CHECK(tw_budget_parse_period("10s", &asked));
	CHECK(!tw_budget_parse_period("10", &asked));
	CHECK(!tw_budget_parse_period("10%", &asked));
	CHECK(!tw_budget_parse_period("100us", &asked));
	CHECK(!tw_budget_parse_period("2000s", &asked));
}

/* Periods in which nothing ran are left out; the rest is taken once, and stands in the result. */
static void take(void)
{
	static struct tw_budget_control c;
	struct tw_budget_taken taken = {0};
	size_t bytes;
	tw_budget_start(&c, &(struct tw_budget_asked){.period = 1000000, .budget = 100000, .is_share = 1});
	c.begun -= 400 * c.period; /* so many are over, at least */
	for (unsigned p = 3; p < 300; p += 2) {
		c.of[p].used = p;
		c.of[p].enabled = 2 * p;
		c.of[p].cpu = 11 * p;
	}
	c.over[0] = 5;
	c.largest = 15500;
	c.over[4] = 2; /* 8 to 16 us */
	EQUAL(tw_budget_take(&c, &taken, 0), 0);
	EQUAL(taken.n, 149);
	EQUAL(tw_budget_take(&c, &taken, 1), 0);
	EQUAL(taken.n, 149);
	struct tw_budget *b = tw_budget_result(&c, &taken, &bytes);
	EQUAL(bytes, sizeof *b + 149 * sizeof *b->of);
	EQUAL(b->of[1].period, 5);
	EQUAL(b->of[1].enabled, 10);
	const struct tw_budget_figures sum = tw_budget_sum(b, taken.n);
	EQUAL(sum.cpu, 11 * sum.used);
	CHECK(tw_budget_share(&sum) > .0999 && tw_budget_share(&sum) < .1001);
	EQUAL(tw_budget_overshoots(b, 0), 7);
	EQUAL(tw_budget_overshoots(b, 15000), 2);
	EQUAL(tw_budget_overshoots(b, 15500), 0);
	EQUAL(tw_budget_overshoots(b, 16000), 0);
	free(b);
	free(taken.of);
}

int main(void)
{
	char text[TW_BUDGET_TEXT];
	parse();
	take();
	SAME_TEXT(tw_budget_text(&(struct tw_budget_asked){.budget = 5000, .is_share = 1}, text), "0.5%");
	SAME_TEXT(tw_budget_text(&(struct tw_budget_asked){.budget = 2500000}, text), "2.5ms");
	return 0;
}
