/*
 * Analyzers: what reads a replayed recording.
 *
 * Replay hands an analyzer batches of blocks, references and events, in the order in which a thread made them. An analyzer keeps what it
 * learns in a state of its own making. Because states merge, replay may run any number of them at once, each on a range of chunks, and join
 * them in order: an analyzer need not know whether it runs on one core or on twenty, on a recording or on a program that is still running.
 *
 * A whole analyzer, counting the bytes written:
 *
 *     static void *begin(void *arg) { return calloc(1, sizeof(uint64_t)); }
 *     static int batch(void *state, const struct tw_batch *b)
 *     {
 *             const struct tw_ref *refs = tw_batch_refs(b);
 *             for (size_t i = 0; i < b->n_refs; i++)
 *                     if (refs[i].type & TW_WRITE)
 *                             *(uint64_t *)state += refs[i].size;
 *             return 0;
 *     }
 *     static int merge(void *state, void *later) { *(uint64_t *)state += *(uint64_t *)later; free(later); return 0; }
 *     static int end(void *state, int error) { if (!error) printf("%lu\n", *(uint64_t *)state); free(state); return error; }
 *     const struct tw_analyzer bytes_written = {
 *             .name = "bytes-written", .begin = begin, .batch = batch, .merge = merge, .end = end};
 *
 * It is run with tw_replay() of <trackway/replay.h>; or, as a plug-in, with `trackway analyze` on a recording and with `trackway record --with` while the
 * program runs. For that it stands in a shared object that exports one table, struct tw_plugin below, and begin() gets a struct tw_context
 * (<trackway/context.h>): the options that were given, names for addresses, and where the answer goes. docs/analyzers.md builds one.
 */
#ifndef TRACKWAY_ANALYZER_H
#define TRACKWAY_ANALYZER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <trackway/descriptor.h>
#include <trackway/event.h>

/*
 * One execution of a basic block. Its references are those from first_ref up to the first_ref of the next block (n_refs after the last one).
 * n_insns is less than the block's own number when a signal or a fault stopped it early. A record with n_insns 0 is not an execution: it
 * carries references only, of a string instruction of the block that began in an earlier batch or was interrupted between iterations.
 */
struct tw_block_run {
	uint64_t pc;                            /* of the block's first instruction */
	const struct tw_descriptor *descriptor; /* the fragment it is part of */
	uint32_t first_ref;
	uint16_t block;   /* index in tw_descriptor_blocks(descriptor) */
	uint16_t n_insns; /* instructions executed */
};

/* One memory reference. */
struct tw_ref {
	uint64_t pc; /* of the instruction */
	uint64_t addr;
	uint32_t size;    /* bytes */
	uint16_t insn;    /* index of the instruction in its fragment (not in its block) */
	uint8_t type;     /* enum tw_ref_type */
	uint8_t reserved; /* 0 */
};

/* What a reference has in common with those of the same instruction in other executions. */
struct tw_ref_shape {
	uint64_t pc; /* these as in struct tw_ref */
	uint32_t size;
	uint16_t insn;
	uint8_t type;
	uint8_t reserved;
};

/* Blocks and references that were made one after another, without the addresses. Executions of the same code share one. */
struct tw_stretch {
	const struct tw_block_run *blocks; /* those that begin here; their first_ref counts from the start of the stretch */
	const struct tw_ref_shape *refs;
	uint32_t n_blocks, n_refs;
	/* Not 0: it stays, where it is and as it is, until the last state of the run has ended, and no other that stays has this number: so it can be counted instead of
	 * looked at. These numbers have few gaps. 0: it may be gone after the call. */
	uint32_t number;
	uint32_t reserved; /* replay's own */
};

/* Executions of a stretch that were counted, in the place of being listed one by one. */
struct tw_counted_run {
	const struct tw_stretch *stretch; /* it has a number, and begins with a block */
	uint64_t times;
};

/* A reference of an execution that was not listed. */
struct tw_odd {
	uint64_t addr;
	const struct tw_ref_shape *shape; /* valid as long as the stretch */
};

/* A page of 4096 bytes, and which of its lines of 64 bytes were touched: the lowest bit is the first. Bits of addresses from the 48th on are left out. */
struct tw_touched_page {
	uint64_t addr, lines;
};

/* One event. It happened before block number `block` of the batch began. */
struct tw_event {
	const void *payload; /* as <trackway/event.h> says for the type; aligned to 8 */
	uint32_t bytes;      /* of the payload; never less than the type's struct */
	uint32_t block;
	uint32_t type; /* enum tw_event_type */
	uint32_t reserved;
};

struct tw_batch_lists;

/*
 * A part of one thread's life. All it points to is valid during the call only, descriptors as long as the recording.
 *
 * Its references are addresses, side by side, and stretches, which have all the rest: reference k of a stretch belongs to address k of those that follow
 * the addresses of the stretches before it. Who wants each block and reference written out asks for tw_batch_blocks() and tw_batch_refs().
 */
struct tw_batch {
	uint32_t thread;     /* serial number of the thread */
	uint32_t sequence;   /* of the chunk */
	uint64_t first_insn; /* instructions, blocks and references of this thread before this batch */
	uint64_t first_block;
	uint64_t first_ref;
	const struct tw_stretch *const *stretches;
	size_t n_stretches;
	size_t n_blocks;      /* of all stretches */
	size_t n_continued;   /* of them: records with n_insns 0, which are no executions */
	uint64_t n_insns;     /* instructions that all blocks executed */
	const uint64_t *addr; /* of each reference */
	size_t n_refs;
	size_t n_reads, n_writes; /* of them; a modify is both */
	const struct tw_event *events;
	size_t n_events;
	int continues;                /* 1: the last block has more references, in the next batch, whose first block record stands for it */
	struct tw_batch_lists *lists; /* replay's own */
	uint64_t tsc; /* in a window: time stamp of the thread's last event before this, which need not be part of it; 0: none */
	/*
	 * For who says TW_WANTS_COUNTS or TW_WANTS_LINES: of most executions there is none of the above but their instructions, in n_insns; nor are they in first_block and
	 * first_ref, nor in an event's block. They are counted, or the lines that they touch are noted, and now and then a batch has the list of what there was since the
	 * last list. All of it lies in the period (struct tw_analyzer) in which the batch begins. A batch that goes beyond its period has no other executions than those above.
	 */
	const struct tw_counted_run *counted;
	size_t n_counted;
	const struct tw_touched_page *touched; /* a page may be there twice */
	size_t n_touched;
	/* Their references whose address is no multiple of the size, or whose size is not one of 1, 2, 4 ... 64; since the last batch. The lines of these are not in `touched`. */
	const struct tw_odd *odd;
	size_t n_odd;
};

/* The batch's n_blocks blocks and n_refs references, one by one. The first call for a batch writes them out. */
const struct tw_block_run *tw_batch_blocks(const struct tw_batch *batch);
const struct tw_ref *tw_batch_refs(const struct tw_batch *batch);

/* What an analyzer cannot do without. A recording that does not have it is refused by name before anything is replayed. */
enum tw_needs {
	TW_NEEDS_REFS = 1,  /* addresses of references: not in the formats of control flow alone */
	TW_NEEDS_FLOW = 2,  /* how blocks end: not in imports of bare address streams */
	TW_NEEDS_ORDER = 4, /* time stamps of locked instructions and fences (record --order) */
	/* Names (tw_context_names) in batch() and merge() already. While a program runs there are none: what a file is mapped by is told by the thread that maps it,
	 * perhaps after others have run its code. `record --with` then has the analyzer replay a recording when the program has ended. */
	TW_NEEDS_NAMES = 8,
	TW_NEEDS_CALLS = 16, /* CALL and RETURN events (record --calls). `record --with` has them recorded */
	/* No blocks but those whose references it sees: with a window that has a range, of a batch without references in it only events need come. */
	TW_NEEDS_NO_CODE = 32,
	TW_WANTS_ORDER = 64, /* the same time stamps, but it can do without; `record --with` has them recorded */
	/* Its answer is the same of a recording without references. `record --with` leaves them out where all that it is to do is like that. */
	TW_WANTS_NO_REFS = 128,
	/* Of the addresses (tw_batch.addr) it looks at none; or only at those where calls put their return addresses and returns took them from. The others, and what
	 * tw_batch_refs() has of them, may be anything then: replay need not work them out, and `record --with` need not record what they follow from. */
	TW_WANTS_NO_ADDRESSES = 256,
	TW_WANTS_CALL_ADDRESSES = 512,
	/* Order, and of aligned references their addresses, are nothing to it: executions may be counted (tw_batch.counted); or only the lines that they touch may be told
	 * (tw_batch.touched). Replay does so where it can, and may list all as ever: in a window, beside other analyzers, where the machine cannot. */
	TW_WANTS_COUNTS = 1024,
	TW_WANTS_LINES = 2048,
};

/* What one state has to see. */
enum tw_scope {
	TW_SCOPE_CHUNKS,  /* any chunks, one after another: best, for then all cores work on one thread of the program */
	TW_SCOPE_THREADS, /* threads from beginning to end, so that each core works on a thread of its own */
	/* All threads, interleaved: batches end at each event that has a time, and come in the order of the times at which they begin. One core does it all. */
	TW_SCOPE_ALL,
};

enum tw_option_kind {
	TW_OPTION_FLAG,   /* no value */
	TW_OPTION_NUMBER, /* a decimal number, or a hexadecimal one with 0x */
	TW_OPTION_BYTES,  /* a number of bytes; k, M or G (of 1024) may follow */
	TW_OPTION_WORD,   /* one of the words that `argument` has between bars: "lru|plru" */
	TW_OPTION_TEXT,
	TW_OPTION_FORM, /* no value: the answer gets a form of its own (tw_answer_stream), and no other one, --json or --csv */
};

/* An option of an analyzer: --NAME on the command line of `analyze`, NAME behind a comma in `record --with`. */
struct tw_option {
	const char *name;     /* without dashes, and none of those that all analyzers have: trackway analyze --help */
	uint8_t kind;         /* enum tw_option_kind */
	const char *argument; /* what --help calls the value; FLAG, FORM: NULL */
	const char *value;    /* what it is where it is not given; NULL: nothing */
	const char *help;     /* what it does: one sentence, without a full stop; it is broken into lines where it is printed */
};

/*
 * An analyzer. Different states may be used by different threads at once, one state only by one at a time. Functions that return int return 0
 * to go on; anything else stops replay, which then returns it (negative: enum tw_error; positive: the analyzer's own).
 */
struct tw_analyzer {
	const char *name;
	/* A fresh state, for a range of chunks. NULL: there is no memory. `arg` is tw_replay's; that of a plug-in is a const struct tw_context *. */
	void *(*begin)(void *arg);
	int (*batch)(void *state, const struct tw_batch *batch);
	/* Adds to `state` what `later` saw, which came right after it, and frees `later` whatever happens. */
	int (*merge)(void *state, void *later);
	/* The end of a state that is not merged into another: of the one that has seen everything (`error` 0), or of any when replay failed.
	 * Frees it. Returns what tw_replay is to return. */
	int (*end)(void *state, int error);
	/* Below: what may be left out. */
	const char *what;                /* it tells in one line, for --list: lower case, without a full stop */
	const char *help;                /* more of it, for --help: lines of at most 80 characters, each ending with a newline */
	const struct tw_option *options; /* its own; the last one has no name */
	const char *argument;            /* the option that stands without its name before DIR, and must be given; NULL: none */
	uint32_t needs;                  /* enum tw_needs */
	uint32_t scope;                  /* enum tw_scope */
	/* A state as bytes, and back: unpack adds what pack wrote to a state that is fresh from begin(). Both or none. */
	uint32_t pack_version; /* of these bytes: others are refused */
	int (*pack)(const void *state, FILE *to);
	int (*unpack)(void *state, FILE *from);
	/* With TW_WANTS_COUNTS or TW_WANTS_LINES: instructions of a thread in a period; `arg` is begin()'s. NULL, or 0: a thread's life is one. */
	uint64_t (*period)(const void *arg);
};

/*
 * What a plug-in exports, under the name tw_plugin: TW_PLUGIN(bytes_written) at the end of its source makes it. The version is raised whenever a struct of this
 * header or of <trackway/context.h> changes; a plug-in that was built for another is refused.
 */
#define TW_PLUGIN_VERSION 3
struct tw_plugin {
	uint32_t version;        /* TW_PLUGIN_VERSION */
	uint32_t analyzer_bytes; /* of a struct tw_analyzer */
	const struct tw_analyzer *analyzer;
};

#define TW_PLUGIN(an_analyzer)                                                                                                             \
	__attribute__((visibility("default"))) extern const struct tw_plugin tw_plugin;                                                    \
	const struct tw_plugin tw_plugin = {TW_PLUGIN_VERSION, sizeof(struct tw_analyzer), &(an_analyzer)}

#endif
