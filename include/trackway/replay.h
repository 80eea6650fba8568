/*
 * Replay: from a recording back to every block and reference, in order, for an analyzer.
 *
 * Chunks are independent of each other (each starts with all registers), so any number of worker threads replay them.
 * Nothing is decoded: descriptors have all that is needed of the code.
 */
#ifndef TRACKWAY_REPLAY_H
#define TRACKWAY_REPLAY_H

#include <trackway/analyzer.h>
#include <trackway/recording.h>

/* What to replay and how. All zeros: everything, with one worker, stopping at the first damaged chunk. */
struct tw_replay_options {
	unsigned jobs; /* worker threads; 0 counts as 1 */
	/*
	 * Chunks per state; 0: a few more states than workers, so that workers finish together (best for states that are
	 * costly to begin or merge).
	 */
	unsigned grain; /* only for TW_SCOPE_CHUNKS */
	/*
	 * Workers start with the longest chunks, so that they finish together. States are merged in order in any case, but
	 * all of them may exist at once, and damage is reported in no particular order: best for small states. 0: at most
	 * two states per worker, in order.
	 */
	int longest_first;
	/*
	 * Whether to replay this chunk; NULL: all chunks. `thread` and `chunk` as in tw_recording_chunk. Called before any
	 * worker starts.
	 */
	int (*select)(void *context, size_t thread, size_t chunk);
	/*
	 * A chunk is damaged: all batches before the damage have been delivered, the rest of the chunk will not be. Nonzero:
	 * stop with this result; 0: continue with the next chunk. NULL: stop with `error`. Called by one worker at a time;
	 * tw_recording_detail() has more.
	 */
	int (*damage)(void *context, size_t thread, size_t chunk, int error);
	void *context; /* for both */
	/* Progress: `done` of `chunks` have been replayed. Called by one worker at a time, after each chunk; NULL: not called. */
	void (*progress)(void *progress_context, size_t done, size_t chunks);
	void *progress_context;
};

/*
 * Replays `r` for `analyzer`, as its scope says: threads in the order of their serial numbers, chunks in their order.
 * Returns 0, a negative enum tw_error, or what the analyzer returned. `arg` is passed to analyzer->begin. `options`
 * may be NULL.
 */
int tw_replay(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

#endif
