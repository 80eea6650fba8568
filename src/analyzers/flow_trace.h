/*
 * Control flow in a form in which two recordings of one program can be compared, wherever their files were mapped.
 *
 * A *run* is what executes from the target of a jump, call or return up to the next one: so it does not matter where
 * fragments and buffers cut blocks. An instruction is identified by its file's name and its address in it, in one
 * number (a hash). For each thread and each file (the one in which a run starts) a hash of the sequence of runs so
 * far is kept, at every TW_FLOW_STEP runs; in total, edges and instructions are counted.
 */
#ifndef TW_FLOW_TRACE_H
#define TW_FLOW_TRACE_H

#include "analyze/by_fragment.h"
#include "analyzers/rows.h"

#include <trackway/names.h>
#include <trackway/replay.h>

enum { TW_FLOW_STEP = 4096 };

/* A run that was asked for. */
struct tw_flow_run {
	uint64_t start, end; /* the first instruction, the last one; as numbers */
	uint64_t insn;       /* of the thread, before it */
};

/* Runs of one sequence that are to be kept, from number `first` up to TW_FLOW_STEP of them. */
struct tw_flow_wanted {
	uint32_t thread;
	uint64_t file, first;
	struct tw_flow_run *runs;
	size_t n, room;
};

/* What to look at, shared by all states. */
struct tw_flow_source {
	const struct tw_recording *recording;
	struct tw_names *names;
	struct tw_flow_wanted *wanted; /* if there are any, only these are looked at; one thread adds to one of them */
	size_t n_wanted;
};

/* Counts of a sequence; of a place. */
enum { TW_FLOW_RUNS, TW_FLOW_HASH, TW_FLOW_SEQUENCE_COUNTS };
enum { TW_FLOW_PC, TW_FLOW_THREAD, TW_FLOW_PLACE_COUNTS };

struct tw_flow_trace {
	const struct tw_flow_source *source;
	struct tw_by_fragment fragments;
	struct tw_rows sequences;   /* by thread and file: how many runs, and the hash of all */
	struct tw_rows checkpoints; /* by sequence (a hash of thread and file) and number of steps: the hash then */
	struct tw_rows edges;       /* by two instructions: how often the one led to the other */
	uint64_t insns;             /* that were looked at */
	struct tw_rows places;      /* by instruction: where that is here, and a thread that ran it */
	/* Of the thread that is looked at. */
	int follows; /* 1: a batch has been seen */
	uint32_t thread, image;
	uint64_t next; /* instructions of the thread so far: a batch that starts elsewhere has a gap before it */
	uint64_t start, file,
	    insn;      /* of the run: its first instruction (0: it begins with the next block), its file, instructions before it */
	uint64_t last; /* the instruction that jumped; 0: none */
};

/* All zeros but for `source`. 0 or TW_ERR_MEMORY; a state sees whole threads. */
int tw_flow_trace_batch(struct tw_flow_trace *t, const struct tw_batch *b);
int tw_flow_trace_merge(struct tw_flow_trace *t, const struct tw_flow_trace *later);

/* Instructions that were executed: calls f for each that was, until that returns something else than 0, which it returns. */
int tw_flow_insns(const struct tw_flow_trace *t, int (*f)(void *context, uint32_t thread, uint64_t pc, uint64_t n), void *context);

/* The name of a sequence in `checkpoints`. */
uint64_t tw_flow_sequence(uint32_t thread, uint64_t file);

void tw_flow_trace_free(struct tw_flow_trace *t);

#endif
