/*
 * Replay: from a recording back to every block and reference, in order, for an analyzer.
 *
 * Chunks are independent of each other (each starts with all registers), so they are replayed by any number of worker threads. Nothing is
 * decoded: descriptors say all there is to know about the code.
 */
#ifndef TRACKWAY_REPLAY_H
#define TRACKWAY_REPLAY_H

#include <trackway/analyzer.h>
#include <trackway/recording.h>

/* What to replay and how. All zeros: everything, with one worker, stopping at the first damaged chunk. */
struct tw_replay_options {
	unsigned jobs; /* worker threads; 0 counts as 1 */
	/* Chunks per state; 0: as few states as there are workers, and some more, so that they end together (best for states that are costly to begin or merge). */
	unsigned grain; /* looked at for TW_SCOPE_CHUNKS only */
	/* Several workers begin with what takes longest, so that they end together. States are merged in order all the same, but all of them may be there at
	 * once, and damage is told of in no order: best for small states. 0: no more than two for each worker, and one after another. */
	int longest_first;
	/* Whether to replay this chunk; NULL: all. `thread` and `chunk` as in tw_recording_chunk. Called before any worker starts. */
	int (*select)(void *context, size_t thread, size_t chunk);
	/* A chunk is damaged: all batches before the damage have been delivered, the rest of the chunk will not be. Non-zero: stop with this
	 * result; 0: go on with the next chunk. NULL: stop with `error`. Called by one worker at a time; tw_recording_detail() tells more. */
	int (*damage)(void *context, size_t thread, size_t chunk, int error);
	void *context; /* for both */
	/* How far it is: `done` of `chunks` have been replayed. Called by one worker at a time, after each chunk; NULL: it is not. */
	void (*progress)(void *progress_context, size_t done, size_t chunks);
	void *progress_context;
};

/*
 * Replays `r` for `analyzer`, as its scope says: threads in the order of their serial numbers, chunks in their order. Returns 0, a negative enum tw_error, or what the
 * analyzer returned. `arg` goes to analyzer->begin. `options` may be NULL.
 */
int tw_replay(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

#endif
