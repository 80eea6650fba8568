/*
 * What replay delivers, in a form from which calls can be followed later, in order. So workers replay many chunks at
 * once while one thread follows the calls of earlier ones (calls.h).
 *
 * Most of a log consists of numbers of permanent stretches (analyzer.h): of these only the addresses of return
 * addresses are kept. The *shape* of each such stretch is determined once and shared by all logs. Code without a
 * number - code that ran only a few times, string instructions, blocks that stopped early - is kept block by block,
 * with its references counted by instruction.
 */
#ifndef TW_CALLS_LOG_H
#define TW_CALLS_LOG_H

#include "replay/kept.h"

#include <pthread.h>
#include <stdatomic.h>
#include <trackway/analyzer.h>

/* A place on the stack that is not known. */
#define TW_NO_SLOT UINT64_MAX

/*
 * The order of `numbers`: that of a stretch; or TW_LOG_MARK, and behind it one of these. Each takes words, in the same order:
 *   a stretch   [read, write if it begins with references of the block before: the last of each kind of their last instruction]
 *               [the slot of each of its blocks that ends with a call or return and has made the reference that tells it]
 *   THREAD      serial number; 1 if its beginning is in the log, process, thread
 *   BLOCK       descriptor; index of the block; instructions executed; number of counts; counts; the slots read and written last, of the block's last instruction
 *   REFS        more references of the block before: number of counts; counts; slots read and written last; the instruction they are of
 *   SIGNAL, SIGRETURN, GAP, BREAK (a gap after which other calls may be open)
 *   STACK       the stack pointer
 *   FORK        process, thread of the child
 *   AGAIN       number of a stretch; how often it comes now. It has no words of its own
 */
#define TW_LOG_MARK 0u
enum tw_log_mark {
	TW_LOG_THREAD,
	TW_LOG_BLOCK,
	TW_LOG_REFS,
	TW_LOG_SIGNAL,
	TW_LOG_SIGRETURN,
	TW_LOG_GAP,
	TW_LOG_BREAK,
	TW_LOG_STACK,
	TW_LOG_FORK,
	TW_LOG_AGAIN
};

/* References of one instruction. */
struct tw_log_count {
	uint64_t insn; /* index in the fragment */
	uint64_t refs, reads, writes;
};

enum { TW_LOG_COUNT_WORDS = sizeof(struct tw_log_count) / sizeof(uint64_t) };

/* A stretch that has a number: where its slots stand. */
struct tw_shape {
	const struct tw_stretch *stretch;
	uint32_t lead;    /* references before its first block begins */
	uint32_t n_slots; /* with the two of the lead */
	int partial;      /* not all of its blocks run to their end: it is kept block by block */
	uint32_t slots[]; /* indices of references; UINT32_MAX: there is none */
};

enum { TW_SHAPES_ROW = 4096 };

struct tw_shapes_row {
	_Atomic(struct tw_shape *) shape[TW_SHAPES_ROW];
};

/*
 * The shapes of all logs, by number. All zeros: none yet. `brief` is all that must be known to log a stretch that has
 * at most one slot and whose shape has been made: its references, in TW_BRIEF_REFS bits; the number of its slot + 1;
 * TW_BRIEF_KNOWN. For others it is 0.
 */
enum { TW_BRIEF_REFS = 15, TW_BRIEF_KNOWN = 1 << 30 };
struct tw_shapes {
	_Atomic(struct tw_shapes_row *) rows[TW_KEPT_STRETCHES / TW_SHAPES_ROW];
	_Atomic uint32_t brief[TW_KEPT_STRETCHES];
};

struct tw_shapes *tw_shapes_new(void); /* NULL: no memory */
void tw_shapes_free(struct tw_shapes *s);

/* The shape of a stretch that is in a log. */
static inline const struct tw_shape *tw_shapes_get(const struct tw_shapes *s, uint32_t number)
{
	return s->rows[number / TW_SHAPES_ROW]->shape[number % TW_SHAPES_ROW];
}

/* A part of a log, a huge page. Items of `numbers` have their words in the same part. */
enum { TW_LOG_NUMBERS = 1 << 18, TW_LOG_WORDS = (1 << 17) - 4 };
struct tw_log_part {
	struct tw_log_part *next;
	size_t n_numbers, n_words;
	uint64_t reserved;
	uint64_t words[TW_LOG_WORDS];
	uint32_t numbers[TW_LOG_NUMBERS];
};
_Static_assert(sizeof(struct tw_log_part) == 2 << 20, "a huge page");

/* Unused parts, for future logs: their memory is already there. */
struct tw_log_parts {
	pthread_mutex_t lock;
	struct tw_log_part *free;
};

struct tw_calls_log {
	struct tw_log_parts *parts;       /* where more come from */
	struct tw_log_part *first, *last; /* NULL: it is empty */
	uint64_t *again;                  /* the words of its last mark if that is AGAIN; else NULL */
	uint32_t thread;                  /* that of the last batch, */
	int any;                          /* if there was one */
};

void tw_log_parts_init(struct tw_log_parts *parts);
void tw_log_parts_fini(struct tw_log_parts *parts); /* no log has any */

/* The first part is taken from the log and given back. */
void tw_calls_log_drop(struct tw_calls_log *log);

/* Adds a batch. 0 or TW_ERR_MEMORY. */
int tw_calls_log_add(struct tw_calls_log *log, struct tw_shapes *shapes, const struct tw_batch *b);
/* What is left in it is dropped. */
void tw_calls_log_free(struct tw_calls_log *log);

#endif
