/*
 * The engine's own state: threads, fragments, exits, and the functions its parts give each other.
 *
 * The engine lives in the traced process, takes over at its first instruction and runs it from the code cache until it ends. It knows nothing of
 * profiles: what is recorded is an instrumentor's business (src/instrument/instrumentor.h).
 *
 * What must hold:
 *  - While application code runs from the cache, %gs points at the thread's struct thread, %fs is the application's, and every register is the
 *    application's own, except where an instrumentor steals r11 for its buffer pointer: then the application's r11 is in thread.app_r11,
 *    or, within a fragment that uses r11, in r11 itself while the buffer pointer is in the fragment's own choice of register.
 *  - Engine code runs on the thread's engine stack with asynchronous signals pended, never on the application's stack.
 *  - For each byte of a fragment's code its state map says how to get the application's exact registers and pc: so a signal can be delivered
 *    anywhere in the cache, at once (fragment.h).
 *  - The engine makes no use of vector registers (-mgeneral-regs-only); the decoder does and is called with them saved.
 */
#ifndef TW_ENGINE_H
#define TW_ENGINE_H

#include <asm/signal.h>
#include <asm/siginfo.h>
#include "channel/channel.h"
#include "engine/lib.h"
#include "engine/x86_64/layout.h"

struct fragment;
struct register_places;
struct instrumentor;
struct tw_filter;

/* A disposition as the kernel has it, and the table of them by signal number. */
struct ksigaction {
	u64 handler;
	u64 flags;
	u64 restorer;
	u64 mask;
};

struct tw_actions {
	struct ksigaction of[65];
};

/*
 * A signal taken while the engine was at work, to be delivered when it is done. At most one: all others are blocked from then on, or held (held.h).
 */
struct pending {
	u32 signo; /* 0: none */
	siginfo_t info;
};

/* Synchronous signals that were sent while blocked: see held.h. */
struct tw_held {
	u64 set; /* of signal numbers, as a mask */
	siginfo_t info[5];
};

/* Which system calls a thread may make: see seccomp.h. */
struct tw_seccomp {
	const struct tw_filter *filter; /* the newest; NULL: none */
	bool strict;
};

/* Which system calls a thread has sent to itself: see user_dispatch.h. */
struct tw_user_dispatch {
	bool on;
	u64 offset, length; /* of the code whose calls are made */
	u64 selector;       /* address of the byte that says so of the others, or 0 */
};

#define TW_TRACE_BLOCKS 16

/* A path that a thread has taken often (trace.h). */
struct tw_path {
	u32 context, n;
	bool loops;           /* it comes several times in a row */
	struct fragment *old; /* a superblock that is to be made anew along it, if it is still there; NULL: none */
	u64 pc[TW_TRACE_BLOCKS];
};

/* Which of the buffers that a thread has filled are looked at for such paths. */
struct tw_looks {
	u32 pass_over;   /* so many after each */
	u32 passed_over; /* so many since the last */
	u32 in_vain;     /* looks in a row that found nothing new */
	u32 paths;       /* found in all */
	u32 usual_plain; /* records of fragments of one block in a look: a running mean */
};

/* Fragments that a thread has made, each falling into the next, and that no other thread can enter yet (fragment.h). */
struct tw_private {
	struct fragment *first, *newest; /* NULL: there are none */
	struct exit *x;                  /* to be linked to the first, or NULL */
	struct fragment *landing;        /* of the first, to be entered in its table, or NULL */
};

/* Where a thread writes: see struct thread. */
struct tw_pen {
	u8 *buffer;
	u64 bufptr, slack_jump;
	u32 upper;
};

/* Thread-local state; %gs points here while the thread lives. Offsets of the first part are known to assembly (x86_64/layout.h). */
struct thread {
	u64 regs[TW_NREGS];
	u64 flags;
	u64 pc;
	u64 bufptr;             /* next byte to write in the current buffer */
	u64 app_r11;            /* the application's r11 while r11 is stolen and the fragment does not use it */
	u64 slot_t;             /* application value of a fragment's substitute buffer register */
	u64 slot_rcx, slot_r10; /* application values during an indirect branch */
	u64 slot_s;             /* application value of a scratch register */
	u64 host_target;        /* where tw_enter goes */
	u64 exit;               /* struct exit *: by which exit the cache was left */
	u64 cc_info;            /* struct call_site *: the clean call being made */
	u64 cc_ret;             /* where it returns to */
	u64 stack_top;
	u64 self;
	u64 app_gs;      /* the application's %gs base */
	u64 has_pending; /* not 0: pending.signo is set; looked at just before an application's system call */
	u64 resume_host; /* where an entry into the cache was headed when a signal stopped it */
	u64 slot_s2;
	u64 count; /* instructions executed, up to TW_COUNT_END (src/instrument/count.c) */
	u32 upper; /* upper half of the fragment numbers (tagged form: of the tags) as the reader of the buffer has it */
	u32 reserved;
	u8 status[TW_NREGS]; /* enum tw_status of each register: format dep06 */
	u64 bits;            /* format cf_bit: 3, then the bits of the open group, shifted in from below */
	u64 group;           /* where in the buffer that group goes */
	u64 slot_c;          /* application value of the register a loop counts in */

	u64 app_fs;
	u32 pid, tid;
	u32 slot;            /* index in the channel, or NO_SLOT */
	u32 promised;        /* slot reserved for what this thread becomes or makes next, or NO_SLOT */
	u8 *buffer;          /* current buffer */
	u32 usable;          /* buffers of the slot that are accessible, as a mask */
	u64 code_step;       /* stepping over a store that changes code of its own fragment, from this address (0: none)... */
	u64 code_step_last;  /* ...to this one */
	u64 record_at;       /* where the current fragment's record begins (only when references are logged) */
	bool settling;       /* stepping to where the state is the application's again */
	u64 call;            /* number of the application's system call, or of the 64-bit one that it is like... */
	bool call32;         /* ...made with int 0x80 */
	u64 trapped_pc;      /* while the application has TF set: it has had its trap for getting here... */
	bool traps;          /* ...and it has had some */
	bool unaligned_step; /* stepping over a store of the engine's own with alignment checks off */
	bool recording;      /* writes records that someone reads */
	bool unfollowed;     /* of a process that is not to be recorded */
	bool spare;          /* it is not, and its buffer is one that others write to as well */
	u8 *own;             /* a buffer outside the channel, where records are written over one another: if */
	bool tallied;        /* ... its executions are counted by itself, and it writes to its slot only what it tells (tally.h) */
	bool telling;        /* ... which it does now: `other` is the pen in its own buffer */
	struct tw_pen other; /* ... in the slot's */
	struct pending pending;
	struct tw_held held;
	struct tw_actions *actions, own_actions; /* dispositions: see action.h */
	u64 sigmask;                             /* the application's, as it believes it to be */
	u64 wait_mask; /* instead of it, while `waiting`: in sigsuspend, ppoll and the like, till the handler runs */
	bool waiting;
	struct {
		u64 sp, size;
		u32 flags;
	} altstack;
	struct {
		u64 err, trapno, cr2;
	} fault; /* of the kernel's frame, for the application's */
	u32 in_use;
	u32 generation; /* of translations, as it last saw it: see tw_fragment_make_room */
	bool in_cache;
	bool vforked;              /* its parent waits until it has ended or become another program, and gives its block back */
	bool clear_handlers;       /* CLONE_CLEAR_SIGHAND */
	struct tw_logged_ref *log; /* REFS log of the current fragment (`call` and verify) */
	u32 n_log;
	u64 log_pc;
	bool log_open; /* the fragment's REFS event is still to be written */
	struct {
		const struct tw_op *op; /* not NULL: it is not in the log yet */
		u64 count, first, second;
	} rep;                 /* before a repeated string instruction */
	u64 slack_jump;        /* where the current buffer's TW_TAG_SLACK record is, if bufptr is in the slack */
	struct tw_path hot[4]; /* to become superblocks when the dispatcher is next come by */
	u32 n_hot;
	struct tw_looks looks;
	u8 *xsave;            /* for clean calls that need vector registers */
	u32 window;           /* changes of the window's mode that it has followed */
	bool walks;           /* format cf_bit: what it runs follows from what its stream says (bits.h) */
	u64 stop_pc;          /* where that stands, while it is out of the cache; 0: where an item is wanted */
	bool told_closed;     /* its stream says that nothing is recorded */
	u32 timer, timer_tid; /* of its CPU time, and whose it is */
	struct tw_seccomp seccomp;
	struct tw_user_dispatch user_dispatch;
	struct tw_private private;
	u32 drawn; /* instructions it may execute until it looks again, while they are counted */
};

/* What is known of a register's value, in format dep06: it has been written since its value was recorded, or not. */
enum tw_status { TW_RECORDED = 0, TW_UPDATED = 1 };

/* thread.count, while instructions are counted, when the thread is to look. */
#define TW_COUNT_END (1ull << 32)

#define TW_AT(field, offset) _Static_assert(offsetof(struct thread, field) == (offset), #field " is where layout.h says")
TW_AT(regs, T_REGS);
TW_AT(flags, T_FLAGS);
TW_AT(pc, T_PC);
TW_AT(app_r11, T_APP_R11);
TW_AT(slot_t, T_SLOT_T);
TW_AT(slot_rcx, T_SLOT_RCX);
TW_AT(slot_r10, T_SLOT_R10);
TW_AT(slot_s, T_SLOT_S);
TW_AT(host_target, T_HOST_TARGET);
TW_AT(exit, T_EXIT);
TW_AT(cc_info, T_CC_INFO);
TW_AT(cc_ret, T_CC_RET);
TW_AT(stack_top, T_STACK_TOP);
TW_AT(self, T_SELF);
TW_AT(app_gs, T_APP_GS);
TW_AT(has_pending, T_HAS_PENDING);
TW_AT(resume_host, T_RESUME_HOST);
TW_AT(slot_s2, T_SLOT_S2);
TW_AT(count, T_COUNT);
TW_AT(upper, T_UPPER);
TW_AT(status, T_STATUS);
TW_AT(bits, T_BITS);
TW_AT(group, T_GROUP);
TW_AT(slot_c, T_SLOT_C);

#define NO_SLOT 0xffffffffu

/* Up to a whole number of pages. */
static inline u64 tw_page_up(u64 n)
{
	return (n + TW_PAGE - 1) & ~(u64)(TW_PAGE - 1);
}

/* Process-wide state. */
struct engine {
	struct tw_control *control;          /* NULL: no channel (never while running) */
	void *channel;                       /* base of the mapping */
	struct tw_room *room;                /* of this program, mapped; NULL: it has none (room.h) */
	u32 room_number;                     /* from 1; 0: none */
	const struct instrumentor *instr;    /* of the mode of now (window.h) */
	const struct instrumentor *recorder; /* of the recording */
	bool verify;
	char engine_path[512];
	char channel_path[64];
	u64 channel_inode;       /* of the memfd */
	char program_path[4096]; /* of the program running now, absolute */
	u64 vdso;
	u64 program_entry;
	bool fsgsbase;
	bool is_amd;    /* this CPU is AMD's, or of their design */
	bool fast_loop; /* this CPU's `loop` instruction is as fast as a branch */
	bool gs_used;   /* some thread has a %gs base that is not 0 */
	bool filtered;  /* whoever started it set a filter of system calls: none that can be done without */
	u64 xcr0;
	u32 xsave_size;
	u32 pid;
	tw_lock_t lock; /* translation, links, tables, memory map */
	u32 n_threads;
};

extern struct engine tw_engine;

/* Leaves the recording with a reason; the program goes on. */
void tw_engine_fail(u32 failure, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Message to file descriptor 2, for --show-fragment only. */
void tw_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- dispatch.c ---- */

/* Called by glue when the cache is left by t->exit. Returns the host address to go on at. */
u64 tw_dispatch(struct thread *t);

/* Enters the cache at t->pc with t->regs: finds or makes the fragment. Takes pending signals first. */
u64 tw_resume(struct thread *t);

#endif
