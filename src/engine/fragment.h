/*
 * Fragments: translations of application code under a context, how they are found, linked and left.
 *
 * Keys are (pc, context). A context is what the instrumentor knows at entry (a set of registers, or nothing). A fragment's code lies in one piece in
 * the code cache; its exits jump to stubs that leave the cache until they are linked straight to another fragment's entry. Indirect branches look
 * their target up without leaving: a table indexed by the low 16 bits of the target holds the address of a landing, a few instructions that check
 * that it is the landing of just this target (and go on to the next of the chain if not) and enter the fragment. Where the fragment was made because of
 * such a branch, its landing stands right before it.
 * Returns have a table of their own: their landings find the target still on the stack and need one register less.
 * There is one such pair of tables for each upper half of fragment numbers, because a landing also writes the TW_TAG_UPPER record
 * where the halves differ: nothing is tested while the program runs.
 *
 * What must hold:
 *  - Everything here is changed under tw_engine.lock only; running threads read code, never these structures, but for exit.again (see below).
 *  - A change of running code is one store of 4 bytes within a cache line (a jump's displacement) or of one byte (the breakpoint at a stale
 *    fragment's entry). Only while there is one thread, or the fragment is private, is more rewritten (tw_cache_room).
 *  - While there are several threads, a fragment is private to the thread that has made it until that one next comes by the dispatcher for something
 *    else than a fragment that the last one can fall into (struct tw_private). Nobody else can enter it: no exit is linked to it, no landing is in its table,
 *    other threads do not find it and make one of their own if they want it. So two fragments of one key may be there.
 *  - A stale fragment (its code was unmapped or written) is unreachable: gone from the table, the exits linked to it lead to their stubs again, its
 *    landings are out of their tables, the fragment that falls into it is stale too, and its entry is a breakpoint, for threads on their way.
 *    Fragments are found by the pages of their code, so that programs that write code all the time (JITs) can.
 *    Its bytes stay until the whole cache is emptied (tw_fragment_make_room).
 *  - Translations are thrown away all at once (tw_fragment_make_room), when no thread is in the cache: each is made stale first, so that threads come
 *    out at their next branch and wait. A thread is in the cache from when it is told where to enter until its next system call or until
 *    it waits there: so long, what it knows of fragments and exits stays valid.
 *  - Where a thread comes by the dispatcher each time (after a system call), the exit it left by keeps the fragment it went on with (exit.again), and
 *    the thread goes on with that without the lock (tw_fragment_again). It first says that it is in the cache, then looks whether translations are being or
 *    have been thrown away, and only then follows the pointer; who throws them away first says so, then looks who is in the cache. (Each store is seen before
 *    the load behind it: sequentially consistent.) So what the pointer leads to is there. It may become stale at any moment: then the thread
 *    meets the breakpoint at its entry, like one that got the fragment under the lock and let go of that.
 *  - State map: entries sorted by offset; the entry for a host address is the last one at or before it.
 */
#ifndef TW_FRAGMENT_H
#define TW_FRAGMENT_H

#include "engine/engine.h"

enum state_flags {
	STATE_NOT_OPEN = 1,  /* the fragment's record has not been begun */
	STATE_CLOSED = 2,    /* the buffer pointer has been moved past the record */
	STATE_T_SLOT = 4,    /* the application's value of t_reg is in thread.slot_t */
	STATE_R11_LIVE = 8,  /* r11 is the application's, t_reg is the buffer pointer */
	STATE_RCX_SLOT = 16, /* the application's rcx is in thread.slot_rcx */
	STATE_R10_SLOT = 32, /* the application's r10 is in thread.slot_r10 */
	STATE_DONE = 64,     /* all instructions have run; pc: */
	STATE_PC_RCX = 128,  /*   in rcx (else with DONE: pc_fall or pc_target) */
	STATE_PC_FALL = 256,
	STATE_SPILL = 512,         /* the application's value of register `spill` is in thread.slot_s */
	STATE_SPILL2 = 1024,       /* ... and that of `spill2` in slot_s2 */
	STATE_PC_RCX_PLUS = 4096,  /* pc is rcx + the landing's pc (mid-landing) */
	STATE_OFF_BY_ONE = 2048,   /* with PC_RCX_PLUS: and one less */
	STATE_PC_STACK = 16384,    /* with DONE: a return that has not popped yet: pc is at [rsp] */
	STATE_IN_REP = 8192,       /* at a string instruction with a repeat prefix: iterations may have been made */
	STATE_STAMPED = 32768,     /* the buffer pointer has been moved past the stamp before the record (NOT_OPEN), or behind it (DONE) */
	STATE_C_SLOT = 1 << 16,    /* the application's value of c_reg is in thread.slot_c */
	STATE_TALLIED = 1 << 17,   /* the record, though not closed, is counted (tally.h) */
	STATE_TURNS = 1 << 18,     /* ... and the turns of the loop */
	STATE_UNSETTLED = 1 << 19, /* flags or a register are lost until what is next in the cache has been made (x86_64/tally_code.h) */
};

struct state_entry {
	u32 flags : 24; /* enum state_flags */
	u32 spill : 4, spill2 : 4;
	u16 offset; /* from the start of the code */
	u8 insn;    /* index of the application's instruction about to run */
	u8 path;    /* with CLOSED or DONE: by which way out */
};

enum exit_kind {
	EXIT_LINK,     /* direct: pc is known and the exit can be linked */
	EXIT_LOOP,     /* a loop's way back to its own start: linked until the loop is stale, never to anything else */
	EXIT_INDIRECT, /* pc in thread.pc */
	EXIT_RETURN,   /* the same, of a return */
	EXIT_SYSCALL,  /* a system call, then pc */
	EXIT_INT80,    /* the same of a 32-bit one */
	EXIT_EMULATE,  /* one emulated instruction at pc */
	EXIT_CHECK,    /* before the fragment itself, which is to be entered again: the dispatcher is come by */
	EXIT_REENTER,  /* a signal stopped an entry into the cache: thread.resume_host */
};

struct exit {
	u64 pc;
	u8 *patch; /* LINK: the rel32 to patch */
	u8 *stub;
	struct fragment *from;  /* NULL: none in particular */
	struct exit *next_in;   /* next exit linked to the same fragment */
	struct fragment *again; /* SYSCALL, EMULATE: what was gone on with the last time; read without the lock */
	u32 upper;              /* upper half that is in force where it leaves */
	u32 context;            /* of the target */
	u8 kind;
	u8 linked;
	bool is_jcc; /* LINK: a conditional branch; else a jump */
};

enum fragment_kind { FRAGMENT_CODE, FRAGMENT_LANDING, FRAGMENT_BRIDGE };

/* A register's value stored after an instruction. */
struct after_store {
	u8 insn, reg;
	u16 slot;
};

/* A run of instructions that are adjacent in the application. */
struct piece {
	u64 pc;
	u32 bytes;
	u16 first_insn;
	u16 record_bytes; /* tagged form: of its own record, as in struct fragment */
	int16_t values;   /* ... where the fragment's value slots begin, from the start of that */
	u8 end;           /* enum tw_end, of its last instruction */
};

/* Format dep06: registers whose status is to be stored where a fragment is left, as masks. */
struct statuses {
	u16 recorded, updated;
};

/* A way out of a superblock before its end (x86_64/leave.h): paths 1, 2... of it, with the numbers that follow its own. */
struct side_exit {
	u64 pc;      /* where it leads, if a branch */
	u32 context; /* of what runs then */
	u16 record_bytes;
	u16 n_insns; /* instructions that have run */
	u8 end;      /* enum tw_end */
	u16 upper;   /* tagged form: upper half that is in force then */
	struct statuses statuses;
};

struct fragment {
	u64 pc;
	u64 pc_target, pc_fall; /* for STATE_DONE */
	u8 *code;               /* start in the cache */
	u32 code_bytes;
	u32 number;
	u32 context;      /* at entry */
	u32 end_context;  /* of what runs when it has run to its end */
	u16 record_bytes; /* tag and values; tagged form: without those stored on condition, which move the buffer pointer themselves */
	u16 n_insns, n_states;
	u32 tag;   /* other forms than the plain one: what stands for it */
	u32 tally; /* entry where path 0 is counted, those of the others behind it (tally.h); 0: there is none */
	const struct tw_descriptor *descriptor;
	u16 upper_in;  /* upper half that must be in force when it is entered, unless any_upper */
	u16 upper_out; /* ... and is when it is left */
	u8 head;       /* bytes of its record before the values */
	bool any_upper;
	bool announced;           /* TW_DESC_ANNOUNCED: in cf_bit no exit is linked to it */
	bool ticks;               /* TW_DESC_TICK */
	struct statuses statuses; /* where it is left at its end */
	u8 kind;                  /* enum fragment_kind */
	u8 t_reg;                 /* substitute buffer register, or TW_NOREG */
	u8 c_reg;                 /* a loop counts in it (x86_64/loop.h); TW_NOREG: it is none */
	u8 end;                   /* enum tw_end, of its last block */
	u8 n_sides;
	u8 order; /* enum tw_stamp_kind: it is one instruction, between two time stamps (x86_64/stamp.h); else 0 */
	u8 n_pieces;
	u8 module;     /* that all its code is in (module.h), or 0 */
	u64 code_hash; /* of the bytes it was made from (tw_fragment_hash) */
	bool stale;
	struct thread *owner;        /* it is private to this thread; NULL: public */
	struct fragment *superblock; /* tagged form: it */
	bool superseded;             /* there is a superblock to be entered in its place, whatever is known */
	bool is_superblock;
	struct tw_passes *passes; /* how often it was come by, by what was known (trace.h) */
	u16 *ways;                /* superblock: how often each of its paths was taken, of late (trace.h); NULL: not seen yet */
	u8 remade;                /* superblock: the how manyth it is in the place of the first, 0 */
	struct piece *piece;
	struct side_exit *side;
	struct state_entry *state;
	u8 *insn_bytes; /* length of each instruction */
	struct after_store *after;
	u16 n_after;
	struct fragment *next_hash;
	struct fragment *before;       /* by address, of those that start in the same page */
	u8 *first_patch;               /* of its exits; NULL: none */
	struct exit *last_exit;        /* the one whose jump ends the code, if one does */
	struct exit *incoming;         /* exits linked to it */
	struct fragment *above;        /* the one that falls into it */
	u8 *entry;                     /* LANDING: where the table leads */
	struct fragment *target;       /* LANDING, BRIDGE: the fragment entered */
	struct fragment *landings;     /* that lead to it; next: */
	struct fragment *next_landing; /* LANDING */
	const u8 *miss;                /* LANDING: where it leads when the target is another */
	u32 upper_from;                /* LANDING: in whose table it is */
	u8 landing_kind;
	struct fragment *replaced; /* superblock: the fragment whose entry is a jump to it */
};

/* Can f be entered while this upper half is in force? */
static inline bool tw_upper_fits(const struct fragment *f, u32 upper)
{
	return f->any_upper || f->upper_in == upper;
}

/* The piece that instruction `insn` is in; that behind the last one counts to the last piece. */
static inline const struct piece *tw_piece_of(const struct fragment *f, u32 insn)
{
	const struct piece *p = f->piece;
	while (p + 1 < f->piece + f->n_pieces && p[1].first_insn <= insn)
		p++;
	return p;
}

/* The paths of a fragment: 0, to the end; its side exits; if it is a loop, one more, for the record that says how often path 0 was taken. */
static inline u32 tw_path_count(const struct fragment *f)
{
	return 1u + f->n_sides + (f->c_reg != TW_NOREG);
}

#define LOOP_RECORD_BYTES 10 /* number and count */

/* Bytes of the record of a path. */
static inline u16 tw_path_bytes(const struct fragment *f, u8 path)
{
	if (path > f->n_sides)
		return LOOP_RECORD_BYTES;
	return path ? f->side[path - 1].record_bytes : f->record_bytes;
}

void tw_fragment_init(void);

/*
 * The fragment for (pc, context), translated now if need be, and reachable from then on by exit x (which may be NULL) without leaving the cache.
 * NULL: pc is not executable memory. Called under the lock.
 */
struct fragment *tw_fragment_get(u64 pc, u32 context, struct exit *x);

/*
 * Would a thread that runs f, the code at f->pc, come by it again and again by way of fragments that there are, without a conditional or indirect branch or a
 * system call between? Under the lock.
 */
bool tw_fragment_loops(const struct fragment *f);

/* Is no thread but the calling one, which is in the dispatcher, in f, or on its way there? Under the lock. */
bool tw_fragment_is_alone(const struct fragment *f);

/* The fragments private to the calling thread t are for all from now on. Takes the lock if there are any. */
void tw_fragment_publish(struct thread *t);

/* Makes the superblock that follows this path, and links to it whatever it is the best for. Under the lock. */
void tw_fragment_join(const struct tw_path *path);

/* The fragment of one block with this tag, in the tagged form; NULL: none of this process. */
struct fragment *tw_fragment_tagged(u32 tag);

/* The fragment of one block for pc, if there is one. Under the lock. */
struct fragment *tw_fragment_plain(u64 pc);

/* The fragment one of whose ways out has this number; NULL: none of this process. */
struct fragment *tw_fragment_numbered(u32 number);

/* The fragment whose code holds this host address, or NULL. Safe in a signal handler. */
struct fragment *tw_fragment_at(u64 host);

/* Is there code of f in [start, end)? */
bool tw_fragment_holds(const struct fragment *f, u64 start, u64 end);

/* Goes on from h over n more bytes of code; h is 0 before the first. */
static inline u64 tw_fragment_hash(u64 h, const u8 *code, u32 n)
{
	for (u32 k = 0; k < n; k++)
		h = (h ^ code[k]) * 0x9e3779b97f4a7c15ull + 1;
	return h;
}

/* Makes every fragment with code in [start, end) stale. */
void tw_fragment_invalidate(u64 start, u64 end);

/* Where in struct thread the application's registers are, by enum tw_reg: offsets. */
struct register_places {
	u16 at[TW_NREGS];
};

static inline u64 tw_register_in(const struct thread *t, const struct register_places *p, u8 reg)
{
	return *(const u64 *)((const u8 *)t + p->at[reg]);
}

/* State map entry for a host address in f. */
const struct state_entry *tw_fragment_state(const struct fragment *f, u64 host);

/* Which table of landings. */
enum landing_kind { LANDING_JUMP, LANDING_RETURN, LANDING_KINDS };

/* Table of landings for indirect branches from fragments with this upper half (64 K host addresses). In the tagged form there is one for all. */
u64 *tw_fragment_table(u32 upper, u8 kind);

/*
 * Before t goes into the cache, under the lock (which it may release for a while): throws all translations away when the cache, the stubs or the heap
 * are nearly full, and waits while another thread does. True: translations were thrown away since t last came here: it must forget
 * what it knows of any, such as the exit it came by. From here on t is in the cache (thread.in_cache).
 */
bool tw_fragment_make_room(struct thread *t);

/*
 * Makes another instrumentor the one that is used. With several threads it first throws all translations away likewise: so no thread is in the cache then.
 * Under the lock, from the dispatcher, which must forget by which exit it came.
 */
void tw_fragment_switch(struct thread *t, const struct instrumentor *to);

/*
 * Without the lock: the fragment at t->pc that was gone on with when x was last left by, and t is in the cache; or NULL, and what is known of x may be void.
 */
struct fragment *tw_fragment_again(struct thread *t, const struct exit *x);

/* t leaves the cache for a time that it does not know the length of (a system call), holding nothing of it. */
static inline void tw_fragment_left(struct thread *t)
{
	__atomic_store_n(&t->in_cache, false, __ATOMIC_RELEASE);
}

/* Takes the engine's lock when no thread is about to throw translations away. */
void tw_fragment_lock_settled(void);

/* ---- memory of the translator, used by translate.c ---- */
struct exit *tw_exit_new(u8 kind, u64 pc, struct fragment *from);
u8 *tw_stub_new(struct exit *e); /* an exit stub for e */
void *tw_heap(u64 bytes);        /* engine memory, never freed; zeroed; also without the lock */

#endif
