#include "channel/budget.h"
#include "channel/machine.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(TW_BUDGET_SWITCHES == TW_SWITCHES + 1, "each has a name, and so has what is compiled");
_Static_assert(TW_OVER_BUCKETS == TW_BUDGET_BUCKETS, "all are taken over");

enum { LATE = 2 }; /* periods after which hardly anything is added to an earlier one */

static const double least_ns = 1e6, most_ns = 1e12, least_budget_ns = 1e5, most_percent = 1000, least_percent = 0.1;

/* A number with a unit behind it. 0: it is none. */
static int parse_time(const char *text, double *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}};
	char *end;
	if (strspn(text, "0123456789.") != strcspn(text, "usmin"))
		return 0;
	*ns = strtod(text, &end);
	for (unsigned k = 0; k < sizeof units / sizeof *units; k++) {
		if (end == text || strcmp(end, units[k].name))
			continue;
		*ns *= units[k].ns;
		return 1;
	}
	return 0;
}

int tw_budget_parse(const char *text, struct tw_budget_asked *asked)
{
	char *end;
	double n;
	asked->is_share = strspn(text, "0123456789.") + 1 == strlen(text) && text[strlen(text) - 1] == '%';
	if (asked->is_share) {
		n = strtod(text, &end);
		asked->budget = n >= least_percent && n <= most_percent ? (uint64_t)(n * 1e4 + .5) : 0;
		return end != text && *end == '%' && asked->budget;
	}
	if (!parse_time(text, &n) || n < least_budget_ns || n > most_ns)
		return 0;
	asked->budget = (uint64_t)n;
	return 1;
}

int tw_budget_parse_period(const char *text, struct tw_budget_asked *asked)
{
	double n;
	if (!parse_time(text, &n) || n < least_ns || n > most_ns)
		return 0;
	asked->period = (uint64_t)n;
	return 1;
}

void tw_budget_start(struct tw_budget_control *c, const struct tw_budget_asked *asked)
{
	c->period = asked->period;
	c->budget = asked->budget;
	c->is_share = asked->is_share;
	c->per_thread = asked->per_thread;
	c->begun = tw_machine_ns();
}

/* Takes period number p, if anything ran in it. */
static int take_one(struct tw_budget_control *c, struct tw_budget_taken *taken, uint64_t p)
{
	struct tw_budget_period *of = &c->of[p % TW_BUDGET_PERIODS];
	const struct tw_budget_figures f = {p, atomic_exchange(&of->used, 0), atomic_exchange(&of->enabled, 0), atomic_load(&of->cpu)};
	struct tw_budget_period *later = &c->of[(p + TW_BUDGET_PERIODS / 2) % TW_BUDGET_PERIODS];
	atomic_store(&later->cpu, 0); /* that of the last periods is looked at by threads */
	atomic_store(&later->used, 0);
	atomic_store(&later->enabled, 0);
	if (!f.cpu)
		return TW_OK;
	if (taken->n == taken->room) {
		const size_t room = taken->room ? 2 * taken->room : 256;
		void *more = realloc(taken->of, room * sizeof *taken->of);
		if (!more)
			return tw_fail(TW_ERR_MEMORY, "budget");
		taken->of = more;
		taken->room = room;
	}
	taken->of[taken->n++] = f;
	return TW_OK;
}

int tw_budget_take(struct tw_budget_control *c, struct tw_budget_taken *taken, int all)
{
	if (!c->period)
		return TW_OK;
	const uint64_t p = (tw_machine_ns() - c->begun) / c->period, end = all ? p + 1 : p > LATE ? p - LATE : 0;
	int error = TW_OK;
	for (; taken->next < end && !error; taken->next++)
		error = take_one(c, taken, taken->next);
	return error;
}

struct tw_budget *tw_budget_result(const struct tw_budget_control *c, const struct tw_budget_taken *taken, size_t *n)
{
	*n = sizeof(struct tw_budget) + taken->n * sizeof *taken->of;
	struct tw_budget *b = malloc(*n);
	if (!b)
		return NULL;
	b->asked = (struct tw_budget_asked){c->period, c->budget, c->is_share, c->per_thread};
	b->opened = atomic_load(&c->opened);
	b->accounts = atomic_load(&c->accounts);
	b->largest = atomic_load(&c->largest);
	b->largest_in = atomic_load(&c->largest_in);
	for (unsigned k = 0; k < TW_OVER_BUCKETS; k++)
		b->over[k] = atomic_load(&c->over[k]);
	memcpy(b->of, taken->of, taken->n * sizeof *taken->of);
	return b;
}

struct tw_budget_end tw_budget_end(const struct tw_budget_control *c)
{
	const uint64_t waited_us = atomic_load(&c->waited) / 1000;
	return (struct tw_budget_end){
	    .switches = c->compiled ? TW_SWITCHES : c->switches,
	    .waited_us = waited_us < UINT32_MAX ? (uint32_t)waited_us : UINT32_MAX,
	    .spent = atomic_load(&c->spent),
	    .behind = atomic_load(&c->behind),
	    .displaced = atomic_load(&c->displaced),
	};
}
