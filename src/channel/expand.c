#include "channel/expand.h"
#include "channel/expand_forms.h"
#include "channel/expand_units.h"

#include <stdlib.h>

/* Reading a piece may read past its end: demux_buffer.c. */
enum { PIECE_ROOM = TW_BUFFER_BYTES + 64 };

struct tw_expand *tw_expand_new(uint32_t format, int logged, int count_only)
{
	struct tw_expand *x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	x->format = format;
	x->logged = logged;
	x->count_only = count_only;
	x->piece[0] = calloc(1, PIECE_ROOM);
	x->piece[1] = calloc(1, PIECE_ROOM);
	if (x->piece[0] && x->piece[1])
		return x;
	tw_expand_free(x);
	return NULL;
}

void tw_expand_free(struct tw_expand *x)
{
	if (!x)
		return;
	struct tw_totals unused = {0};
	for (uint32_t program = 0; program < TW_UNIT_PROGRAMS; program++)
		tw_expand_forget_units(x, program, &unused);
	free(x->piece[0]);
	free(x->piece[1]);
	free(x);
}

/* ---- blocks ---- */

int tw_expand_descriptors(struct tw_expand *x, const uint8_t *bytes, uint64_t n)
{
	int error = TW_OK;
	for (uint64_t at = 0; at < n && !error; at += ((const struct tw_descriptor *)(bytes + at))->bytes)
		error = tw_expand_add_unit(x, (const struct tw_descriptor *)(bytes + at));
	return error;
}

void tw_expand_forget(struct tw_expand *x, uint32_t program, struct tw_totals *totals)
{
	tw_expand_forget_units(x, program, totals);
}

void tw_expand_tally(struct tw_expand *x, struct tw_totals *totals)
{
	tw_expand_tally_units(x, totals);
}

/* ---- a buffer ---- */

void tw_expand_begin(struct tw_expand *x, const struct tw_demux_input *in, int torn)
{
	x->data = x->p = in->data;
	x->end = x->data_end = in->data + in->bytes;
	x->walks = 0;
	x->slack = in->slack;
	x->slack_bytes = torn ? 0 : in->slack_end;
	x->torn = torn;
	x->ended = 0;
	x->has_keyframe = 0;
}

int tw_expand_next(struct tw_expand *x, struct tw_demux_input *out, int *last)
{
	if (x->ended)
		return 0;
	x->turn ^= 1;
	x->to = x->piece[x->turn];
	x->to_upper = 0;
	if (x->has_keyframe)
		tw_expand_put_keyframe(x, &x->keyframe);
	int more = tw_form_of(x->format) == TW_FORM_BITS ? tw_expand_bits(x) : tw_expand_tagged(x);
	x->ended = more <= 0;
	*last = x->ended;
	*out = (struct tw_demux_input){.data = x->piece[x->turn], .bytes = (uint32_t)(x->to - x->piece[x->turn])};
	memset(x->to, 0, 64);
	return more < 0 ? more : 1;
}

uint32_t tw_expand_used(const struct tw_expand *x)
{
	return (uint32_t)((x->end == x->data_end ? x->p : x->data_end) - x->data);
}
