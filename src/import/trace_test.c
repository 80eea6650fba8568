/* Compares the two readers of trace lines with a third: random lines, complete and damaged, with buffers that end anywhere. */
#include "import/trace.h"
#include "unit.h"
#include "unit_directory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { LINES = 60000, FILES = 5, BATCH = 700 };

struct expected {
	struct tw_trace_item items[LINES];
	size_t n;
	uint64_t bad, first_bad;
};

static uint64_t seed = 7;

static uint64_t random_bits(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 24;
}

static unsigned below(unsigned n)
{
	return (unsigned)(random_bits() % n);
}

/* What a line says, by the book. */
static int read_line(const char *line, struct tw_trace_item *item)
{
	char type, blank[2], address[40], bytes[40], rest;
	int at = 0;
	if (sscanf(line, " %c%1[ \t] %39[0-9a-fA-F],%39[0-9]%n%c", &type, blank, address, bytes, &at, &rest) != 4 || line[at] ||
	    !strchr("ILSM", type))
		return 0;
	errno = 0;
	item->type = type;
	item->address = strtoull(address, NULL, 16);
	unsigned long long n = strtoull(bytes, NULL, 10);
	item->bytes = (uint32_t)n;
	return !errno && n && n <= (type == 'I' ? 255 : 1 << 20) && item->address + (n - 1) >= item->address;
}

static void make_line(char *line, size_t size)
{
	static const char *const prefix[] = {"I ", " L", " S", " M"};
	static const char junk[] = "0123456789abcdefgABCFG@`/:,- \tILSMxz";
	uint64_t address = (random_bits() << 32 ^ random_bits()) >> below(64);
	unsigned bytes = below(20) ? below(64) : below(2000000);
	int width = below(3) ? 8 : 1 + (int)below(17);
	int n = snprintf(line, size, "%s %0*" PRIx64 ",%u", prefix[below(4)], width, address, bytes);
	if (below(8) == 0)
		line[below((unsigned)n)] = junk[below(sizeof junk - 1)];
}

static void make_file(struct expected *e)
{
	FILE *f = fopen("trace", "w");
	memset(e, 0, sizeof *e);
	for (unsigned i = 0; i < LINES; i++) {
		char line[100];
		make_line(line, sizeof line);
		fprintf(f, "%s\n", line);
		if (!strncmp(line, "--", 2))
			continue;
		if (read_line(line, &e->items[e->n]))
			e->n++;
		else if (!e->bad++)
			e->first_bad = i + 1;
	}
	fclose(f);
}

static void test_file(const struct expected *e, int insns_only)
{
	struct tw_input *in;
	struct tw_trace_item items[BATCH];
	EQUAL(tw_input_open("trace", &in), 0);
	struct tw_trace *t = tw_trace_new(in, insns_only);
	size_t at = 0;
	ssize_t n;
	while ((n = tw_trace_next(t, items, 1 + below(BATCH - 1))) > 0) {
		for (ssize_t i = 0; i < n; i++, at++) {
			while (insns_only && at < e->n && e->items[at].type != 'I')
				at++;
			CHECK(at < e->n && items[i].type == e->items[at].type && items[i].address == e->items[at].address &&
			      items[i].bytes == e->items[at].bytes);
		}
	}
	while (insns_only && at < e->n && e->items[at].type != 'I')
		at++;
	EQUAL(n, 0);
	EQUAL(at, e->n);
	EQUAL(tw_trace_facts(t)->lines, LINES);
	EQUAL(tw_trace_facts(t)->bad, e->bad);
	EQUAL(tw_trace_facts(t)->bad_line[0], e->first_bad);
	tw_trace_free(t);
	tw_input_close(in);
}

int main(void)
{
	char dir[PATH_MAX];
	struct expected *e = malloc(sizeof *e);
	unit_enter_directory(dir);
	for (int i = 0; i < FILES; i++) {
		make_file(e);
		CHECK(e->n > LINES / 2 && e->bad > 1000);
		test_file(e, i % 2);
	}
	unit_leave_directory(dir);
	free(e);
	return UNIT_END();
}
