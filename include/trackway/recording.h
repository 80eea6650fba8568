/*
 * Recordings: what `trackway record` leaves on disk (docs/format.md), and how to read them.
 *
 * A recording is a directory. For each thread it holds a sequence of chunks. A chunk is what one or more buffers
 * held, divided into three streams (C: tags, M: values, E: events); it starts with a keyframe of all registers, so it
 * can be replayed alone. The descriptors of all fragments are in one file.
 *
 * Functions that can fail return 0 or a negative enum tw_error; tw_error_text() gives the message,
 * tw_recording_detail() what it was about (file, chunk, offset). Nothing here prints or exits. After
 * tw_recording_open() many threads may read a recording at once.
 */
#ifndef TRACKWAY_RECORDING_H
#define TRACKWAY_RECORDING_H

#include <stdint.h>
#include <stddef.h>
#include <trackway/counts.h>
#include <trackway/descriptor.h>

/*
 * One chunk, in memory. In the C stream a value >= TW_TAG_FIRST is the lower half of a fragment number; TW_TAG_EVENT
 * stands for the next event of the E stream; TW_TAG_UPPER is followed by the new upper half. (src/base/channel.h
 * defines the tags, <trackway/event.h> the events.)
 */
struct tw_chunk {
	uint32_t thread;     /* serial number of the thread in the recording */
	uint32_t sequence;   /* 0, 1, 2... within the thread */
	uint32_t upper;      /* upper half of the fragment numbers at the start */
	uint32_t flags;      /* enum tw_chunk_flags */
	uint64_t first_insn; /* instructions, blocks and references of this thread before this chunk */
	uint64_t first_block;
	uint64_t first_ref;
	/*
	 * In this chunk. A modify counts as one reference, one read and one write. Of a PARTIAL fragment its first `insns`
	 * instructions count, and the blocks that start among them.
	 */
	uint64_t insns, blocks, refs, reads, writes;
	uint16_t *c; /* C stream */
	size_t n_c;  /* in 2-byte units */
	uint64_t *m; /* M stream */
	size_t n_m;  /* in 8-byte units */
	uint8_t *e;  /* E stream: struct tw_event_header and payload, each event padded with zeros to a multiple of 8 */
	size_t n_e;  /* bytes */
};

enum tw_chunk_flags {
	TW_CHUNK_TORN = 1, /* recovered from a thread that was killed: it ends with the last fragment known to be whole */
	TW_CHUNK_LAST = 2, /* the thread's last chunk */
};

/* The streams of a chunk, as an index for counts per stream. */
enum tw_stream { TW_STREAM_C, TW_STREAM_M, TW_STREAM_E, TW_NSTREAMS };

/* ---- errors ---- */

enum tw_error {
	TW_OK = 0,
	TW_ERR_SYSTEM = -1,        /* a system call failed; the detail says which and why */
	TW_ERR_MEMORY = -2,        /* no memory */
	TW_ERR_NOT_FOUND = -3,     /* no such file or directory */
	TW_ERR_NOT_RECORDING = -4, /* something is there, but it is not a recording */
	TW_ERR_EMPTY = -5,         /* a directory or header with nothing in it */
	TW_ERR_VERSION = -6,       /* a recording in another version of the format */
	TW_ERR_TRUNCATED = -7,     /* a file ends in the middle of something */
	TW_ERR_CHECKSUM = -8,      /* stored bytes are not what was written */
	TW_ERR_DAMAGED = -9,       /* checksums match or are absent, but the contents violate the format */
	TW_ERR_COUNT_ONLY = -10,   /* recorded with --sink=count: nothing to replay */
	TW_ERR_RANGE = -11,        /* no such thread or chunk */
	TW_ERR_FRAGMENT = -12,     /* a tag names a fragment that has no descriptor */
	TW_ERR_STREAM = -13,       /* the streams of a chunk do not match each other (replay) */
	TW_ERR_TOTALS = -14,       /* what was found differs from what was counted while recording (check) */
	TW_ERR_MISSING = -15,      /* a file of the recording is missing */
	TW_ERR_NOTHING = -16,      /* recorded in format none: nothing to replay */
	TW_ERR_LAST = -17
};

/* One sentence without a full stop, for any value of enum tw_error; never NULL. */
const char *tw_error_text(int error);

/*
 * What the last failure in the calling thread was about: file, chunk, offset, system error; "" if there is no detail.
 * Valid until the next failure in this thread.
 */
const char *tw_recording_detail(void);

/* ---- what a recording says about itself ---- */

/* Counts. `raw`: bytes of the streams; `coded`: after the transform; `stored`: after compression (without chunk headers). */
struct tw_totals {
	uint64_t insns, blocks, refs, reads, writes;
	uint64_t written; /* by the program, to its buffers; unknown for single chunks */
	uint64_t raw[TW_NSTREAMS], coded[TW_NSTREAMS], stored[TW_NSTREAMS];
	uint64_t code_raw, code_stored; /* descriptors and modules; stored: including block headers */
	uint64_t chunks, threads, fragments;
	uint64_t gaps;      /* places where something was not recorded: GAP events, and buffers that were not valid to their end */
	uint64_t stamps;    /* STAMP events: time stamps of locked instructions and fences */
	uint64_t uncounted; /* of `written`, with --sink=count: bytes skipped; insns, blocks and refs are then estimates from the rest */
	uint64_t cut;       /* in a complete recording: threads that existed when their process ended; everything they did is recorded */
};

enum tw_sink { TW_SINK_FILE, TW_SINK_COUNT };
enum tw_follow { TW_FOLLOW_ALL, TW_FOLLOW_NONE };

struct tw_recording_info {
	uint32_t version;
	uint32_t format; /* enum tw_format */
	uint32_t sink;   /* enum tw_sink */
	uint32_t follow; /* enum tw_follow: whether child processes are recorded */
	/* 1: closed, and contains everything that could be recorded; 0: still being written, or stopped: see `failure` */
	uint32_t complete;
	int64_t start;      /* seconds since 1970 */
	uint64_t tsc_start; /* the time stamp counter at the start; 0: not known */
	/*
	 * Its cycles per second, measured from start to end; if not complete, measured just before the start, accurate to a
	 * thousandth; 0: not known.
	 */
	uint64_t tsc_hz;
	uint32_t tsc_invariant; /* 1: it runs at a constant rate in all processor states (CPUID 80000007H) */
	uint32_t order;         /* 1: locked instructions and fences are stamped (--order) */
	uint64_t duration_ns;
	int32_t wait_status; /* of the program, as from waitpid(2); -1: it was detached from, and continued natively */
	int32_t argc;
	char **argv;   /* as given on the command line */
	char *program; /* the ELF file that ran (for a script: its interpreter) */
	char *cwd, *host, *cpu, *kernel;
	char *calls; /* "": calls are not recorded; "known": those of <trackway/called.h>; more names follow, each after a comma */
	char *start_at, *stop_at; /* the window, as given on the command line; "" if not given */
	uint64_t windows;         /* how often a process opened the window, if there is a start */
	uint64_t dropped;         /* recorded instructions that were dropped because only the last part was kept (--ring) */
	char *failure;            /* why it is not complete; "" if it is */
	struct tw_xstate xstate;
	struct tw_totals totals;
	uint32_t attached; /* the process id, if it was already running when recording started (--pid); otherwise 0 */
	uint32_t
	    instrumented; /* 1: the program was instrumented by trackway cc; only the instrumented code of the modules listed is recorded */
	uint64_t burst, every;      /* ns: length of the recorded bursts, and their period; 0: none (--burst, --every) */
	uint64_t engine[TW_COUNTS]; /* if the recorder closed the recording: counters of the engine's work, by enum tw_count */
};

struct tw_thread_info {
	uint32_t serial, pid, tid, parent_pid, parent_tid;
	uint32_t n_chunks;       /* readable chunks; their sections are checked only when read */
	struct tw_totals totals; /* sum over the headers of those chunks */
};

/* A file mapped by a traced process, in the order of mapping; if ranges of one process overlap, the later one counts. */
struct tw_module {
	uint64_t address, length, offset; /* offset: in the file */
	uint32_t pid, prot;               /* prot: PROT_* */
	uint32_t thread, sequence;        /* the thread and chunk in which it was mapped */
	const char *path;
};

/* A process of the recording, in the order of creation. */
struct tw_process {
	uint32_t pid, parent_pid; /* parent_pid 0: not known */
	uint32_t first_thread;    /* serial number; pids may be reused, serial numbers are not */
	int followed;             /* 0: it was not to be recorded (--follow=none), and has no threads here */
	int ended;                /* 1: it is known how it ended: */
	int32_t wait_status;      /*   as from waitpid(2) */
	uint32_t n_programs;      /* how many it executed */
	const char *program;      /* the last of them; before the first, its parent's; "" if not known */
	const char *const *argv;  /* its arguments, NULL-terminated; if there were too many, the first ones */
};

/* The contents of a chunk's header. */
struct tw_chunk_info {
	uint64_t offset; /* of the chunk in its file */
	uint32_t sequence, upper, flags;
	uint32_t reserved;
	uint64_t first_insn, first_block, first_ref;
	uint64_t insns, blocks, refs, reads, writes, gaps, stamps;
	uint64_t raw[TW_NSTREAMS], coded[TW_NSTREAMS], stored[TW_NSTREAMS];
};

/* Damage found when the recording was opened; the rest can be read. `text` names file, chunk and offset. */
struct tw_problem {
	int error;
	char *text;
};

/* ---- reading ---- */

struct tw_recording;

/*
 * Opens the recording in directory `dir`: reads its header, all descriptors and modules, and the headers of all
 * chunks, but not the chunks themselves. Works while the recording is being written (it shows what was there when it
 * was opened) and after a crash. Damage beyond the header is not an error: see tw_recording_problem(). The caller
 * owns *out and closes it.
 */
int tw_recording_open(const char *dir, struct tw_recording **out);
void tw_recording_close(struct tw_recording *r);

/*
 * The results live as long as the recording. Threads are numbered from 0 in the order of their serial numbers, chunks
 * from 0 in the order of the file.
 */
const struct tw_recording_info *tw_recording_info(const struct tw_recording *r);
size_t tw_recording_n_threads(const struct tw_recording *r);
const struct tw_thread_info *tw_recording_thread(const struct tw_recording *r, size_t thread);
size_t tw_recording_find_thread(const struct tw_recording *r, uint32_t serial); /* its number; the number of threads if there is none */
const struct tw_chunk_info *tw_recording_chunk_info(const struct tw_recording *r, size_t thread, size_t chunk);
size_t tw_recording_n_modules(const struct tw_recording *r);
const struct tw_module *tw_recording_module(const struct tw_recording *r, size_t module);
size_t tw_recording_n_processes(const struct tw_recording *r);
const struct tw_process *tw_recording_process(const struct tw_recording *r, size_t process);
size_t tw_recording_process_of(const struct tw_recording *r, size_t thread); /* its number; the number of processes if not known */
size_t tw_recording_n_problems(const struct tw_recording *r);
const struct tw_problem *tw_recording_problem(const struct tw_recording *r, size_t problem);

/*
 * Totals: from the header if the recording is complete or holds only counts, otherwise summed over the chunks found.
 * tw_recording_sum always sums.
 */
const struct tw_totals *tw_recording_totals(const struct tw_recording *r);
void tw_recording_sum(const struct tw_recording *r, struct tw_totals *out);

/* TW_OK, or the error that says why there is nothing to replay: TW_ERR_COUNT_ONLY, TW_ERR_NOTHING. */
int tw_recording_replayable(const struct tw_recording *r);

/*
 * The descriptor of a fragment, or NULL. Descriptors have been validated: sizes and the registers, slots and
 * instructions of operations are in range.
 */
const struct tw_descriptor *tw_recording_descriptor(const struct tw_recording *r, uint32_t number);

/* All descriptors, in order of creation, except idle ones (kept translations that did not run), if the recording says which these are. */
size_t tw_recording_n_descriptors(const struct tw_recording *r);
const struct tw_descriptor *tw_recording_descriptor_at(const struct tw_recording *r, size_t i);

/*
 * Reads, checks and decompresses chunk `chunk` of thread `thread` into *out. Release it with tw_chunk_release(),
 * which also accepts a chunk that is all zeros. Safe in many threads at once. After TW_ERR_CHECKSUM and
 * TW_ERR_TRUNCATED other chunks remain readable.
 */
int tw_recording_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_chunk *out);
void tw_chunk_release(struct tw_chunk *chunk);

#endif
