/*
 * Touched pages, and which of their lines: a table of pages, by process. A line is 64 bytes, a page 4096.
 *
 * Lines are touched in windows, which are numbered in order. For each line the table keeps the first window that
 * touched it, and for each page what the newest window touched. This tells what is new in a window, and its working
 * set.
 */
#ifndef TW_PAGES_H
#define TW_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TW_LINE_BITS = 6, TW_PAGE_BITS = 12, TW_PAGE_LINES = 1 << (TW_PAGE_BITS - TW_LINE_BITS) };

struct tw_page {
	uint64_t key;   /* the page's number, and above it the process's: tw_page_key; */
	uint64_t lines; /* that were ever touched; 0: this place is free */
	uint64_t now;   /* of those, the ones that window `window` touched */
	uint32_t window;
	uint32_t first[TW_PAGE_LINES]; /* of each line that was touched, the first window */
};

struct tw_pages {
	struct tw_page *items; /* open hash */
	size_t n, room;        /* room: 0 or a power of two */
};

/* What one touch adds to the newest window. */
struct tw_pages_added {
	unsigned page; /* 1: the window had not touched the page before */
	unsigned lines;
};

static inline uint64_t tw_page_key(uint32_t process, uint64_t addr)
{
	return (uint64_t)process << 40 | (addr << 16 >> 28);
}

static inline uint64_t tw_page_address(uint64_t key)
{
	return key << 24 >> 12;
}

static inline uint32_t tw_page_process(uint64_t key)
{
	return (uint32_t)(key >> 40);
}

/* Lines of a page are touched in a window that is not older than any before. 0 or TW_ERR_MEMORY. */
int tw_pages_touch(struct tw_pages *p, uint64_t key, uint64_t lines, uint32_t window, struct tw_pages_added *added);

/* The page of this key, or NULL. */
struct tw_page *tw_pages_find(const struct tw_pages *p, uint64_t key);

/*
 * Adds the pages of a later table, whose window number 0 is `base` here. Its windows are newer than all here, except
 * its window 0, which may be the newest one here. 0 or TW_ERR_MEMORY.
 */
int tw_pages_merge(struct tw_pages *p, const struct tw_pages *later, uint32_t base);

/* As bytes, and back into an empty table with this many windows (analyze/packed.h). */
int tw_pages_pack(const struct tw_pages *p, FILE *to);
int tw_pages_unpack(struct tw_pages *p, size_t n_windows, FILE *from);

void tw_pages_free(struct tw_pages *p);

#endif
