#include "channel/demux_table.h"
#include "channel/demux_code.h"
#include "base/store.h"
#include "base/zeros.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { NO_ROW_BYTES = 65536 * sizeof(struct tw_demux_entry) };

/* Pages of zeros, which take no memory, and do not count against limits on data (ulimit -d). NULL: not available. */
static const struct tw_demux_entry *make_no_row(void)
{
	void *p = mmap(NULL, NO_ROW_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct tw_demux *tw_demux_new(int count_refs)
{
	struct tw_demux *d = tw_zeros_new(sizeof *d);
	if (!d)
		return NULL;
	d->count_refs = count_refs;
	d->entries.item = sizeof(struct tw_demux_entry);
	d->counters.item = sizeof(struct tw_demux_counter);
	d->code = tw_demux_code_new();
	d->no_row = make_no_row();
	if (d->no_row)
		return d;
	tw_demux_free(d);
	return NULL;
}

void tw_demux_free(struct tw_demux *d)
{
	if (!d)
		return;
	tw_numbered_free(&d->entries);
	tw_numbered_free(&d->counters);
	tw_demux_code_free(d->code);
	tw_zeros_free((void *)d->no_row, NO_ROW_BYTES);
	tw_zeros_free(d, sizeof *d);
}

static void fill_entry(const struct tw_demux *demux, struct tw_demux_entry *e, const struct tw_descriptor *d)
{
	struct tw_static_counts n;
	tw_descriptor_counts(d, &n);
	e->insns_blocks = n.insns | (uint64_t)n.blocks << 32;
	e->n_values = d->n_values;
	e->head = (uint8_t)tw_record_head(d->format);
	e->plain = demux->count_refs || !(d->flags & (TW_DESC_DYNAMIC | TW_DESC_LOOP));
	e->is_loop = !e->plain && !(d->flags & TW_DESC_DYNAMIC);
	e->known = 1;
	if (!demux->count_refs) {
		e->refs_reads = n.refs | (uint64_t)n.reads << 32;
		e->writes = n.writes;
	}
	__atomic_store_n(&e->descriptor, d, __ATOMIC_RELEASE);
}

/* Of a fragment that is plain. */
static uint16_t record_bytes(const struct tw_demux_entry *e)
{
	return (uint16_t)(e->head + 8 * e->n_values);
}

static void set_record(struct tw_demux_counter *n, const struct tw_demux_entry *e)
{
	n->record = e->plain ? record_bytes(e) : 0;
}

int tw_demux_descriptors(struct tw_demux *d, const uint8_t *bytes, uint64_t n, uint64_t *used)
{
	for (*used = 0; *used < n;) {
		const struct tw_descriptor *one = (const struct tw_descriptor *)(bytes + *used);
		if (!tw_descriptor_valid(one, n - *used))
			return tw_fail(TW_ERR_DAMAGED, "descriptor of fragment %u", n - *used >= sizeof *one ? one->number : 0);
		struct tw_demux_entry *row = tw_numbered_add_row(&d->entries, one->number >> 16);
		if (!row)
			return tw_fail(TW_ERR_MEMORY, "fragment table");
		struct tw_demux_entry *e = &row[one->number & 0xffff];
		fill_entry(d, e, one);
		uint32_t *n_tags = &d->n_tags[one->number >> 16];
		*n_tags = (one->number & 0xffff) < *n_tags ? *n_tags : (one->number & 0xffff) + 1;
		struct tw_demux_counter *counters = tw_numbered_row(&d->counters, one->number >> 16);
		if (counters)
			set_record(&counters[one->number & 0xffff], e);
		*used += one->bytes;
	}
	return TW_OK;
}

const struct tw_descriptor *tw_demux_descriptor(const struct tw_demux *d, uint32_t number)
{
	return __atomic_load_n(&tw_demux_row(d, number >> 16)[number & 0xffff].descriptor, __ATOMIC_ACQUIRE);
}

/* In `numbers`, which may be NULL. */
static size_t idle_of_row(const struct tw_demux *d, uint32_t upper, uint32_t *numbers)
{
	const struct tw_demux_entry *row = upper >= TW_FIRST_CLAIMED ? tw_numbered_row(&d->entries, upper) : NULL;
	size_t n = 0;
	for (uint32_t tag = 0; row && tag < d->n_tags[upper]; tag++) {
		if (!row[tag].known || row[tag].ran)
			continue;
		if (numbers)
			numbers[n] = upper << 16 | tag;
		n++;
	}
	return n;
}

static int by_upper(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

uint32_t *tw_demux_idle(const struct tw_demux *d, size_t *n)
{
	const size_t bytes = d->entries.n_rows * sizeof *d->entries.upper;
	uint16_t *upper = bytes ? malloc(bytes) : NULL;
	uint32_t *numbers = NULL;
	size_t all = 0;
	*n = 0;
	if (!upper)
		return NULL;
	memcpy(upper, d->entries.upper, bytes);
	qsort(upper, d->entries.n_rows, sizeof *upper, by_upper);
	for (uint32_t i = 0; i < d->entries.n_rows; i++)
		all += idle_of_row(d, upper[i], NULL);
	numbers = all ? malloc(all * sizeof *numbers) : NULL;
	for (uint32_t i = 0; numbers && i < d->entries.n_rows; i++)
		*n += idle_of_row(d, upper[i], numbers + *n);
	free(upper);
	return numbers;
}

/* ---- counters ---- */

struct tw_demux_counter *tw_demux_counters(struct tw_demux *d, uint32_t upper)
{
	struct tw_demux_counter *n = tw_numbered_row(&d->counters, upper);
	const struct tw_demux_entry *row = tw_demux_row(d, upper);
	if (n)
		return n;
	n = tw_numbered_add_row(&d->counters, upper);
	for (unsigned tag = 0; n && tag < d->n_tags[upper]; tag++)
		if (row[tag].known)
			set_record(&n[tag], &row[tag]);
	return n;
}

void tw_demux_empty_counter(struct tw_totals *t, const struct tw_demux_entry *e, struct tw_demux_counter *n)
{
	uint64_t ran = 0;
	for (unsigned i = 0; i < SUMS; i++)
		ran += n->ran[i];
	if (!ran)
		return;
	tw_descriptor_add_runs(e->descriptor, ran, t);
	memset(n->ran, 0, sizeof n->ran);
}

/* Of the n numbers from `first` on. */
static void empty_counters(struct tw_demux *d, uint32_t first, uint32_t n)
{
	const struct tw_demux_entry *row = tw_numbered_row(&d->entries, first >> 16);
	struct tw_demux_counter *counters = tw_numbered_row(&d->counters, first >> 16);
	for (uint32_t tag = first & 0xffff; counters && n; tag++, n--)
		tw_demux_empty_counter(&d->tally, &row[tag], &counters[tag]);
}

void tw_demux_tally(struct tw_demux *d, struct tw_totals *totals)
{
	for (uint32_t i = 0; i < d->counters.n_rows; i++) {
		const uint32_t upper = d->counters.upper[i];
		empty_counters(d, upper << 16, d->n_tags[upper]);
	}
	*totals = d->tally;
	memset(&d->tally, 0, sizeof d->tally);
}

/* ---- forgetting ---- */

void tw_demux_forget(struct tw_demux *d, uint32_t first)
{
	empty_counters(d, first, TW_STRETCH);
	tw_numbered_forget(&d->entries, first);
	if (d->code)
		tw_demux_code_forget(d->code, first);
	tw_numbered_forget(&d->counters, first);
}

void tw_demux_forget_one(struct tw_demux *d, uint32_t number)
{
	struct tw_demux_entry *row = tw_numbered_row(&d->entries, number >> 16);
	struct tw_demux_counter *counters = tw_numbered_row(&d->counters, number >> 16);
	empty_counters(d, number, 1);
	if (d->code)
		tw_demux_code_forget_one(d->code, number);
	if (row)
		row[number & 0xffff] = (struct tw_demux_entry){0};
	if (counters)
		counters[number & 0xffff] = (struct tw_demux_counter){0};
}
