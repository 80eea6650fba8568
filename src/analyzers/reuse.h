/*
 * Reuse distances: at each access to a line, how many other lines were accessed since the last one. A fully
 * associative LRU cache of n lines holds those accesses whose distance is less than n.
 *
 * The time of each line's last access is marked in a tree of sums, which tells in O(log n) how many lines come after
 * it. If only one line in `sample` is examined, chosen by a hash of its number, distances and counts are multiplied
 * by that (Waldspurger and others, Efficient MRC construction with SHARDS, 2015). Lines are divided into groups, also
 * by hash: the spread of the groups, and the error of distances, give the standard error of a share.
 */
#ifndef TW_REUSE_H
#define TW_REUSE_H

#include "analyzers/rows.h"

/* Bucket 0 is distance 0, bucket k distances from 2^(k-1) to 2^k - 1. The last one: lines not accessed before. */
enum { TW_REUSE_BUCKETS = 50, TW_REUSE_FIRST = TW_REUSE_BUCKETS - 1, TW_REUSE_GROUPS = 16 };

/* All zeros but for `sample`. */
struct tw_reuse {
	uint32_t sample;                                    /* 1: all lines are looked at */
	struct tw_rows lines;                               /* by number; the time of the last access */
	uint32_t *sums;                                     /* Fenwick's tree over times, from 1 on: 1 where a line was last accessed */
	uint32_t *line_at;                                  /* the line of each time, a number of a row */
	uint32_t now, room;                                 /* the newest time; times there is room for */
	uint64_t newest, passed;                            /* 1 + the line accessed last among those examined, and among the others */
	unsigned newest_group;                              /* of `newest` */
	uint64_t counts[TW_REUSE_GROUPS][TW_REUSE_BUCKETS]; /* not multiplied */
};

/* A line is accessed that is not the newest. 0 or TW_ERR_MEMORY. */
int tw_reuse_other(struct tw_reuse *r, uint64_t line);

/* A line is accessed. Most often it is the one that was accessed last. */
static inline int tw_reuse_access(struct tw_reuse *r, uint64_t line)
{
	if (r->newest == line + 1) {
		r->counts[r->newest_group][0]++;
		return 0;
	}
	return r->passed == line + 1 ? 0 : tw_reuse_other(r, line);
}

/* Accesses of a bucket, among all accesses: an estimate if there is a sample. */
uint64_t tw_reuse_count(const struct tw_reuse *r, unsigned bucket);

/* The share that buckets up to this one have of all accesses, and its standard error; 0 without a sample. */
double tw_reuse_share(const struct tw_reuse *r, unsigned bucket, double *error);

void tw_reuse_free(struct tw_reuse *r);

#endif
