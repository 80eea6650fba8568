#include "channel/tally.h"
#include "channel/clear.h"
#include "recording/recording.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static off_t window_at(const struct tw_tally_input *in)
{
	return (off_t)(in->control->sizes.tallies_at + in->slot * tw_tally_bytes(&in->control->sizes));
}

/* Executions of one path. The turns of a loop have no records. */
static void add_runs(const struct tw_descriptor *d, uint64_t runs, struct tw_totals *t)
{
	const uint64_t c = t->raw[TW_STREAM_C], m = t->raw[TW_STREAM_M];
	tw_descriptor_add_runs(d, runs, t);
	if (d->flags & TW_DESC_LOOP) {
		t->raw[TW_STREAM_C] = c;
		t->raw[TW_STREAM_M] = m;
	}
}

/* The entries from number `first` to before `end`. */
static int take_entries(const struct tw_tally_input *in, uint64_t first, uint64_t end, struct tw_totals *t)
{
	const uint64_t *window = tw_channel_tally(in->base, in->slot);
	const uint32_t table = in->control->slot[in->slot].table;
	int error = TW_OK;
	for (uint64_t entry = first; entry < end; entry++) {
		uint64_t n = window[entry];
		const struct tw_descriptor *d = n ? tw_tables_tallied(in->tables, table, entry) : NULL;
		if (!n)
			continue;
		if (!d)
			error = tw_fail(TW_ERR_DAMAGED, "executions of a fragment that is not described");
		else
			add_runs(d, n, t);
	}
	return error;
}

/* Reads only what the thread has written: holes would become memory. */
static int take_window(const struct tw_tally_input *in, struct tw_totals *t)
{
	const off_t start = window_at(in), end = start + (off_t)tw_tally_bytes(&in->control->sizes);
	int error = TW_OK;
	for (off_t from = start, to; from < end; from = to) {
		from = lseek(in->fd, from, SEEK_DATA);
		if (from >= end || (from < 0 && errno == ENXIO))
			break;
		to = from < 0 ? from : lseek(in->fd, from, SEEK_HOLE);
		if (to < 0)
			return tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno));
		int failed = take_entries(in, (uint64_t)(from - start) / 8, (uint64_t)((to < end ? to : end) - start) / 8, t);
		error = failed ? failed : error;
	}
	return error;
}

/* Bytes in the program's buffers of what is in *t. */
static uint64_t record_bytes(const struct tw_control *control, const struct tw_totals *t)
{
	return t->raw[TW_STREAM_C] / 2 * tw_record_head(control->format) + t->raw[TW_STREAM_M];
}

int tw_tally_take(const struct tw_tally_input *in, struct tw_totals *out)
{
	const struct tw_slot *slot = &in->control->slot[in->slot];
	*out = (struct tw_totals){.written = slot->written - slot->copied, .uncounted = slot->uncounted};
	int error = take_window(in, out);
	uint64_t known = record_bytes(in->control, out) + slot->copied + slot->keyframes;
	out->raw[TW_STREAM_C] += slot->written > known ? slot->written - known : 0;
	return error;
}

int tw_tally_clear(const struct tw_tally_input *in)
{
	struct tw_slot *slot = &in->control->slot[in->slot];
	slot->written = slot->copied = slot->keyframes = slot->uncounted = slot->counted_bytes = slot->counted_records = 0;
	return tw_clear_range(in->fd, (uint64_t)window_at(in), tw_tally_bytes(&in->control->sizes));
}
