/*
 * Fragments: translations of application code under a context. This header defines their layout and that of their
 * exits; the other files of this room work on them.
 *
 * The key of a fragment is (pc, context). A context is what the instrumentor knows on entry (a set of registers, or
 * nothing). A fragment's code is one contiguous piece of the code cache. Its exits jump to stubs that leave the cache
 * (stub.h) until they are linked directly to another fragment's entry (link.h). Indirect branches look up their
 * target without leaving (tables.h).
 *
 * What must hold:
 *  - Everything here is changed under tw_engine.lock only. Running threads read code, never these structures, except
 *    exit.again (flush.h).
 *  - Running code is changed only by a single store: 4 bytes within a cache line (a jump's displacement) or one byte
 *    (the breakpoint at a stale fragment's entry). More is rewritten only while there is one thread, or while the
 *    fragment is private (tw_cache_room).
 *  - While there are several threads, a fragment is at first private to the thread that made it (private.h). So two
 *    fragments with one key may exist.
 *  - A fragment whose code was unmapped or written is stale: unreachable. Its bytes stay until all translations are
 *    discarded (stale.h, flush.h).
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
	EXIT_INT80,    /* the same, for 32-bit system calls */
	EXIT_EMULATE,  /* one emulated instruction at pc */
	EXIT_CHECK,    /* before the fragment itself, which is to be entered again through the dispatcher */
};

struct exit {
	u64 pc;
	union {
		u8 *patch;              /* LINK, LOOP: the rel32 to patch */
		struct fragment *again; /* SYSCALL, INT80, EMULATE: the fragment that followed last time; read without the lock (flush.h) */
	};
	struct fragment *from; /* NULL: none in particular */
	struct exit *next_in;  /* next exit linked to the same fragment */
	u32 stub;              /* its address */
	u32 context;           /* of the target; INDIRECT, RETURN: 0, or the number of its site (tw_site_new) */
	u16 upper;             /* current upper half at the exit */
	u8 kind;
	bool linked;
	bool is_jcc; /* LINK: a conditional branch; else a jump */
	bool told;   /* its target has been told (LEARNED events) */
};

/* x may be NULL. */
static inline bool tw_exit_is_indirect(const struct exit *x)
{
	return x && (x->kind == EXIT_INDIRECT || x->kind == EXIT_RETURN);
}

/* Which table of lookups. */
enum lookup_kind { LOOKUP_JUMP, LOOKUP_RETURN, LOOKUP_KINDS };

/* For an indirect exit: the table in which its targets are looked up. */
static inline u8 tw_exit_lookup_kind(const struct exit *x)
{
	return x->kind == EXIT_RETURN ? LOOKUP_RETURN : LOOKUP_JUMP;
}

enum fragment_kind { FRAGMENT_CODE, FRAGMENT_LOOKUP, FRAGMENT_BRIDGE };

/*
 * A large program has hundreds of thousands of these, in each of its processes. So the fields that few fragments need
 * come last, and are omitted if nothing is recorded (tw_make_new).
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
			u8 *entry;                    /* address to which the table leads */
			const u8 *miss;               /* address to continue at if the target differs */
			u32 site;                     /* the only branch that uses it; 0: all do */
			u16 upper_from;               /* upper half of the table that holds it */
			u8 lookup_kind;
		};
	};
	u64 pc_target, pc_fall; /* for STATE_DONE */
	u32 end_context;        /* context of what runs after its end */
	u32 code_hash;          /* of the bytes it was made from (tw_fragment_hash) */
	u16 first_patch;        /* of its exits: offset in its code; 0: none */
	u8 kind;                /* enum fragment_kind */
	u8 module;              /* the module of all its code (module.h), or 0 */
	bool stale;
	bool known;      /* its execution is not told: it was in the log of regions when it was made (learned.h) */
	bool superseded; /* a superblock is to be entered instead, whatever is known */
	bool is_superblock;
	u8 remade;              /* superblock: how many times it was remade; the first is 0 */
	struct tw_recorded rec; /* its code, its machine code, and its record */

	/* From here on, and from the middle of `rec`, only if something is recorded. */
	struct fragment *superblock; /* tagged form: the superblock made of it */
	struct tw_passes *passes;    /* how often it was reached, by what was known (trace.h) */
	u16 *ways;                   /* superblock: how often each path was taken recently (trace.h); NULL: not observed yet */
	struct fragment *replaced;   /* superblock: the fragment whose entry is a jump to it */
};
#define FRAGMENT_UNRECORDED_BYTES offsetof(struct fragment, rec.head)

/* Does f contain code in [start, end)? */
static inline bool tw_fragment_holds(const struct fragment *f, u64 start, u64 end)
{
	for (u32 k = 0; k < f->rec.n_pieces; k++)
		if (f->rec.piece[k].pc < end && f->rec.piece[k].pc + f->rec.piece[k].bytes > start)
			return true;
	return false;
}

/* Extends hash h over n more bytes of code; h is 0 at the start. */
static inline u64 tw_fragment_hash(u64 h, const u8 *code, u32 n)
{
	for (u32 k = 0; k < n; k++)
		h = (h ^ code[k]) * 0x9e3779b97f4a7c15ull + 1;
	return h;
}

#endif
