/*
 * The collector: makes the channel, drains the buffers of all traced threads while the program runs, and passes their
 * contents to the output.
 *
 * It runs in threads of its own; its functions are called by one other thread. While it lives it holds the lock at
 * tw_control.life.
 */
#ifndef TW_COLLECTOR_H
#define TW_COLLECTOR_H

#include "channel/switch.h"
#include "base/channel.h"
#include "channel/limit.h"
#include "channel/output.h"
#include "recording/budget.h"

struct tw_collector;

struct tw_collector_options {
	uint32_t format;   /* enum tw_format */
	int verify;        /* 1: have every reference logged */
	int no_follow;     /* 1: child processes are not recorded */
	uint32_t switches; /* enum tw_switch: with a budget */
	int seeks;         /* 1: with `learn`: bare code tells nothing; what follows unknown code is recorded, if anything is known */
	int stack;         /* 1: where recording starts in the middle of the program, the stack is recorded */
	unsigned learn;    /* not 0: bare code is told when it is first reached, and what of it (enum tw_tell) */
	uint32_t log;      /* with `bare`: enum tw_region_log (base/region.h) */
	int bare;          /* 1: with a budget and `learn`: nothing else is recorded */
	int (*fill_told)(
	    void *context,
	    struct tw_control
	        *c); /* with `learn`: enters known facts into the table of base/told.h; returns whether there are any; or NULL */
	void *fill_context;
	int rest;                      /* 1: what trackway cc has inserted is left out */
	int order;                     /* 1: time stamps at locked instructions and fences */
	const char *calls;             /* NULL: calls are not recorded; "", or more names, each after a comma: they are */
	uint64_t most_bytes, most_ns;  /* recording ends when this much is stored, or after this time; 0: no limit */
	struct tw_where start, stop;   /* the window; kind TW_WHERE_NONE: from the start, to the end */
	struct tw_budget_asked budget; /* `period` 0: none */
	int yields;                    /* 1: as long as the program runs the collector's threads have a low priority */
	struct tw_ring_size ring;      /* only the last of it is kept */
	uint64_t spool;                /* bytes that may wait to be encoded (channel/spool.h); 0: there is no spool */
	int must_grow;                 /* 1: use all of it before the program must wait, even if memory for it is expensive */
	void (*tell_left)(void *context,
	                  uint64_t left); /* while tw_collector_finish waits for it: bytes left, finally 0. NULL: not reported */
	void *tell_context;
	int discard;              /* 1: count, but store no chunks and no descriptors */
	struct tw_writer *writer; /* NULL: nothing is stored. The caller closes it after tw_collector_finish */
	uint64_t dump_pc;         /* --show-fragment */
	int dump_all;
	uint32_t hot, versions;                                    /* --hot, --versions */
	uint64_t keep_bytes;                                       /* that may be kept for other recordings */
	uint64_t share;                                            /* bytes for snapshots (base/store.h); 0: there are none */
	const char *keep;                                          /* directory of those kept (channel/keep.h), or NULL */
	int must_keep;                                             /* 1: failing to keep them there is an error */
	const struct tw_sizes *sizes;                              /* of the channel and the engine */
	int (*check)(void *context, const struct tw_chunk *chunk); /* see struct tw_output_options */
	void *check_context;
	struct tw_feed
	    *feed; /* receives everything, too (channel/feed.h); NULL: none. Owned by the caller, to be freed after tw_collector_finish */
	pid_t analyzers;       /* the process that it is for; 0: none */
	int switchable;        /* what is recorded may be in two versions (switch.h) */
	struct tw_burst burst; /* of those */
};

/* Makes the channel and starts draining. All signals are blocked in the threads it starts. */
int tw_collector_new(const struct tw_collector_options *options, struct tw_collector **out);

/* Where a traced process opens the channel: a path under /proc. */
const char *tw_collector_path(const struct tw_collector *c);

/*
 * The same for a process with fewer capabilities than this one: at a thread without any (holder.h), which this waits
 * for. If there is none, tw_collector_path.
 */
const char *tw_collector_bare_path(struct tw_collector *c);

/* With a ring: stores its present contents. From any thread, before tw_collector_finish. */
void tw_collector_keep(struct tw_collector *c);

/* The channel, as traced processes have it. */
const struct tw_control *tw_collector_control(const struct tw_collector *c);

/*
 * How many programs were executed, how many of them started with translations that others left, and how many forks
 * did. After tw_collector_finish.
 */
struct tw_collector_shares {
	uint32_t programs, shared, forks;
};
struct tw_collector_shares tw_collector_shares(const struct tw_collector *c);

/*
 * Keeps translations for later recordings, if that was requested and bare code has told what is learned: `learned` is
 * the state of the learn file, now that it contains all of that (channel/keep.h). For other recordings
 * tw_collector_finish does this. Call after that.
 */
void tw_collector_keep_translations(struct tw_collector *c, uint64_t learned);

/* The state of the learn file when the recording started; 0: nothing is learned, or there was no file. */
uint64_t tw_collector_learned(const struct tw_collector *c);

/* Counters of the engine's own work, by enum tw_count. After tw_collector_finish. */
void tw_collector_counts(const struct tw_collector *c, uint64_t counts[TW_COUNTS]);

/* What became of the window. After tw_collector_finish. */
struct tw_collector_window {
	unsigned opened;             /* how often a process opened the window, if there is a start */
	int start_found, stop_found; /* whether any mapped file contains the function; 1 if it is not a function */
};
void tw_collector_window(const struct tw_collector *c, struct tw_collector_window *out);

/* How far recording is; from any thread, until tw_collector_finish. */
struct tw_collector_progress {
	uint64_t insns, refs, stored;
	uint64_t spooled, waiting; /* bytes that were spooled, and those that still wait to be encoded */
};
void tw_collector_progress(struct tw_collector *c, struct tw_collector_progress *out);

enum tw_limit tw_collector_limit(const struct tw_collector *c);

/* The result of the budget, with *n periods; NULL: there was none. Owned by the collector. After tw_collector_finish. */
const struct tw_budget *tw_collector_budget(const struct tw_collector *c, size_t *n);

/* NULL: nothing was recorded. */
const struct tw_budget_end *tw_collector_budget_end(const struct tw_collector *c);

/* A descriptor by number, or NULL. For `check`, and from any thread; valid as long as there are chunks in which its fragment runs. */
const struct tw_descriptor *tw_collector_descriptor(const struct tw_collector *c, uint32_t number);

/*
 * The program has ended and has been waited for: waits until nothing that it left behind runs any more, at most `ms`
 * milliseconds. Returns how many processes still run. They continue to be recorded.
 */
unsigned tw_collector_end(struct tw_collector *c, unsigned ms);

/*
 * Stops recording: running processes continue without, and the recording is incomplete. If tw_collector_finish is
 * waiting for the spool, it stops waiting, and the spool stays. Also from a signal handler.
 */
void tw_collector_stop(struct tw_collector *c);

/*
 * After tw_collector_end: waits until nothing runs any more, or recording was stopped, drains what is left and ends
 * the threads. The result's failure text also contains what the engine reported.
 */
void tw_collector_finish(struct tw_collector *c, struct tw_output_result *result);

/* The spool's file is removed, as it must be before the recording is marked complete; completes what tw_collector_finish has started. */
void tw_collector_given_back(struct tw_collector *c);

/* After tw_collector_finish. Accepts NULL. */
void tw_collector_free(struct tw_collector *c);

#endif
