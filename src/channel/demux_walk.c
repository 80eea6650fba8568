#include "channel/demux_walk.h"
#include "channel/demux_stop.h"
#include "channel/demux_sums.h"
#include "recording/logged.h"
#include "recording/recording.h"

#include <stddef.h>
#include <string.h>

/* One fragment's record that is not whole or whose values count. Returns 0, or an error with nothing taken. */
static int walk_special(struct tw_demux_walk *w, uint16_t tag)
{
	const struct tw_demux_entry *e = &w->row[tag];
	if (!e->known)
		return tw_fail(TW_ERR_FRAGMENT, "fragment %u", w->upper << 16 | tag);
	if ((size_t)(w->end - w->p) < e->head + (size_t)e->n_values * 8)
		return tw_fail(TW_ERR_STREAM, "fragment %u at the end of a buffer", w->upper << 16 | tag);
	if (tw_demux_is_past(w)) {
		tw_demux_tell_stop(w, tw_descriptor_blocks(e->descriptor)->pc);
		w->p += e->head + (size_t)e->n_values * 8;
		return TW_OK;
	}
	tw_demux_note_ran(e);
	memcpy(w->m, w->p + e->head, (size_t)e->n_values * 8);
	if (w->has_partial) {
		tw_demux_count_partial(w, e->descriptor, w->m);
		w->has_partial = 0;
	} else if (e->descriptor->flags & TW_DESC_LOOP) {
		w->m[0] = tw_demux_loops_left(w, e, w->m[0]);
		tw_demux_count_loop(w, e, w->m[0]);
	} else {
		w->insns_blocks += e->insns_blocks;
		w->refs_reads += e->refs_reads;
		w->writes += e->writes;
		if (!e->plain)
			tw_demux_count_dynamic(w, e->descriptor, w->m);
	}
	*w->c++ = tag;
	w->m += e->n_values;
	w->p += e->head + (size_t)e->n_values * 8;
	return TW_OK;
}

static void note_keyframe(struct tw_demux_walk *w, const void *payload)
{
	uint32_t upper;
	memcpy(&upper, (const char *)payload + offsetof(struct tw_keyframe, upper), sizeof upper);
	tw_demux_set_upper(w, upper);
	if (w->c == w->chunk->c && !w->encoded)
		w->chunk->upper = upper;
}

static void count_logged(struct tw_demux_walk *w, const uint8_t *payload, uint32_t bytes)
{
	struct tw_logged it;
	struct tw_logged_ref ref;
	tw_logged_begin(&it, payload + sizeof(struct tw_refs), bytes - sizeof(struct tw_refs));
	while (tw_logged_next(&it, &ref) > 0)
		tw_demux_count_refs(w, 1, ref.type);
}

static void note_event(struct tw_demux_walk *w, const struct tw_event_header *h, const uint8_t *payload)
{
	switch (h->type) {
	case TW_EVENT_KEYFRAME:
		note_keyframe(w, payload);
		break;
	case TW_EVENT_PARTIAL:
		memcpy(&w->partial, payload, sizeof w->partial);
		w->has_partial = 1;
		break;
	case TW_EVENT_REFS:
		if (w->demux->count_refs)
			count_logged(w, payload, h->bytes);
		break;
	case TW_EVENT_THREAD_END:
		w->chunk->flags |= TW_CHUNK_LAST;
		break;
	}
}

static int walk_event(struct tw_demux_walk *w)
{
	struct tw_event_header h;
	size_t left = (size_t)(w->end - w->p);
	if (left < sizeof h)
		return tw_fail(TW_ERR_STREAM, "an event at the end of a buffer");
	memcpy(&h, w->p, sizeof h);
	if (!tw_event_valid(&h, w->p + sizeof h, left - sizeof h))
		return tw_fail(TW_ERR_STREAM, "an event of type %u with %u bytes", h.type, h.bytes);
	size_t n = sizeof h + h.bytes, padded = (n + 7) & ~(size_t)7;
	if (tw_demux_is_past(w) && !tw_demux_is_kept(w, h.type)) {
		tw_demux_tell_stop(w, 0);
		w->p += n;
		return TW_OK;
	}
	memcpy(w->e, w->p, n);
	memset(w->e + n, 0, padded - n);
	note_event(w, &h, w->e + sizeof h);
	uint64_t time = tw_event_time(h.type, w->e + sizeof h);
	w->time = time ? time : w->time;
	*w->c++ = TW_TAG_EVENT;
	w->e += padded;
	w->p += n;
	return TW_OK;
}

/* Goes on in the slack. */
static void walk_slack(struct tw_demux_walk *w)
{
	uint32_t offset = w->end - w->p >= 4 ? tw_get16(w->p + 2) : TW_SLACK_BYTES;
	uint32_t slack_end = w->in->slack_end < TW_SLACK_BYTES ? w->in->slack_end : TW_SLACK_BYTES;
	w->p = w->in->slack + (offset < slack_end ? offset : slack_end);
	w->end = w->in->slack + slack_end;
}

int tw_demux_walk_other(struct tw_demux_walk *w)
{
	uint16_t tag = tw_get16(w->p);
	int error = TW_OK;
	if (tag == TW_TAG_NONE)
		return 0;
	if (tag == TW_TAG_EVENT) {
		error = walk_event(w);
	} else if (tag == TW_TAG_UPPER && w->end - w->p >= 4) {
		*w->c++ = tag;
		*w->c++ = tw_get16(w->p + 2);
		tw_demux_set_upper(w, tw_get16(w->p + 2));
		w->p += 4;
	} else if (tag == TW_TAG_SLACK) {
		walk_slack(w);
	} else {
		error = walk_special(w, tag);
	}
	return error ? error : 1;
}

void tw_demux_walk_begin(struct tw_demux_walk *w, struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk)
{
	*w = (struct tw_demux_walk){
	    .demux = d,
	    .in = in,
	    .p = in->data,
	    .end = in->data + (in->bytes < TW_DEMUX_DATA ? in->bytes : TW_DEMUX_DATA),
	    .row = d->no_row,
	    .c = chunk->c,
	    .m = chunk->m,
	    .e = chunk->e,
	    .chunk = chunk,
	};
}

void tw_demux_walk_end(const struct tw_demux_walk *w, struct tw_chunk *chunk)
{
	chunk->n_c = (size_t)(w->c - chunk->c);
	chunk->n_m = (size_t)(w->m - chunk->m);
	chunk->n_e = (size_t)(w->e - chunk->e);
	chunk->insns = tw_demux_insns(w);
	chunk->blocks = (w->insns_blocks >> 32) + w->blocks;
	chunk->refs = (uint32_t)w->refs_reads + w->refs;
	chunk->reads = (w->refs_reads >> 32) + w->reads;
	chunk->writes = w->writes;
}
