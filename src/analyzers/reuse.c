#include "analyzers/reuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

static uint64_t hash(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

static void add(struct tw_reuse *r, uint32_t time, uint32_t n)
{
	for (; time <= r->room; time += time & -time)
		r->sums[time] += n;
}

/* Lines last accessed at this time or before. */
static uint32_t lines_until(const struct tw_reuse *r, uint32_t time)
{
	uint32_t n = 0;
	for (; time; time -= time & -time)
		n += r->sums[time];
	return n;
}

/* Each sum from those of the times before. */
static void sum_up(struct tw_reuse *r)
{
	for (uint32_t t = 1; t <= r->room; t++) {
		uint32_t next = t + (t & -t);
		if (next <= r->room)
			r->sums[next] += r->sums[t];
	}
}

/* Renumbers times to 1 to n for the existing lines, in order. There is room for as many more. */
static int begin_anew(struct tw_reuse *r)
{
	enum { LEAST = 1024 };
	uint32_t n = 0, room = LEAST;
	while (room / 2 < r->lines.n && room <= UINT32_MAX / 4)
		room *= 2;
	uint32_t *sums = calloc(room + 1ull, sizeof *sums), *line_at = room / 2 < r->lines.n ? NULL : calloc(room + 1ull, sizeof *line_at);
	if (!sums || !line_at) {
		free(sums);
		free(line_at);
		return TW_ERR_MEMORY;
	}
	for (uint32_t t = 1; t <= r->now; t++) {
		uint64_t *last = tw_rows_counts(&r->lines, r->line_at[t]);
		if (*last != t)
			continue;
		*last = ++n;
		sums[n] = 1;
		line_at[n] = r->line_at[t];
	}
	free(r->sums);
	free(r->line_at);
	r->sums = sums;
	r->line_at = line_at;
	r->now = n;
	r->room = room;
	sum_up(r);
	return 0;
}

static unsigned bucket_of(uint64_t distance)
{
	unsigned bucket = distance ? 64 - (unsigned)__builtin_clzll(distance) : 0;
	return bucket < TW_REUSE_FIRST ? bucket : TW_REUSE_FIRST - 1;
}

int tw_reuse_other(struct tw_reuse *r, uint64_t line)
{
	uint64_t h = hash(line);
	uint64_t *counts = r->counts[h >> 60];
	if (r->sample > 1 && (h & 0xffffffff) * r->sample >> 32) {
		r->passed = line + 1;
		return 0;
	}
	uint32_t number = tw_rows_number(&r->lines, line, 0);
	if (number == TW_ROWS_NONE || (r->now == r->room && begin_anew(r)))
		return TW_ERR_MEMORY;
	uint64_t *last = tw_rows_counts(&r->lines, number);
	if (*last) {
		counts[bucket_of((uint64_t)(r->lines.n - lines_until(r, (uint32_t)*last)) * r->sample)]++;
		add(r, (uint32_t)*last, UINT32_MAX);
	} else {
		counts[TW_REUSE_FIRST]++;
	}
	*last = ++r->now;
	r->line_at[r->now] = number;
	add(r, r->now, 1);
	r->newest = line + 1;
	r->newest_group = (unsigned)(h >> 60);
	return 0;
}

uint64_t tw_reuse_count(const struct tw_reuse *r, unsigned bucket)
{
	uint64_t n = 0;
	for (unsigned g = 0; g < TW_REUSE_GROUPS; g++)
		n += r->counts[g][bucket];
	return n * r->sample;
}

/* The share of a group, and its weight. */
static double group_share(const struct tw_reuse *r, unsigned group, unsigned bucket, uint64_t *all)
{
	uint64_t within = 0;
	*all = 0;
	for (unsigned b = 0; b < TW_REUSE_BUCKETS; b++) {
		*all += r->counts[group][b];
		within += b <= bucket ? r->counts[group][b] : 0;
	}
	return *all ? (double)within / (double)*all : 0;
}

/* That of a ratio, from how far groups are off it. */
static double error_of_groups(const struct tw_reuse *r, unsigned bucket, double share)
{
	double squares = 0, all = 0;
	uint64_t n;
	for (unsigned g = 0; g < TW_REUSE_GROUPS; g++) {
		double off = group_share(r, g, bucket, &n) - share;
		squares += off * off * (double)n * (double)n;
		all += (double)n;
	}
	return all > 0 ? sqrt(squares * TW_REUSE_GROUPS / (TW_REUSE_GROUPS - 1)) / all : 0;
}

/*
 * A distance of d lines is known from d / sample sampled lines: the bucket's boundary is uncertain by that, with
 * accesses on both sides. Distances below the sample rate cannot be distinguished.
 */
static double error_of_distance(const struct tw_reuse *r, unsigned bucket)
{
	uint64_t all = 0, near = 0;
	double looked_at = ldexp(1, (int)bucket) / r->sample;
	for (unsigned b = 0; b < TW_REUSE_BUCKETS; b++) {
		uint64_t n = tw_reuse_count(r, b);
		all += n;
		if (looked_at <= 1)
			near += b <= bucket || ldexp(1, (int)b - 1) <= r->sample ? n : 0;
		else if (b == bucket || (b == bucket + 1 && b < TW_REUSE_FIRST))
			near = n > near ? n : near;
	}
	if (bucket == TW_REUSE_FIRST || !all)
		return 0;
	return (double)near / (double)all * (looked_at > 1 ? M_LOG2E / sqrt(looked_at) : 1);
}

double tw_reuse_share(const struct tw_reuse *r, unsigned bucket, double *error)
{
	double all = 0, within = 0;
	uint64_t n;
	for (unsigned g = 0; g < TW_REUSE_GROUPS; g++) {
		within += group_share(r, g, bucket, &n) * (double)n;
		all += (double)n;
	}
	double share = all > 0 ? within / all : 0;
	*error = r->sample > 1 ? hypot(error_of_groups(r, bucket, share), error_of_distance(r, bucket)) : 0;
	return share;
}

void tw_reuse_free(struct tw_reuse *r)
{
	tw_rows_free(&r->lines);
	free(r->sums);
	free(r->line_at);
}
