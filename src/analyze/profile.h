/*
 * Block profiles: the static and the dynamic basic blocks of an execution, how often each ran, and what ran after it.
 *
 * A profile depends only on the sequence of instruction addresses and lengths, so a recording and a bare address
 * stream of the same execution give the same profile. An instruction is a *jump* if it was ever followed by an
 * instruction other than the next one in memory. Taking this as known from the start of the stream,
 *  - a *dynamic block* starts with the stream and after each execution of a jump, and ends with the next jump. Its
 *    first instruction identifies it; an instruction may be part of several;
 *  - a *static block* is a maximal run of instructions that is entered only at its first instruction and left only at
 *    its last. Every instruction is in exactly one. A branch that was never taken is no jump here. A string
 *    instruction with a repeat prefix jumps to itself, as in Lackey's traces.
 *
 * Executions of different threads are different streams: no edge leads from one to another, nor across a gap in a
 * recording. Code is identified by *image*, the memory of one program: a forked child continues in its parent's
 * image, execve starts another.
 *
 * All arrays belong to the profile. Indices, not pointers, lead from one to another; TW_NO_INDEX is none.
 */
#ifndef TW_PROFILE_H
#define TW_PROFILE_H

#include "analyze/flow.h"

#include <trackway/replay.h>

/* Where the executions of a block went. */
enum tw_ending {
	TW_ENDING_NB, /* always to the instruction behind it (also: nowhere, the stream ended there each time) */
	TW_ENDING_UB, /* always to the same other block */
	TW_ENDING_CB, /* to the instruction behind it or to one other block */
	TW_ENDING_IJ, /* to several other blocks */
	TW_N_ENDINGS
};

/* "NB", "UB", "CB", "IJ". */
const char *tw_ending_name(enum tw_ending ending);

/* One instruction that ran. Sorted by image, address, length; two at the same address at different times differ in length. */
struct tw_profile_insn {
	uint64_t pc;
	uint64_t executions;
	uint64_t reads, writes; /* if asked for, else 0; a modify counts as both */
	uint32_t image;
	uint32_t block; /* the static block it is part of */
	uint8_t length; /* bytes */
	uint8_t end;    /* enum tw_end if it ends a block in the code (TW_END_FALL: it does not) */
	uint8_t jump;   /* 1: was followed by another than the one behind it */
	uint8_t reserved;
};

/* A number of transitions from the end of one block to the start of another of the same kind. */
struct tw_profile_edge {
	uint64_t count;
	uint32_t from, to; /* blocks */
	uint8_t fall;      /* 1: `to` begins right behind the end of `from` */
	uint8_t reserved[7];
};

struct tw_profile_block {
	uint64_t pc;         /* of the first instruction */
	uint64_t last_pc;    /* of the last instruction */
	uint64_t executions; /* of the first instruction, as that of this block; the sum of its edges is less if streams ended in it */
	uint32_t image;
	uint32_t n_insns;
	uint32_t bytes;
	uint32_t first_insn;          /* its instructions are first_insn, next[first_insn]...: n_insns of them */
	uint32_t last_insn;           /* the last of them */
	uint32_t first_edge, n_edges; /* its edges, the most frequent first, then by `to` */
	uint8_t ending;               /* enum tw_ending */
	uint8_t end;                  /* that of its last instruction */
	uint8_t reserved[2];
};

/* Blocks of one kind, sorted by image, address, length of the first instruction; their ids in reports are their indices. */
struct tw_profile_blocks {
	struct tw_profile_block *blocks;
	struct tw_profile_edge *edges;
	uint32_t n_blocks, n_edges;
};

/* A program in memory. Its pid and the serial number of its first thread; 0 and 0 where the source has addresses only. */
struct tw_profile_image {
	uint32_t pid, thread;
};

struct tw_profile {
	struct tw_profile_blocks fixed;   /* static blocks */
	struct tw_profile_blocks dynamic; /* dynamic blocks */
	struct tw_profile_insn *insns;
	uint32_t *next; /* for each instruction the next one in memory, if it ran after it, or TW_NO_INDEX */
	struct tw_profile_image *images;
	uint32_t n_insns, n_images;
	/* Total executions. With a repeat prefix an instruction counts as often as Lackey prints it. */
	uint64_t executions;        /* of instructions */
	uint64_t static_executions; /* of static blocks */
	uint64_t dynamic_executions;
	uint64_t streams; /* threads, and one more for each gap in between */
};

struct tw_profile_options {
	struct tw_replay_options replay; /* recordings only; `grain` is ignored */
	int count_refs;                  /* fill in reads and writes of the instructions */
	/* In place of tw_replay, to have others see the same replay; NULL: tw_replay. */
	int (*run)(void *run_context, const struct tw_recording *r, const struct tw_replay_options *replay,
	           const struct tw_analyzer *analyzer, void *arg);
	void *run_context;
};

/* Replays `r` and fills *out, which the caller gives to tw_profile_free (on failure it is empty). `options` may be NULL. */
int tw_profile_recording(const struct tw_recording *r, const struct tw_profile_options *options, struct tw_profile *out);
void tw_profile_free(struct tw_profile *p);

/*
 * The blocks of one kind by the number of instructions executed, the most first: n_blocks of them, to be freed by the
 * caller. NULL: no memory.
 */
struct tw_profile_hot {
	uint64_t insns;
	uint32_t block;
};
struct tw_profile_hot *tw_profile_hottest(const struct tw_profile_blocks *all);

/* The number of the image that the recording's thread (as in tw_recording_thread) runs in. */
uint32_t tw_profile_image_of_thread(const struct tw_recording *r, size_t thread);

/*
 * Settles the flow and makes the profile of everything that was seen. `images` (from malloc) is passed to the
 * profile, and freed on failure. 0 or TW_ERR_MEMORY; *out is then empty.
 */
int tw_flow_profile(struct tw_flow *f, struct tw_profile_image *images, uint32_t n_images, struct tw_profile *out);

#endif
