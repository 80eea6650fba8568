/*
 * What an instrumented program or library carries: the connection from its code to the channel of `trackway record`.
 * Linked in by `trackway cc`.
 *
 * Each module (the program; each library) has a copy. The copies of a process share one struct tw_cc_process, at a
 * fixed address, which the first of them maps. Instrumented code and its module's copy share one thread-local word,
 * the *slot*: where the thread writes next. Code loads it into a register, writes, and stores it back before it calls
 * anything. After each load, and once in each loop, it tests bit TW_CC_FULL. If that is set, it calls tw_cc_cold: the
 * buffer is nearly full, or this module's slot does not have the thread's pointer (it is TW_CC_POISON): because
 * another module's has it, because the thread has never written, or because a signal handler runs.
 *
 * A thread has several *streams*, each a slot of the channel (base/channel.h) with its buffers. A signal handler
 * writes to another stream than the code it interrupts, so its records never come between that code's: in the
 * recording, it is a thread of its own. Handlers are run by tw_cc_handle, which *parks* the interrupted code with its
 * stream, and makes it continue when the handler returns (parked.c). So it does not matter where code was
 * interrupted, nor in which order handlers that switch stacks return.
 *
 * Registers that code borrows are saved in one or two other thread-local words of the module. Handlers borrow
 * registers too, so tw_cc_handle saves those words of all modules; it runs before every handler, recorded or not.
 * Code in two versions has a word for the number of the switch under which the thread last entered the second
 * version. Such words are defined by the objects that use them, once for each module.
 *
 * What must hold:
 *  - Of all slots of a thread, at most one has a pointer: the one at stream.active, of the stream to which the thread
 *    writes. Otherwise the pointer is in stream.pointer.
 *  - A parked stream may be given up (its handler was left by siglongjmp), but not if code of this run-time part was
 *    interrupted. If the interrupted code continues nevertheless, it writes where nobody reads (TW_CC_STRAY) up to
 *    its next test.
 *  - Buffers are mapped so that bit TW_CC_FULL is clear in all but their last TW_CC_RESERVE bytes, which have room
 *    for what code writes between two tests.
 *  - The end of those, the *tail*, cannot be written: code of modules with a guard (guard/guard.c) makes fewer tests,
 *    and faults there.
 *  - Nothing here calls the program's C library, allocates from its heap, uses vector registers or changes errno. All
 *    of it may be called in a signal handler: shared data changes under a lock that is held with signals blocked.
 *  - Without a recorder, or with TRACKWAY=off in the environment, code runs without the inserted code (plain.c). If
 *    that is impossible, and with TRACKWAY=discard, threads write to buffers of their own that nobody reads.
 *
 * Its files, each of which stands on those before it only: sys, shared; buffer, pointer, tally, slot, stream; branch,
 * parts, maps, module, places, plain; process, child, parked, signal, cold, limits, fork, life.
 */
#ifndef TW_CC_RUNTIME_H
#define TW_CC_RUNTIME_H

#include "base/cc_batch.h"
#include "base/cc_section.h"
#include "base/channel.h"
#include <stdbool.h>

#define TW_CC_FULL        0x100000ull
#define TW_CC_POISON      TW_CC_FULL
#define TW_CC_WINDOW      0x200000ull /* of addresses, for one buffer; at a multiple of it */
#define TW_CC_RESERVE     0x10000ull
#define TW_CC_TAIL_BYTES  0x6000ull /* of the reserve: writable only on request */
#define TW_CC_TAIL        (TW_CC_FULL + TW_CC_RESERVE - TW_CC_TAIL_BYTES)
#define TW_CC_SCRATCH     (TW_CC_FULL + 0x80000ull) /* in the window behind all buffers: for one record */
#define TW_CC_SPARE       0x8000ull                 /* bytes of a buffer that nobody reads */
#define TW_CC_TAKEN       1ull                      /* in its place: a thread writes there */
#define TW_CC_OWN         0x10000ull                /* bytes of one whose records the thread counts itself */
#define TW_CC_BATCH_BYTES 0x30000ull                /* of one that a batch routine gets */
#define TW_CC_COUNTED     128u
#define TW_CC_STREAMS     16u /* of a thread */
#define TW_CC_THREADS     4096u
#define TW_CC_MODULES     128u
#define TW_CC_OWN_CODES   (4 * TW_CC_MODULES) /* including two versions, a batch routine, and direct system calls for processes */
#define TW_CC_WORDS       512u
#define TW_CC_GATES       64u
#define TW_CC_PLACE       0x554000000000ull /* of the struct; in a range that ThreadSanitizer and MemorySanitizer leave to the program */
#define TW_CC_MARK        0x6363776b63617274ull

/*
 * A buffer that nobody reads, for threads for which there is no memory. Its end, TW_CC_RESERVE bytes, is for code
 * that continues although it had been given up (parked.c).
 */
#define TW_CC_STRAY   (TW_CC_PLACE - TW_CC_WINDOW + TW_CC_FULL)
#define TW_CC_NOWHERE (TW_CC_STRAY - TW_CC_SPARE)

struct tw_cc_stream {
	uint64_t *active; /* the slot that has the pointer; NULL: `pointer` is it */
	uint64_t pointer; /* 0: the stream has not been begun */
	uint64_t buffer;  /* where the buffer begins */
	uint64_t base;    /* of the windows; 0: none are mapped */
	uint32_t number;  /* slot of the channel; TW_SLOTS: none, a spare buffer */
	uint64_t mark;    /* tw_slot.mark */
	uint32_t current; /* buffer */
	uint32_t upper;
	uint8_t on;    /* the number of the switch (struct tw_version_switch) to which the present records belong */
	uint64_t time; /* of the last event that has one */
	/* While the switch is off, with code in one version: */
	bool quiet;          /* it is written to a buffer that nobody reads */
	uint64_t quiet_base; /* the window of that; 0: it is not mapped */
	uint64_t resume;     /* where the stream stands in what is read */
	uint32_t resume_upper;
	/* With a guard: */
	uint32_t tails; /* 1 << number of a buffer whose tail is writable, TW_BUFFERS: of `own` */
	bool scratch;   /* there is a page for a record that crosses a buffer's end */
	uint64_t torn;  /* where that record belongs; 0: there is none */
	uint32_t torn_bytes;
	/* Where records are tallied: */
	uint64_t pen; /* position of the next event in the slot's buffer; 0: records are not tallied */
	uint64_t own; /* where the buffer of records begins */
	uint64_t *tally;
	uint32_t pen_upper, first_upper; /* of the pen; where own begins */
	uint32_t turns, skip, skipped;   /* buffers filled; to be skipped; skipped since one was counted */
	uint64_t random;
	/* While it is parked: */
	uint64_t parked; /* the number of the handler's call that has interrupted its writer; 0: none */
	uint64_t frame;  /* where that call has its struct tw_cc_parked */
	bool inside;     /* the code here was interrupted */
};

/* Lengths of a module's records, by tag, with flags for their treatment; and the entry of tag 0 in windows. */
enum { TW_CC_RECORD_TOLD = 0x8000, TW_CC_RECORD_LOOP = 0x4000, TW_CC_RECORD_BYTES = 0x3fff };
struct tw_cc_sizes {
	uint16_t *size;
	uint32_t upper;
	int64_t first_entry;
};

struct tw_cc_thread {
	uint64_t tp; /* its thread pointer; 0: the entry is free */
	uint32_t tid;
	uint32_t parent_pid, parent_tid;
	uint32_t streams, current; /* number of streams started, or about to be; the current one */
	uint64_t calls;            /* of handlers */
	uint64_t stray;            /* offset from tp of a slot that code may load although it has been given up (parked.c); 0: none */
	bool hops;                 /* interrupted code continued although it had been given up: handlers switch stacks */
	bool ended;                /* it has ended its streams once */
	bool aside;                /* what it runs is not recorded: a batch routine, or a handler without a stream */
	/* With a batch routine: */
	struct tw_cc_kept *kept;
	uint64_t stack; /* where it begins; 0: there is none yet */
	/* With a guard: */
	uint64_t alternate; /* stack for signals; 0: there is none yet */
	bool hides_fault;   /* the program believes that SIGSEGV is blocked */
	/* Most have but one; the others' memory is not touched. */
	struct tw_cc_stream quiet; /* what is written aside */
	struct tw_cc_stream stream[TW_CC_STREAMS];
};

/* What the thread writes to. */
static inline struct tw_cc_stream *tw_cc_written(struct tw_cc_thread *t)
{
	return t->aside ? &t->quiet : &t->stream[t->current];
}

/* Is anything parked? Then a handler runs, or code to which it has switched. */
static inline bool tw_cc_is_any_parked(const struct tw_cc_thread *t)
{
	for (uint32_t k = 0; k < t->streams; k++)
		if (t->stream[k].parked)
			return true;
	return false;
}

/* sigaction(2). */
struct tw_cc_action {
	uint64_t handler, flags, restorer, mask;
};

/* A module whose code relies on what ends each buffer. */
struct tw_cc_guarded {
	const struct tw_cc_guard *guard; /* its copy; NULL: the entry is free */
	const uint8_t *from, *to;        /* its description of blocks */
	struct tw_cc_site *site;         /* of all blocks, by address; NULL: not made yet */
	uint64_t n;
};

struct tw_cc_handling {
	uint64_t handler; /* the program's: SIG_DFL, SIG_IGN or a function */
	uint64_t flags;
};

/* A module's copy of the code here. */
struct tw_cc_own_code {
	uint64_t from, to; /* 0: the entry is free */
};

/* Code that has been overwritten by the version without insertions. */
struct tw_cc_plain_code {
	uint64_t from, bytes; /* 0: the entry is free */
};

/* Announces its end, and the status: struct drand48_data, as srand48_r writes it. */
struct tw_cc_ending {
	uint16_t fixed, status, high, old[3], increment, is_there;
	uint64_t factor;
};

enum tw_cc_mode { TW_CC_UNSET, TW_CC_RECORDED, TW_CC_SILENT };

struct tw_cc_process {
	uint64_t mark;
	uint32_t version;
	uint32_t lock;
	uint32_t mode; /* enum tw_cc_mode */
	uint32_t pid, parent_pid, parent_tid;
	uint64_t whole; /* mapping of all shared memory of the channel, in root's processes, which may change the user; 0: none */
	struct tw_control *control;
	struct tw_descriptor_table *table;
	uint32_t table_number, program;
	uint32_t told; /* what this process is has been told */
	struct tw_cc_ending ending;
	uint32_t notes;                  /* how often that is registered to be written */
	uint64_t beyond;                 /* addresses by which the program's limit, as it has set it, has been raised */
	uint32_t *is_known;              /* 0 in a process created by a fork, until that is known */
	uint32_t copies;                 /* forks that have led here, one from the other */
	uint64_t forks;                  /* the module that handles forks; 0: the next one to do so */
	uint32_t off;                    /* TRACKWAY=off, or =discard */
	uint32_t discards;               /* the latter: code runs as if recorded, and what it writes is not read */
	uint32_t switchable;             /* a module is in two versions, which the recorder switches */
	uint32_t windows;                /* a module is in one version, and the switch will change */
	const struct tw_cc_batch *batch; /* recorded, but not by a collector */
	bool batch_ended;
	bool strict;                     /* a thread has lost system calls that recording needs (limits.c) */
	const struct tw_cc_guard *guard; /* has the handler of SIGSEGV */
	uint64_t fault_mask;             /* the program's own, of its handler */
	struct tw_cc_guarded guarded[TW_CC_MODULES];
	uint64_t word[TW_CC_WORDS]; /* of modules: offset from the thread pointer, and flags of struct tw_cc_word_place; 0: a free entry */
	uint32_t n_words;           /* entries that have been used */
	char path[128];             /* of the channel */
	char file[TW_PROGRAM_PATH];
	struct tw_cc_handling handling[65];
	struct tw_cc_plain_code plain[TW_CC_MODULES];
	uint32_t own_codes; /* entries that have been used */
	struct tw_cc_own_code own_code[TW_CC_OWN_CODES];
	struct tw_cc_sizes sizes[TW_CC_MODULES];
	uint64_t spare
	    [TW_CC_THREADS]; /* windows with buffers that nobody reads; TAKEN: a thread's. They stay: contexts may move to other threads */
	uint32_t threads;    /* mapped entries: all, or none if there are no addresses for them */
	uint64_t used[TW_CC_THREADS / 64]; /* bits: entries that have belonged to a thread. The others' memory has never been touched */
	struct tw_cc_thread thread[TW_CC_THREADS];
};

/* This module. */
extern __thread uint64_t trackway_cc_slot __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern uint32_t tw_cc_upper;

/* The first byte: the module's functions in two versions run the second (struct tw_version_switch). The rest of the page is zeros. */
extern uint8_t trackway_cc_switch[TW_PAGE] __attribute__((aligned(TW_PAGE), visibility("hidden")));

/* Where the file begins. */
extern const uint8_t __ehdr_start[] __attribute__((weak, visibility("hidden")));

/* A weak reference that is not resolved has the address 0, or, in gold's position-independent code, the start of the file. */
static inline bool tw_cc_is_there(const void *what)
{
	return what && what != __ehdr_start;
}

/* ---- sys.c ---- */
/* A system call of six arguments, as of mmap. */
int64_t tw_cc_sys6(uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
void tw_cc_copy(void *to, const void *from, uint64_t n);
bool tw_cc_same(const uint8_t *a, const uint8_t *b, uint64_t n);
uint64_t tw_cc_length(const char *s);
int64_t tw_cc_signed32(const uint8_t *p);

/* Result of a function that replaces the C library's, with errno if the system call's result is an error. */
extern int *__errno_location(void) __attribute__((weak));
int tw_cc_answer(int64_t result);

/* System calls with this many arguments, inline: calling a function for them takes more bytes. */
static inline int64_t tw_cc_sys0(uint64_t nr)
{
	int64_t r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr) : "rcx", "r11", "memory");
	return r;
}

static inline int64_t tw_cc_sys1(uint64_t nr, uint64_t a)
{
	int64_t r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a) : "rcx", "r11", "memory");
	return r;
}

static inline int64_t tw_cc_sys2(uint64_t nr, uint64_t a, uint64_t b)
{
	int64_t r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
}

static inline int64_t tw_cc_sys3(uint64_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	int64_t r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

static inline int64_t tw_cc_sys4(uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	int64_t r;
	register uint64_t r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
}

static inline int64_t tw_cc_sys5(uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	int64_t r;
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return r;
}

#define TW_CC_SYS0(nr)                tw_cc_sys0(nr)
#define TW_CC_SYS1(nr, a)             tw_cc_sys1(nr, (uint64_t)(a))
#define TW_CC_SYS2(nr, a, b)          tw_cc_sys2(nr, (uint64_t)(a), (uint64_t)(b))
#define TW_CC_SYS3(nr, a, b, c)       tw_cc_sys3(nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))
#define TW_CC_SYS4(nr, a, b, c, d)    tw_cc_sys4(nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d))
#define TW_CC_SYS5(nr, a, b, c, d, e) tw_cc_sys5(nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), (uint64_t)(e))
#define TW_CC_SYS6(nr, a, b, c, d, e, f)                                                                                                   \
	tw_cc_sys6(nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), (uint64_t)(e), (uint64_t)(f))
#define TW_CC_SYS_BY(nr, a, b, c, d, e, f, by, ...) by
#define SYS(...)                                                                                                                           \
	TW_CC_SYS_BY(__VA_ARGS__, TW_CC_SYS6, TW_CC_SYS5, TW_CC_SYS4, TW_CC_SYS3, TW_CC_SYS2, TW_CC_SYS1, TW_CC_SYS0, )(__VA_ARGS__)

static inline bool tw_cc_failed(int64_t r)
{
	return r < 0 && r > -4096;
}

/* ---- shared.c: what needs no stream ---- */

uint64_t tw_cc_time(void);
uint64_t tw_cc_thread_pointer(void);

/* Recording stops, and the collector says why. */
void tw_cc_fail(struct tw_cc_process *p, const char *why);

/* With signals blocked; the second takes what the first returned. */
uint64_t tw_cc_lock(struct tw_cc_process *p);
void tw_cc_unlock(struct tw_cc_process *p, uint64_t mask);

/* The calling thread's entry; NULL: it has none. */
struct tw_cc_thread *tw_cc_find(struct tw_cc_process *p);

/* The same, with its number; otherwise, with *is_there false, the entry that it can have (NULL: there is no more room). */
struct tw_cc_thread *tw_cc_look_up(struct tw_cc_process *p, uint32_t tid, bool *is_there);

/* The k-th place at which a thread with this pointer may have its entry. */
struct tw_cc_thread *tw_cc_entry(struct tw_cc_process *p, uint64_t tp, uint32_t k);

/* The next entry from *k on that has belonged to a thread, and perhaps still does; *k moves past it. NULL: there are no more. */
struct tw_cc_thread *tw_cc_next_entry(struct tw_cc_process *p, uint32_t *k);

/* ---- buffer.c: a stream's buffers, each in a window of addresses ---- */

static inline struct tw_slot *tw_cc_slot_of(const struct tw_cc_process *p, const struct tw_cc_stream *s)
{
	return &p->control->slot[s->number];
}

static inline uint64_t tw_cc_window(const struct tw_cc_stream *s, uint32_t b)
{
	return s->base + b * TW_CC_WINDOW;
}

/* Appends an event at the pointer, and returns the new pointer. There is always room for one of TW_MAX_EVENT. */
uint64_t tw_cc_event(uint64_t pointer, uint16_t type, const void *a, uint32_t na, const void *b, uint32_t nb);

/* The same with a keyframe of these registers; NULL: zeros. */
uint64_t tw_cc_buffer_keyframe(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, const uint64_t *regs);

/* mmap and mprotect, of a part of a window. */
bool tw_cc_buffer_map(uint64_t at, uint64_t bytes, int flags, int fd, uint64_t offset);
bool tw_cc_buffer_protect(const struct tw_cc_stream *s, uint32_t b, int how);

/* The slot's, or the one whose records go to a batch routine. False: no memory. */
bool tw_cc_buffer_map_all(const struct tw_cc_process *p, struct tw_cc_stream *s);

/* Records go to a buffer of the thread's own from now on, in the window after the slot's. */
void tw_cc_buffer_tally(const struct tw_cc_process *p, struct tw_cc_stream *s);

/* One that nobody reads; where it begins. */
uint64_t tw_cc_buffer_spare(struct tw_cc_process *p, struct tw_cc_stream *s);

/* The same for a stream that has others; 0: there is no memory. */
uint64_t tw_cc_buffer_quiet(struct tw_cc_stream *s);

void tw_cc_buffer_unmap(struct tw_cc_process *p, struct tw_cc_stream *s);

/*
 * Starts buffer b with a keyframe; returns where to write. Hands over the current one, up to `pointer`. Waits until b
 * has been returned; false: the collector is gone.
 */
uint64_t tw_cc_buffer_open(struct tw_cc_process *p, struct tw_cc_stream *s, uint32_t b, const uint64_t *regs);
void tw_cc_buffer_close(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer);
bool tw_cc_buffer_wait(struct tw_cc_process *p, struct tw_slot *slot, uint32_t b);

/* Its tail cannot be written from now on. */
void tw_cc_buffer_close_tail(struct tw_cc_stream *s, uint32_t b);

/* The collector has something to do. */
void tw_cc_buffer_ring(const struct tw_cc_process *p);

/* Tallied: hands over what has been told, and continues in the next buffer. */
void tw_cc_buffer_turn(struct tw_cc_process *p, struct tw_cc_stream *s);

/* Is the address in the mapped part of the stream's windows? And the number of mapped bytes from its base. */
uint64_t tw_cc_buffer_span(const struct tw_cc_process *p, const struct tw_cc_stream *s);
bool tw_cc_buffer_has(const struct tw_cc_process *p, const struct tw_cc_stream *s, uint64_t address);

/* ---- pointer.c: where a stream stands ---- */

/* Takes the pointer out of the slot that has it; the stream has been started. */
uint64_t tw_cc_pointer_take(struct tw_cc_process *p, struct tw_cc_stream *s);

/* The stream's position if the pointer is after a record that was written elsewhere: moves that record to its place. */
uint64_t tw_cc_pointer_settle(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer);

/* Where events go: at this place, which is then moved past them. The stream has been started. */
uint64_t *tw_cc_pointer_pen(struct tw_cc_process *p, struct tw_cc_stream *s);

/* Is the address in the protected end of what the stream writes to? */
bool tw_cc_pointer_ends_at(const struct tw_cc_process *p, const struct tw_cc_stream *s, uint64_t address);

/*
 * The record at `start`, of this many bytes, does not fit, but belongs to this buffer: it is written elsewhere, from
 * the returned place on, and nothing can be written directly after it. `written`: part of it is there already. 0: no
 * memory.
 */
uint64_t tw_cc_pointer_tear(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t start, uint32_t bytes, bool written);

/* ---- tally.c: with --sink=count threads count their own records, and overwrite them (engine/record/tally.h) ---- */

static inline bool tw_cc_tallies(const struct tw_cc_process *p)
{
	return p->control->flags & TW_FLAG_TALLY;
}

/* A new descriptor's entry in windows; 0: there are none left. Under the descriptor lock. */
uint32_t tw_cc_tally_entry(struct tw_cc_process *p);

/* Records of this descriptor will come. False: there is no room to note that. */
bool tw_cc_tally_note(struct tw_cc_process *p, const struct tw_descriptor *d);

/*
 * The thread's own buffer is full, up to `to`: counts its contents. What does not count the same each time goes to
 * the pen. Counting takes longer than filling: so for long streams most buffers are skipped, and the counted ones
 * stand for them (tw_slot.uncounted).
 */
void tw_cc_tally_turn(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t to);

/* The last, not full, of a stream that ends. */
void tw_cc_tally_end(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t to);

/* ---- handover/handover.c, in modules that were linked with a batch routine (base/cc_batch.h) ---- */

static inline bool tw_cc_batch_begin(struct tw_cc_process *p)
{
	return p->threads && tw_cc_is_there(&trackway_cc_batch) && trackway_cc_batch.handover->begin(p);
}

/* The process's routine, until it has ended: then its module may be closed. */
static inline const struct tw_cc_batch *tw_cc_batch_open(const struct tw_cc_process *p)
{
	return p->batch_ended ? 0 : p->batch;
}

/* Passes the contents of the stream's buffer to the routine, unless it has ended (struct tw_cc_handover). */
static inline void tw_cc_batch_take(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, bool last)
{
	if (tw_cc_batch_open(p))
		p->batch->handover->take(p, s, pointer, last);
}

/* Is it this module that has the process's routine? */
static inline bool tw_cc_batch_is_own(const struct tw_cc_process *p)
{
	return p->batch && p->batch == &trackway_cc_batch;
}

/* ---- slot.c ---- */

/* The stream gets a slot of the channel, with its buffers mapped. False: there is none, or the process is not recorded. */
bool tw_cc_slot_get(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_stream *s);

/* A handler's slot is like that of a thread started by the one it interrupts: no program has been executed. */
bool tw_cc_slot_is_handlers(const struct tw_cc_thread *t, const struct tw_cc_stream *s);

/* ---- stream.c ---- */

/* Starts the stream: with a slot of the channel if the process is recorded and there is one, otherwise with a spare buffer. */
void tw_cc_stream_begin(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_stream *s);

/* Ends it: hands over what is written. `status`, `what`: as in struct tw_thread_end. */
void tw_cc_stream_end(struct tw_cc_process *p, struct tw_cc_stream *s, int32_t status, uint32_t what);

/* In a child: forgets the parent's, and what was written to it since. */
void tw_cc_stream_forget(struct tw_cc_process *p, struct tw_cc_stream *s);

/* Its position is no longer known: the collector determines it. */
void tw_cc_stream_abandon(struct tw_cc_process *p, struct tw_cc_stream *s);

/* Continues in the next buffer, whose keyframe has these registers (NULL: zeros). Returns the pointer. */
uint64_t tw_cc_stream_switch(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, const uint64_t *regs);

/*
 * Code in one version writes records whether the switch is on or off; while it is off they go to a buffer that nobody
 * reads. The switch is checked when a buffer is full, and on entry to a function that the recorder has named: so
 * threads that do not enter it follow later. `pointer`: the thread's position, in a buffer that has room for an
 * event; returns the new one. `pc`: what it runs next (0: not known), with these registers.
 */
uint64_t tw_cc_stream_follow(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, uint64_t pc, const uint64_t *regs);

/*
 * Recording continues in a second version, at this instruction: if it has been off since the stream was last written
 * to, that is recorded.
 */
void tw_cc_stream_enter(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pc);

/* ---- branch.c ---- */

/* Where the direct branch at `insn` leads. */
uint64_t tw_cc_branch_target(const uint8_t *insn);

/* The test of the switch at the start of a function of this module in two versions; 0: it has none. And its second version, or itself. */
uint64_t tw_cc_branch_test(uint64_t function);
uint64_t tw_cc_branch_second(uint64_t function);

/* ---- maps.c ---- */

/* The file that this address is in. */
bool tw_cc_maps_path(uint64_t address, char *path, uint64_t room);

/* Appends MAP events for the file that contains this address. */
uint64_t tw_cc_maps_tell(uint64_t pointer, uint64_t address);

/* ---- module.c ---- */

/* Draws this module's numbers, and enters its blocks in the table of the process. The calling thread has a slot. */
void tw_cc_module_describe(struct tw_cc_process *p, const struct tw_cc_stream *s);

/* Are there any blocks, and has the link been finished? */
bool tw_cc_module_ready(void);

/* ---- places.c ---- */

/* Called by code that has the pointer in one of the registers (cold.S). */
typedef void tw_cc_way(void);

/* Recording starts and stops at entries of this module's functions that the recorder has named. The ways are those of all registers. */
void tw_cc_places_find(struct tw_cc_process *p, tw_cc_way *const *ways);

/*
 * A way (cold.S) that returns to `to` was taken from a gate of a function in one version: recording starts or stops
 * there, if requested. Returns the start of the function; 0: it was no gate.
 */
uint64_t tw_cc_places_passed(uint64_t to);

/* ---- plain.c ---- */

/* Code of this module has run, as it was instrumented. */
extern bool tw_cc_has_run;

/* The process is not recorded: this module runs without insertions, if its code has not run. */
void tw_cc_plain_enter(struct tw_cc_process *p);

/* The module is closed. */
void tw_cc_plain_leave(struct tw_cc_process *p);

/* The process is recorded after all: modules get their instrumented code back, unless there are several threads. */
void tw_cc_plain_undo(struct tw_cc_process *p);

/* ---- process.c ---- */

/* The process's; the first caller makes it, and determines its mode. */
struct tw_cc_process *tw_cc_process(void);

/* The calling thread's entry, made if there is none; NULL: there is no more room. */
struct tw_cc_thread *tw_cc_self(struct tw_cc_process *p);

/*
 * The same for a thread that has a pointer: its thread-local memory has been its own since, so the kernel is not
 * asked for its identity. (That takes as long as filling a quarter of a buffer that is not read.)
 */
struct tw_cc_thread *tw_cc_again(struct tw_cc_process *p);

/* An entry's streams belong to another process, or another thread. `own`: the slots exist. */
void tw_cc_forget_streams(struct tw_cc_process *p, struct tw_cc_thread *t, bool own);

/* ---- child.c ---- */

/* This is the child of the process's thread `parent`, and has no stream that is written to yet. */
void tw_cc_child_become(struct tw_cc_process *p, uint32_t parent);

/* If it was created in an unseen way, it has its own streams from now on, and recording stops: it may have written to its parent's. */
void tw_cc_child_notice(struct tw_cc_process *p);

/* ---- parked.c ---- */

/* What a handler has interrupted; on the handler's stack. */
struct tw_cc_parked {
	uint64_t number;               /* of the handler's call; it is overwritten when the frame is gone */
	uint64_t before, before_frame; /* position at which the stream was parked: handlers may also interrupt the steps of this */
	bool before_inside;
	struct tw_cc_thread *thread;
	struct tw_cc_stream *stream;
	uint64_t *active, pointer;
	uint64_t slot; /* offset from the thread's place of the slot which the code may load although it has no pointer; 0: none */
	uint64_t base, bytes, quiet_base; /* where it may write: as in the stream */
};

/* The thread, which is not aside, writes to another stream, or aside, until the interrupted code continues; `context`: its registers. */
struct ucontext;
void tw_cc_park(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_parked *k, const struct ucontext *context);
void tw_cc_unpark(struct tw_cc_process *p, struct tw_cc_parked *k, struct ucontext *context);

/* Interrupted code that wrote aside continues; the thread may no longer be writing aside. */
void tw_cc_unpark_aside(struct tw_cc_process *p);

/* This module's copy comes and goes. */
void tw_cc_parked_enter(struct tw_cc_process *p, bool there);

/* ---- signal.c ---- */

/* Runs the program's handler. */
struct siginfo;
void tw_cc_handle(int number, struct siginfo *info, void *context);

void tw_cc_restore(void);

/* The module is closed: signals whose handlers its copy runs, or this one, go directly to the program's handlers. */
void tw_cc_signals_leave(const struct tw_cc_process *p);
void tw_cc_signal_give_back(const struct tw_cc_process *p, int number, uint64_t mask);

/* ---- cold.c ---- */

/* The thread's current stream; started if needed. t NULL: one that nobody reads. */
struct tw_cc_stream *tw_cc_begin(struct tw_cc_process *p, struct tw_cc_thread *t);

/* The recording is told of this module, once. */
void tw_cc_describe(struct tw_cc_process *p, struct tw_cc_stream *s);

/* By register; NULL: rsp has none. */
extern tw_cc_way *const tw_cc_ways[TW_NREGS];

/* The thread's streams end. */
void tw_cc_end_streams(struct tw_cc_process *p, struct tw_cc_thread *t, int32_t status, uint32_t what);

/* `value`: what the code found in the slot, or had in the register. Returns where to write. */
uint64_t tw_cc_cold(uint64_t value, const uint64_t *regs);

/* ---- fork.c ---- */

/* This module's copy comes and goes; the process is recorded. */
void tw_cc_fork_enter(void);
void tw_cc_fork_leave(struct tw_cc_process *p);

/* Initial state of a child that the C library does not create. */
struct tw_cc_beginning {
	struct tw_cc_process *process; /* NULL: the child shares its parent's memory, or nothing is recorded */
	uint32_t copies, parent;
	uint64_t mask;                  /* of signals */
	const struct tw_cc_batch *held; /* the routine's lock is held */
	int (*fn)(void *);
	void *arg;
};

/* Around such a system call with these flags of clone; the latter in both processes. */
void tw_cc_before_copy(struct tw_cc_beginning *b, uint64_t flags);
void tw_cc_after_copy(const struct tw_cc_beginning *b, bool is_child);

/* ---- twice/known.c, in modules with functions in two versions ---- */

struct tw_cc_known_code {
	/* What a learn file has of the module is left out from now on; none of its code has run, and the module has been recorded. */
	void (*enter)(struct tw_cc_process *p);
	void (*leave)(void); /* the module is closed */
};
extern const struct tw_cc_known_code trackway_cc_known __attribute__((weak, visibility("hidden")));

/* ---- guard/guard.c, in modules that were linked so ---- */

/* Offset of the word for saving borrowed registers from the thread pointer. It exists if code of the module borrows any. */
extern uint64_t trackway_cc_spill_at(void) __attribute__((weak, visibility("hidden")));

/* The function may be missing, in which case a call instruction cannot always reach it (code at high addresses). */
static inline uint64_t tw_cc_read_word(uint64_t (*at)(void))
{
	uint64_t value;
	__asm__("" : "+r"(at));
	__asm__ volatile("movq %%fs:(%1), %0" : "=r"(value) : "r"(at()));
	return value;
}

struct tw_cc_guard {
	void (*enter)(struct tw_cc_process *p, const uint8_t *from, const uint8_t *to);
	void (*leave)(struct tw_cc_process *p);
	void (*take_over)(struct tw_cc_process *p);                        /* is the one with the handler from now on */
	void (*thread)(struct tw_cc_thread *t);                            /* the calling thread writes records from now on */
	void (*prepare)(struct tw_cc_process *p, struct tw_cc_guarded *g); /* the handler needs no system call from now on */
	void (*act)(struct tw_cc_process *p, const struct tw_cc_action *act, struct tw_cc_action *old); /* as sigaction, for SIGSEGV */
	uint64_t (*cold)(uint64_t value, const uint64_t *regs);
	uint64_t (*spill_at)(void), (*counter_at)(void); /* of the module's words, from the thread pointer; NULL: it has none */
};
extern const struct tw_cc_guard trackway_cc_guard __attribute__((weak, visibility("hidden")));

#endif
