/*
 * Execution counts of source lines by gcov's rule, from what ran in an ELF file.
 *
 * Each basic block (calls also end blocks) counts for every line of which it has code. But a line on which blocks end
 * counts the entries into these blocks from others, plus the loops that lie entirely on it: a `for` with n iterations
 * counts n + 1, whatever its body is.
 */
#ifndef TW_LINE_COUNTS_H
#define TW_LINE_COUNTS_H

#include "export/file_profile.h"
#include "report/line_table.h"

struct tw_line_count {
	uint32_t source, line;
	uint64_t count;
};

/* All lines of the table, including those never executed, sorted; the caller frees *out. 0 or TW_ERR_MEMORY. */
int tw_line_counts(const struct tw_file_profile *p, const struct tw_line_table *t, struct tw_line_count **out, size_t *n);

#endif
