/*
 * What replay delivers, in a form in which calls can be followed later, in order: so workers replay many chunks at once while one follows the calls of those before
 * (calls.h).
 *
 * Most of it are numbers of stretches that stay (analyzer.h): of these only the addresses are kept that tell where return addresses stand. What each such stretch is, is
 * found out once, and its *shape* is shared by all logs. What has no number - code that ran a few times only, string instructions, blocks that stopped early - is kept
 * block by block, with its references counted by instruction.
 */
#ifndef TW_CALLS_LOG_H
#define TW_CALLS_LOG_H

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
	TW_LOG_FORK
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
	_Atomic uint64_t made[TW_SHAPES_ROW / 64]; /* a bit for each that has been made */
	_Atomic(struct tw_shape *) shape[TW_SHAPES_ROW];
};

/* Those of all logs, by number. All zeros: none yet. */
struct tw_shapes {
	_Atomic(struct tw_shapes_row *) rows[UINT32_MAX / TW_SHAPES_ROW + 1];
};

struct tw_shapes *tw_shapes_new(void); /* NULL: no memory */
void tw_shapes_free(struct tw_shapes *s);

/* The shape of a stretch that is in a log. */
static inline const struct tw_shape *tw_shapes_get(const struct tw_shapes *s, uint32_t number)
{
	return s->rows[number / TW_SHAPES_ROW]->shape[number % TW_SHAPES_ROW];
}

struct tw_calls_log {
	uint32_t *numbers;
	uint64_t *words;
	size_t n_numbers, n_words;
	size_t numbers_room, words_room;
	uint32_t thread; /* that of the last batch, */
	int any;         /* if there was one */
};

/* Adds a batch. 0 or TW_ERR_MEMORY. */
int tw_calls_log_add(struct tw_calls_log *log, struct tw_shapes *shapes, const struct tw_batch *b);
void tw_calls_log_free(struct tw_calls_log *log);

#endif
