/*
 * Of each thread the lines of 64 bytes that it came to last, with the bytes there that it has read and written within its newest epoch and while it held the same locks, by accesses that are
 * not atomic: the same again adds nothing (epochs.h). It is a filter: what it does not have may have been seen all the same.
 */
#ifndef TW_RACE_LINES_H
#define TW_RACE_LINES_H

#include "analyzers/epochs.h"

enum { TW_RACE_LINES = 16384, TW_RACE_LINE_BITS = 42 };

struct tw_race_line {
	uint64_t key;     /* number of the line, and above it the generation */
	uint64_t seen[2]; /* a bit for each byte: read, written; what was written counts as read */
};

/* All zeros has nothing. */
struct tw_race_lines {
	struct tw_race_line *of; /* by the lowest bits of the line's number; NULL: not made yet */
	uint64_t generation;     /* lines of another one are of another epoch */
	uint64_t epoch;          /* tw_epoch_number */
	uint32_t locks;
};

/* What is seen from here on is of this epoch. 0 or TW_ERR_MEMORY. */
int tw_race_lines_begin(struct tw_race_lines *l, uint64_t epoch, uint32_t locks);

static inline int tw_race_lines_renew(struct tw_race_lines *l, uint64_t epoch, uint32_t locks)
{
	return l->of && l->epoch == epoch && l->locks == locks ? 0 : tw_race_lines_begin(l, epoch, locks);
}

/* What an access is like that is looked for. */
struct tw_race_shape {
	uint16_t size;  /* at most 65: more are as many */
	uint8_t beyond; /* so many bits of a line are left; of more than a line: 0 */
	uint8_t write;  /* 0 or 1 */
};

static inline struct tw_race_shape tw_race_shape_of(uint32_t size, int write)
{
	return (struct tw_race_shape){(uint16_t)(size <= 64 ? size : 65), (uint8_t)(size - 1 < 64 ? 64 - size : 0), write != 0};
}

/* Renewed before: not 0 where it lacks bytes of the access; or where that does not lie in one line. */
static inline uint64_t tw_race_lines_lack(const struct tw_race_lines *l, uint64_t addr, const struct tw_race_shape *shape)
{
	const struct tw_race_line *line = &l->of[addr / 64 % TW_RACE_LINES];
	return (line->key ^ (l->generation | addr << 16 >> 22)) | (~line->seen[shape->write] >> addr % 64) << shape->beyond |
	       (addr % 64 + shape->size - 1) >> 6;
}

/* Does it have all of the access, which may lie in two lines? */
static inline int tw_race_lines_have(const struct tw_race_lines *l, uint64_t addr, uint32_t size, int write)
{
	const uint32_t here = 64 - (uint32_t)(addr % 64), first = size < here ? size : here;
	const struct tw_race_shape a = tw_race_shape_of(first, write), b = tw_race_shape_of(size - first, write);
	return !tw_race_lines_lack(l, addr, &a) && (size == first || !tw_race_lines_lack(l, addr + first, &b));
}

/* The line of this address has these bytes. */
static inline void tw_race_lines_set(struct tw_race_lines *l, uint64_t addr, uint64_t read, uint64_t written)
{
	l->of[addr / 64 % TW_RACE_LINES] = (struct tw_race_line){l->generation | addr << 16 >> 22, {read, written}};
}

/* Nothing of what lies in [start, end) has been seen. */
void tw_race_lines_forget(struct tw_race_lines *l, uint64_t start, uint64_t end);
void tw_race_lines_free(struct tw_race_lines *l);

#endif
