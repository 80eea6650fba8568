/*
 * The record room: what is recorded of the code that runs.
 *
 * It has a thread's buffers and its slot in the channel; events, tags and bits; tallies; the log of references with
 * which --verify compares; the descriptors of fragments and their table; windows; and the table of instrumentors
 * (instrumentor.h), which say what of all this a format uses.
 *
 * Its files, each of which stands on those before it only: program, guard, timer, symbols, recorded, instrumentor,
 * pen, walk; descriptor_table, known, slot, descriptor_lock, spare, cycles, account, price, charge; buffer; stack,
 * tally, log, partial, bits, ask, window, budget, due, clean_call, told, calls, recording; tags (from here on what
 * emits), call_code, tally_code, bits_code, stamp, store, describe.
 *
 * It owns the buffers, the channel's head as far as the engine writes it, and the data of threads and the process
 * below. It may call x86_64 and the base. Of code it knows the contents of an address and of a fragment's record, not
 * how fragments are found or linked.
 */
#ifndef TW_RECORD_ROOM_H
#define TW_RECORD_ROOM_H

#include "engine/thread.h"
#include "engine/record/timer.h"

struct tw_logged_ref;
struct instrumentor;

/* What this room calls of those above it: filled in wiring.c. */
struct tw_record_calls {
	/* A buffer is done with: records of the thread's stand in [from, to), all of it accessible. */
	void (*buffer_done)(struct thread *t, const u8 *from, u64 to);

	/* Another instrumentor is the one that is used from now on. Under the lock, from the dispatcher, which forgets by which exit it came. */
	void (*use)(struct thread *t, const struct instrumentor *to);

	/* The thread is about to go over to other translations: what it has made for itself is for all. Under the lock, from the dispatcher. */
	void (*cross)(struct thread *t);
};
extern const struct tw_record_calls tw_record_calls;

/* Where a thread writes. */
struct tw_pen {
	u8 *buffer;
	u64 bufptr, slack_jump;
	u32 upper;
};

/* How often the points of code/pace.h ran in so many ns of CPU time, in which so many bytes were written; of late, mostly. */
struct tw_pace {
	u64 ns, bytes, n[TW_PACE_POINTS];
};

/* What code that recorded has cost, of late, and for how long it ran. */
struct tw_budget_late {
	u64 run, used;
};

/* Of a thread that records within a budget: budget.h. */
struct tw_budget_thread {
	bool begun;  /* it has looked at its budget before */
	bool due;    /* it is to look at once */
	bool paused; /* it is in a system call, and its timer is stopped */
	bool waits;  /* the collector has not given enough buffers back */
	bool wants;  /* bare code has come by something that is not known: it is to be recorded what follows */
	u64 look_at; /* it looks then, by the time stamp counter */
	u64 cpu;     /* its CPU time when it looked last */
	u64 bytes;   /* written up to then */
	u64 past;    /* bytes written to the buffers before the current one */
	u64 engine;  /* ns of CPU time that the engine took for it since then */
	u64 granted; /* ns that it has drawn and not been charged for */
	u64 waited;  /* ns for which it has waited for the collector, since it looked last */
	struct tw_budget_late of_late;
	u64 repeat;               /* ns after which the timer comes once more, if the thread has not looked by then */
	u64 period;               /* from which */
	u64 pace[TW_PACE_POINTS]; /* thread.pace when it looked last */
	struct tw_pace bare_pace, record_pace;
	i64 cost_before;  /* ns that records cost while other points were counted, ... */
	u64 bytes_before; /* ... and their bytes */
	u32 points;       /* tw_recorder.points, when these were begun */
	u64 warm;         /* bytes written by then, and what it takes until code is as good again as it was */
	u64 per_1024;     /* ns for as many bytes of records, as that tells; 0: it is not known yet */
	u64 account, allowance, outstanding, all_cpu, cpu_then,
	    owed;             /* with a budget for each thread: its own (struct tw_budget_control) */
	struct tw_timer wake; /* of its CPU time, while it runs bare */
	struct tw_timer stop; /* of all time, while it records */
};

/* What of a thread is this room's. */
struct tw_record_thread {
	u32 slot;              /* index in the channel, or NO_SLOT */
	u32 restart_of;        /* the kernel has been told of restartable sequences for this tid (descriptor_lock.h)... */
	bool has_restart;      /* ...and has them */
	u32 holds;             /* how often it has held the descriptor lock */
	u32 promised;          /* slot reserved for what this thread becomes or makes next, or NO_SLOT */
	u64 mark;              /* tw_slot.mark */
	u8 *buffer;            /* current buffer */
	u64 opened;            /* when it was begun, by the time stamp counter */
	u32 usable;            /* buffers of the slot that are accessible, as a mask */
	u64 slack_jump;        /* where the current buffer's TW_TAG_SLACK record is, if bufptr is in the slack */
	bool recording;        /* writes records that someone reads */
	bool asked;            /* it is to hand over what it has written (ask.h) */
	bool unfollowed;       /* of a process that is not to be recorded */
	bool spare;            /* it is not, and its buffer is one that others write to as well */
	u8 *own;               /* a buffer outside the channel, where records are written over one another: if */
	bool tallied;          /* ... its executions are counted by itself, and it writes to its slot only what it tells (tally.h) */
	bool telling;          /* ... which it does now: `other` is the pen in its own buffer */
	struct tw_pen other;   /* ... in the slot's */
	bool walks;            /* format cf_bit: what it runs follows from what its stream says (walk.h) */
	u64 stop_pc;           /* where that stands, while it is out of the cache; 0: where an item is wanted */
	bool told_closed;      /* its stream says that nothing is recorded */
	u32 window;            /* changes of the window's mode that it has followed */
	struct tw_timer timer; /* of its CPU time, for the window */
	bool bare;             /* its budget is spent: it runs translations that record nothing */
	struct tw_budget_thread budget;
	u32 drawn;                 /* instructions it may execute until it looks again, while they are counted */
	u64 stores_at, stores_sp;  /* a call that stores its result there, and where its return address stands; 0: none */
	u64 record_at;             /* where the current fragment's record begins (only when references are logged) */
	struct tw_logged_ref *log; /* REFS log of the current fragment (`call` and verify) */
	u32 n_log;
	u64 log_pc;
	bool log_open; /* the fragment's REFS event is still to be written */
	struct {
		const struct tw_op *op; /* not NULL: it is not in the log yet */
		u64 count, first, second;
	} rep;     /* before a repeated string instruction */
	u8 *xsave; /* for clean calls that need vector registers */
};

/* What is known of a register's value, in format dep06: it has been written since its value was recorded, or not. */
enum tw_status { TW_RECORDED = 0, TW_UPDATED = 1 };

/* thread.count, while instructions are counted, when the thread is to look. */
#define TW_COUNT_END (1ull << 32)

#define NO_SLOT 0xffffffffu

/* What the table of a program begins with that goes on with a snapshot, or may leave one (base/channel.h). */
struct tw_table_start {
	u32 base, entries, claimant;
	bool loaded; /* this process has loaded the base, and the collector does not know yet */
};

/* What of the process is this room's. */
struct tw_record_process {
	const struct instrumentor *instr; /* of the window's mode of now (window.h) */
	const struct instrumentor *bare;  /* that records nothing */
	const struct instrumentor *whole; /* of the recording */
	bool verify;
	u32 points;                        /* how often the points changed by which the program's pace is told (code/pace.h) */
	struct tw_descriptor_table *table; /* of this program, mapped; NULL: it has none (descriptor_table.h) */
	u32 table_number;                  /* from 1; 0: none */
	struct tw_table_start start;       /* of it */
};
extern struct tw_record_process tw_recorder;

/* By which the calling thread's code is translated now. */
static inline const struct instrumentor *tw_instr(void)
{
	return tw_thread_self()->record->bare ? tw_recorder.bare : tw_recorder.instr;
}

/* Does this program count for itself (tally.h)? */
static inline bool tw_tallies(void)
{
	return tw_engine.control->flags & TW_FLAG_TALLY;
}

#endif
