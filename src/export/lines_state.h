/*
 * What lines.c and its parts share. Not to be included elsewhere.
 */
#ifndef TW_LINES_STATE_H
#define TW_LINES_STATE_H

#include "base/text.h"
#include "export/champsim.h"
#include "replay/piece.h"

struct tw_lines_options;

/* What all states share. */
struct tw_lines_shared {
	const struct tw_recording *recording;
	const struct tw_lines_options *options;
	struct tw_lackey *lackey;
	struct tw_champsim *champsim;
	uint64_t *base; /* for each thread of the recording: items of the chosen threads before it */
	uint64_t *from; /* and its first wanted item, or one before its first */
	uint64_t end;   /* item after the last one wanted */
	int write_error;
};

/*
 * champsim: what the next pc tells. A pc of 0 is one that is not known, since nothing was recorded there.
 */
struct tw_lines_waiting {
	struct tw_champsim_record record; /* the last one... */
	uint64_t not_taken;               /* ...if it is a conditional branch: the pc that follows unless it is taken */
	int is_there;
	uint64_t first_pc; /* that the state has seen, for the record that waits in the state before it */
	int has_first;
};

/* The analyzer's state: lines that wait to be written; with a single state they are written at once. */
struct tw_lines_state {
	struct tw_lines_shared *shared;
	uint64_t from; /* of the batch's thread */
	struct tw_text text;
	struct tw_pieces pieces; /* lackey, champsim */
	struct tw_lines_waiting waiting;
};

static inline int tw_lines_visible(const struct tw_lines_state *s, uint64_t position)
{
	return position >= s->from && position < s->shared->end;
}

/* Adds the records of a batch to the text; `base`: instructions of the threads before this one. */
void tw_lines_champsim(struct tw_lines_state *s, const struct tw_batch *b, uint64_t base);

/* Another state's text is about to follow; from then on the other's last record waits. */
void tw_lines_champsim_merge(struct tw_lines_state *s, const struct tw_lines_state *later);

/* Nothing follows. */
void tw_lines_champsim_end(struct tw_lines_state *s);

#endif
