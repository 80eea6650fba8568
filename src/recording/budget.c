#include "recording/budget.h"

#include <stdio.h>

struct tw_budget_figures tw_budget_sum(const struct tw_budget *b, size_t n)
{
	struct tw_budget_figures sum = {0};
	for (size_t i = 0; i < n; i++) {
		sum.used += b->of[i].used;
		sum.enabled += b->of[i].enabled;
		sum.cpu += b->of[i].cpu;
	}
	return sum;
}

double tw_budget_share(const struct tw_budget_figures *f)
{
	return f->cpu > f->used ? (double)f->used / (double)(f->cpu - f->used) : 0;
}

uint64_t tw_budget_overshoots(const struct tw_budget *b, uint64_t above)
{
	uint64_t n = 0, end_ns = 1000;
	if (b->largest <= above)
		return 0;
	for (unsigned k = 0; k < TW_OVER_BUCKETS; k++, end_ns *= 2)
		n += end_ns > above || k + 1 == TW_OVER_BUCKETS ? b->over[k] : 0;
	return n;
}

const char *tw_budget_time(uint64_t ns, char to[TW_BUDGET_TEXT])
{
	const double n = (double)ns;
	if (ns >= 1000000000)
		snprintf(to, TW_BUDGET_TEXT, "%.4gs", n / 1e9);
	else if (ns >= 1000000)
		snprintf(to, TW_BUDGET_TEXT, "%.4gms", n / 1e6);
	else
		snprintf(to, TW_BUDGET_TEXT, "%.4gus", n / 1e3);
	return to;
}

const char *tw_budget_text(const struct tw_budget_asked *asked, char to[TW_BUDGET_TEXT])
{
	if (!asked->is_share)
		return tw_budget_time(asked->budget, to);
	snprintf(to, TW_BUDGET_TEXT, "%.6g%%", (double)asked->budget / 1e4);
	return to;
}

const char *tw_budget_switch_name(uint32_t number)
{
	static const char *const names[TW_BUDGET_SWITCHES] = {"asynchronous", "trace-version", "trace-version-conditional",
	                                                      "trace-conditional", "compiled"};
	return number < TW_BUDGET_SWITCHES ? names[number] : NULL;
}
