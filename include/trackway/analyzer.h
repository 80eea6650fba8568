/*
 * Analyzers: modules that read a replayed recording.
 *
 * Replay hands an analyzer batches of blocks, references and events, in the order in which a thread made them. An
 * analyzer keeps its results in states of its own. Since states can be merged, replay may run any number of them at
 * once, each on a range of chunks, and join them in order. So an analyzer need not know whether it runs on one core
 * or on twenty, on a recording or on a running program.
 *
 * A complete analyzer that counts the bytes written:
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
 * Run it with tw_replay() of <trackway/replay.h>; or, as a plug-in, with `trackway analyze` on a recording and with
 * `trackway record --with` while the program runs. A plug-in is a shared object that exports one table, struct
 * tw_plugin below; its begin() gets a struct tw_context (<trackway/context.h>) with the options given, names for
 * addresses, and the answer. docs/analyzers.md builds one.
 */
#ifndef TRACKWAY_ANALYZER_H
#define TRACKWAY_ANALYZER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <trackway/descriptor.h>
#include <trackway/event.h>

/*
 * One execution of a basic block. Its references are those from first_ref up to the first_ref of the next block
 * (n_refs after the last one). n_insns is less than the block's own number of instructions if a signal or a fault
 * stopped it early. A record with n_insns 0 is not an execution: it only holds further references of a string
 * instruction whose block started in an earlier batch, or that was interrupted between iterations.
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

/* The part of a reference that does not change between executions of its instruction. */
struct tw_ref_shape {
	uint64_t pc; /* this and the following as in struct tw_ref */
	uint32_t size;
	uint16_t insn;
	uint8_t type;
	uint8_t reserved;
};

/* Consecutive blocks and references, without the addresses. Executions of the same code share one. */
struct tw_stretch {
	const struct tw_block_run *blocks; /* blocks that start here; their first_ref counts from the start of the stretch */
	const struct tw_ref_shape *refs;
	uint32_t n_blocks, n_refs;
	/*
	 * Not 0: the stretch stays in place, unchanged, until the last state of the run has ended, and no other such stretch
	 * has this number, so executions can be counted by number. The numbers have few gaps. 0: the stretch may be gone
	 * after the call.
	 */
	uint32_t number;
	uint32_t reserved; /* private to replay */
};

/* Executions of a stretch, counted instead of listed one by one. */
struct tw_counted_run {
	const struct tw_stretch *stretch; /* it has a number, and starts with a block */
	uint64_t times;
};

/* A reference of an execution that was counted and not listed. */
struct tw_odd {
	uint64_t addr;
	const struct tw_ref_shape *shape; /* valid as long as the stretch */
};

/*
 * A page of 4096 bytes, and which of its 64-byte lines were touched: the lowest bit is the first line. Address bits
 * from bit 48 on are omitted.
 */
struct tw_touched_page {
	uint64_t addr, lines;
};

/* One event. It happened before block number `block` of the batch started. */
struct tw_event {
	const void *payload; /* as <trackway/event.h> describes for the type; aligned to 8 */
	uint32_t bytes;      /* of the payload; never less than the type's struct */
	uint32_t block;
	uint32_t type; /* enum tw_event_type */
	uint32_t reserved;
};

struct tw_batch_lists;

/*
 * A part of one thread's execution. Everything it points to is valid during the call only; descriptors are valid as
 * long as the recording.
 *
 * References are given as addresses, side by side, and stretches, which have everything else: reference k of a
 * stretch belongs to the k-th of its addresses, which follow those of the stretches before it. tw_batch_blocks() and
 * tw_batch_refs() expand each block and reference.
 */
struct tw_batch {
	uint32_t thread;     /* serial number of the thread */
	uint32_t sequence;   /* of the chunk */
	uint64_t first_insn; /* instructions, blocks and references of this thread before this batch */
	uint64_t first_block;
	uint64_t first_ref;
	const struct tw_stretch *const *stretches;
	size_t n_stretches;
	size_t n_blocks;      /* in all stretches */
	size_t n_continued;   /* of them: records with n_insns 0, which are not executions */
	uint64_t n_insns;     /* instructions executed by all blocks */
	const uint64_t *addr; /* of each reference */
	size_t n_refs;
	size_t n_reads, n_writes; /* of them; a modify is both */
	const struct tw_event *events;
	size_t n_events;
	int continues;                /* 1: the last block has more references in the next batch, whose first block record stands for it */
	struct tw_batch_lists *lists; /* private to replay */
	uint64_t tsc; /* in a window: time stamp of the thread's last event before this batch, which may be outside the window; 0: none */
	/*
	 * With TW_WANTS_COUNTS or TW_WANTS_LINES, most executions are not listed above. They appear only in n_insns, not in
	 * first_block, first_ref or an event's block. Instead they are counted, or the lines they touch are noted, and from
	 * time to time a batch holds what has accumulated since the last one that did. All of it belongs to the period
	 * (struct tw_analyzer) in which the batch starts. A batch that extends beyond its period has only listed executions.
	 */
	const struct tw_counted_run *counted;
	size_t n_counted;
	const struct tw_touched_page *touched; /* a page may occur twice */
	size_t n_touched;
	/*
	 * References of unlisted executions whose address is not a multiple of the size, or whose size is not one of 1, 2, 4
	 * ... 64, since the last batch. Their lines are not in `touched`.
	 */
	const struct tw_odd *odd;
	size_t n_odd;
};

/* The batch's n_blocks blocks and n_refs references, one by one. The first call for a batch expands them. */
const struct tw_block_run *tw_batch_blocks(const struct tw_batch *batch);
const struct tw_ref *tw_batch_refs(const struct tw_batch *batch);

/* What an analyzer requires of a recording. A recording without it is refused, with the reason, before replay starts. */
enum tw_needs {
	TW_NEEDS_REFS = 1,  /* addresses of references: not in control-flow formats */
	TW_NEEDS_FLOW = 2,  /* how blocks end: not in imported address streams */
	TW_NEEDS_ORDER = 4, /* time stamps of locked instructions and fences (record --order) */
	/*
	 * Names (tw_context_names) already in batch() and merge(). There are none while a program runs: the thread that maps
	 * a file reports it, perhaps after others have run its code. `record --with` then replays a recording after the
	 * program has ended.
	 */
	TW_NEEDS_NAMES = 8,
	TW_NEEDS_CALLS = 16, /* CALL and RETURN events (record --calls). `record --with` turns them on */
	/* Only blocks with references: in a window with a range, a batch without references in the range may consist of events only. */
	TW_NEEDS_NO_CODE = 32,
	TW_WANTS_ORDER = 64, /* the same time stamps, but it can do without; `record --with` turns them on */
	/* Its answer is the same for a recording without references. `record --with` omits them if this holds for all its analyzers. */
	TW_WANTS_NO_REFS = 128,
	/*
	 * It uses none of the addresses (tw_batch.addr); or only those at which calls put and returns took return addresses.
	 * All others, also in tw_batch_refs(), may then have any value: replay need not compute them, and `record --with`
	 * need not record what they depend on.
	 */
	TW_WANTS_NO_ADDRESSES = 256,
	TW_WANTS_CALL_ADDRESSES = 512,
	/*
	 * It needs neither order nor the addresses of aligned references, so executions may be counted (tw_batch.counted);
	 * or it needs only the lines touched (tw_batch.touched). Replay does so where it can. It may still list everything:
	 * in a window, next to other analyzers, or if the machine cannot.
	 */
	TW_WANTS_COUNTS = 1024,
	TW_WANTS_LINES = 2048,
};

/* What one state must see. */
enum tw_scope {
	TW_SCOPE_CHUNKS,  /* any chunks, one after another: fastest, since all cores work on one thread of the program */
	TW_SCOPE_THREADS, /* whole threads from start to end: each core works on a thread of its own */
	/*
	 * All threads, interleaved: batches end at each event that has a time, and come in the order of the times at which
	 * they start. Runs on one core.
	 */
	TW_SCOPE_ALL,
};

enum tw_option_kind {
	TW_OPTION_FLAG,   /* no value */
	TW_OPTION_NUMBER, /* decimal, or hexadecimal with 0x */
	TW_OPTION_BYTES,  /* a number of bytes; k, M or G (powers of 1024) may follow */
	TW_OPTION_WORD,   /* one of the words in `argument`, which are separated by bars: "lru|plru" */
	TW_OPTION_TEXT,
	TW_OPTION_FORM, /* no value: the analyzer prints the answer itself (tw_answer_stream); excludes --json, --csv and others of this kind */
};

/* An option of an analyzer: --NAME on the command line of `analyze`, NAME after a comma in `record --with`. */
struct tw_option {
	const char *name;     /* without dashes; not the name of an option that all analyzers have (trackway analyze --help) */
	uint8_t kind;         /* enum tw_option_kind */
	const char *argument; /* name of the value in --help; FLAG, FORM: NULL */
	const char *value;    /* default; NULL: none */
	const char *help;     /* what it does: one sentence without a full stop; --help wraps it */
};

/*
 * An analyzer. Different states may be used by different threads at once, a single state only by one thread at a
 * time. Functions that return int return 0 to continue; any other value stops replay, which returns it (negative:
 * enum tw_error; positive: the analyzer's own).
 */
struct tw_analyzer {
	const char *name;
	/* Makes a state, for a range of chunks. NULL: no memory. `arg` is tw_replay's; a plug-in gets a const struct tw_context *. */
	void *(*begin)(void *arg);
	int (*batch)(void *state, const struct tw_batch *batch);
	/* Adds to `state` what `later`, which saw the part right after it, has. Frees `later` in any case. */
	int (*merge)(void *state, void *later);
	/*
	 * Ends and frees a state that is not merged into another: the one that has seen everything (`error` 0), or any state
	 * if replay failed. Returns what tw_replay is to return.
	 */
	int (*end)(void *state, int error);
	/* Everything below may be omitted. */
	const char *what;                /* one line for --list: lower case, without a full stop */
	const char *help;                /* more text for --help: lines of at most 80 characters, each ending with a newline */
	const struct tw_option *options; /* its options; the last entry has no name */
	const char *argument;            /* the option whose value comes before DIR, without its name, and is required; NULL: none */
	uint32_t needs;                  /* enum tw_needs */
	uint32_t scope;                  /* enum tw_scope */
	/* Writes a state as bytes; unpack adds them to a fresh state from begin(). Both or neither. */
	uint32_t pack_version; /* of these bytes: other versions are refused */
	int (*pack)(const void *state, FILE *to);
	int (*unpack)(void *state, FILE *from);
	/*
	 * With TW_WANTS_COUNTS or TW_WANTS_LINES: the length of a period, in instructions of a thread; `arg` is begin()'s.
	 * NULL, or 0: a thread's whole execution is one period.
	 */
	uint64_t (*period)(const void *arg);
};

/*
 * What a plug-in exports under the name tw_plugin; TW_PLUGIN(bytes_written) at the end of its source defines it. The
 * version is raised whenever a struct of this header or of <trackway/context.h> changes; plug-ins built for another
 * version are refused.
 */
#define TW_PLUGIN_VERSION 3
struct tw_plugin {
	uint32_t version;        /* TW_PLUGIN_VERSION */
	uint32_t analyzer_bytes; /* sizeof(struct tw_analyzer) */
	const struct tw_analyzer *analyzer;
};

#define TW_PLUGIN(an_analyzer)                                                                                                             \
	__attribute__((visibility("default"))) extern const struct tw_plugin tw_plugin;                                                    \
	const struct tw_plugin tw_plugin = {TW_PLUGIN_VERSION, sizeof(struct tw_analyzer), &(an_analyzer)}

#endif
