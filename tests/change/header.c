/* Changes lines of the header. */
#include "change.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CHECK_BYTES = 24 };

/* The line that begins at or before `at`: where it begins, and its bytes with the end. */
static size_t line_at(const struct tw_bytes *b, size_t at, size_t *n)
{
	while (at && b->at[at - 1] != '\n')
		at--;
	const uint8_t *end = memchr(b->at + at, '\n', b->n - at);
	*n = end ? (size_t)(end - b->at) + 1 - at : b->n - at;
	return at;
}

/* Something else for a value: each is one that some key has, or none has. */
static const char *strange_value(char *to, size_t size)
{
	/* clang-format off */
	static const char *const values[] = {
	    "", "0", "-1", "18446744073709551615", "9223372036854775807", "4294967296", "31 0 4000000 1",
	    "complete", "incomplete", "file", "count", "all", "none", "dep", "call", "dep-c", "bb_pc", "mem_addr", "dep06", "cf_bit",
	    "a b", "\\x1b[2J", "\\xff\\xfe", "%s%n", "../../../etc/passwd"};
	/* clang-format on */
	size_t i = below(sizeof values / sizeof *values + 2);
	if (i < sizeof values / sizeof *values)
		snprintf(to, size, "%s", values[i]);
	else
		snprintf(to, size, "%lld", (long long)(random64() >> below(64)));
	return to;
}

static void change_value(struct tw_bytes *b, size_t at, size_t n)
{
	char value[64];
	uint8_t *colon = memchr(b->at + at, ':', n);
	if (!colon || colon + 2 > b->at + at + n)
		return;
	size_t from = (size_t)(colon - b->at) + 2;
	if (b->at[from] >= '0' && b->at[from] <= '9' && !once_in(8))
		snprintf(value, sizeof value, "%lld", (long long)(random64() >> below(64)));
	else
		strange_value(value, sizeof value);
	replace(b, from, at + n - 1 > from ? at + n - 1 - from : 0, value, strlen(value));
}

static void change_line(struct tw_bytes *b)
{
	size_t n, at = line_at(b, below(b->n), &n);
	switch (below(16)) {
	case 0:
		replace(b, at, n, NULL, 0);
		break;
	case 1:
		replace(b, at, 0, b->at + at, n);
		break;
	case 2: /* glued to the next one */
		b->at[at + n - 1] = once_in(2) ? '\t' : ' ';
		break;
	case 3:
		replace(b, at + n - 1, 0, " 7", 2);
		break;
	case 4:
		twist(b->at + at, n);
		break;
	default:
		change_value(b, at, n);
	}
}

void change_header(int from, int to)
{
	struct tw_bytes b = {0};
	char check[CHECK_BYTES + 1];
	read_file(from, TW_HEADER_FILE, &b);
	b.n -= CHECK_BYTES;
	for (size_t n = 1 + below(3); n && b.n; n--)
		change_line(&b);
	snprintf(check, sizeof check, "xxh64: %016llx\n", (unsigned long long)XXH64(b.at, b.n, 0));
	replace(&b, b.n, 0, check, CHECK_BYTES);
	write_file(to, TW_HEADER_FILE, &b);
	free(b.at);
}
