/*
 * Races that were found: each pair of places once, with both accesses; printed with names, except those that a
 * suppression file excludes.
 */
#ifndef TW_RACE_REPORT_H
#define TW_RACE_REPORT_H

#include "analyzers/atomics.h"
#include "analyzers/callpath.h"
#include "analyzers/lockset.h"
#include "analyzers/epochs.h"

enum { TW_RACE_TIMES_KEPT = 4 };

struct tw_race {
	struct tw_epoch_access access[2]; /* the later one first */
	uint32_t serial[2], image[2];     /* of the threads */
	uint64_t addr, times;
	struct {
		uint32_t thread[2], clock[2];
	} at[TW_RACE_TIMES_KEPT]; /* the first times: whose clock stood where */
	unsigned n_at;
	int possible; /* atomic instructions may have ordered it, as far as known, each time */
	int unknown;  /* no access is known to be atomic, and the source of one is not known */
};

/* All zeros but for the context. */
struct tw_races {
	const struct tw_context *context;
	struct tw_race *items;
	size_t n, room;
	char **rules; /* of suppression: KIND:PATTERN */
	size_t n_rules, rules_room;
	uint64_t suppressed;
	struct tw_race_expected {
		uint64_t pc;
		uint32_t image;
	} * expected; /* what these load is expected by a compare-and-exchange */
	size_t n_expected, expected_room;
};

/* The file of rules. 0, TW_ERR_MEMORY, or 1: an error has been reported. */
int tw_races_suppress(struct tw_races *r, const char *path);

/* Has it been found before? Then this time is noted. */
int tw_races_note(struct tw_races *r, const struct tw_race *race);

/* One that has not. 0 or TW_ERR_MEMORY. */
int tw_races_add(struct tw_races *r, const struct tw_race *race);

/*
 * The value that the instruction loads is only the expected value of a compare-and-exchange of the same thread: it
 * does not race with atomic accesses, including those found so far. 0 or TW_ERR_MEMORY.
 */
int tw_races_expect(struct tw_races *r, uint64_t pc, uint32_t image);

/* If nothing is known of an access's source, it counts as atomic if the other one is; otherwise the race is reported with that remark. */
void tw_races_judge_unknown(struct tw_races *r, struct tw_atomics *atomics);

void tw_races_print(struct tw_races *r, const struct tw_callpaths *paths, const struct tw_locksets *locks, struct tw_names *names,
                    unsigned depth);
void tw_races_free(struct tw_races *r);

#endif
