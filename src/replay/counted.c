#include "replay/counted.h"
#include "base/array.h"
#include "replay/kept.h"

#include <emmintrin.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <trackway/recording.h>
#include <unistd.h>

enum { PAGE = 4096, LINES_OF_PAGE = 64 };

#define LINES_BYTES ((size_t)1 << TW_COUNTED_LINE_BITS)

/* ---- memory ---- */

/* Address space alone. */
static void *reserve(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* A file allocates memory where it is written to, and can report where that is. */
static int map_lines(uint8_t *at)
{
	const int fd = memfd_create("lines", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t)LINES_BYTES) &&
	    mmap(at, LINES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) != MAP_FAILED)
		return fd;
	close(fd);
	return -1;
}

int tw_counted_can_count(unsigned walks)
{
	const size_t bytes = (size_t)walks * TW_LINES_AT;
	void *at = reserve(bytes);
	return at && !munmap(at, bytes);
}

int tw_counted_can_mark(unsigned walks)
{
	enum { MOST = 16 };
	const size_t bytes = walks * (TW_LINES_AT + LINES_BYTES);
	if (!__builtin_cpu_supports("bmi") || walks > MOST)
		return 0;
	uint8_t *at = reserve(bytes);
	const int fd = at ? map_lines(at) : -1;
	if (at)
		munmap(at, bytes);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

struct tw_walk *tw_counted_walk_new(size_t bytes, int lines, struct tw_counted *c)
{
	*c = (struct tw_counted){.is_on = 1, .lines_fd = -1, .bytes = TW_LINES_AT + (lines ? LINES_BYTES : 0)};
	uint8_t *at = bytes <= TW_COUNTS_AT ? reserve(c->bytes) : NULL;
	c->odds = malloc(TW_ODD_ROOM * sizeof *c->odds);
	c->odd = c->odds;
	c->odd_limit = c->odds ? c->odds + TW_ODD : NULL;
	if (at && lines)
		c->lines_fd = map_lines(at + TW_LINES_AT);
	if (at && c->odds && lines == (c->lines_fd >= 0) && !mprotect(at, bytes, PROT_READ | PROT_WRITE) &&
	    !mprotect(at + TW_COUNTS_AT, TW_KEPT_STRETCHES * sizeof(uint32_t), PROT_READ | PROT_WRITE))
		return (struct tw_walk *)(void *)at;
	tw_counted_walk_free((struct tw_walk *)(void *)at, c);
	return NULL;
}

void tw_counted_walk_free(struct tw_walk *w, struct tw_counted *counted)
{
	struct tw_counted c = *counted; /* it may be the walk's */
	if (w)
		munmap(w, c.bytes);
	if (c.lines_fd >= 0)
		close(c.lines_fd);
	free(c.odds);
	free(c.runs);
	free(c.pages);
}

/* ---- executions ---- */

long tw_counted_take_runs(struct tw_walk *w, struct tw_counted *c, const struct tw_stretch *stretches, uint32_t n)
{
	uint32_t *times = (uint32_t *)(void *)((uint8_t *)w + TW_COUNTS_AT);
	size_t found = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!times[i])
			continue;
		struct tw_counted_run *runs = tw_array_room(c->runs, found, &c->runs_room, sizeof *runs);
		if (!runs)
			return TW_ERR_MEMORY;
		c->runs = runs;
		runs[found++] = (struct tw_counted_run){&stretches[i], times[i]};
		times[i] = 0;
	}
	return (long)found;
}

/* ---- lines ---- */

/* A bit for each of 64 bytes that is not 0; they are 0 afterwards. */
static uint64_t take_bytes(uint8_t *bytes)
{
	const __m128i zero = _mm_setzero_si128();
	uint64_t found = 0;
	for (unsigned i = 0; i < LINES_OF_PAGE / 16; i++) {
		const __m128i v = _mm_load_si128((const __m128i *)(const void *)(bytes + 16 * i));
		found |= (uint64_t)(0xffff & ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero))) << 16 * i;
	}
	if (found)
		memset(bytes, 0, LINES_OF_PAGE);
	return found;
}

/* The part of the table at that place of the file; adds to the list's number of pages. */
static int take_part(uint8_t *table, off_t at, struct tw_counted *c, size_t *n)
{
	const size_t before = *n;
	for (off_t i = at; i < at + PAGE; i += LINES_OF_PAGE) {
		const uint64_t lines = take_bytes(table + i);
		struct tw_touched_page *pages = lines ? tw_array_room(c->pages, *n, &c->pages_room, sizeof *pages) : c->pages;
		if (lines && !pages)
			return TW_ERR_MEMORY;
		c->pages = pages;
		if (lines)
			pages[(*n)++] = (struct tw_touched_page){(uint64_t)i / LINES_OF_PAGE * PAGE, lines};
	}
	/* Not touched for a period: released, so that later periods need not look at it. */
	if (*n == before)
		fallocate(c->lines_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, PAGE);
	return 0;
}

long tw_counted_take_pages(struct tw_walk *w, struct tw_counted *c)
{
	uint8_t *table = (uint8_t *)w + TW_LINES_AT;
	size_t n = 0;
	off_t hole = 0, data;
	int error = 0;
	while (!error && (data = lseek(c->lines_fd, hole, SEEK_DATA)) >= 0) {
		hole = lseek(c->lines_fd, data, SEEK_HOLE);
		for (; data < hole && !error; data += PAGE)
			error = take_part(table, data, c, &n);
	}
	return error ? error : (long)n;
}
