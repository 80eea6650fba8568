/*
 * The code room: the program's code and what is made of it.
 *
 * It has fragments and the cache that holds them; finding, linking, leaving and invalidating fragments; the
 * dispatcher; indirect-branch lookup; paths and superblocks; modules; and translations shared between processes and
 * kept. `fragment.h` says what must hold for fragments.
 *
 * Its files, each of which stands on those before it only: fragment (shapes), translations (the areas), module,
 * numbers, fragments (finding), stub, tables; stale; shared, memory (the application's address space); cache, make,
 * lookup, link, private; inserted, relocate, close, loop, exits, records, pace, show, version, translate; path,
 * known_paths, superblock, trace; flush, learned, snapshot_file, snapshot_write, snapshot_entry, snapshot_tables,
 * snapshot_take, snapshot; resolve, dispatch.
 *
 * It owns the arena's areas (translations.h), and the data of threads and the process below. It may call record,
 * x86_64 and the base.
 */
#ifndef TW_CODE_ROOM_H
#define TW_CODE_ROOM_H

#include "engine/engine.h"

struct fragment;
struct exit;

/*
 * What this room calls in those above it: filled in wiring.c. In all of these t->pc and t->regs are exact, and
 * execution continues with what they set.
 */
struct tw_code_calls {
	void (*deliver_deferred)(struct thread *t); /* thread.has_deferred: the deferred signal, or the thread is to leave */
	/*
	 * No code can be read at `at`, where the instruction at t->pc starts or continues; `beyond_file`: although something
	 * is mapped there.
	 */
	void (*no_code)(struct thread *t, u64 at, bool beyond_file);
	void (*syscall)(struct thread *t);          /* the cache was left before a system call... */
	void (*int80)(struct thread *t);            /* ...or one of the 32-bit kind: makes it; t->pc is after it */
	void (*emulate)(struct thread *t);          /* executes the instruction at t->pc, which the cache does not contain */
	bool (*emulate_vsyscall)(struct thread *t); /* if t->pc is in the vsyscall page, performs that call; false: it is not */
};
extern const struct tw_code_calls tw_code_calls;

#define TW_TRACE_BLOCKS 16

/* A path that a thread has taken often (trace.h). */
struct tw_path {
	u32 context, n;
	bool loops;           /* it comes several times in a row */
	struct fragment *old; /* a superblock to be remade along it, if it still exists; NULL: none */
	u64 pc[TW_TRACE_BLOCKS];
};

/* Which of a thread's filled buffers are examined for such paths. */
struct tw_looks {
	u32 pass_over;   /* so many after each */
	u32 passed_over; /* so many since the last */
	u32 in_vain;     /* looks in a row that found nothing new */
	u32 paths;       /* found in all */
	bool begun;      /* there has been one */
	u32 usual_plain; /* records of single-block fragments per examination: a running mean */
};

/* Fragments that a thread has made, each falling into the next, and that no other thread can enter yet (private.h). */
struct tw_private {
	struct fragment *first, *newest; /* NULL: there are none */
	struct exit *x;                  /* to be linked to the first, or NULL */
	struct fragment *lookup;         /* of the first, to be entered in its table, or NULL */
};

/* What of a thread is this room's. */
struct tw_code_thread {
	bool in_cache;
	u32 generation;        /* of translations, as last seen: see tw_flush_make_room */
	struct tw_path hot[4]; /* to become superblocks when the dispatcher is next entered */
	u32 n_hot;
	struct tw_looks looks;
	struct tw_private private;
	u64 pace_found; /* a block that could be a point (pace.h) */
};

/* What of the process is this room's. */
struct tw_code_process {
	u64 program_entry; /* the program's first instruction */
	bool gs_used;      /* some thread has a nonzero %gs base */
	bool began_warm;   /* it took translations that others had left (snapshot.h) */
	bool filtered;     /* its parent set a system call filter: call nothing that can be avoided */
};
extern struct tw_code_process tw_translator;

#endif
