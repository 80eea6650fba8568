/*
 * The collector: makes the channel, drains the buffers of all traced threads while the program runs, and hands what it finds to the output.
 *
 * It runs in threads of its own; its functions are called by one other thread. While it lives it holds the lock at tw_control.life.
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
	int seeks; /* 1: with `learn`: bare code tells nothing; what follows on code that is not known is recorded, if there is something known */
	int stack;      /* 1: where recording begins in the middle of the program, the stack is told */
	unsigned learn; /* not 0: code that runs bare is told when it is first come by, and of it what is asked for (enum tw_tell) */
	uint32_t log;   /* with `bare`: enum tw_region_log (base/region.h) */
	int bare;       /* 1: with a budget and `learn`: nothing is recorded but that */
	int (*fill_told)(
	    void *context,
	    struct tw_control *c); /* with `learn`: enters what is known in the table of base/told.h, true if there is some; or NULL */
	void *fill_context;
	int rest;                      /* 1: what trackway cc has inserted is left out */
	int order;                     /* 1: time stamps at locked instructions and fences */
	const char *calls;             /* NULL: they are not told; "" or more names, each behind a comma: they are */
	uint64_t most_bytes, most_ns;  /* recording ends when so much is stored, or after so long; 0: no limit */
	struct tw_where start, stop;   /* the window; kind TW_WHERE_NONE: from the beginning, to the end */
	struct tw_budget_asked budget; /* `period` 0: none */
	int yields;                    /* 1: as long as the program runs the collector's threads have a low priority */
	struct tw_ring_size ring;      /* only the last of it is kept */
	uint64_t spool;                /* bytes of what may wait until it is encoded (channel/spool.h); 0: there is no spool */
	int must_grow;                 /* 1: so many before the program waits, also where memory for them costs much */
	void (*tell_left)(
	    void *context,
	    uint64_t left); /* while tw_collector_finish waits for it: so many bytes are left; 0 at last. NULL: nobody wants to know */
	void *tell_context;
	int discard;              /* 1: count, but store no chunks and no descriptors */
	struct tw_writer *writer; /* NULL: nothing is stored. The caller closes it after tw_collector_finish */
	uint64_t dump_pc;         /* --show-fragment */
	int dump_all;
	uint32_t hot, versions;                                    /* --hot, --versions */
	uint64_t keep_bytes;                                       /* that may be kept for other recordings */
	uint64_t share;                                            /* bytes for snapshots (base/store.h); 0: there are none */
	const char *keep;                                          /* directory of those kept (channel/keep.h), or NULL */
	int must_keep;                                             /* 1: it is an error if they cannot be kept there */
	const struct tw_sizes *sizes;                              /* of the channel and the engine */
	int (*check)(void *context, const struct tw_chunk *chunk); /* see struct tw_output_options */
	void *check_context;
	struct tw_feed
	    *feed; /* gets all that comes, too (channel/feed.h); NULL: there is none. The caller's, to be freed after tw_collector_finish */
	pid_t analyzers;       /* the process that it is for; 0: there is none */
	int switchable;        /* what is recorded may be in two versions (switch.h) */
	struct tw_burst burst; /* of those */
};

/* Makes the channel and starts draining. All signals are blocked in the threads it starts. */
int tw_collector_new(const struct tw_collector_options *options, struct tw_collector **out);

/* Where a traced process opens the channel: a path under /proc. */
const char *tw_collector_path(const struct tw_collector *c);

/* The same for one that has fewer capabilities than this process: at a thread that has none (holder.h), for which it waits. Where there is none, tw_collector_path. */
const char *tw_collector_bare_path(struct tw_collector *c);

/* With a ring: stores what is in it now. From any thread, before tw_collector_finish. */
void tw_collector_keep(struct tw_collector *c);

/* The channel, as traced processes have it. */
const struct tw_control *tw_collector_control(const struct tw_collector *c);

/* How many programs were executed, how many of them began with translations that others left, and how many forks did. After tw_collector_finish. */
struct tw_collector_shares {
	uint32_t programs, shared, forks;
};
struct tw_collector_shares tw_collector_shares(const struct tw_collector *c);

/* Keeps translations for later recordings, where that was asked for and bare code has told what is learned: `learned` is the state that the learn file has, now that it has all of that (channel/keep.h).
 * Other recordings' are kept by tw_collector_finish. After that. */
void tw_collector_keep_translations(struct tw_collector *c, uint64_t learned);

/* The state that the learn file had as the recording began; 0: nothing is learned, or there was none. */
uint64_t tw_collector_learned(const struct tw_collector *c);

/* What the engine counted of its own work, by enum tw_count. After tw_collector_finish. */
void tw_collector_counts(const struct tw_collector *c, uint64_t counts[TW_COUNTS]);

/* What became of the window. After tw_collector_finish. */
struct tw_collector_window {
	unsigned opened;             /* how often a process opened it, where there is a start */
	int start_found, stop_found; /* whether the function was in any file that was mapped; 1 where it is not a function */
};
void tw_collector_window(const struct tw_collector *c, struct tw_collector_window *out);

/* How far recording is; from any thread, until tw_collector_finish. */
struct tw_collector_progress {
	uint64_t insns, refs, stored;
	uint64_t spooled, waiting; /* bytes that were spooled, and that wait there to be encoded */
};
void tw_collector_progress(struct tw_collector *c, struct tw_collector_progress *out);

enum tw_limit tw_collector_limit(const struct tw_collector *c);

/* What became of the budget, of *n periods; NULL: there was none. The collector's. After tw_collector_finish. */
const struct tw_budget *tw_collector_budget(const struct tw_collector *c, size_t *n);

/* NULL: nothing was recorded. */
const struct tw_budget_end *tw_collector_budget_end(const struct tw_collector *c);

/* A descriptor by number, or NULL. For `check`, and from any thread; it lives as long as there are chunks in which its fragment runs. */
const struct tw_descriptor *tw_collector_descriptor(const struct tw_collector *c, uint32_t number);

/*
 * The program has ended and has been waited for: waits until nothing of what it left behind runs any more, but no longer than `ms` milliseconds.
 * Returns how many processes still run. They go on being recorded.
 */
unsigned tw_collector_end(struct tw_collector *c, unsigned ms);

/*
 * Stops recording: what still runs goes on without, and the recording is incomplete. While tw_collector_finish waits for the spool: it waits no longer, and the spool stays. From
 * a signal handler too.
 */
void tw_collector_stop(struct tw_collector *c);

/*
 * After tw_collector_end: waits until nothing runs any more, or recording was stopped, drains what is left and ends the threads. The result's failure
 * text also says what the engine reported.
 */
void tw_collector_finish(struct tw_collector *c, struct tw_output_result *result);

/* The spool's file is gone, as it has to be before the recording is said to be complete; what tw_collector_finish has begun ends here. */
void tw_collector_given_back(struct tw_collector *c);

/* After tw_collector_finish. Accepts NULL. */
void tw_collector_free(struct tw_collector *c);

#endif
