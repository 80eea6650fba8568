/* Lists of an index contain too much where they must be short, never too little; and what was written is read back. */
#include "recording/index.h"
#include "made_recording.h"

#include <stdlib.h>

enum { RANGES = 500 };

/* Ranges of 1 to 3 lines with gaps of 1 to 40. */
static size_t make_ranges(struct tw_lines *to)
{
	uint64_t at = 1000, seed = 7;
	for (size_t i = 0; i < RANGES; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		to[i].first = at + 1 + (seed >> 33) % 40;
		to[i].last = to[i].first + (seed >> 40) % 3;
		at = to[i].last + 1;
	}
	return RANGES;
}

static struct tw_index_entry entry_of(const struct tw_lines *lines, size_t n, uint32_t most)
{
	struct tw_index_entry e = {.first_tsc = 5, .last_tsc = 9};
	EQUAL(tw_lines_code(lines, n, most, &e.list[TW_INDEX_READ], &e.bytes[TW_INDEX_READ]), TW_OK);
	return e;
}

static int has_line(const struct tw_index_entry *e, uint64_t line)
{
	return tw_index_may_have(e, TW_INDEX_READ, line << TW_LINE_SHIFT, (line << TW_LINE_SHIFT) + 63);
}

/* Number of unnecessary lines in the list; -1: one is missing. */
static long surplus(const struct tw_index_entry *e, const struct tw_lines *lines)
{
	long n = 0;
	for (uint64_t line = 900, i = 0; line < lines[RANGES - 1].last + 100; line++) {
		i += i < RANGES && line > lines[i].last;
		const int is_there = i < RANGES && line >= lines[i].first;
		if (is_there && !has_line(e, line))
			return -1;
		n += !is_there && has_line(e, line);
	}
	return n;
}

static void test_lists(void)
{
	struct tw_lines lines[RANGES];
	make_ranges(lines);
	struct tw_index_entry exact = entry_of(lines, RANGES, 1 << 20), coarse = entry_of(lines, RANGES, 200),
	                      one = entry_of(lines, RANGES, 1);
	EQUAL(surplus(&exact, lines), 0);
	CHECK(coarse.bytes[TW_INDEX_READ] <= 200);
	CHECK(surplus(&coarse, lines) > 0);
	CHECK(surplus(&one, lines) > surplus(&coarse, lines));
	CHECK(!has_line(&one, lines[0].first - 1) && !has_line(&one, lines[RANGES - 1].last + 1));
	EQUAL(tw_index_may_have(&exact, TW_INDEX_WRITTEN, 0, UINT64_MAX), 0);
	tw_index_entry_free(&exact);
	tw_index_entry_free(&coarse);
	tw_index_entry_free(&one);
}

/* The highest line, which the last address is in. */
static void test_ends(void)
{
	const struct tw_lines lines[] = {{0, 0}, {UINT64_MAX >> TW_LINE_SHIFT, UINT64_MAX >> TW_LINE_SHIFT}};
	struct tw_index_entry e = entry_of(lines, 2, 100);
	EQUAL(tw_index_may_have(&e, TW_INDEX_READ, 63, 63), 1);
	EQUAL(tw_index_may_have(&e, TW_INDEX_READ, 64, UINT64_MAX - 64), 0);
	EQUAL(tw_index_may_have(&e, TW_INDEX_READ, UINT64_MAX, UINT64_MAX), 1);
	tw_index_entry_free(&e);
}

static void test_file(void)
{
	struct tw_recording *r = make_recording("r");
	struct tw_index *x;
	struct tw_lines lines[RANGES];
	make_ranges(lines);
	struct tw_index_entry e = entry_of(lines, RANGES, 1 << 20);
	EQUAL(tw_index_open(r, &x), TW_OK);
	CHECK(!tw_index_of(x, 1, 3));
	tw_index_add(x, 1, 3, &e);
	EQUAL(tw_index_write(x), TW_OK);
	tw_index_close(x);
	EQUAL(tw_index_open(r, &x), TW_OK);
	CHECK(!tw_index_of(x, 1, 2) && !tw_index_of(x, 0, 3));
	const struct tw_index_entry *again = tw_index_of(x, 1, 3);
	CHECK(again != NULL);
	EQUAL(again->first_tsc, 5);
	EQUAL(again->last_tsc, 9);
	EQUAL(surplus(again, lines), 0);
	tw_index_close(x);
	tw_recording_close(r);
}

int main(void)
{
	char directory[PATH_MAX];
	unit_enter_directory(directory);
	test_lists();
	test_ends();
	test_file();
	unit_leave_directory(directory);
	return UNIT_END();
}
