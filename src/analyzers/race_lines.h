/*
 * Of each thread the lines of 64 bytes that it came to last, with the bytes there that it has read and written within its newest epoch and while it held the same locks, by accesses that are
 * not atomic: the same again adds nothing (epochs.h). It is a filter: what it does not have may have been seen all the same.
 */
#ifndef TW_RACE_LINES_H
#define TW_RACE_LINES_H

#include "analyzers/epochs.h"

enum { TW_RACE_LINES = 16384, TW_RACE_LINE_BITS = 42 };

/* All zeros has nothing. */
struct tw_race_lines {
	/*
	 * By the lowest bits of a line's number: its number, and above it the generation; behind these as many with a bit for each byte that was read; and as many of those that were written, which count as
	 * read. NULL: not made yet.
	 */
	uint64_t *of;
	uint64_t generation; /* lines of another one are of another epoch */
	uint64_t epoch;      /* tw_epoch_number */
	uint32_t locks;
};

/* What is seen from here on is of this epoch. 0 or TW_ERR_MEMORY. */
int tw_race_lines_begin(struct tw_race_lines *l, uint64_t epoch, uint32_t locks);

static inline int tw_race_lines_renew(struct tw_race_lines *l, uint64_t epoch, uint32_t locks)
{
	return l->of && l->epoch == epoch && l->locks == locks ? 0 : tw_race_lines_begin(l, epoch, locks);
}

/* What an access of at most so many bytes is like that is looked for. */
enum { TW_RACE_LARGEST = 64 };
struct tw_race_shape {
	uint64_t bytes; /* a bit for each, from the lowest on */
	uint64_t where; /* in struct tw_race_lines the bits begin that are to be there */
};

static inline struct tw_race_shape tw_race_shape_of(uint32_t size, int write)
{
	return (struct tw_race_shape){size ? ~0ull >> (64 - size) : 0, (write ? 2 : 1) * TW_RACE_LINES};
}

/* Renewed before: not 0 where it lacks bytes of the access; or where that does not lie in one line. */
static inline uint64_t tw_race_lines_lack(const struct tw_race_lines *l, uint64_t addr, const struct tw_race_shape *shape)
{
	const uint64_t number = addr / 64, i = number % TW_RACE_LINES;
	return (l->of[i] ^ number ^ l->generation) | (shape->bytes & ~(l->of[shape->where + i] >> addr % 64));
}

/* Does it have all of the access, which may lie in two lines? */
static inline int tw_race_lines_have(const struct tw_race_lines *l, uint64_t addr, uint32_t size, int write)
{
	const uint32_t here = 64 - (uint32_t)(addr % 64), first = size < here ? size : here;
	if (size - first > 64)
		return 0;
	const struct tw_race_shape a = tw_race_shape_of(first, write), b = tw_race_shape_of(size - first, write);
	return !tw_race_lines_lack(l, addr, &a) && (size == first || !tw_race_lines_lack(l, addr + first, &b));
}

/* The line of this address has these bytes. */
static inline void tw_race_lines_set(struct tw_race_lines *l, uint64_t addr, uint64_t read, uint64_t written)
{
	const uint64_t number = addr / 64, i = number % TW_RACE_LINES;
	l->of[i] = number ^ l->generation;
	l->of[TW_RACE_LINES + i] = read;
	l->of[2 * TW_RACE_LINES + i] = written;
}

/* Nothing of what lies in [start, end) has been seen. */
void tw_race_lines_forget(struct tw_race_lines *l, uint64_t start, uint64_t end);
void tw_race_lines_free(struct tw_race_lines *l);

#endif
