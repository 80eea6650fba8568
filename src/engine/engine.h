/*
 * The engine's own state: threads, fragments, exits, and the functions that its parts provide to each other.
 *
 * The engine lives in the traced process, takes over at its first instruction and runs it from the code cache until
 * it ends. It knows nothing of profiles: an instrumentor decides what is recorded (src/engine/record/instrumentor.h).
 *
 * What must hold:
 *  - While application code runs from the cache, %gs points at the thread's struct thread, %fs is the application's,
 *    and every register is the application's own, except where an instrumentor uses r11 for its buffer pointer. Then
 *    the application's r11 is in thread.app_r11, or, within a fragment that uses r11, in r11 itself while the buffer
 *    pointer is in a register of the fragment's choice.
 *  - Engine code runs on the thread's engine stack with asynchronous signals deferred, never on the application's
 *    stack.
 *  - For each byte of a fragment's code its state map gives the application's exact registers and pc, so a signal can
 *    be delivered anywhere in the cache, at once (x86_64/state.h).
 *  - The engine does not use vector registers (-mgeneral-regs-only); the decoder does, and is called with them saved.
 */
#ifndef TW_ENGINE_H
#define TW_ENGINE_H

#include "base/channel.h"
#include "engine/lib.h"
#include "engine/layout.h"

#define TW_DEFERRED_SIGNAL 1u /* in thread.has_deferred; the other bit is TW_DEFERRED_LEAVE */

struct instrumentor;

/* Each room's own part of a thread: see their room.h. */
struct tw_record_thread;
struct tw_code_thread;
struct tw_signal_thread;
struct tw_kernel_thread;

/* rseq(2), as the kernel has it. */
struct tw_rseq {
	u32 cpu_id_start, cpu_id;
	u64 section; /* the section to be restarted if the thread is interrupted in it (x86_64/glue.h); 0: none */
	u32 flags, rest[3];
};

/* Thread-local state; %gs points here while the thread lives. Offsets of the first part are known to assembly (layout.h). */
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
	u64 app_gs; /* the application's %gs base */
	u64 has_deferred; /* not 0: signal.deferred.signo is set (1), or it is to leave (2: base/leave.h); looked at just before an application's system call */
	u64 resume_host; /* destination of an entry into the cache that a signal stopped */
	u64 slot_s2;
	u64 count;                /* instructions executed, up to TW_COUNT_END (src/instrument/count.c) */
	u32 upper;                /* current upper half of the fragment numbers (tagged form: of the tags) for the reader of the buffer */
	u32 lock_name;            /* in locks that it holds: see lib.h */
	u8 status[TW_NREGS];      /* enum tw_status of each register: format dep06 */
	u64 bits;                 /* format cf_bit: 3, then the bits of the open group, shifted in from below */
	u64 group;                /* where in the buffer that group goes */
	u64 slot_c;               /* application value of the register a loop counts in */
	u64 pace[TW_PACE_POINTS]; /* how often the points ran (code/pace.h) */
	u64 from;                 /* struct exit *: the site that the last indirect branch was made at (code/tables.h) */
	struct tw_rseq rseq;
	u64 restart; /* stack pointer at the call of the section */

	u64 app_fs;
	u32 pid, tid;
	u32 in_use;   /* by a thread that exists, or is about to be made */
	bool vforked; /* its parent waits until it has ended or become another program, and then releases its block */

	/* These follow it in its block (kernel/clone.c). Including a room's header gives access to that part. */
	struct tw_record_thread *record;
	struct tw_code_thread *code;
	struct tw_signal_thread *signal;
	struct tw_kernel_thread *kernel;
};

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
TW_AT(has_deferred, T_HAS_DEFERRED);
TW_AT(resume_host, T_RESUME_HOST);
TW_AT(slot_s2, T_SLOT_S2);
TW_AT(count, T_COUNT);
TW_AT(upper, T_UPPER);
TW_AT(lock_name, T_LOCK_NAME);
TW_AT(status, T_STATUS);
TW_AT(bits, T_BITS);
TW_AT(group, T_GROUP);
TW_AT(slot_c, T_SLOT_C);
TW_AT(pace, T_PACE);
TW_AT(from, T_FROM);
TW_AT(rseq, T_RSEQ);
TW_AT(rseq.section, T_RSEQ_SECTION);
TW_AT(restart, T_RESTART);

/* Up to a whole number of pages. */
static inline u64 tw_page_up(u64 n)
{
	return (n + TW_PAGE - 1) & ~(u64)(TW_PAGE - 1);
}

/* Process state that all rooms share; the rest is in their room.h, as tw_recorder. */
struct engine {
	struct tw_control *control; /* NULL: no channel (never while running) */
	void *channel;              /* base of the mapping */
	char channel_paths[2][64];
	const char *channel_path; /* one of these */
	u64 channel_inode;        /* of the memfd */
	char program_path[4096];  /* of the program running now, absolute */
	bool fsgsbase;
	bool is_amd;    /* this CPU is AMD's, or of AMD's design */
	bool fast_loop; /* this CPU's `loop` instruction is as fast as a branch */
	u64 xcr0;
	u32 xsave_size;
	u32 pid;
	tw_lock_t lock; /* translation, links, tables, memory map */
	u32 n_threads;
};

extern struct engine tw_engine;
extern bool tw_dear_pages; /* the first touch of a page is expensive here (start.S) */

/* How large the channel and the engine are. */
static inline const struct tw_sizes *tw_sizes(void)
{
	return &tw_engine.control->sizes;
}

/* Where the areas of the arena end, which begin where layout.h says. */
static inline u64 tw_arena_cache_end(void)
{
	return ARENA_CACHE + tw_sizes()->cache_bytes;
}

static inline u64 tw_arena_stubs_end(void)
{
	return ARENA_STUBS + tw_sizes()->stubs_bytes;
}

static inline u64 tw_arena_heap_end(void)
{
	return ARENA_HEAP + tw_sizes()->heap_bytes;
}

/* The channel's memfd, which the engine does not keep open. An error, also if its path now names something else. */
i64 tw_channel_open(void);

/* Leaves the recording with a reason; the program continues. */
void tw_engine_fail(u32 failure, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Message to file descriptor 2, for --show-fragment only. */
void tw_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
