/* Where the buffer ends that a thread was writing when it died. */
#include "channel/demux_state.h"
#include "recording/recording.h"

#include <stddef.h>
#include <string.h>

/* The last records seen, as places where the buffer could be cut. */
struct cut {
	const uint8_t *at;
	int in_slack;
};

struct torn {
	const struct tw_demux *demux;
	const uint8_t *p, *end;
	const uint8_t *slack;
	int in_slack;
	int logged;
	const struct tw_demux_entry *row;
	struct cut before_fragment; /* the last fragment, or the PARTIAL before it */
	struct cut before_partial;  /* a PARTIAL whose fragment has not come yet */
	int whole;                  /* the last fragment is known to be; all events are */
};

static struct cut here(const struct torn *t)
{
	return (struct cut){t->p, t->in_slack};
}

static int torn_fragment(struct torn *t, uint16_t tag)
{
	const struct tw_demux_entry *e = &t->row[tag];
	size_t n = e->head + (size_t)e->n_values * 8;
	if (!e->known || (size_t)(t->end - t->p) < n)
		return 0;
	t->before_fragment = t->before_partial.at ? t->before_partial : here(t);
	t->before_partial.at = NULL;
	uint64_t last = 1;
	if (e->n_values)
		memcpy(&last, t->p + n - 8, 8);
	t->whole = last != 0 && !t->logged;
	t->p += n;
	return 1;
}

static int torn_event(struct torn *t)
{
	struct tw_event_header h;
	size_t left = (size_t)(t->end - t->p);
	if (left < sizeof h)
		return 0;
	memcpy(&h, t->p, sizeof h);
	if (!tw_event_valid(&h, t->p + sizeof h, left - sizeof h))
		return 0;
	t->whole = 1;
	if (h.type == TW_EVENT_PARTIAL)
		t->before_partial = here(t);
	if (h.type == TW_EVENT_KEYFRAME) {
		uint32_t upper;
		memcpy(&upper, t->p + sizeof h + offsetof(struct tw_keyframe, upper), sizeof upper);
		t->row = tw_demux_row(t->demux, upper);
	}
	t->p += sizeof h + h.bytes;
	return 1;
}

static int torn_slack(struct torn *t)
{
	if (t->in_slack || t->end - t->p < 4 || tw_get16(t->p + 2) >= TW_SLACK_BYTES)
		return 0;
	t->end = t->slack + TW_SLACK_BYTES;
	t->p = t->slack + tw_get16(t->p + 2);
	t->in_slack = 1;
	return 1;
}

/* Steps over one record; 0 at the end of what can be read. */
static int torn_step(struct torn *t)
{
	if (t->end - t->p < 2)
		return 0;
	uint16_t tag = tw_get16(t->p);
	switch (tag) {
	case TW_TAG_NONE:
		return 0;
	case TW_TAG_EVENT:
		return torn_event(t);
	case TW_TAG_SLACK:
		return torn_slack(t);
	case TW_TAG_UPPER:
		if (t->end - t->p < 4)
			return 0;
		t->row = tw_demux_row(t->demux, tw_get16(t->p + 2));
		t->p += 4;
		return 1;
	default:
		return torn_fragment(t, tag);
	}
}

static struct cut torn_cut(const struct torn *t)
{
	if (t->before_partial.at)
		return t->before_partial;
	return t->whole ? here(t) : t->before_fragment;
}

void tw_demux_torn_end(const struct tw_demux *d, struct tw_demux_input *in, int logged)
{
	struct torn t = {
	    .demux = d,
	    .p = in->data,
	    .end = in->data + TW_DEMUX_DATA,
	    .slack = in->slack,
	    .logged = logged,
	    .row = d->no_row,
	    .whole = 1,
	};
	while (torn_step(&t))
		;
	struct cut cut = torn_cut(&t);
	if (!cut.in_slack) {
		in->bytes = (uint32_t)(cut.at - in->data);
		in->slack_end = 0;
	} else {
		in->bytes = TW_DEMUX_DATA;
		in->slack_end = (uint32_t)(cut.at - in->slack);
	}
}
