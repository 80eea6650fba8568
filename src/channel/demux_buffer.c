/* Buffers that are kept: the collector's hot loop. Plain fragments, which nearly all are, are taken by a loop of their own, or by machine code. */
#include "channel/demux_code.h"
#include "channel/demux_walk.h"

#include <string.h>

static void copy_values(uint64_t *to, const uint8_t *from, unsigned n)
{
	memcpy(to, from, 32);
	for (unsigned i = 4; i < n; i++)
		memcpy(to + i, from + (size_t)i * 8, 8);
}

/* Copying four values whatever their number reads and writes this much past a record. */
enum { OVERRUN = 36 };

/* Takes one record. Its entry is plain, and it is whole. */
static void walk_one(struct tw_demux_walk *w, uint16_t tag, const struct tw_demux_entry *e)
{
	memcpy(w->m, w->p + e->head, e->n_values * sizeof *w->m);
	*w->c++ = tag;
	w->m += e->n_values;
	w->p += e->head + (size_t)e->n_values * 8;
	w->insns_blocks += e->insns_blocks;
	w->refs_reads += e->refs_reads;
	w->writes += e->writes;
}

static void run_code(struct tw_demux_walk *w, const uint8_t *limit)
{
	struct tw_demux_plain plain = {w->p, limit, w->c, w->m, w->insns_blocks, w->refs_reads, w->writes, w->upper};
	tw_demux_code_run(w->demux->code, &plain);
	w->p = plain.p;
	w->c = plain.c;
	w->m = plain.m;
	w->insns_blocks = plain.insns_blocks;
	w->refs_reads = plain.refs_reads;
	w->writes = plain.writes;
	tw_demux_set_upper(w, plain.upper);
}

/* Takes plain fragments, and changes of the upper half, by machine code where there is some. */
static void walk_by_code(struct tw_demux_walk *w)
{
	if (w->end - w->p < TW_MAX_RECORD)
		return;
	const uint8_t *limit = w->end - TW_MAX_RECORD;
	while (w->p <= limit) {
		run_code(w, limit);
		uint16_t tag = tw_get16(w->p);
		const struct tw_demux_entry *e = &w->row[tag];
		if (w->p > limit || !e->plain)
			break;
		walk_one(w, tag, e);
		tw_demux_note_ran(e);
		struct tw_demux_sums each = {e->insns_blocks, e->refs_reads, e->writes};
		tw_demux_code_ran(w->demux->code, w->upper << 16 | tag, e->head, e->n_values, &each);
	}
}

/* Takes plain fragments as long as they come, up to a place near the end of the part. */
static void walk_plain(struct tw_demux_walk *w)
{
	if (w->demux->code)
		walk_by_code(w);
	if (w->end - w->p < OVERRUN)
		return;
	const struct tw_demux_entry *row = w->row;
	const uint8_t *p = w->p, *end = w->end - OVERRUN;
	uint16_t *c = w->c;
	uint64_t *m = w->m;
	uint64_t insns_blocks = 0, refs_reads = 0, writes = 0;
	while (p <= end) {
		uint16_t tag = tw_get16(p);
		const struct tw_demux_entry *e = &row[tag];
		unsigned n = e->n_values;
		const uint8_t *values = p + e->head, *next = values + (size_t)n * 8;
		if (__builtin_expect(!e->plain || next > w->end, 0))
			break;
		tw_demux_note_ran(e);
		*c++ = tag;
		copy_values(m, values, n);
		m += n;
		insns_blocks += e->insns_blocks;
		refs_reads += e->refs_reads;
		writes += e->writes;
		p = next;
	}
	w->p = p;
	w->c = c;
	w->m = m;
	w->insns_blocks += insns_blocks;
	w->refs_reads += refs_reads;
	w->writes += writes;
}

static int walk_all(struct tw_demux_walk *w)
{
	for (;;) {
		if (!w->has_partial && !w->stop)
			walk_plain(w);
		if (w->end - w->p < 2)
			return TW_OK;
		int more = tw_demux_walk_other(w);
		if (more <= 0)
			return more;
	}
}

int tw_demux_buffer(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk)
{
	struct tw_demux_walk w;
	tw_demux_walk_begin(&w, d, in, chunk);
	w.stop = in->stop && in->stop->told ? in->stop : NULL;
	int error = walk_all(&w);
	if (in->stop && !w.stop && tw_demux_insns(&w) >= in->stop->insns) {
		tw_demux_walk_begin(&w, d, in, chunk);
		w.stop = in->stop;
		error = walk_all(&w);
	}
	tw_demux_walk_end(&w, chunk);
	return error;
}
