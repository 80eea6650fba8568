/*
 * Flow: a stream of instructions, reduced to what a block profile needs as it passes.
 *
 * The stream is divided into *runs*: from an instruction that follows a jump (or starts the stream) straight on to
 * the next instruction that jumped, or is known to. A flow counts how often each run led to which next instruction. A
 * run may have passed over an instruction before that was found to be a jump. Such runs are split when the profile is
 * made, so finding a jump costs nothing here, and the result is the same as if all jumps had been known from the
 * start. Memory grows with the code: one node per instruction, one edge per run and successor.
 *
 * Nothing here prints; if memory runs out `failed` is set and the rest of the stream is ignored. A flow is used by
 * one thread at a time.
 */
#ifndef TW_FLOW_H
#define TW_FLOW_H

#include <trackway/replay.h>

#define TW_NO_INDEX UINT32_MAX

/* An instruction: the bytes at pc, in one image, with one length. */
struct tw_flow_node {
	uint64_t pc;
	uint64_t reads, writes; /* for the source to fill in */
	uint32_t image;
	uint32_t fall; /* the next node in memory, which ran after it; or TW_NO_INDEX */
	uint32_t run;  /* the newest run that begins here; 0: none does */
	uint8_t length;
	uint8_t end;  /* enum tw_end */
	uint8_t jump; /* has been followed by another node than `fall` */
	uint8_t reserved;
};

/* Straight on from `first` to `last`, both nodes. */
struct tw_flow_run {
	uint32_t first, last;
	uint32_t recent; /* the edge used last; 0: none */
	uint32_t reserved;
	uint64_t stops; /* times the stream ended after `last` */
};

/* From the end of `run` to the node `to`. */
struct tw_flow_edge {
	uint32_t run, to;
	uint64_t count;
};

/* Open addressing, of indices; 0 is an empty place. */
struct tw_flow_table {
	uint32_t *places;
	uint32_t mask, used;
};

/* A separate run: the first one of a flow, which may turn out to continue an earlier run. */
struct tw_flow_head {
	uint32_t first, last, to; /* to: TW_NO_INDEX if the stream ended there */
	int closed;               /* 1: it has come to its end */
};

struct tw_flow {
	struct tw_flow_node *nodes; /* index 0 of all three arrays is not used */
	struct tw_flow_run *runs;
	struct tw_flow_edge *edges;
	uint32_t n_nodes, n_runs, n_edges;
	size_t room_nodes, room_runs, room_edges;
	struct tw_flow_table node_table, run_table, edge_table;
	uint32_t first; /* where the current run began */
	uint32_t last;  /* the instruction executed last; 0: no stream is open */
	struct tw_flow_head head;
	uint32_t turned;  /* the edge counted last; set it to 0 before, to find out */
	uint64_t streams; /* begun */
	int failed;       /* no memory, or 2^32 of something */
};

/* `insns`: expected maximum; unused room takes no memory. 0, or TW_ERR_MEMORY; *f can be given to tw_flow_fini in any case. */
int tw_flow_init(struct tw_flow *f, size_t insns);
void tw_flow_fini(struct tw_flow *f);

/* The node of an instruction, made if there is none; 0 on failure. */
uint32_t tw_flow_node(struct tw_flow *f, uint32_t image, uint64_t pc, uint8_t length);

/* The same for one that may follow node `before` in memory (0: none): then it is found at once. */
uint32_t tw_flow_node_behind(struct tw_flow *f, uint32_t before, uint32_t image, uint64_t pc, uint8_t length);

/* Ends the stream, if one is open. */
void tw_flow_stop(struct tw_flow *f);

/* The last instruction executed again, `times` times. */
void tw_flow_repeat(struct tw_flow *f, uint64_t times);

/* tw_flow_step in the cases that are not the plain one. */
void tw_flow_turn(struct tw_flow *f, uint32_t first);

/* Executes the instructions from node `first` to node `last`, which have been chained (tw_flow_chain) or are the same. */
static inline void tw_flow_step(struct tw_flow *f, uint32_t first, uint32_t last)
{
	const struct tw_flow_node *n = &f->nodes[f->last];
	if (n->fall != first || n->jump)
		tw_flow_turn(f, first);
	f->last = last;
}

/* The number of the open run; 0: there is none, or it is the first, which may continue an earlier one, or there is no memory. */
uint32_t tw_flow_open_run(struct tw_flow *f);

/* The stream stands where this run, once open, ends. */
static inline void tw_flow_reopen(struct tw_flow *f, uint32_t run)
{
	f->first = f->runs[run].first;
	f->last = f->runs[run].last;
}

/* Notes that `next` runs directly after `node` in memory. Returns 0 if another node is known to: then they must be stepped one by one. */
int tw_flow_chain(struct tw_flow *f, uint32_t node, uint32_t next);

/*
 * Adds to `f` what `later` saw. `continues`: its stream continues the open one of `f`; otherwise that ends first.
 * Afterwards `later` is good only for tw_flow_fini.
 */
void tw_flow_merge(struct tw_flow *f, struct tw_flow *later, int continues);

/* Ends the stream and splits all runs at their jumps: each then ends with a jump, or where a stream did. 0 or TW_ERR_MEMORY. */
int tw_flow_settle(struct tw_flow *f);

#endif
