/* Buffers that are encoded during the walk: records of plain fragments and loops go from the buffer to the encoder, without a copy. */
#include "channel/demux_walk.h"
#include "recording/recording.h"
#include "recording/transform.h"

/* Takes plain fragments, loops, and changes of the upper half, as long as they come. */
static int encode_plain(struct tw_demux_walk *w, struct tw_encoder *encoder)
{
	struct tw_records r = {.p = w->p, .limit = w->end - w->p > TW_MAX_RECORD ? w->end - TW_MAX_RECORD : w->p - 1};
	int error = TW_OK;
	while (!error) {
		tw_demux_set_upper(w, tw_encoder_records(encoder, &r));
		if (w->end - r.p < TW_RECORD_HEAD)
			break;
		const struct tw_demux_entry *e = &w->row[tw_get16(r.p)];
		if (!(e->plain || e->is_loop) || e->head != TW_RECORD_HEAD || (size_t)(w->end - r.p) < e->head + (size_t)e->n_values * 8)
			break;
		tw_demux_note_ran(e);
		const struct tw_record_sums each = {e->insns_blocks, e->refs_reads, e->writes};
		error = tw_encoder_record(encoder, &r, &each, e->is_loop);
	}
	w->p = r.p;
	w->insns_blocks += r.sums.insns_blocks;
	w->refs_reads += r.sums.refs_reads;
	w->writes += r.sums.writes + r.turns.writes;
	w->insns += r.turns.insns;
	w->blocks += r.turns.blocks;
	w->refs += r.turns.refs;
	w->reads += r.turns.reads;
	return error;
}

/* What has been walked since the events ended at n_e. */
static int encode_rest(struct tw_demux_walk *w, struct tw_encoder *encoder, size_t n_e)
{
	struct tw_chunk *chunk = w->chunk;
	const struct tw_chunk streams = {.c = chunk->c,
	                                 .n_c = (size_t)(w->c - chunk->c),
	                                 .m = chunk->m,
	                                 .n_m = (size_t)(w->m - chunk->m),
	                                 .e = chunk->e + n_e,
	                                 .n_e = (size_t)(w->e - chunk->e) - n_e};
	w->encoded += streams.n_c;
	w->c = chunk->c;
	w->m = chunk->m;
	return tw_encoder_more(encoder, &streams);
}

static int encode_all(struct tw_demux_walk *w, struct tw_encoder *encoder)
{
	int error = TW_OK, more;
	while (!error) {
		if (!w->has_partial)
			error = encode_plain(w, encoder);
		if (error || w->end - w->p < 2)
			break;
		const size_t n_e = (size_t)(w->e - w->chunk->e);
		more = tw_demux_walk_other(w);
		if (more <= 0)
			return more;
		error = encode_rest(w, encoder, n_e);
	}
	return error;
}

int tw_demux_encode(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk, struct tw_encoder *encoder)
{
	const uint64_t *raw = tw_encoder_coded(encoder)->raw, c = raw[TW_STREAM_C], m = raw[TW_STREAM_M];
	struct tw_demux_walk w;
	int error = tw_encoder_open(encoder, TW_DEMUX_C, TW_DEMUX_M, TW_DEMUX_E);
	if (error)
		return error;
	tw_demux_walk_begin(&w, d, in, chunk);
	error = encode_all(&w, encoder);
	const int closed = tw_encoder_close(encoder);
	tw_demux_walk_end(&w, chunk);
	chunk->n_c = (size_t)(raw[TW_STREAM_C] - c) / sizeof *chunk->c;
	chunk->n_m = (size_t)(raw[TW_STREAM_M] - m) / sizeof *chunk->m;
	return error ? error : closed;
}
