/*
 * Fragments: translations of application code under a context. Their shape and that of their exits; what is done with them is in the other files of this room.
 *
 * Keys are (pc, context). A context is what the instrumentor knows at entry (a set of registers, or nothing). A fragment's code lies in one piece in
 * the code cache; its exits jump to stubs that leave the cache (stub.h) until they are linked straight to another fragment's entry (link.h). Indirect branches look
 * their target up without leaving (tables.h).
 *
 * What must hold:
 *  - Everything here is changed under tw_engine.lock only; running threads read code, never these structures, but for exit.again (flush.h).
 *  - A change of running code is one store of 4 bytes within a cache line (a jump's displacement) or of one byte (the breakpoint at a stale
 *    fragment's entry). Only while there is one thread, or the fragment is private, is more rewritten (tw_cache_room).
 *  - While there are several threads, a fragment is private to the thread that has made it at first (private.h). So two fragments of one key may be there.
 *  - A fragment whose code was unmapped or written is stale: unreachable, while its bytes stay until all translations are thrown away (stale.h, flush.h).
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
		struct fragment *again; /* SYSCALL, INT80, EMULATE: what was gone on with the last time; read without the lock (flush.h) */
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

/* x may be NULL. */
static inline bool tw_exit_is_indirect(const struct exit *x)
{
	return x && (x->kind == EXIT_INDIRECT || x->kind == EXIT_RETURN);
}

/* Which table of lookups. */
enum lookup_kind { LOOKUP_JUMP, LOOKUP_RETURN, LOOKUP_KINDS };

/* Of an indirect exit: which its targets are looked up in. */
static inline u8 tw_exit_lookup_kind(const struct exit *x)
{
	return x->kind == EXIT_RETURN ? LOOKUP_RETURN : LOOKUP_JUMP;
}

enum fragment_kind { FRAGMENT_CODE, FRAGMENT_LOOKUP, FRAGMENT_BRIDGE };

/*
 * There are hundreds of thousands in a large program, and each process of it has them: what few of them need is last, and left out where nothing is recorded
 * (tw_make_new).
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
	bool known;      /* what it does is not told: the log of regions had it when it was made (learned.h) */
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

/* Is there code of f in [start, end)? */
static inline bool tw_fragment_holds(const struct fragment *f, u64 start, u64 end)
{
	for (u32 k = 0; k < f->rec.n_pieces; k++)
		if (f->rec.piece[k].pc < end && f->rec.piece[k].pc + f->rec.piece[k].bytes > start)
			return true;
	return false;
}

/* Goes on from h over n more bytes of code; h is 0 before the first. */
static inline u64 tw_fragment_hash(u64 h, const u8 *code, u32 n)
{
	for (u32 k = 0; k < n; k++)
		h = (h ^ code[k]) * 0x9e3779b97f4a7c15ull + 1;
	return h;
}

#endif
