/*
 * Several analyzers in one replay, so that what is asked for together is read, decoded and replayed once.
 */
#ifndef TW_TOGETHER_H
#define TW_TOGETHER_H

#include <trackway/replay.h>

struct tw_together {
	const struct tw_analyzer *analyzer;
	void *arg; /* for its begin() */
};

/* As tw_replay, for all `n` of them, which get the same batches, in their order. One that fails ends the replay for all. */
int tw_replay_together(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_together *members, size_t n);

/* The combined needs of analyzers with these two (enum tw_needs); of wishes that make replay cheaper those that both share. */
uint32_t tw_needs_together(uint32_t a, uint32_t b);

/*
 * The same for `analyzer` and the struct tw_together in `second`, in this order: usable where a tw_hot_replay
 * (analyze/hot.h) is expected.
 */
int tw_replay_beside(void *second, const struct tw_recording *r, const struct tw_replay_options *options,
                     const struct tw_analyzer *analyzer, void *arg);

#endif
