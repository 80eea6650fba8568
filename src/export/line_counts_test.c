/* gcov's rule, on control flow made by hand. One source file; each instruction is one byte long. */
#include "export/line_counts.h"
#include "unit.h"

#include <stdlib.h>

enum { MOST = 32 };

static struct tw_file_insn insns[MOST];
static struct tw_file_edge edges[MOST];
static struct tw_line_row rows[MOST];
static struct tw_file_profile profile = {insns, edges, 0, 0};
static struct tw_line_table table = {.rows = rows};

static void begin(void)
{
	profile.n_insns = profile.n_edges = table.n_rows = 0;
}

/* The next instruction, on `line`; `n` 0: it never ran. */
static void insn(uint32_t line, uint64_t n, uint8_t end)
{
	uint64_t at = table.n_rows;
	rows[table.n_rows++] = (struct tw_line_row){.start = at, .end = at + 1, .line = line};
	if (n)
		insns[profile.n_insns++] = (struct tw_file_insn){at, n, 1, end};
}

/* Edges must come sorted. */
static void edge(uint64_t from, uint64_t to, uint64_t n, uint8_t end)
{
	edges[profile.n_edges++] = (struct tw_file_edge){from, to, n, end, to == from + 1, 0};
}

static uint64_t count_of(uint32_t line)
{
	struct tw_line_count *counts;
	size_t n;
	uint64_t count = UINT64_MAX;
	EQUAL(tw_line_counts(&profile, &table, &counts, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (counts[i].line == line)
			count = counts[i].count;
	free(counts);
	return count;
}

/* for (i = 0; i < 10; i++) body();   with the body on a line of its own, or on the same. */
static void test_for(uint32_t body, uint64_t expected_for, uint64_t expected_body)
{
	begin();
	insn(1, 1, TW_END_JUMP);     /* 0: i = 0 */
	insn(body, 10, TW_END_FALL); /* 1: body */
	insn(1, 10, TW_END_FALL);    /* 2: i++ */
	insn(1, 11, TW_END_COND);    /* 3: i < 10 */
	insn(3, 1, TW_END_RETURN);   /* 4 */
	edge(0, 3, 1, TW_END_JUMP);
	edge(2, 3, 10, TW_END_FALL);
	edge(3, 1, 10, TW_END_COND);
	edge(3, 4, 1, TW_END_COND);
	edge(TW_OUTSIDE, 0, 1, TW_END_CALL);
	EQUAL(count_of(1), expected_for);
	EQUAL(count_of(body), expected_body);
	EQUAL(count_of(3), 1);
}

/* f(g(), h()) on one line, called 5 times: three blocks, but the line ran 5 times. */
static void test_calls_on_a_line(void)
{
	begin();
	insn(7, 5, TW_END_CALL);
	insn(7, 5, TW_END_CALL);
	insn(7, 5, TW_END_FALL);
	insn(8, 5, TW_END_RETURN);
	edge(0, 1, 5, TW_END_CALL);
	edge(0, TW_OUTSIDE, 5, TW_END_CALL);
	edge(1, 2, 5, TW_END_CALL);
	edge(1, TW_OUTSIDE, 5, TW_END_CALL);
	edge(TW_OUTSIDE, 0, 5, TW_END_CALL);
	EQUAL(count_of(7), 5);
	EQUAL(count_of(8), 5);
}

/* while (*p && q(p)) p++;   two blocks in a loop on one line: each turn counts once. */
static void test_loop_of_two_blocks(void)
{
	begin();
	insn(2, 9, TW_END_COND);
	insn(2, 8, TW_END_COND);
	insn(3, 1, TW_END_RETURN);
	edge(0, 1, 8, TW_END_COND);
	edge(0, 2, 1, TW_END_COND);
	edge(1, 0, 8, TW_END_COND);
	edge(TW_OUTSIDE, 0, 1, TW_END_CALL);
	EQUAL(count_of(2), 9);
}

static void test_never_executed(void)
{
	begin();
	insn(1, 3, TW_END_COND);
	insn(2, 0, 0);
	insn(3, 3, TW_END_RETURN);
	insn(0, 3, TW_END_FALL); /* made from no line */
	edge(0, 2, 3, TW_END_COND);
	edge(TW_OUTSIDE, 0, 3, TW_END_CALL);
	EQUAL(count_of(1), 3);
	EQUAL(count_of(2), 0);
	EQUAL(count_of(3), 3);
	EQUAL(count_of(0), UINT64_MAX);
}

static void test_nothing(void)
{
	begin();
	EQUAL(count_of(1), UINT64_MAX);
}

int main(void)
{
	test_for(2, 11, 10);
	test_for(1, 11, 11);
	test_calls_on_a_line();
	test_loop_of_two_blocks();
	test_never_executed();
	test_nothing();
	return UNIT_END();
}
