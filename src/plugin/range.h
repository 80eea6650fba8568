/*
 * Ranges of memory by name: "0xADDRESS", "SYMBOL" or "MODULE!SYMBOL", optionally with "+BYTES". Members and elements
 * may follow a symbol: "list.head", "table[3].next". An address is the same in every process; a symbol's differs
 * between images, and a thread-local symbol's between threads.
 */
#ifndef TW_PLUGIN_RANGE_H
#define TW_PLUGIN_RANGE_H

#include <trackway/analyzer.h>
#include <trackway/names.h>

struct tw_range {
	uint64_t start, end;
	uint32_t image;    /* UINT32_MAX: any */
	uint32_t is_own;   /* 1: it is thread_local, */
	int64_t from_base; /* ... and its offset from the base of fs; while that base is unknown, start and end are 0 */
	uint64_t bytes;    /* likewise */
};

struct tw_ranges {
	struct tw_range *items;
	size_t n;
	char why[200]; /* why a variable that was found has no such part */
	/* private */
	char *module, *symbol; /* NULL: not given */
	uint64_t bytes;        /* 0: as many as the symbol has */
	uint64_t base;         /* of fs; 0: not known */
};

/* 0, or -1: invalid text. *ranges must be given to tw_ranges_free in any case. */
int tw_ranges_parse(struct tw_ranges *ranges, const char *text);
void tw_ranges_free(struct tw_ranges *ranges);

/* Finds the symbol, if the range has one. There may be none. 0 or TW_ERR_MEMORY. */
int tw_ranges_find(struct tw_ranges *ranges, struct tw_names *names);

/* Call with each event of the thread under analysis, before what follows it: updates where this thread's thread-local variables are. */
void tw_ranges_event(struct tw_ranges *ranges, const struct tw_event *e);
/* Whether that will be another place than before. */
int tw_ranges_move(const struct tw_ranges *ranges, const struct tw_event *e);

/* Whether the bytes from `addr` on touch one of them. */
static inline int tw_ranges_touch(const struct tw_ranges *ranges, uint32_t image, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < ranges->n; i++) {
		const struct tw_range *r = &ranges->items[i];
		if (addr < r->end && addr + size > r->start && (r->image == image || r->image == UINT32_MAX))
			return 1;
	}
	return 0;
}

#endif
