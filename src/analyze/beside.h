/*
 * Two analyzers in one replay: both see each batch, the first one first. What the two have in common is then read, decoded and walked once.
 */
#ifndef TW_BESIDE_H
#define TW_BESIDE_H

#include <trackway/replay.h>

/* The second analyzer, with its argument. */
struct tw_beside {
	const struct tw_analyzer *analyzer;
	void *arg;
};

/*
 * As tw_replay, of `analyzer` and the struct tw_beside that `second` is, as the first one's scope has it: it may be given where a tw_hot_replay (hot.h) is asked for. Both
 * end, whatever happens; the first error counts.
 */
int tw_beside_replay(void *second, const struct tw_recording *r, const struct tw_replay_options *options,
                     const struct tw_analyzer *analyzer, void *arg);

#endif
