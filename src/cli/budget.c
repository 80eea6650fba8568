#include "cli/budget.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static const char *per(const struct tw_budget *b)
{
	return b->asked.per_thread ? " for each thread" : "";
}

/* An overshoot is reported if it exceeds this part of the period. */
static uint64_t notable(const struct tw_budget *b)
{
	return b->asked.period / 100;
}

void tw_budget_print_line(FILE *f, const char *before, const struct tw_budget *b, size_t n)
{
	char asked[TW_BUDGET_TEXT], period[TW_BUDGET_TEXT], used[TW_BUDGET_TEXT];
	const struct tw_budget_figures sum = tw_budget_sum(b, n);
	fprintf(f, "%sbudget %s in %s%s: %.2f%% used (%s), recorded for %.1f%% of the CPU time, ", before, tw_budget_text(&b->asked, asked),
	        tw_budget_time(b->asked.period, period), per(b), 100 * tw_budget_share(&sum), tw_budget_time(sum.used, used),
	        percent(sum.enabled, sum.cpu));
	if (b->accounts)
		fprintf(f, "%llu of %llu periods overdrawn\n", (unsigned long long)tw_budget_overshoots(b, 0),
		        (unsigned long long)b->accounts);
	else
		fputs("in less than a period\n", f);
}

static void print_times(FILE *f, const char *what, uint64_t n)
{
	if (n == 1)
		fprintf(f, "%s once", what);
	else
		fprintf(f, "%s %llu times", what, (unsigned long long)n);
}

/* What it was that ended recording, time and again. */
static void print_ends(FILE *f, const struct tw_budget *b, const struct tw_budget_end *end)
{
	char time[TW_BUDGET_TEXT];
	if (end->spent)
		print_times(f, "the budget was used up", end->spent);
	else
		fprintf(f, "the budget was never used up%s",
		        end->behind    ? ""
		        : !b->accounts ? ": the program ended within the first period, and was recorded all the time"
		                       : ": recording costs less, and was on from its start to the end");
	if (end->behind)
		print_times(f, ", the recorder had to catch up", end->behind);
	if (end->waited_us)
		fprintf(f, ", and was waited for %s", tw_budget_time(end->waited_us * 1000ull, time));
	if (end->displaced)
		fprintf(f, "; %s of the used time is what the recorder took of the program's processors",
		        tw_budget_time(end->displaced, time));
}

void tw_budget_print_end(FILE *f, const char *before, const struct tw_budget *b, const struct tw_budget_end *end)
{
	if (!end || (end->spent && !end->behind))
		return;
	fputs(before, f);
	print_ends(f, b, end);
	fputc('\n', f);
}

void tw_budget_tell_part(const char *command, const struct tw_recording *r)
{
	size_t n;
	char asked[TW_BUDGET_TEXT], period[TW_BUDGET_TEXT];
	const struct tw_budget *b = tw_recording_budget(r, &n);
	if (!b)
		return;
	const struct tw_budget_figures sum = tw_budget_sum(b, n);
	fprintf(stderr, "trackway %s: this covers %.1f%% of the CPU time: the recording was made with a budget of %s in %s%s\n", command,
	        percent(sum.enabled, sum.cpu), tw_budget_text(&b->asked, asked), tw_budget_time(b->asked.period, period), per(b));
}

/* ---- text ---- */

static void print_overshoots(const struct tw_budget *b)
{
	char time[TW_BUDGET_TEXT], from[TW_BUDGET_TEXT];
	if (!b->accounts) {
		printf("%-16snone, since the program ended within the first period\n", "overshoots");
		return;
	}
	printf("%-16s%llu of %llu periods", "overshoots", (unsigned long long)tw_budget_overshoots(b, 0), (unsigned long long)b->accounts);
	if (b->largest)
		printf(", the largest %s in period %llu; %llu of more than 1%% of the period", tw_budget_time(b->largest, time),
		       (unsigned long long)b->largest_in, (unsigned long long)tw_budget_overshoots(b, notable(b)));
	putchar('\n');
	for (unsigned k = 0; k < TW_OVER_BUCKETS; k++)
		if (b->over[k])
			printf("  %12s to %-12s%12llu\n", k ? tw_budget_time(500ull << k, from) : "0us", tw_budget_time(1000ull << k, time),
			       (unsigned long long)b->over[k]);
}

static void print_period(const struct tw_budget_figures *f)
{
	char used[TW_BUDGET_TEXT], cpu[TW_BUDGET_TEXT];
	printf("  %12llu%12s%11.2f%%%11.1f%%%12s\n", (unsigned long long)f->period, tw_budget_time(f->used, used), 100 * tw_budget_share(f),
	       percent(f->enabled, f->cpu), tw_budget_time(f->cpu, cpu));
}

/* The first and the last periods; all are in --json. */
static void print_periods(const struct tw_budget *b, size_t n)
{
	enum { FIRST = 8, LAST = 4 };
	printf("  %12s%12s%12s%12s%12s\n", "period", "used", "cost", "recorded", "CPU time");
	for (size_t i = 0; i < n; i++) {
		if (i < FIRST || i + LAST >= n)
			print_period(&b->of[i]);
		else if (i == FIRST)
			printf("  %12s\n", "...");
	}
}

void tw_budget_print(const struct tw_recording *r)
{
	size_t n;
	char asked[TW_BUDGET_TEXT], period[TW_BUDGET_TEXT], used[TW_BUDGET_TEXT];
	const struct tw_budget *b = tw_recording_budget(r, &n);
	if (!b)
		return;
	const struct tw_budget_figures sum = tw_budget_sum(b, n);
	const struct tw_budget_end *end = tw_recording_budget_end(r);
	printf("\n%-16s%s in each period of %s%s\n", "budget", tw_budget_text(&b->asked, asked), tw_budget_time(b->asked.period, period),
	       per(b));
	printf("%-16s%s, %.2f%% of the time without instrumentation\n", "used", tw_budget_time(sum.used, used),
	       100 * tw_budget_share(&sum));
	printf("%-16s%.1f%% of the CPU time", "recorded", percent(sum.enabled, sum.cpu));
	print_times(stdout, ", begun", b->opened);
	puts("; the rest was left out (budget)");
	if (end) {
		printf("%-16s", "left out");
		print_ends(stdout, b, end);
		printf("\n%-16s%s\n", "switch", tw_budget_switch_name(end->switches) ? tw_budget_switch_name(end->switches) : "unknown");
	}
	print_overshoots(b);
	print_periods(b, n);
}

/* ---- JSON ---- */

static void json_figures(struct tw_json *j, const struct tw_budget_figures *f)
{
	tw_json_number(j, "used_ns", f->used);
	tw_json_real(j, "cost", tw_budget_share(f));
	tw_json_number(j, "recorded_ns", f->enabled);
	tw_json_number(j, "cpu_ns", f->cpu);
}

static void json_end(struct tw_json *j, const struct tw_budget_end *end)
{
	if (!end)
		return;
	if (tw_budget_switch_name(end->switches))
		tw_json_text(j, "switch", tw_budget_switch_name(end->switches));
	tw_json_number(j, "used_up", end->spent);
	tw_json_number(j, "caught_up", end->behind);
	tw_json_number(j, "waited_ns", end->waited_us * 1000ull);
	tw_json_number(j, "displaced_ns", end->displaced);
}

static void json_overshoots(struct tw_json *j, const struct tw_budget *b)
{
	tw_json_open(j, "overshoots", '{');
	tw_json_number(j, "periods", b->accounts);
	tw_json_number(j, "overdrawn", tw_budget_overshoots(b, 0));
	tw_json_number(j, "above_1_percent", tw_budget_overshoots(b, notable(b)));
	tw_json_number(j, "largest_ns", b->largest);
	tw_json_number(j, "largest_in", b->largest_in);
	tw_json_open(j, "below_us", '{');
	for (unsigned k = 0; k < TW_OVER_BUCKETS; k++) {
		char key[24];
		snprintf(key, sizeof key, "%llu", 1ull << k);
		if (b->over[k])
			tw_json_number(j, key, b->over[k]);
	}
	tw_json_close(j, '}');
	tw_json_close(j, '}');
}

void tw_budget_json(struct tw_json *j, const struct tw_recording *r)
{
	size_t n;
	char asked[TW_BUDGET_TEXT];
	const struct tw_budget *b = tw_recording_budget(r, &n);
	if (!b)
		return;
	const struct tw_budget_figures sum = tw_budget_sum(b, n);
	tw_json_open(j, "budget", '{');
	tw_json_text(j, "asked", tw_budget_text(&b->asked, asked));
	tw_json_number(j, "period_ns", b->asked.period);
	tw_json_text(j, "per", b->asked.per_thread ? "thread" : "program");
	json_figures(j, &sum);
	tw_json_number(j, "opened", b->opened);
	json_end(j, tw_recording_budget_end(r));
	json_overshoots(j, b);
	tw_json_open(j, "periods", '[');
	for (size_t i = 0; i < n; i++) {
		tw_json_open(j, NULL, '{');
		tw_json_number(j, "period", b->of[i].period);
		json_figures(j, &b->of[i]);
		tw_json_close(j, '}');
	}
	tw_json_close(j, ']');
	tw_json_close(j, '}');
}
