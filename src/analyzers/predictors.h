/*
 * Branch predictors for comparison: two-bit counters by address (bimodal), by address and history (gshare), and TAGE.
 *
 * An address is that of the branch. Bimodal and gshare: 4096 counters of 2 bits, initially 1; taken is predicted from
 * 2 on; gshare has 12 bits of history. TAGE, with the parameters of Seznec and Michaud (A case for (partially) tagged
 * geometric history length branch prediction, JILP 8, 2006) for five components: a bimodal table as above, and four
 * tables of 1024 entries with a counter of 3 bits, a tag of 8, 8, 9 and 9 bits, and 2 bits of usefulness; histories
 * of 5, 15, 44 and 130 branches; all usefulness is halved every 262,144 branches.
 */
#ifndef TW_PREDICTORS_H
#define TW_PREDICTORS_H

#include <stdint.h>

enum tw_predictor { TW_BIMODAL, TW_GSHARE, TW_TAGE, TW_PREDICTORS };

enum { TW_TAGE_TABLES = 4, TW_TAGE_ENTRIES = 1024, TW_COUNTERS = 4096, TW_HISTORY = 256 };

struct tw_tage_entry {
	int8_t counter; /* -4 to 3; taken from 0 on */
	uint8_t useful; /* 0 to 3 */
	uint16_t tag;
};

/* Histories, each folded into its own number of bits: bit i of one, 0 the newest, at bit i % bits. */
typedef uint16_t tw_folds __attribute__((vector_size(16)));

struct tw_predictors {
	uint8_t bimodal[TW_COUNTERS], gshare[TW_COUNTERS], base[TW_COUNTERS];
	uint32_t recent; /* the last 12 outcomes, the newest in bit 0 */
	struct tw_tage_entry table[TW_TAGE_TABLES][TW_TAGE_ENTRIES];
	tw_folds folds[2];           /* of each table: for its index, for its tags; a second one for its tags, and nothing */
	uint8_t history[TW_HISTORY]; /* outcomes, a ring */
	uint32_t newest;
	uint32_t use_alternative; /* 0 to 15; from 8 on new entries of a table are not believed */
	uint64_t branches;
};

void tw_predictors_init(struct tw_predictors *p);

/* The branch at pc went one way or the other. Returns a bit for each predictor that mispredicted. */
unsigned tw_predictors_branch(struct tw_predictors *p, uint64_t pc, int taken);

#endif
