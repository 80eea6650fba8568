/*
 * The collector's own state, shared by its sources: drain (slots and their buffers), channel_file (the memory shared
 * with the engines) and collector (the loop, start and end). Not to be included elsewhere. It belongs to the
 * collecting thread from its start to its end, except for what is atomic.
 */
#ifndef TW_COLLECTOR_STATE_H
#define TW_COLLECTOR_STATE_H

#include "channel/budget.h"
#include "channel/demux.h"
#include "channel/descriptor_tables.h"
#include "channel/expand.h"
#include "channel/far.h"
#include "channel/liveness.h"
#include "channel/overdue.h"
#include "channel/switch.h"
#include "channel/limit.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

/* What the collector knows of the thread in a slot. */
struct tw_drained {
	int active;
	uint32_t next; /* buffer to drain next */
	uint32_t sequence;
	uint64_t insns, blocks, refs;
	struct tw_demux_stop stop;    /* where recording stops at a count */
	uint64_t emptied[TW_BUFFERS]; /* when each buffer was last returned, or when the thread started */
	uint8_t times[TW_BUFFERS];    /* how often each was taken without being mapped */
	int told;                     /* the analyzers that run along know it */
	uint32_t ready;               /* mask of those whose memory is ready before the thread reaches them (make_ready) */
	uint64_t freed;               /* when the slot became free; 0: its buffers have no memory */
	struct tw_seen seen;
	struct tw_overdue overdue;
	uint32_t delay_of; /* tid */
	uint64_t delay;    /* ns for which that has waited for a processor */
	struct tw_thread_info info;
};

/*
 * What the recorder has recently taken of the program's processors (displaced.h), in ns, and for how many bytes of
 * records; and both totals when it last looked.
 */
struct tw_displaced {
	uint64_t taken, bytes;
	uint64_t own, written;
	uint64_t analyzers; /* of `own` */
};

struct tw_collector {
	int fd;
	int barred;  /* barred.h */
	ino_t inode; /* of the channel */
	int count_refs, logged;
	int is_small;    /* nothing is encoded: there is little to give back */
	int count_only;  /* nothing is stored or compared: the fast way */
	int is_fed;      /* analyzers run along, */
	pid_t analyzers; /* in this process */
	int yields;      /* its threads have a low priority while the program runs */
	uint8_t *base;
	struct tw_control *control;
	char path[64], bare_path[64]; /* of the memfd, through this process; through the holder, once that has been asked for */
	struct tw_demux *demux;
	struct tw_expand *expand; /* NULL: buffers are of the plain form */
	uint64_t stop_at;         /* instructions recorded after which nothing more is; UINT64_MAX: none */
	uint64_t written;         /* bytes of the buffers taken */
	struct tw_spool *spool;   /* NULL: there is none */
	struct tw_far far;        /* with a spool */
	struct tw_holder *holder; /* NULL: nobody has asked for it */
	struct tw_output *output;
	struct tw_descriptor_tables *tables;
	pthread_t thread_id, giver;
	int has_giver;   /* output and spool are the giver's, */
	int drops_spool; /* whose contents have all been encoded */
	sem_t ready, done;
	_Atomic int ended;    /* the program has been waited for */
	_Atomic int stopping; /* what still runs is not waited for; how often that was requested */
	uint32_t next_check;  /* slot */
	uint64_t started;     /* when, in ns */
	uint64_t most_bytes, most_ns;
	enum tw_limit limit; /* that was reached */
	uint64_t recorded;   /* instructions, for a window that closes at a count */
	uint64_t records;    /* in the buffers taken */
	struct tw_displaced displaced;
	struct tw_budget_taken budget;
	struct tw_budget *budget_result; /* of budget.n periods */
	struct tw_budget_end budget_end;
	void (*tell_left)(void *context, uint64_t left);
	void *tell_context;
	char failure[512]; /* what was wrong with what the engine wrote */
	struct tw_drained thread[TW_SLOTS];
	struct tw_switching *switching; /* NULL: what is recorded is in one version */
};

#endif
