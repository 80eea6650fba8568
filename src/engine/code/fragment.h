/*
 * Fragments: translations of application code under a context, how they are found, linked and left.
 *
 * Keys are (pc, context). A context is what the instrumentor knows at entry (a set of registers, or nothing). A fragment's code lies in one piece in
 * the code cache; its exits jump to stubs that leave the cache until they are linked straight to another fragment's entry. Indirect branches look
 * their target up without leaving: a table indexed by the low 16 bits of the target holds the address of a lookup, a few instructions that check
 * that it is the lookup of just this target (and go on to the next of the chain if not) and enter the fragment. Where the fragment was made because of
 * such a branch, its lookup stands right before it.
 * Returns have a table of their own: their lookups find the target still on the stack and need one register less.
 * There is one such pair of tables for each upper half of fragment numbers, because a lookup also writes the TW_TAG_UPPER record
 * where the halves differ: nothing is tested while the program runs.
 *
 * What must hold:
 *  - Everything here is changed under tw_engine.lock only; running threads read code, never these structures, but for exit.again (see below).
 *  - A change of running code is one store of 4 bytes within a cache line (a jump's displacement) or of one byte (the breakpoint at a stale
 *    fragment's entry). Only while there is one thread, or the fragment is private, is more rewritten (tw_cache_room).
 *  - While there are several threads, a fragment is private to the thread that has made it until that one next comes by the dispatcher for something
 *    else than a fragment that the last one can fall into (struct tw_private). Nobody else can enter it: no exit is linked to it, no lookup is in its table,
 *    other threads do not find it and make one of their own if they want it. So two fragments of one key may be there.
 *  - A stale fragment (its code was unmapped or written) is unreachable: gone from the table, the exits linked to it lead to their stubs again, its
 *    lookups are out of their tables, the fragment that falls into it is stale too, and its entry is a breakpoint, for threads on their way.
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
 */
#ifndef TW_FRAGMENT_H
#define TW_FRAGMENT_H

#include "engine/code/room.h"
#include "engine/record/recorded.h"

enum exit_kind {
	EXIT_LINK,     /* direct: pc is known and the exit can be linked */
	EXIT_LOOP,     /* a loop's way back to its own start: linked until the loop is stale, never to anything else */
	EXIT_INDIRECT, /* pc in thread.pc */
	EXIT_RETURN,   /* the same, of a return */
	EXIT_SYSCALL,  /* a system call, then pc */
	EXIT_INT80,    /* the same of a 32-bit one */
	EXIT_EMULATE,  /* one emulated instruction at pc */
	EXIT_CHECK,    /* before the fragment itself, which is to be entered again: the dispatcher is come by */
};

struct exit {
	u64 pc;
	union {
		u8 *patch;              /* LINK, LOOP: the rel32 to patch */
		struct fragment *again; /* SYSCALL, INT80, EMULATE: what was gone on with the last time; read without the lock */
	};
	struct fragment *from; /* NULL: none in particular */
	struct exit *next_in;  /* next exit linked to the same fragment */
	u32 stub;              /* its address */
	u32 context;           /* of the target; INDIRECT, RETURN: 0, or the number of its site (tw_site_new) */
	u16 upper;             /* upper half that is in force where it leaves */
	u8 kind;
	bool linked;
	bool is_jcc; /* LINK: a conditional branch; else a jump */
	bool told;   /* where it leads has been told (LEARNED events) */
};

enum fragment_kind { FRAGMENT_CODE, FRAGMENT_LOOKUP, FRAGMENT_BRIDGE };

/*
 * There are hundreds of thousands in a large program, and each process of it has them: what few of them need is last, and left out where nothing is recorded
 * (tw_translate_new).
 */
struct fragment {
	struct fragment *before; /* by address, of those that start in the same page */
	struct fragment *above;  /* the one that falls into it */
	union {
		struct {                          /* CODE */
			struct thread *owner;     /* it is private to this thread; NULL: public */
			u32 next_hash;            /* in its bucket: address */
			struct exit *last_exit;   /* the one whose jump ends the code, if one does */
			struct exit *incoming;    /* exits linked to it */
			struct fragment *lookups; /* that lead to it; next: */
		};
		struct {                              /* LOOKUP, BRIDGE */
			struct fragment *target;      /* the fragment entered */
			struct fragment *next_lookup; /* LOOKUP, from here on */
			u8 *entry;                    /* where the table leads */
			const u8 *miss;               /* where it leads when the target is another */
			u32 site;                     /* the only branch that it is for; 0: it is for all */
			u16 upper_from;               /* in whose table it is */
			u8 lookup_kind;
		};
	};
	u64 pc_target, pc_fall; /* for STATE_DONE */
	u32 end_context;        /* of what runs when it has run to its end */
	u32 code_hash;          /* of the bytes it was made from (tw_fragment_hash) */
	u16 first_patch;        /* of its exits: offset in its code; 0: none */
	u8 kind;                /* enum fragment_kind */
	u8 module;              /* that all its code is in (module.h), or 0 */
	bool stale;
	bool superseded; /* there is a superblock to be entered in its place, whatever is known */
	bool is_superblock;
	u8 remade;              /* superblock: the how manyth it is in the place of the first, 0 */
	struct tw_recorded rec; /* what it is of, its machine code, and its record */

	/* From here on, and from the middle of that, only where something is recorded. */
	struct fragment *superblock; /* tagged form: it */
	struct tw_passes *passes;    /* how often it was come by, by what was known (trace.h) */
	u16 *ways;                   /* superblock: how often each of its paths was taken, of late (trace.h); NULL: not seen yet */
	struct fragment *replaced;   /* superblock: the fragment whose entry is a jump to it */
};
#define FRAGMENT_UNRECORDED_BYTES offsetof(struct fragment, rec.head)

/* False: something is in the arena's place. */
bool tw_fragment_init(void);

/*
 * The fragment for (pc, context), translated now if need be, and reachable from then on by exit x (which may be NULL) without leaving the cache.
 * NULL: the instruction at pc is not in executable memory, or not all of it. Called under the lock.
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

/* Likewise those of all threads. Under the lock. */
void tw_fragment_publish_all(void);

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

/* Which table of lookups. */
enum lookup_kind { LOOKUP_JUMP, LOOKUP_RETURN, LOOKUP_KINDS };

/*
 * Bare code that tells what is learned (LEARNED events) has to come by the dispatcher where an indirect branch goes to a target for the first time, whoever has gone there before. So there
 * each indirect branch is a *site*, with lookups of its own, and looks as many entries behind the table's start as its number says. Sites share the table: an entry is of site s
 * and target t where it stands at s plus the lower half of t, and its lookups are told apart by the whole target. So a branch costs what it does in other bare code.
 */
bool tw_sites_used(void);

/* A site of the fragment that is being made: an exit, which thread.from names while the branch is made. It may have number 0, when there are too many. */
struct exit *tw_site_new(struct fragment *from, u8 kind);

/* Table of lookups for indirect branches from fragments with this upper half (64 K host addresses). In the tagged form there is one for all. */
u64 *tw_fragment_table(u32 upper, u8 kind);

/*
 * Before t goes into the cache, under the lock (which it may release for a while): throws all translations away when the cache, the stubs or the heap
 * are nearly full, and waits while another thread does. True: translations were thrown away since t last came here: it must forget
 * what it knows of any, such as the exit it came by. From here on t is in the cache (thread.code.in_cache).
 */
bool tw_fragment_make_room(struct thread *t);

/*
 * Makes another instrumentor the one that is used. With several threads it first throws all translations away likewise: so no thread is in the cache then.
 * Under the lock, from the dispatcher, which must forget by which exit it came.
 */
void tw_fragment_switch(struct thread *t, const struct instrumentor *to);

/*
 * The thread is about to go on in translations of another instrumentor than up to now, alone; both are kept, and others may run either. Under the lock, from
 * the dispatcher, which must forget by which exit it came.
 */
void tw_fragment_cross(struct thread *t);

/*
 * Without the lock: the fragment at t->pc that was gone on with when x was last left by, and t is in the cache; or NULL, and what is known of x may be void.
 */
struct fragment *tw_fragment_again(struct thread *t, const struct exit *x);

/* t leaves the cache for a time that it does not know the length of (a system call), holding nothing of it. */
static inline void tw_fragment_left(struct thread *t)
{
	__atomic_store_n(&t->code->in_cache, false, __ATOMIC_RELEASE);
}

/* Takes the engine's lock when no thread is about to throw translations away. */
void tw_fragment_lock_settled(void);

/* ---- memory of the translator, used by translate.c ---- */
struct exit *tw_exit_new(u8 kind, u64 pc, struct fragment *from);
u8 *tw_stub_new(struct exit *e); /* an exit stub for e */

#endif
