/*
 * For each thread the most recent lines of 64 bytes, with the bytes there that it has read and written within its
 * newest epoch and while it held the same locks, by accesses that are not atomic: repeating these adds nothing
 * (epochs.h). It is a filter: what it does not contain may nevertheless have been seen.
 */
#ifndef TW_RACE_LINES_H
#define TW_RACE_LINES_H

#include "analyzers/epochs.h"

enum { TW_RACE_LINES = 16384, TW_RACE_LINE_BITS = 42 };

/* All zeros has nothing. */
struct tw_race_lines {
	/*
	 * By the low bits of a line's number: its number, and above it the generation; then as many entries with a bit for
	 * each byte read; and as many for bytes written, which count as read. NULL: not made yet.
	 */
	uint64_t *of;
	uint64_t generation; /* lines of another one are of another epoch */
	uint64_t epoch;      /* tw_epoch_number */
	uint32_t locks;
};

/* What is seen from here on belongs to this epoch. 0 or TW_ERR_MEMORY. */
int tw_race_lines_begin(struct tw_race_lines *l, uint64_t epoch, uint32_t locks);

static inline int tw_race_lines_renew(struct tw_race_lines *l, uint64_t epoch, uint32_t locks)
{
	return l->of && l->epoch == epoch && l->locks == locks ? 0 : tw_race_lines_begin(l, epoch, locks);
}

/* Properties of an access, of at most this many bytes, that is looked up. */
enum { TW_RACE_LARGEST = 64 };
struct tw_race_shape {
	uint64_t bytes; /* a bit for each, from the lowest on */
	uint64_t where; /* offset in struct tw_race_lines of the bits that must be set */
};

static inline struct tw_race_shape tw_race_shape_of(uint32_t size, int write)
{
	return (struct tw_race_shape){size ? ~0ull >> (64 - size) : 0, (write ? 2 : 1) * TW_RACE_LINES};
}

/* Also tests renewal: not 0 if bytes of the access are missing, or if it crosses lines. */
static inline uint64_t tw_race_lines_lack(const struct tw_race_lines *l, uint64_t addr, const struct tw_race_shape *shape)
{
	const uint64_t number = addr / 64, i = number % TW_RACE_LINES;
	return (l->of[i] ^ number ^ l->generation) | (shape->bytes & ~(l->of[shape->where + i] >> addr % 64));
}

/* Does it contain all of the access, which may be in two lines? */
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
