#include "channel/demux.h"
#include "channel/demux_code.h"
#include "recording/logged.h"
#include "base/numbered.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What the hot loop needs of one fragment. Pairs of sums share a word: a chunk's sums stay below 2^32 (tw_descriptor_valid). */
struct entry {
	uint64_t insns_blocks; /* insns, blocks << 32 */
	uint64_t refs_reads;
	uint32_t writes;
	uint16_t n_values;
	uint8_t head; /* bytes of the record before the values */
	uint8_t known;
	uint8_t plain; /* known, and every execution counts the same */
	const struct tw_descriptor *descriptor;
};

/*
 * For counting without keeping: how long the record of a plain fragment is (0: not plain), and how often it has run since the last tally. Small, because
 * large programs have several hundred thousand fragments, and all of them run: sums that become too large are moved to the tally. Numbers that
 * follow one another in a loop would wait for one another's sums, so neighbours have sums of their own.
 */
enum { SUMS = 3, SUM_FULL = 0x8000 };
enum { NUMBER_BYTES = 2 }; /* of a record that is nothing but its number */
struct counter {
	uint16_t record;
	uint16_t ran[SUMS];
};

struct tw_demux {
	int count_refs;
	struct tw_numbered entries;  /* struct entry */
	struct tw_numbered counters; /* struct counter; a row is made when first counted in */
	struct tw_demux_code *code;  /* of plain fragments; NULL: none can be made */
	const struct entry *no_row;  /* none of it is known: for an upper half without any fragment */
	struct tw_totals tally;
	uint32_t n_tags[TW_NUMBERED_ROW]; /* of each upper half: one more than the highest lower half that is described */
};

/* Walks one buffer. A record is read from `p`; `end` is where the part (data or slack) ends. */
struct walk {
	const struct tw_demux *demux;
	const struct tw_demux_input *in;
	const uint8_t *p, *end;
	const struct entry *row;
	uint32_t upper;
	uint16_t *c;
	uint64_t *m;
	uint8_t *e;
	uint64_t insns_blocks, refs_reads, writes;
	uint64_t insns, blocks; /* of loops */
	uint64_t refs, reads;   /* of loops, and of dynamic operations */
	int has_partial;
	struct tw_partial partial;
	struct tw_chunk *chunk;
	uint64_t time;              /* of the last event that has one */
	struct tw_demux_stop *stop; /* each record is looked at: it stops in this buffer, or has stopped before; else NULL */
};

enum { NO_ROW_BYTES = 65536 * sizeof(struct entry) };

/* Pages of zeros, which take no memory; no limit on data (ulimit -d) counts them. NULL: they cannot be had. */
static const struct entry *make_no_row(void)
{
	void *p = mmap(NULL, NO_ROW_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct tw_demux *tw_demux_new(int count_refs)
{
	struct tw_demux *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->count_refs = count_refs;
	d->entries.item = sizeof(struct entry);
	d->counters.item = sizeof(struct counter);
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
	if (d->no_row)
		munmap((void *)d->no_row, NO_ROW_BYTES);
	free(d);
}

static const struct entry *row_of(const struct tw_demux *d, uint32_t upper)
{
	const struct entry *row = tw_numbered_row(&d->entries, upper);
	return row ? row : d->no_row;
}

static void fill_entry(const struct tw_demux *demux, struct entry *e, const struct tw_descriptor *d)
{
	struct tw_static_counts n;
	tw_descriptor_counts(d, &n);
	e->insns_blocks = n.insns | (uint64_t)n.blocks << 32;
	e->n_values = d->n_values;
	e->head = (uint8_t)tw_record_head(d->format);
	e->plain = demux->count_refs || !(d->flags & (TW_DESC_DYNAMIC | TW_DESC_LOOP));
	e->known = 1;
	if (!demux->count_refs) {
		e->refs_reads = n.refs | (uint64_t)n.reads << 32;
		e->writes = n.writes;
	}
	__atomic_store_n(&e->descriptor, d, __ATOMIC_RELEASE);
}

/* Of a fragment that is plain. */
static uint16_t record_bytes(const struct entry *e)
{
	return (uint16_t)(e->head + 8 * e->n_values);
}

static void set_record(struct counter *n, const struct entry *e)
{
	n->record = e->plain ? record_bytes(e) : 0;
}

int tw_demux_descriptors(struct tw_demux *d, const uint8_t *bytes, uint64_t n, uint64_t *used)
{
	for (*used = 0; *used < n;) {
		const struct tw_descriptor *one = (const struct tw_descriptor *)(bytes + *used);
		if (!tw_descriptor_valid(one, n - *used))
			return tw_fail(TW_ERR_DAMAGED, "descriptor of fragment %u", n - *used >= sizeof *one ? one->number : 0);
		struct entry *row = tw_numbered_add_row(&d->entries, one->number >> 16);
		if (!row)
			return tw_fail(TW_ERR_MEMORY, "fragment table");
		struct entry *e = &row[one->number & 0xffff];
		fill_entry(d, e, one);
		uint32_t *n_tags = &d->n_tags[one->number >> 16];
		*n_tags = (one->number & 0xffff) < *n_tags ? *n_tags : (one->number & 0xffff) + 1;
		struct counter *counters = tw_numbered_row(&d->counters, one->number >> 16);
		if (counters)
			set_record(&counters[one->number & 0xffff], e);
		*used += one->bytes;
	}
	return TW_OK;
}

const struct tw_descriptor *tw_demux_descriptor(const struct tw_demux *d, uint32_t number)
{
	return __atomic_load_n(&row_of(d, number >> 16)[number & 0xffff].descriptor, __ATOMIC_ACQUIRE);
}

/* ---- counting one execution by its operations ---- */

static void count_refs(struct walk *w, uint64_t n, unsigned type)
{
	w->refs += n;
	w->reads += type & 1 ? n : 0;
	w->writes += type >> 1 ? n : 0;
}

static void count_rep(struct walk *w, const struct tw_op *op, uint64_t before, uint64_t after)
{
	uint64_t n = tw_op_iterations(op, before, after);
	count_refs(w, n, op->type);
	if (op->flags & TW_OPF_SECOND)
		count_refs(w, n, op->count);
}

static void count_op(struct walk *w, const struct tw_op *op, const uint64_t *values)
{
	switch (op->kind) {
	case TW_OP_REF:
	case TW_OP_BIT:
	case TW_OP_XSAVE:
		count_refs(w, 1, op->type);
		break;
	case TW_OP_REP:
		count_rep(w, op, values[op->value], values[op->mask_value]);
		break;
	case TW_OP_LANES:
		count_refs(w, tw_op_lane_refs(op, values), op->type);
		break;
	default:
		break;
	}
}

/* The REP and LANES operations of a whole execution; its other counts are in the entry. */
static void count_dynamic(struct walk *w, const struct tw_descriptor *d, const uint64_t *values)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	for (unsigned i = 0; i < d->n_ops; i++)
		if (op[i].kind == TW_OP_REP || op[i].kind == TW_OP_LANES)
			count_op(w, &op[i], values);
}

static void count_loop(struct walk *w, const struct entry *e, uint64_t n)
{
	w->insns += n * (uint32_t)e->insns_blocks;
	w->blocks += n * (e->insns_blocks >> 32);
	w->refs += n * (uint32_t)e->refs_reads;
	w->reads += n * (e->refs_reads >> 32);
	w->writes += n * e->writes;
}

/* Everything about an execution that stopped early. */
static void count_partial(struct walk *w, const struct tw_descriptor *d, const uint64_t *values)
{
	const struct tw_partial *partial = &w->partial;
	const struct tw_block *b = tw_descriptor_blocks(d);
	const struct tw_op *op = tw_descriptor_ops(d);
	uint64_t insns = partial->insns < d->n_insns ? partial->insns : d->n_insns, blocks = 0;
	for (unsigned i = 0; i < d->n_blocks; i++)
		blocks += b[i].first_insn < insns;
	w->insns_blocks += insns | blocks << 32;
	if (w->demux->count_refs)
		return;
	for (unsigned i = 0; i < d->n_ops && op[i].insn <= partial->insns; i++) {
		if (op[i].insn < partial->insns)
			count_op(w, &op[i], values);
		else if (partial->in_rep && op[i].kind == TW_OP_REP)
			count_rep(w, &op[i], values[op[i].value], partial->regs[tw_op_counter(&op[i])]);
	}
}

/* ---- the walk ---- */

static void copy_values(uint64_t *to, const uint8_t *from, unsigned n)
{
	memcpy(to, from, 32);
	for (unsigned i = 4; i < n; i++)
		memcpy(to + i, from + (size_t)i * 8, 8);
}

/* ---- stopping at a count ---- */

static uint64_t insns_of(const struct walk *w)
{
	return (uint32_t)w->insns_blocks + w->insns;
}

static int is_past(const struct walk *w)
{
	return w->stop && (w->stop->told || insns_of(w) >= w->stop->insns);
}

/* How many of a loop's n executions there are until then. */
static uint64_t loops_left(const struct walk *w, const struct entry *e, uint64_t n)
{
	uint64_t each = (uint32_t)e->insns_blocks, most = w->stop ? (w->stop->insns - insns_of(w) + each - 1) / each : n;
	return n < most ? n : most;
}

/* The stream says that nothing is recorded from here on; `pc` is the next instruction's, 0 if it is not known. */
static void tell_stop(struct walk *w, uint64_t pc)
{
	const struct tw_event_header h = {TW_TAG_EVENT, TW_EVENT_WINDOW, sizeof(struct tw_window)};
	const struct tw_window window = {.open = 0, .pc = pc, .tsc = w->time};
	if (w->stop->told)
		return;
	w->stop->told = 1;
	memcpy(w->e, &h, sizeof h);
	memcpy(w->e + sizeof h, &window, sizeof window);
	w->e += sizeof h + sizeof window;
	*w->c++ = TW_TAG_EVENT;
}

/* Events that are written while a window is closed too (src/engine/record/window.h), and those that belong to what ran just before it was. */
static int is_kept(const struct walk *w, uint16_t type)
{
	switch (type) {
	case TW_EVENT_PARTIAL:
	case TW_EVENT_SYSCALL:
	case TW_EVENT_SIGNAL:
	case TW_EVENT_SIGRETURN:
	case TW_EVENT_SEGBASE:
	case TW_EVENT_UNMAP:
	case TW_EVENT_CALL:
	case TW_EVENT_RETURN:
	case TW_EVENT_WINDOW:
		return 0;
	case TW_EVENT_REFS:
	case TW_EVENT_STAMP:
		return !w->stop->told;
	default:
		return 1;
	}
}

/* One fragment's record that is not whole or whose values count. Returns 0, or an error with nothing taken. */
static int walk_special(struct walk *w, uint16_t tag)
{
	const struct entry *e = &w->row[tag];
	if (!e->known)
		return tw_fail(TW_ERR_FRAGMENT, "fragment %u", w->upper << 16 | tag);
	if ((size_t)(w->end - w->p) < e->head + (size_t)e->n_values * 8)
		return tw_fail(TW_ERR_STREAM, "fragment %u at the end of a buffer", w->upper << 16 | tag);
	if (is_past(w)) {
		tell_stop(w, tw_descriptor_blocks(e->descriptor)->pc);
		w->p += e->head + (size_t)e->n_values * 8;
		return TW_OK;
	}
	memcpy(w->m, w->p + e->head, (size_t)e->n_values * 8);
	if (w->has_partial) {
		count_partial(w, e->descriptor, w->m);
		w->has_partial = 0;
	} else if (e->descriptor->flags & TW_DESC_LOOP) {
		w->m[0] = loops_left(w, e, w->m[0]);
		count_loop(w, e, w->m[0]);
	} else {
		w->insns_blocks += e->insns_blocks;
		w->refs_reads += e->refs_reads;
		w->writes += e->writes;
		if (!e->plain)
			count_dynamic(w, e->descriptor, w->m);
	}
	*w->c++ = tag;
	w->m += e->n_values;
	w->p += e->head + (size_t)e->n_values * 8;
	return TW_OK;
}

/* Copying four values whatever their number reads and writes this much past a record. */
enum { OVERRUN = 36 };

static void set_upper(struct walk *w, uint32_t upper)
{
	w->upper = upper;
	w->row = row_of(w->demux, upper);
}

/* Takes one record. Its entry is plain, and it is whole. */
static void walk_one(struct walk *w, uint16_t tag, const struct entry *e)
{
	memcpy(w->m, w->p + e->head, e->n_values * sizeof *w->m);
	*w->c++ = tag;
	w->m += e->n_values;
	w->p += e->head + (size_t)e->n_values * 8;
	w->insns_blocks += e->insns_blocks;
	w->refs_reads += e->refs_reads;
	w->writes += e->writes;
}

static void run_code(struct walk *w, const uint8_t *limit)
{
	struct tw_demux_plain plain = {w->p, limit, w->c, w->m, w->insns_blocks, w->refs_reads, w->writes, w->upper};
	tw_demux_code_run(w->demux->code, &plain);
	w->p = plain.p;
	w->c = plain.c;
	w->m = plain.m;
	w->insns_blocks = plain.insns_blocks;
	w->refs_reads = plain.refs_reads;
	w->writes = plain.writes;
	set_upper(w, plain.upper);
}

/* Takes plain fragments, and changes of the upper half, by machine code where there is some. */
static void walk_by_code(struct walk *w)
{
	if (w->end - w->p < TW_MAX_RECORD)
		return;
	const uint8_t *limit = w->end - TW_MAX_RECORD;
	while (w->p <= limit) {
		run_code(w, limit);
		uint16_t tag = tw_get16(w->p);
		const struct entry *e = &w->row[tag];
		if (w->p > limit || !e->plain)
			break;
		walk_one(w, tag, e);
		struct tw_demux_sums each = {e->insns_blocks, e->refs_reads, e->writes};
		tw_demux_code_ran(w->demux->code, w->upper << 16 | tag, e->head, e->n_values, &each);
	}
}

/* Takes plain fragments as long as they come, up to a place near the end of the part. */
static void walk_plain(struct walk *w)
{
	if (w->demux->code)
		walk_by_code(w);
	if (w->end - w->p < OVERRUN)
		return;
	const struct entry *row = w->row;
	const uint8_t *p = w->p, *end = w->end - OVERRUN;
	uint16_t *c = w->c;
	uint64_t *m = w->m;
	uint64_t insns_blocks = 0, refs_reads = 0, writes = 0;
	while (p <= end) {
		uint16_t tag = tw_get16(p);
		const struct entry *e = &row[tag];
		unsigned n = e->n_values;
		const uint8_t *values = p + e->head, *next = values + (size_t)n * 8;
		if (__builtin_expect(!e->plain || next > w->end, 0))
			break;
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

static void note_keyframe(struct walk *w, const void *payload)
{
	uint32_t upper;
	memcpy(&upper, (const char *)payload + offsetof(struct tw_keyframe, upper), sizeof upper);
	set_upper(w, upper);
	if (w->c == w->chunk->c)
		w->chunk->upper = upper;
}

static void count_logged(struct walk *w, const uint8_t *payload, uint32_t bytes)
{
	struct tw_logged it;
	struct tw_logged_ref ref;
	tw_logged_begin(&it, payload + sizeof(struct tw_refs), bytes - sizeof(struct tw_refs));
	while (tw_logged_next(&it, &ref) > 0)
		count_refs(w, 1, ref.type);
}

static void note_event(struct walk *w, const struct tw_event_header *h, const uint8_t *payload)
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

static int walk_event(struct walk *w)
{
	struct tw_event_header h;
	size_t left = (size_t)(w->end - w->p);
	if (left < sizeof h)
		return tw_fail(TW_ERR_STREAM, "an event at the end of a buffer");
	memcpy(&h, w->p, sizeof h);
	if (!tw_event_valid(&h, w->p + sizeof h, left - sizeof h))
		return tw_fail(TW_ERR_STREAM, "an event of type %u with %u bytes", h.type, h.bytes);
	size_t n = sizeof h + h.bytes, padded = (n + 7) & ~(size_t)7;
	if (is_past(w) && !is_kept(w, h.type)) {
		tell_stop(w, 0);
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
static void walk_slack(struct walk *w)
{
	uint32_t offset = w->end - w->p >= 4 ? tw_get16(w->p + 2) : TW_SLACK_BYTES;
	uint32_t slack_end = w->in->slack_end < TW_SLACK_BYTES ? w->in->slack_end : TW_SLACK_BYTES;
	w->p = w->in->slack + (offset < slack_end ? offset : slack_end);
	w->end = w->in->slack + slack_end;
}

/* What is not a plain fragment. Returns 1 to go on, 0 at the end, or an error. */
static int walk_other(struct walk *w)
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
		set_upper(w, tw_get16(w->p + 2));
		w->p += 4;
	} else if (tag == TW_TAG_SLACK) {
		walk_slack(w);
	} else {
		error = walk_special(w, tag);
	}
	return error ? error : 1;
}

static int walk_all(struct walk *w)
{
	for (;;) {
		if (!w->has_partial && !w->stop)
			walk_plain(w);
		if (w->end - w->p < 2)
			return TW_OK;
		int more = walk_other(w);
		if (more <= 0)
			return more;
	}
}

static void finish(const struct walk *w, struct tw_chunk *chunk)
{
	chunk->n_c = (size_t)(w->c - chunk->c);
	chunk->n_m = (size_t)(w->m - chunk->m);
	chunk->n_e = (size_t)(w->e - chunk->e);
	chunk->insns = insns_of(w);
	chunk->blocks = (w->insns_blocks >> 32) + w->blocks;
	chunk->refs = (uint32_t)w->refs_reads + w->refs;
	chunk->reads = (w->refs_reads >> 32) + w->reads;
	chunk->writes = w->writes;
}

static void begin_walk(struct walk *w, struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk)
{
	*w = (struct walk){
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

int tw_demux_buffer(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk)
{
	struct walk w;
	begin_walk(&w, d, in, chunk);
	w.stop = in->stop && in->stop->told ? in->stop : NULL;
	int error = walk_all(&w);
	if (in->stop && !w.stop && insns_of(&w) >= in->stop->insns) {
		begin_walk(&w, d, in, chunk);
		w.stop = in->stop;
		error = walk_all(&w);
	}
	finish(&w, chunk);
	return error;
}

/* ---- counting ---- */

/* Records are taken at full speed while at least this much of the part is left. */
enum { MARGIN = TW_MAX_RECORD };

/* The counters of an upper half. NULL: no memory. */
static struct counter *counters_of(struct tw_demux *d, uint32_t upper)
{
	struct counter *n = tw_numbered_row(&d->counters, upper);
	const struct entry *row = row_of(d, upper);
	if (n)
		return n;
	n = tw_numbered_add_row(&d->counters, upper);
	for (unsigned tag = 0; n && tag < d->n_tags[upper]; tag++)
		if (row[tag].known)
			set_record(&n[tag], &row[tag]);
	return n;
}

static void empty_counter(struct tw_totals *t, const struct entry *e, struct counter *n)
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
	const struct entry *row = tw_numbered_row(&d->entries, first >> 16);
	struct counter *counters = tw_numbered_row(&d->counters, first >> 16);
	for (uint32_t tag = first & 0xffff; counters && n; tag++, n--)
		empty_counter(&d->tally, &row[tag], &counters[tag]);
}

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
	struct entry *row = tw_numbered_row(&d->entries, number >> 16);
	struct counter *counters = tw_numbered_row(&d->counters, number >> 16);
	empty_counters(d, number, 1);
	if (d->code)
		tw_demux_code_forget_one(d->code, number);
	if (row)
		row[number & 0xffff] = (struct entry){0};
	if (counters)
		counters[number & 0xffff] = (struct counter){0};
}

/* A buffer being counted. */
struct counting {
	struct walk walk;
	struct counter *counter;
	uint32_t upper; /* that counter is of */
	int more;       /* 1: not at the end; 0; or an error */
};

/* Stands the next record where count_plain could take it? */
static int is_plain(const struct counting *l)
{
	const struct walk *w = &l->walk;
	return !w->has_partial && w->end - w->p >= MARGIN && l->counter && l->counter[tw_get16(w->p)].record;
}

/* Takes what is not plain, and follows the upper half. */
static void count_other(struct tw_demux *d, struct counting *l)
{
	if (l->counter && l->upper != l->walk.upper)
		set_upper(&l->walk, l->upper);
	while (l->more > 0 && !is_plain(l)) {
		l->more = l->walk.end - l->walk.p < 2 ? 0 : walk_other(&l->walk);
		if (l->walk.upper == l->upper || l->more <= 0)
			continue;
		l->upper = l->walk.upper;
		l->counter = l->walk.row == d->no_row ? NULL : counters_of(d, l->walk.upper);
	}
}

static void empty_full(struct tw_demux *d, const struct counting *l, struct counter *n)
{
	if (n->ran[0] >= SUM_FULL || n->ran[1] >= SUM_FULL || n->ran[2] >= SUM_FULL)
		empty_counter(&d->tally, &row_of(d, l->upper)[n - l->counter], n);
}

/* Steps over an UPPER record, the commonest that is not plain. Returns 0 if something else is there, or it is the first of this upper half. */
static inline int take_upper(struct tw_demux *d, struct counting *l, const uint8_t **p)
{
	uint32_t upper = tw_get16(*p + 2);
	struct counter *counter = tw_get16(*p) == TW_TAG_UPPER ? tw_numbered_row(&d->counters, upper) : NULL;
	if (!counter)
		return 0;
	l->upper = upper;
	l->counter = counter;
	d->tally.raw[TW_STREAM_C] += 4;
	*p += 4;
	return 1;
}

/* Four numbers side by side, if that is all their records are: then none has to wait until it is known where the one before ends. */
static inline int take_four(struct tw_demux *d, const struct counting *l, const uint8_t *p)
{
	struct counter *n = l->counter;
	struct counter *n0 = &n[tw_get16(p)], *n1 = &n[tw_get16(p + 2)], *n2 = &n[tw_get16(p + 4)], *n3 = &n[tw_get16(p + 6)];
	unsigned r0 = n0->record, r1 = n1->record, r2 = n2->record, r3 = n3->record;
	if (__builtin_expect((r0 ^ NUMBER_BYTES) | (r1 ^ NUMBER_BYTES) | (r2 ^ NUMBER_BYTES) | (r3 ^ NUMBER_BYTES), 0))
		return 0;
	unsigned sums = ++n0->ran[0];
	sums |= ++n1->ran[1];
	sums |= ++n2->ran[2];
	sums |= ++n3->ran[0];
	if (__builtin_expect(sums >= SUM_FULL, 0)) {
		empty_full(d, l, n0);
		empty_full(d, l, n1);
		empty_full(d, l, n2);
		empty_full(d, l, n3);
	}
	return 1;
}

/* Takes plain fragments as long as they come. */
static void count_plain(struct tw_demux *d, struct counting *l)
{
	const uint8_t *p = l->walk.p, *end = l->walk.end - MARGIN;
	while (p <= end) {
		if (take_four(d, l, p)) {
			p += 4 * NUMBER_BYTES;
			continue;
		}
		struct counter *n = &l->counter[tw_get16(p)];
		if (n->record) {
			p += n->record;
			if (++n->ran[0] >= SUM_FULL)
				empty_full(d, l, n);
		} else if (!take_upper(d, l, &p)) {
			break;
		}
	}
	l->walk.p = p;
}

int tw_demux_count(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk)
{
	struct counting l = {.upper = UINT32_MAX, .more = 1};
	begin_walk(&l.walk, d, in, chunk);
	while (l.more > 0) {
		count_other(d, &l);
		if (l.more > 0)
			count_plain(d, &l);
	}
	finish(&l.walk, chunk);
	return l.more < 0 ? l.more : TW_OK;
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

/* ---- torn buffers ---- */

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
	const struct entry *row;
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
	const struct entry *e = &t->row[tag];
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
		t->row = row_of(t->demux, upper);
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
		t->row = row_of(t->demux, tw_get16(t->p + 2));
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

/* ---- events of a chunk ---- */

static size_t event_bytes(const struct tw_event_header *h)
{
	return (sizeof *h + h->bytes + 7) & ~(size_t)7;
}

const struct tw_event_header *tw_demux_next_event(const struct tw_chunk *chunk, size_t *at)
{
	if (chunk->n_e - *at < sizeof(struct tw_event_header))
		return NULL;
	const struct tw_event_header *h = (const struct tw_event_header *)(chunk->e + *at);
	*at += event_bytes(h);
	return h;
}

void tw_demux_strip_refs(struct tw_chunk *chunk)
{
	size_t at = 0;
	uint8_t *to = chunk->e;
	uint16_t *c = chunk->c;
	for (size_t i = 0; i < chunk->n_c; i++) {
		uint16_t tag = *c++ = chunk->c[i];
		if (tag == TW_TAG_UPPER && i + 1 < chunk->n_c)
			*c++ = chunk->c[++i];
		const struct tw_event_header *h = tag == TW_TAG_EVENT ? tw_demux_next_event(chunk, &at) : NULL;
		if (!h)
			continue;
		if (h->type == TW_EVENT_REFS) {
			c--;
		} else {
			size_t n = event_bytes(h);
			memmove(to, h, n);
			to += n;
		}
	}
	chunk->n_c = (size_t)(c - chunk->c);
	chunk->n_e = (size_t)(to - chunk->e);
}
