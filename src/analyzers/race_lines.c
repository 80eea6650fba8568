#include "analyzers/race_lines.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

/* Another generation; when there are no more the lines are emptied. */
static void next_generation(struct tw_race_lines *l)
{
	l->generation += 1ull << TW_RACE_LINE_BITS;
	if (l->generation)
		return;
	memset(l->of, 0, 3 * TW_RACE_LINES * sizeof *l->of);
	l->generation = 1ull << TW_RACE_LINE_BITS;
}

int tw_race_lines_begin(struct tw_race_lines *l, uint64_t epoch, uint32_t locks)
{
	l->of = l->of ? l->of : calloc(3 * TW_RACE_LINES, sizeof *l->of);
	if (!l->of)
		return TW_ERR_MEMORY;
	next_generation(l);
	l->epoch = epoch;
	l->locks = locks;
	return 0;
}

void tw_race_lines_forget(struct tw_race_lines *l, uint64_t start, uint64_t end)
{
	enum { FEW = 256 };
	if (!l->of)
		return;
	if (end - start > FEW * 64) {
		next_generation(l);
		return;
	}
	for (uint64_t at = start & ~63ull; at < end; at += 64)
		l->of[at / 64 % TW_RACE_LINES] = 0;
}

void tw_race_lines_free(struct tw_race_lines *l)
{
	free(l->of);
	*l = (struct tw_race_lines){0};
}
