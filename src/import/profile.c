#include "import/profile.h"
#include "analyze/flow.h"
#include "recording/recording.h"

#include <stdlib.h>

enum { BATCH = 4096 };

/* The node of an instruction: often the same successor as before, otherwise found by a search. */
static inline uint32_t node_of(struct tw_flow *f, const struct tw_trace_item *item)
{
	uint32_t guess = f->nodes[f->last].fall;
	if (guess != TW_NO_INDEX && f->nodes[guess].pc == item->address && f->nodes[guess].length == item->bytes)
		return guess;
	guess = f->edges[f->runs[f->nodes[f->first].run].recent].to;
	if (f->nodes[guess].pc == item->address && f->nodes[guess].length == item->bytes && guess)
		return guess;
	return tw_flow_node(f, 0, item->address, (uint8_t)item->bytes);
}

static void take(struct tw_flow *f, const struct tw_trace_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct tw_trace_item *item = &items[i];
		if (item->type == 'I') {
			uint32_t node = node_of(f, item);
			tw_flow_step(f, node, node);
		} else if (f->last) {
			f->nodes[f->last].reads += item->type != 'S';
			f->nodes[f->last].writes += item->type != 'L';
		}
	}
}

static int read_all(struct tw_flow *f, struct tw_trace *t)
{
	struct tw_trace_item *items = malloc(BATCH * sizeof *items);
	ssize_t n = items ? 1 : tw_fail(TW_ERR_MEMORY, "trace");
	while (n > 0 && !f->failed) {
		n = tw_trace_next(t, items, BATCH);
		if (n > 0)
			take(f, items, (size_t)n);
	}
	free(items);
	return n < 0 ? (int)n : 0;
}

int tw_profile_trace(struct tw_trace *t, struct tw_profile *out)
{
	struct tw_flow f;
	*out = (struct tw_profile){0};
	int error = tw_flow_init(&f, 0);
	if (!error)
		error = read_all(&f, t);
	struct tw_profile_image *image = error ? NULL : calloc(1, sizeof *image);
	if (!error)
		error = image ? tw_flow_profile(&f, image, 1, out) : tw_fail(TW_ERR_MEMORY, "profile");
	tw_flow_fini(&f);
	return error;
}
