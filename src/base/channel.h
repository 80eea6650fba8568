/*
 * The channel: memory shared by the traced processes and the collector.
 *
 * It is one memfd. Its first part, mapped whole by both sides, holds a control block, a table for finding descriptors
 * again, and a fixed number of thread slots, which also tell the collector who is still there (in format none, that
 * is all they do). A slot is a ring of buffers, each written by one thread of a traced process, and read by the
 * collector once it is full (or once the thread is gone). The engine keeps no file descriptor for it. After that part
 * come the store of snapshots (store.h) and the descriptor tables.
 *
 * A *descriptor table*, or table for short, belongs to one program: to the process that executed it, and to the forks
 * of that process until they execute something else. It holds the descriptors they make, in order of creation; a
 * process maps only its own table. When the last of these processes is gone, the collector gives the table's memory
 * back and forgets its descriptors, so memory is bounded by the programs that run. Fragment numbers are never reused:
 * a table draws them in *stretches*, and the collector forgets whole stretches. A program that may leave its
 * translations to others (store.h) draws numbers one by one from those that it has claimed. A table whose descriptors
 * others use *stays*; their tables name it as their base.
 *
 * What must hold:
 *  - A buffer has one owner at a time, named by its `state`: EMPTY is the thread's, FULL the collector's. Only the
 *    owner changes it.
 *  - An EMPTY buffer is all zeros: the collector clears what it has read before it gives a buffer back. So the end of
 *    what a killed thread wrote is the first TW_TAG_NONE.
 *  - A descriptor is complete in shared memory, and its table's `used` has moved past it, before its tag can appear
 *    in any buffer.
 *  - A table is read and written only by a process that has a slot in use naming it (tw_slot.table), or that shares
 *    memory with such a process. A slot names a table before the table is taken (control->table[].program goes from 0
 *    to the program's serial number). Or a process of that program lets it name the table, and then checks: while the
 *    table is `ending` it waits; if the table is another program's, it has come too late.
 *  - Only the collector gives a table up: it says `ending`, *then* finds that no slot in use names it, and that
 *    everything taken from the program is encoded and compared. Then it clears the table, and after that frees it.
 *  - A group of descriptors does not cross the boundary of a TW_PART_BYTES part of its table: the rest of the part is
 *    left as zeros instead.
 *  - The traced process never waits for a collector that has died (tw_channel_collector_alive).
 *
 * Layout of one buffer, TW_BUFFER_BYTES + TW_SLACK pages:
 *      [ data: TW_BUFFER_BYTES | guard page | slack: TW_SLACK_BYTES | guard page ]
 * A store of a fragment's record that hits the first guard ends the buffer. At the fragment's entry, the buffers are
 * switched. Within the fragment, its record is first closed as one that stopped early, after a PARTIAL event, in the
 * slack; TW_TAG_SLACK in the data then says so.
 *
 * A buffer holds, from its start, without alignment, a sequence of records:
 *      u16 tag >= TW_TAG_FIRST, then n_values * 8 bytes       one execution of the fragment (upper half << 16 | tag); in formats of 4-byte
 *                                                             entries (tw_record_head) the upper half stands between the two
 *      u16 TW_TAG_EVENT, struct tw_event_header's rest, payload  something that is not code
 *      u16 TW_TAG_UPPER, u16 upper                            the upper half of the fragment numbers that follow
 *      u16 TW_TAG_SLACK, u16 offset                           continue at slack + offset
 *      u16 TW_TAG_NONE                                        nothing written from here on
 * The first record of every buffer is a KEYFRAME event, which also gives the upper half. In formats of another form
 * (enum tw_form), buffers have other contents: expand.h.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_CHANNEL_H
#define TW_CHANNEL_H

#include "base/leave.h"
#include "base/sizes.h"
#include "base/store.h"
#include <stdatomic.h>
#include <trackway/counts.h>
#include <trackway/descriptor.h>
#include <trackway/event.h>

#define TW_CHANNEL_MAGIC   0x6c656e6e61687774ull
#define TW_CHANNEL_VERSION 24

#define TW_PAGE          4096u
#define TW_HUGE_PAGE     (2ull << 20)
#define TW_BUFFER_BYTES  (1020u * 1024) /* data part; with the rest, 8 buffers stay below 10 MB */
#define TW_SLACK_BYTES   (16u * 1024)
#define TW_SLACK_AT      (TW_BUFFER_BYTES + TW_PAGE) /* from where the buffer begins */
#define TW_BUFFER_STRIDE (TW_SLACK_AT + TW_SLACK_BYTES + TW_PAGE)
#define TW_PART_BYTES    (16u << 20) /* of a table: what the collector maps at once */
#define TW_STRETCH       512u        /* fragment numbers */

/* Without limits; otherwise there may be less (struct tw_sizes). Most of it is sparse. */
#define TW_BUFFERS                24     /* per thread, with a budget; */
#define TW_USUAL_BUFFERS          8      /* ... without: less memory is written again and again than processors have caches for */
#define TW_SLOTS                  1536   /* threads alive at once, over all processes, that are recorded */
#define TW_THREADS                16384u /* and in one process, recorded or not */
#define TW_DESCRIPTOR_TABLES      2048u  /* programs at once, including those that have just ended */
#define TW_DESCRIPTOR_TABLE_BYTES (2ull << 30)
#define TW_KNOWN_ENTRIES          (1u << 20) /* descriptors that can be found again */
#define TW_CLAIM_ENTRIES          (1u << 22) /* addresses that stand for a block (engine/record/tags.h) */
#define TW_TALLY_ENTRIES          (1u << 21) /* of the window of a slot: paths of a program that can be tallied */
#define TW_TALLY_BYTES            (TW_TALLY_ENTRIES * 8ull)
#define TW_CACHE_BYTES            (128ull << 20) /* of the arena (engine/layout.h) */
#define TW_STUBS_BYTES            (64ull << 20)
#define TW_HEAP_BYTES             0x13ff0000ull
#define TW_THREAD_BYTES           0x18000ull

#define TW_CALLS_TEXT   2048u /* names of functions whose calls are recorded, besides those of <trackway/called.h> */
#define TW_MAX_RECORD   2048u /* bytes of the largest fragment record */
#define TW_PROGRAM_PATH 4096u /* bytes of the longest path of a program, NUL included */
#define TW_MAX_EVENT    8192u /* bytes of the largest event, header included (REFS excepted) */

/* ---- records in a buffer ---- */

enum tw_tag { TW_TAG_NONE = 0, TW_TAG_EVENT = 1, TW_TAG_SLACK = 2, TW_TAG_UPPER = 3, TW_TAG_FIRST = 16 };

/* Bytes of a fragment's record before its values. */
static inline uint32_t tw_record_head(uint32_t format)
{
	return format == TW_FORMAT_BB_PC || format == TW_FORMAT_BB_PC_MEM_ADDR ? 4 : 2;
}

/* What buffers hold, by format. The collector converts all of them to the plain form (expand.h). */
enum tw_form { TW_FORM_PLAIN, TW_FORM_TAGGED, TW_FORM_BITS };

static inline enum tw_form tw_form_of(uint32_t format)
{
	if (format == TW_FORMAT_CF_BIT)
		return TW_FORM_BITS;
	return format == TW_FORMAT_DEP06 || format == TW_FORMAT_DEP06_C ? TW_FORM_TAGGED : TW_FORM_PLAIN;
}

/* ---- the tagged form (expand.h) ---- */

/* What follows an escape, which is 0: one of these, or an upper half. */
enum tw_escape { TW_ESCAPE_NONE = 0, TW_ESCAPE_EVENT = TW_TAG_EVENT, TW_ESCAPE_ZERO = 2, TW_ESCAPE_FIRST = 16 };

/* Bytes of an escape with an upper half, and of the record of a block whose lower half is 0. */
enum { TW_ESCAPE_BYTES = 4, TW_ZERO_BYTES = 6 };

/* ---- bits (expand.h) ---- */

/* While the walk stands: an event, or one of these, in 32 bits. */
enum tw_mark { TW_MARK_NONE = 0, TW_MARK_STOP = 2, TW_MARK_START = 3, TW_MARK_BLOCK = 4 };

/* Bits of a group; one more says that it is not empty. */
enum { TW_GROUP_BITS = 31, TW_GROUP_BYTES = 4 };

/* ---- shared state ---- */

enum tw_buffer_state { TW_BUFFER_EMPTY = 0, TW_BUFFER_FULL = 1 };
enum tw_slot_state {
	TW_SLOT_FREE = 0,
	TW_SLOT_ACTIVE = 1,   /* owned by a living thread */
	TW_SLOT_ENDED = 2,    /* the thread has ended in good order: drain what is FULL, then free */
	TW_SLOT_RESERVED = 4, /* taken, not yet set up: pid and tid are those of the future owner, or of its creator */
	TW_SLOT_DEAD = 3,     /* set by the collector: the thread vanished without notice; scan what it left */
	TW_SLOT_CLEARED = 5,  /* by the collector, briefly, while it releases the memory of a free slot */
};

/*
 * Sets of signals of a thread, and of its process, that other recorded processes see in /proc. Those of the process
 * are valid in its first thread's slot.
 */
struct tw_slot_signals {
	uint64_t blocked, pending;        /* of the thread; pending: synchronous ones that the engine keeps */
	uint64_t ignored, caught, shared; /* of the process; shared: as pending */
};

struct tw_slot {
	_Atomic uint32_t state; /* enum tw_slot_state; FREE -> RESERVED in the engine, by the owner of the claim, then ACTIVE */
	uint32_t pid, tid;
	uint32_t parent_pid;
	_Atomic uint32_t serial;  /* number of the thread in the recording, from tw_control.next_thread */
	_Atomic uint32_t current; /* buffer the thread writes */
	_Atomic uint32_t table;   /* of its process, from 1; 0: none */
	struct {
		_Atomic uint32_t state; /* enum tw_buffer_state; a futex */
		uint32_t bytes;         /* FULL: bytes in the data part, up to and including a TW_TAG_SLACK record */
		uint32_t slack_end;     /* FULL: end of what stands in the slack (0: nothing) */
	} buffer[TW_BUFFERS];
	_Atomic uint32_t
	    claim; /* 1: somebody is about to reserve it, or to set CLEARED; if killed just then it stays so, and the slot unused */
	_Atomic uint32_t trace; /* enum tw_slot_trace */
	/* Tallied threads: bytes of records written; those copied to the buffers of the slot; keyframes. */
	uint64_t written, copied, keyframes;
	uint64_t
	    uncounted; /* of those written: bytes not counted themselves, which others, counted several times, stand for (cc/runtime/tally.c) */
	uint64_t counted_bytes, counted_records; /* for code instrumented by trackway cc: of the buffers that it counted */
	struct tw_slot_signals signals;
	_Atomic uint32_t ask; /* enum tw_slot_ask */
	uint64_t mark;        /* address of tw_slot_mark(serial) in the thread's own memory; written before ACTIVE */
};

/* This mark distinguishes threads that have the same numbers, each in a PID namespace of its own. */
static inline uint64_t tw_slot_mark(uint32_t serial)
{
	return 0x6b72616d00000000ull | serial;
}

/*
 * The collector asks a thread that has been computing for long to hand over its buffer, by a signal like those of the
 * engine's timers (SIGTRAP with SI_TIMER). It must not arrive in a thread without the engine.
 */
enum tw_slot_ask {
	TW_ASK_CLOSED, /* the thread cannot be asked: it is not the engine's, or is about to end or to run without it */
	TW_ASK_OPEN,   /* the engine's: it can be asked */
	TW_ASK_SENT,   /* set by the collector: the signal is under way. The engine sets OPEN when it has arrived */
};
#define TW_ASK_MAGIC 0x77696e646f77ll /* si_value of these signals */

/* What a recorded tracer (ptrace) must know of a thread without looking into it. */
enum tw_slot_trace {
	TW_TRACE_GOOD = 1,    /* stops at system calls must be distinguishable from others (PTRACE_O_TRACESYSGOOD) */
	TW_TRACE_STOPPED = 2, /* it stands in one */
};

/* In tw_table_state.program: the table holds descriptors of a snapshot, so it stays until the recording ends. */
#define TW_TABLE_STAYS 0x80000000u

/* Who has a table. */
struct tw_table_state {
	_Atomic uint32_t program; /* serial number; 0: it is free. Taken by compare-and-swap in the engine, freed by the collector */
	_Atomic uint32_t ending;  /* set by the collector: 1: the program seems to have ended */
};

/* What a table begins with; descriptors follow. */
struct tw_descriptor_table {
	_Atomic uint64_t used;        /* bytes of the table that are complete, including this; 0: not used yet */
	uint32_t number, numbers_end; /* engine side: the rest of the stretch drawn last */
	uint32_t entries;             /* and the first unused window entry; 0: as 1 */
	uint32_t base;                /* the table with the descriptors of the snapshot that the program started with; 0: none */
	uint32_t claimant;            /* engine side: the store's entry whose claimed numbers it uses, plus 1; 0: none */
	uint32_t reserved;
};

enum tw_control_flags {
	TW_FLAG_VERIFY = 1,    /* also log every reference as it happens (REFS events) */
	TW_FLAG_NO_FOLLOW = 2, /* child processes are not recorded, and run programs natively */
	TW_FLAG_ORDER = 4,     /* time stamps at locked instructions and fences */
	TW_FLAG_TALLY = 8,     /* plain form: threads count what they execute themselves */
	TW_FLAG_CALLS = 16,    /* calls of known functions are told */
	TW_FLAG_LEARN = 32,    /* bare blocks are told when they are first reached (LEARNED events) */
	TW_FLAG_STACK = 64,    /* where recording starts in the middle of the program, the stack is recorded (STACK events) */
	TW_FLAG_REST = 128,    /* code inserted by trackway cc is skipped (engine/code/inserted.h) */
};

/* Of which facts: tw_control.learn_what. Blocks always are. */
enum tw_tell { TW_TELL_BLOCKS = 1, TW_TELL_EDGES = 2, TW_TELL_CALLS = 4 };

/* Where a window opens or closes. */
enum tw_where_kind { TW_WHERE_NONE, TW_WHERE_FUNCTION, TW_WHERE_ADDRESS, TW_WHERE_TIME, TW_WHERE_COUNT };
struct tw_where {
	uint32_t kind; /* enum tw_where_kind */
	uint32_t reserved;
	uint64_t
	    value; /* ADDRESS; FUNCTION without a name: an offset in the module's file; TIME: nanoseconds since the start; COUNT: instructions executed (start) or recorded (stop) */
	char module[256];   /* FUNCTION: file name of its module, or "" */
	char function[512]; /* FUNCTION */
};

struct tw_window_control {
	struct tw_where start, stop;
	_Atomic uint32_t due;     /* bit 0: the start's time or count has been reached, bit 1: the stop's */
	_Atomic uint32_t found;   /* bits likewise: the address is known */
	_Atomic uint32_t opened;  /* how often a process opened its window */
	uint32_t limited;         /* 1: the stop's time may come whatever the stop is, or without one: recording has a limit */
	_Atomic uint32_t shut;    /* programs in two versions: 1: waiting for a function at which recording starts */
	_Atomic uint64_t counted; /* instructions executed before the start, while they count */
};

/*
 * A budget: the permitted cost of instrumentation in each period (engine/record/budget.h). An account is one word:
 * the number of its period, in the upper 24 bits, and what has been drawn from it in that period, in ns. Periods are
 * counted from `begun`, by a clock that all processes share (CLOCK_MONOTONIC).
 */
#define TW_BUDGET_PERIODS 4096u /* with figures at a time: the collector takes them away */
#define TW_BUDGET_BUCKETS 24u   /* of overshoots: the first is below 1 us, each further one twice as long */
#define TW_BUDGET_DRAWN   ((1ull << 40) - 1)
struct tw_budget_period {
	_Atomic uint64_t used;    /* ns that instrumentation cost, as charged */
	_Atomic uint64_t enabled; /* ns of CPU time in code that records */
	_Atomic uint64_t cpu;     /* ns of CPU time of all threads */
};
/* How a thread switches between versions of code. All but the first are those of DIME (Arafa, Kashif, Fischmeister), for comparison. */
enum tw_switch {
	TW_SWITCH_ASYNCHRONOUS,              /* no tests: a timer interrupts the code */
	TW_SWITCH_TRACE_VERSION,             /* each fragment tests, in both versions, whether something is left */
	TW_SWITCH_TRACE_VERSION_CONDITIONAL, /* the same, but few of the bare fragments do */
	TW_SWITCH_TRACE_CONDITIONAL,         /* checked only when code is translated */
	TW_SWITCHES
};
/* Facts that only recordings provide: is what follows unknown code to be recorded? */
enum tw_budget_seeks {
	TW_SEEKS_NOTHING, /* bare code tells what it comes by */
	TW_SEEKS_ALL,     /* nothing is known yet */
	TW_SEEKS_NEW      /* much is known: half of each period's budget, and all of the first, goes to new code */
};
struct tw_budget_control {
	uint64_t period;     /* ns; 0: there is no budget */
	uint64_t budget;     /* ns per period, or millionths of the time that the program would take without instrumentation */
	uint32_t is_share;   /* 1: that */
	uint32_t per_thread; /* 1: each thread has an account of its own */
	uint32_t bare;       /* 1: threads stay bare: only what they tell is charged (LEARNED events) */
	uint32_t seeks;      /* enum tw_budget_seeks */
	uint32_t switches;   /* enum tw_switch */
	uint32_t compiled;   /* 1: the program was compiled in two versions: the collector switches them */
	uint64_t begun;
	_Atomic uint64_t account;
	_Atomic uint64_t allowance;               /* the part of the account that may be drawn in its period */
	_Atomic uint64_t granted;                 /* drawn in it, and not yet charged */
	_Atomic uint64_t cpu;                     /* ns of CPU time of all threads, as far as reported */
	_Atomic uint64_t cpu_then;                /* when the account's period began */
	_Atomic uint64_t displaced_per_1024;      /* ns that the recorder takes of the program's processors per 1024 bytes of records */
	_Atomic uint64_t displaced;               /* ns of that, charged */
	_Atomic uint64_t owed;                    /* ... for which nothing was left in their period */
	_Atomic uint64_t opened;                  /* how often a thread began to record */
	_Atomic uint64_t spent;                   /* how often a thread stopped recording, or did not start, because nothing was left */
	_Atomic uint64_t behind;                  /* ... since the collector was to catch up first */
	_Atomic uint64_t waited;                  /* ns for which one waited for the collector, charged */
	_Atomic uint64_t accounts;                /* periods in which something was drawn, of all accounts */
	_Atomic uint64_t over[TW_BUDGET_BUCKETS]; /* of these, those in which more was charged than available, by the excess */
	_Atomic uint64_t largest, largest_in;     /* ns, and in which period */
	struct tw_budget_period of[TW_BUDGET_PERIODS]; /* by the number of the period, modulo this */
};

/* Counters of the engine. The total is the sum over all rows, or for maxima the largest. */
#define TW_COUNT_ROWS 8u
struct tw_engine_counts {
	_Alignas(64) _Atomic uint64_t of[TW_COUNTS];
};

/*
 * Holder of the descriptor lock: in the lower half the number of its slot and 1, or with this bit its pid, if it has
 * no slot. 0: nobody. If its process is killed, a waiter takes the lock over, if pids are conclusive, or the
 * collector releases it when it finds that the thread of the slot has died. If it is stopped and will restart its
 * work, as the bit says, the lock is taken over, too. The bits in between distinguish one time that a thread holds it
 * from the next.
 */
#define TW_HOLDS_BY_PID      0x80000000u
#define TW_HOLDS_RESTARTABLE (1ull << 63)

/* How the thread of a slot holds it, the `time` that is. */
static inline uint64_t tw_hold(uint32_t time, uint32_t slot)
{
	return (uint64_t)(time & 0x7fffffff) << 32 | (slot + 1);
}

#define TW_HOLDER_WANTED 1u

/* First thing in the memfd; set up by the collector before the program starts. */
struct tw_control {
	uint64_t magic;
	uint32_t version;
	/*
	 * Programs that trackway cc has compiled for another version, and which add 1 here: these three fields have the same
	 * place in all versions.
	 */
	_Atomic uint32_t refused;
	_Atomic uint32_t starved; /* threads for which there was no memory */
	uint32_t format;          /* enum tw_format */
	uint32_t flags;           /* enum tw_control_flags */
	int32_t collector_pid;
	struct tw_sizes sizes;
	_Atomic uint32_t life;            /* futex word of a robust pthread mutex held by the collector: see tw_channel_collector_alive */
	uint8_t life_rest[60];            /* the rest of that pthread_mutex_t (glibc's begins with its futex word) */
	_Atomic uint32_t doorbell;        /* futex; the engine adds 1 and wakes whenever there is something to drain */
	_Atomic uint32_t slots_used;      /* slots from this one on were never reserved: searches stop here */
	_Atomic uint32_t next_stretch;    /* of fragment numbers: the first one divided by TW_STRETCH */
	_Atomic uint32_t next_thread;     /* serial numbers of threads, from 0 */
	_Atomic uint32_t next_program;    /* serial numbers of programs executed */
	_Atomic uint32_t stays;           /* tables that stay */
	_Atomic uint64_t described;       /* bytes of descriptors in all tables */
	uint64_t descriptors_most;        /* and their limit: a share of the machine's memory */
	_Atomic uint64_t descriptor_lock; /* held by the engine while a descriptor is appended: see TW_HOLDS_BY_PID */
	_Atomic uint32_t failure;         /* enum tw_failure: why recording stopped in some process, 0 = it did not */
	char failure_text[256];
	uint64_t dump_pc;    /* --show-fragment: print the translation of the fragment at this pc... */
	uint32_t dump_all;   /* ...or of all of them, to file descriptor 2 */
	uint32_t hot;        /* how often code runs before it becomes a superblock; 0: never */
	uint32_t versions;   /* superblocks for one address, at most */
	uint32_t learn_what; /* with FLAG_LEARN: enum tw_tell */
	uint32_t learn_log;  /* and by which log: enum tw_region_log (region.h) */
	uint32_t reserved;
	uint32_t aliases; /* tags assigned that are not addresses; under the descriptor lock */
	/* A process has asked for a PID namespace: numbers in slots need not be the collector's. */
	_Atomic uint32_t namespaces;
	/*
	 * A thread of the collector without capabilities, for processes that have fewer than the collector, and may open the
	 * memfd only through such a thread: its number, or TW_HOLDER_WANTED. 0: nobody has asked.
	 */
	_Atomic uint32_t holder;
	_Atomic uint32_t barred; /* of `starved`, some could not open the memfd */
	struct tw_xstate xstate; /* of this machine */
	struct tw_leave_points leave;
	struct tw_engine_counts counts[TW_COUNT_ROWS];
	struct tw_window_control window;
	struct tw_budget_control budget;
	char calls[TW_CALLS_TEXT]; /* with FLAG_CALLS: more functions, by name, commas between */
	struct tw_slot slot[TW_SLOTS];
	struct tw_table_state table[TW_DESCRIPTOR_TABLES]; /* from table 1 */
	struct tw_store store;
	char program[TW_SLOTS][TW_PROGRAM_PATH]; /* program of the process whose first thread is in this slot; an absolute path */
};

/* Engine side: groups of descriptors that can be reused (engine/record/known.h). */
struct tw_known {
	uint64_t offset;
	uint32_t program; /* 0: none */
	uint32_t bytes;
};

enum tw_failure { TW_FAILURE_NONE, TW_FAILURE_ENGINE, TW_FAILURE_CHANNEL, TW_FAILURE_COLLECTOR };

/*
 * It is followed by a page whose first byte says whether programs in two versions (cc/twice.h) run the recording one.
 * They map it over the byte that their code tests: the collector writes it, and all of them see it. A thread that
 * finds another number than before has been in the plain version meanwhile.
 */
#define TW_SWITCH_AT     ((sizeof(struct tw_control) + TW_PAGE - 1) & ~(uint64_t)(TW_PAGE - 1))
#define TW_CONTROL_BYTES (TW_SWITCH_AT + TW_PAGE)

struct tw_version_switch {
	_Atomic uint8_t on; /* 0: the plain version; otherwise 1 to 255, another number each time that recording resumes */
	/* For code known from earlier runs (record --learn): 0: the plain version; otherwise as `on`, or the same some time ago. */
	_Atomic uint8_t known;
	_Atomic uint8_t last;    /* that was given */
	_Atomic uint8_t reason;  /* enum tw_left_out: why it was off last */
	_Atomic uint64_t closed; /* since when: time stamp counter */
	_Atomic uint64_t found;  /* when known code reached unknown code: time stamp counter; 0: it did not */
};
#define TW_VERSION_KNOWN 1 /* where `known` is */

static inline struct tw_version_switch *tw_channel_switch(const struct tw_control *c)
{
	return (struct tw_version_switch *)((uint8_t *)(uintptr_t)c + TW_SWITCH_AT);
}

/* Known code has reached unknown code: known code is recorded, too, until the collector has enough of it. */
static inline void tw_version_switch_found(struct tw_control *c, uint64_t now)
{
	struct tw_version_switch *w = tw_channel_switch(c);
	atomic_store(&w->found, now);
	atomic_store(&w->known, atomic_load(&w->on));
}

/* Switches to the recording version, or away from it, for this reason. `now`: time stamp counter. */
static inline void tw_version_switch_set(struct tw_control *c, int on, enum tw_left_out why, uint64_t now)
{
	struct tw_version_switch *w = tw_channel_switch(c);
	const uint8_t is_on = atomic_load(&w->on), last = atomic_load(&w->last);
	if (on && !is_on) {
		const uint8_t next = last == 255 ? 1 : (uint8_t)(last + 1);
		atomic_store(&w->last, next);
		atomic_store(&w->on, next);
		atomic_fetch_add(&c->window.opened, 1);
	} else if (!on && (is_on || !atomic_load(&w->closed))) {
		atomic_store(&w->reason, (uint8_t)why);
		atomic_store(&w->closed, now);
		atomic_store(&w->on, 0);
		atomic_store(&w->known, 0);
	}
}

static inline uint32_t tw_channel_slots_used(const struct tw_control *c)
{
	return __atomic_load_n((const uint32_t *)&c->slots_used, __ATOMIC_ACQUIRE);
}

/* Before a slot is reserved. */
static inline void tw_channel_use_slot(struct tw_control *c, uint32_t slot)
{
	uint32_t *used = (uint32_t *)&c->slots_used, n = __atomic_load_n(used, __ATOMIC_RELAXED);
	while (n <= slot && !__atomic_compare_exchange_n(used, &n, slot + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* Memory that it must have: nothing of the program's can be here. */
#define TW_ENGINE_PLACE     0x5f000000ull
#define TW_ENGINE_PLACE_END 0x7fff0000ull

/* Bytes of the memfd that the buffers of a slot take, and where buffer `b` of slot `s` is. */
static inline uint64_t tw_slot_bytes(const struct tw_sizes *z)
{
	return (uint64_t)z->buffers * TW_BUFFER_STRIDE;
}

static inline uint64_t tw_buffer_at(const struct tw_sizes *z, uint32_t s, uint32_t b)
{
	return z->slots_at + s * tw_slot_bytes(z) + (uint64_t)b * TW_BUFFER_STRIDE;
}

/* And in memory; `base` is the mapping of the memfd, from the control block on. */
static inline uint8_t *tw_channel_buffer(void *base, uint32_t s, uint32_t b)
{
	const struct tw_control *c = (const struct tw_control *)base;
	return (uint8_t *)base + tw_buffer_at(&c->sizes, s, b);
}

static inline uint64_t tw_tally_bytes(const struct tw_sizes *z)
{
	return z->tally_entries * sizeof(uint64_t);
}

/* The window of slot `s`: tally_entries numbers. Entry 0 is not used. */
static inline uint64_t *tw_channel_tally(void *base, uint32_t s)
{
	const struct tw_control *c = (const struct tw_control *)base;
	return (uint64_t *)(void *)((uint8_t *)base + c->sizes.tallies_at + s * tw_tally_bytes(&c->sizes));
}

/* In a traced process its table follows the part that is mapped whole. If nothing is recorded there are neither tables nor buffers. */
static inline uint64_t tw_mapped_bytes(const struct tw_control *c)
{
	return c->format == TW_FORMAT_NONE ? c->sizes.slots_at : c->sizes.channel_bytes + c->sizes.table_bytes;
}

/* The part of these that is mapped at the start. */
static inline uint64_t tw_mapped_at_once(const struct tw_control *c)
{
	return c->format == TW_FORMAT_NONE ? c->sizes.slots_at : c->sizes.channel_bytes + c->sizes.table_at_once;
}

/* Where table `number` is in the memfd. */
static inline uint64_t tw_table_at(const struct tw_sizes *z, uint32_t number)
{
	return z->tables_at + (number - 1) * z->table_bytes;
}

static inline struct tw_descriptor *tw_table_descriptor(struct tw_descriptor_table *table, uint64_t offset)
{
	return (struct tw_descriptor *)((uint8_t *)table + offset);
}

/* Place of a group of `bytes` if the table is used up to `used`. */
static inline uint64_t tw_table_place(uint64_t used, uint32_t bytes)
{
	return used % TW_PART_BYTES + bytes > TW_PART_BYTES ? (used / TW_PART_BYTES + 1) * TW_PART_BYTES : used;
}

static inline uint8_t *tw_channel_slack(uint8_t *buffer)
{
	return buffer + TW_SLACK_AT;
}

/*
 * The collector holds a robust, process-shared futex lock for as long as it lives. When it dies the kernel sets the
 * owner-died bit (robust_list(7) protocol), so a dead collector is detected without a system call, zombie or not.
 */
static inline int tw_channel_collector_alive(const struct tw_control *c)
{
	uint32_t life = atomic_load_explicit(&c->life, memory_order_acquire);
	return (life & 0x3fffffffu) != 0 && !(life & 0x40000000u);
}

/*
 * How the engine is started: the collector executes it with the program's own argv and with these two variables before the program's
 * environment; the engine takes both out before the program sees it.
 *     TRACKWAY_CHANNEL=/proc/<collector>/fd/<n>    the memfd, opened and mapped by the engine; from one engine to the next with `:<m>`, a file descriptor
 *                                                  that holds seccomp filters, behind it (engine/kernel/seccomp.h)
 *     TRACKWAY_PROGRAM=<ignored>/<name>/<path>     which signals it ignores, and behind a colon the slot that is reserved for it, in hexadecimal (from one engine to the next; else
 *                                                  nothing: the kernel is asked, and there is none), what the process is to be called, and the ELF file to run (scripts are resolved before)
 */
#define TW_ENV_CHANNEL "TRACKWAY_CHANNEL="
#define TW_ENV_PROGRAM "TRACKWAY_PROGRAM="

/*
 * Followed by the channel's path: the abstract name of a socket at which instrumented programs report that they
 * cannot open the channel: one datagram each, with their path.
 */
#define TW_BARRED "trackway"

#endif
