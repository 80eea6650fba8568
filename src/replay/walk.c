#include "base/channel.h"
#include "recording/logged.h"
#include "recording/recording.h"
#include "replay/code.h"
#include "replay/state.h"
#include "replay/walk.h"

#include <stdlib.h>

static uint64_t all_ones(int holds)
{
	return holds ? ~0ull : 0;
}

static void fill_tables(struct tw_walk *w)
{
	for (unsigned kind = TW_LITERAL; kind < TW_LITERAL + TW_LITERAL_KINDS; kind++) {
		w->literal_bytes[kind] = tw_literal_bytes(kind);
		w->literal_sign[kind] = 1ull << (8 * tw_literal_bytes(kind) - 1);
		w->literal_mask[kind] = 2 * w->literal_sign[kind] - 1;
	}
	for (unsigned way = 0; way < TW_LITERAL + TW_LITERAL_KINDS; way++) {
		w->to_register[way] = all_ones(way == TW_WAY_STEP || way >= TW_LITERAL + TW_LITERAL_REGISTER);
		w->is_step[way] = all_ones(way == TW_WAY_STEP);
		w->is_successor[way] = all_ones(way == TW_WAY_SUCCESSOR);
		w->is_way[way] = all_ones(way < TW_NWAYS);
	}
	for (unsigned code = 0; code < TW_NCODES; code++) {
		int lasting = code >= TW_LITERAL + TW_CODE_LASTING;
		w->kind_of_code[code] = lasting ? code - TW_CODE_LASTING : code;
		w->is_lasting[code] = all_ones(lasting || code < TW_NWAYS);
	}
}

/* A slot that has been in another way so often will be again. */
enum { DOUBTS = 32 };

static uint64_t other_way(struct tw_walk *w, uint32_t slot)
{
	uint32_t number = w->upper << 16 | w->c[-1];
	struct tw_value_place place = tw_value_map_row(w->values.p.map, number >> 16)[number & 0xffff];
	struct tw_value_slot *slots = w->values.p.slot;
	uint64_t value = tw_value_reader_hit(&w->values, slot), open = 1ull << (slot - place.first);
	for (uint32_t k = 0; k < place.n; k++)
		open |= (uint64_t)(slots[place.first + k].doubt >= DOUBTS) << k;
	tw_programs_renew(w->options.programs, tw_programs_row(w->options.programs, number >> 16)[number & 0xffff], open, slots);
	return value;
}

struct tw_walk *tw_walk_new(const struct tw_walk_options *options)
{
	const struct tw_value_map *values = tw_programs_values(options->programs);
	uint32_t n_slots = values ? tw_value_map_slots(values) : 0;
	const enum tw_addresses addresses = tw_programs_addresses(options->programs);
	const size_t bytes = sizeof(struct tw_walk) + n_slots * sizeof(struct tw_value_slot);
	struct tw_counted counted = {.lines_fd = -1};
	struct tw_walk *w =
	    tw_addresses_count(addresses) ? tw_counted_walk_new(bytes, addresses == TW_ADDRESSES_LINES, &counted) : calloc(1, bytes);
	if (w) {
		if (values)
			tw_value_reader_init(&w->values, values, w->slot, n_slots);
		w->options = *options;
		w->other_way = other_way;
		w->addr_limit = w->addrs + TW_BATCH;
		w->counted = counted;
		w->counted.period = options->period;
		w->counted.newest = tw_code_newest_stretch(tw_programs_code(options->programs));
		w->counted.addr_limit = w->addr_limit + TW_CODE_ADDR_AHEAD;
		w->code_addr_limit = w->counted.addr_limit;
		w->stretch_limit = w->stretches + TW_BATCH_STRETCHES;
		w->coded = values != NULL;
		w->lists.kept = tw_code_stretches(tw_programs_code(options->programs));
		fill_tables(w);
	}
	return w;
}

void tw_walk_free(struct tw_walk *w)
{
	if (w && w->counted.is_on)
		tw_counted_walk_free(w, &w->counted);
	else
		free(w);
}

void tw_walk_set_context(struct tw_walk *w, void *context)
{
	w->options.context = context;
}

int tw_walk_stopped(const struct tw_walk *w)
{
	return w->stopped;
}

/* ---- fragments ---- */

/* Instructions of block k that are among the fragment's first `limit`. */
static unsigned insns_below(const struct tw_descriptor *d, unsigned k, unsigned limit)
{
	const struct tw_block *b = tw_descriptor_blocks(d) + k;
	unsigned most = limit > b->first_insn ? limit - b->first_insn : 0;
	return b->n_insns < most ? b->n_insns : most;
}

/* A plain step. What it writes at *addr and *shape counts only if the returned place is the next one. */
static inline uint64_t *run_plain_step(uint64_t *reg, const uint64_t *values, const struct tw_step *s, uint64_t *addr,
                                       struct tw_ref_shape *shape)
{
	const uint64_t *from[] = {reg, values};
	uint64_t v = from[s->flags / TW_STEP_VALUE][s->base] + reg[s->seg] + (reg[s->index] << s->scale) + (uint64_t)s->disp;
	reg[s->dest] = v;
	*addr = v;
	shape->pc = s->pc;
	memcpy(&shape->size, &s->shape, sizeof s->shape);
	return addr + (s->flags & TW_STEP_REF);
}

/* A step of another kind, in an execution that stopped at instruction `limit`. */
static int run_other_step(struct tw_walk *w, const struct tw_program *p, const struct tw_step *s, const uint64_t *values, unsigned limit)
{
	if (s->kind == TW_STEP_OTHER)
		return tw_walk_other(w, p, s, values);
	tw_batch_block(w, p->descriptor, s->base, insns_below(p->descriptor, s->base, limit));
	return 0;
}

/* References with addresses up to `end` have been written. */
static inline void note_refs(struct tw_walk *w, uint64_t *end)
{
	w->made->n_refs += (uint32_t)(end - w->addr);
	for (; w->addr < end; w->addr++, w->shape++)
		tw_batch_count(w, w->shape->type, 1);
}

/* Runs the steps of a whole execution. `values` is its record in the M stream. */
static inline int run_steps(struct tw_walk *w, const struct tw_program *p, const uint64_t *values)
{
	const struct tw_step *s = p->step;
	uint64_t n = p->n_plain;
	for (;;) {
		uint64_t *addr = w->addr;
		for (const struct tw_step *end = s + n; s < end; s++)
			addr = run_plain_step(w->reg, values, s, addr, w->shape + (addr - w->addr));
		note_refs(w, addr);
		if (s->kind == TW_STEP_END)
			return 0;
		int error = run_other_step(w, p, s, values, p->descriptor->n_insns);
		if (error)
			return error;
		n = (uint64_t)s->disp;
		s++;
	}
}

static int full(const struct tw_walk *w)
{
	return w->addr >= w->addr_limit || w->stretch >= w->stretch_limit || w->block >= w->blocks + TW_BATCH ||
	       (w->counted.is_on && w->counted.odd >= w->counted.odd_limit);
}

static unsigned block_of(const struct tw_descriptor *d, unsigned insn)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	unsigned k = 0;
	while (k + 1u < d->n_blocks && b[k + 1].first_insn <= insn)
		k++;
	return k;
}

static unsigned insn_of(const struct tw_step *s)
{
	struct tw_ref_shape shape = {0};
	memcpy(&shape.size, &s->shape, sizeof s->shape);
	return shape.insn;
}

/* The iterations an interrupted string instruction has made; `s` are the steps from that instruction on. */
static int run_interrupted_rep(struct tw_walk *w, const struct tw_program *p, const struct tw_step *s, const uint64_t *values)
{
	const struct tw_op *ops = tw_descriptor_ops(p->descriptor);
	unsigned insn = w->partial.insns, k = block_of(p->descriptor, insn);
	if (insns_below(p->descriptor, k, insn) == 0)
		tw_batch_block(w, p->descriptor, k, 0);
	for (; s->kind != TW_STEP_END && insn_of(s) == insn; s++) {
		const struct tw_op *op = ops + s->base;
		if (s->flags == TW_STEP_VALUE)
			run_plain_step(w->reg, values, s, w->addr, w->shape);
		else if (s->kind == TW_STEP_OTHER && op->kind == TW_OP_REP)
			return tw_walk_rep(w, op, s, values[op->value], w->partial.regs[tw_op_counter(op)]);
	}
	return 0;
}

/* An execution that stopped early, as w->partial says. */
static int run_partial(struct tw_walk *w, const struct tw_program *p, const uint64_t *values)
{
	unsigned limit = w->partial.insns < p->descriptor->n_insns ? w->partial.insns : p->descriptor->n_insns;
	const struct tw_step *s = p->step;
	int error = 0;
	if (limit)
		tw_batch_block(w, p->descriptor, 0, insns_below(p->descriptor, 0, limit));
	for (; s->kind != TW_STEP_END && insn_of(s) < limit && !error; s++) {
		if (s->kind == TW_STEP_PLAIN)
			note_refs(w, run_plain_step(w->reg, values, s, w->addr, w->shape));
		else
			error = run_other_step(w, p, s, values, limit);
	}
	if (s->kind == TW_STEP_BLOCK)
		s++;
	if (!error && w->partial.in_rep && limit < p->descriptor->n_insns)
		error = run_interrupted_rep(w, p, s, values);
	memcpy(w->reg, w->partial.regs, sizeof w->partial.regs);
	return error;
}

/* Instructions the chunk still has, by its header. */
static uint64_t insns_left(const struct tw_walk *w)
{
	uint64_t insns = tw_batch_n_insns(w);
	return insns < w->insns_room ? w->insns_room - insns : 0;
}

/* One execution of a loop. */
static int run_iteration(struct tw_walk *w, const struct tw_program *p)
{
	int error = full(w) ? tw_batch_flush(w) : tw_batch_before(w, p->descriptor->n_insns);
	if (error)
		return error;
	tw_batch_block(w, p->descriptor, 0, tw_descriptor_blocks(p->descriptor)->n_insns);
	return run_steps(w, p, NULL);
}

/* n executions in a row; machine code does them if they are many: it continues with the same tag. */
static int run_loop(struct tw_walk *w, struct tw_program *p, uint64_t n)
{
	enum { MANY = 4096 };
	int error = 0;
	if (n > insns_left(w) / p->descriptor->n_insns)
		return tw_walk_damaged(w, TW_ERR_STREAM, "more instructions than the chunk's header says, at iteration count", n);
	if (n >= MANY && tw_programs_make_code(w->options.programs, p, w->values.p.slot)) {
		w->left = n;
		w->c--;
		w->m -= w->coded ? 0 : p->n_values; /* the code passes over them when it is done */
		return 0;
	}
	for (; n && !error; n--)
		error = run_iteration(w, p);
	return error;
}

/* The rest of a loop that machine code has started, up to where code may run again. */
static int run_left(struct tw_walk *w)
{
	struct tw_program *p = w->row[*w->c];
	int error = 0;
	do
		error = run_iteration(w, p);
	while (!error && --w->left && !tw_counted_room(w));
	if (!error && !w->left) {
		w->c++;
		w->m += w->coded ? 0 : p->n_values;
	}
	return error;
}

/* ---- fragments whose references were logged ---- */

/* Walks the events that stand before the next fragment. */
struct ahead {
	const uint16_t *c, *c_end;
	const uint8_t *e, *e_end;
};

/* The next REFS event before the next fragment, or NULL. */
static const struct tw_refs *next_logged(struct ahead *a)
{
	while (a->c < a->c_end && *a->c < TW_TAG_FIRST) {
		uint16_t tag = *a->c++;
		const struct tw_event_header *h = (const struct tw_event_header *)a->e;
		if (tag == TW_TAG_UPPER)
			a->c += a->c < a->c_end;
		if (tag != TW_TAG_EVENT)
			continue;
		size_t left = (size_t)(a->e_end - a->e);
		if (left < sizeof *h || !tw_event_valid(h, a->e + sizeof *h, left - sizeof *h))
			return NULL;
		a->e += (sizeof *h + h->bytes + 7) & ~(size_t)7;
		if (h->type == TW_EVENT_REFS)
			return (const struct tw_refs *)(h + 1);
	}
	return NULL;
}

/* How far a fragment's logs have been taken. */
struct taken {
	int block;     /* the newest that has begun; -1: none has */
	unsigned insn; /* of the last reference */
	unsigned n;    /* references of that instruction so far */
};

/* Begins the blocks up to and including block `last`; one that had no instruction executed only if it is `last` and `must`. */
static void begin_blocks(struct tw_walk *w, const struct tw_program *p, struct taken *t, int last, unsigned limit, int must)
{
	while (t->block < last) {
		unsigned n = insns_below(p->descriptor, (unsigned)++t->block, limit);
		if (n || (must && t->block == last))
			tw_batch_block(w, p->descriptor, (unsigned)t->block, n);
	}
}

/*
 * A log goes from instruction to instruction, never back: so the batch has room for everything between two places
 * where it may be delivered.
 */
static int log_fits(const struct tw_program *p, const struct tw_refs *log, const struct tw_logged_ref *ref, const struct taken *t)
{
	return ref->insn < p->descriptor->n_insns && ref->insn >= t->insn && log->pc == tw_descriptor_blocks(p->descriptor)->pc;
}

static int run_log(struct tw_walk *w, const struct tw_program *p, const struct tw_refs *log, struct taken *t, unsigned limit)
{
	struct tw_logged_ref ref;
	struct tw_logged it;
	int more = 0, error = 0;
	tw_logged_begin(&it, log + 1, log->n * sizeof ref);
	while (!error && (more = tw_logged_next(&it, &ref)) > 0) {
		if (!log_fits(p, log, &ref, t))
			return tw_walk_damaged(w, TW_ERR_STREAM, "logged references that do not fit fragment", p->descriptor->number);
		begin_blocks(w, p, t, (int)block_of(p->descriptor, ref.insn), limit, 1);
		tw_batch_ref(w, p->insn_pc[ref.insn], ref.addr, tw_ref_shape(ref.size, ref.insn, ref.type));
		t->n = ref.insn == t->insn ? t->n + 1 : 1;
		t->insn = ref.insn;
		if (t->n % 2 == 0) /* the two references of a string instruction stay together */
			error = tw_batch_flush_within(w);
	}
	if (!error && more)
		error = tw_walk_damaged(w, TW_ERR_STREAM, "logged references that make no sense, of fragment", p->descriptor->number);
	return error;
}

static int run_logged(struct tw_walk *w, const struct tw_program *p, unsigned limit)
{
	struct ahead a = {w->c, w->c_end, w->e, w->e_end};
	struct taken t = {.block = -1};
	int error = 0;
	for (const struct tw_refs *log; !error && (log = next_logged(&a));)
		error = run_log(w, p, log, &t, limit);
	if (!error)
		begin_blocks(w, p, &t, p->descriptor->n_blocks - 1, limit, 0);
	return error;
}

/* ---- events ---- */

static void set_upper(struct tw_walk *w, uint32_t upper)
{
	w->upper = upper;
	w->row = tw_programs_row(w->options.programs, upper);
}

static void take_keyframe(struct tw_walk *w, const struct tw_keyframe *k)
{
	memcpy(w->reg, k->regs, sizeof k->regs);
	w->reg[TW_SLOT_FS] = k->seg_base[TW_SEG_FS];
	w->reg[TW_SLOT_GS] = k->seg_base[TW_SEG_GS];
	if (w->coded)
		tw_value_reader_keyframe(&w->values, k->regs);
	w->started = 1;
	set_upper(w, k->upper);
}

static void take_event(struct tw_walk *w, unsigned type, const void *payload)
{
	const struct tw_segbase *s = payload;
	switch (type) {
	case TW_EVENT_KEYFRAME:
		take_keyframe(w, payload);
		break;
	case TW_EVENT_PARTIAL:
		memcpy(&w->partial, payload, sizeof w->partial);
		w->has_partial = 1;
		break;
	case TW_EVENT_SEGBASE:
		if (s->seg == TW_SEG_FS || s->seg == TW_SEG_GS)
			w->reg[s->seg == TW_SEG_FS ? TW_SLOT_FS : TW_SLOT_GS] = s->base;
		break;
	}
}

static int run_event(struct tw_walk *w)
{
	const struct tw_event_header *h = (const struct tw_event_header *)w->e;
	size_t left = (size_t)(w->e_end - w->e);
	if (left < sizeof *h || !tw_event_valid(h, w->e + sizeof *h, left - sizeof *h))
		return tw_walk_damaged(w, TW_ERR_STREAM, "no whole event at offset", (unsigned long long)(w->e - w->chunk->e));
	size_t bytes = (sizeof *h + h->bytes + 7) & ~(size_t)7;
	int cut = w->options.cut_at_times && tw_event_time(h->type, h + 1);
	int error = cut ? tw_batch_flush(w) : 0;
	if (error)
		return error;
	w->e += bytes < left ? bytes : left;
	*w->event++ = (struct tw_event){
	    .payload = h + 1,
	    .bytes = h->bytes,
	    .block = (uint32_t)tw_batch_n_blocks(w),
	    .type = h->type,
	};
	take_event(w, h->type, h + 1);
	return w->event == w->events + TW_BATCH_EVENTS ? tw_batch_flush(w) : 0;
}

/* ---- the C stream ---- */

static int run_upper(struct tw_walk *w)
{
	if (w->c == w->c_end)
		return tw_walk_damaged(w, TW_ERR_STREAM, "no upper half after", TW_TAG_UPPER);
	set_upper(w, *w->c++);
	return 0;
}

/* The program of a tag; it may be added now, or be unknown. */
static int find_program(struct tw_walk *w, uint16_t tag, struct tw_program **p)
{
	uint32_t number = w->upper << 16 | tag;
	if (!w->row[tag] && w->options.missing) {
		int error = w->options.missing(w->options.context, number);
		if (error)
			return error;
		set_upper(w, w->upper);
	}
	*p = w->row[tag];
	return *p ? 0 : tw_walk_damaged(w, TW_ERR_FRAGMENT, "fragment", number);
}

/* The values of the next execution. */
static int take_values(struct tw_walk *w, const struct tw_program *p, const uint64_t **values)
{
	if (w->coded) {
		int error = w->taken ? 0 : tw_walk_take(w, p->descriptor->number, p->n_values);
		w->taken = 0;
		*values = w->record;
		return error;
	}
	if (p->n_values > w->m_end - w->m)
		return tw_walk_damaged(w, TW_ERR_STREAM, "no values left for fragment", p->descriptor->number);
	*values = w->m;
	w->m += p->n_values;
	return 0;
}

/* One fragment of any kind. */
static int run_tag(struct tw_walk *w, uint16_t tag)
{
	struct tw_program *p = NULL;
	const uint64_t *values = NULL;
	int error = find_program(w, tag, &p);
	if (!error && !w->started)
		error = tw_walk_damaged(w, TW_ERR_STREAM, "no keyframe before fragment", p->descriptor->number);
	if (!error)
		error = full(w) ? tw_batch_flush(w) : tw_batch_before(w, p->descriptor->n_insns);
	if (!error)
		error = take_values(w, p, &values);
	if (error)
		return error;
	unsigned limit = w->has_partial ? w->partial.insns : p->descriptor->n_insns;
	if (p->insn_pc) {
		error = run_logged(w, p, limit);
	} else if (w->has_partial) {
		error = run_partial(w, p, values);
	} else if (p->loops) {
		error = run_loop(w, p, values[0]);
	} else {
		tw_batch_block(w, p->descriptor, 0, tw_descriptor_blocks(p->descriptor)->n_insns);
		error = run_steps(w, p, values);
	}
	w->has_partial = 0;
	if (!error)
		tw_programs_ran(w->options.programs, p, w->values.p.slot);
	return error;
}

static int run_any(struct tw_walk *w)
{
	uint16_t tag = *w->c++;
	if (tag >= TW_TAG_FIRST)
		return run_tag(w, tag);
	if (tag == TW_TAG_EVENT)
		return run_event(w);
	if (tag == TW_TAG_UPPER)
		return run_upper(w);
	return tw_walk_damaged(w, TW_ERR_STREAM, "unknown tag", tag);
}

/* How far code may go; 0: not at all. */
static int start_counting(struct tw_walk *w)
{
	const int ended = w->first_insn + tw_batch_n_insns(w) >= w->counted.period_end;
	const int error = ended ? tw_batch_flush(w) : 0;
	const uint64_t room = tw_counted_room(w);
	w->code_insn_limit = room ? w->sums + room : 0;
	return error;
}

/* As far as there is machine code. */
static int run_code(struct tw_walk *w)
{
	struct tw_code *code = tw_programs_code(w->options.programs);
	if (!code || !w->started || w->has_partial || full(w))
		return 0;
	int error = w->counted.is_on ? start_counting(w) : 0;
	if (error || (w->counted.is_on && !w->code_insn_limit))
		return error;
	tw_batch_close(w);
	error = tw_code_run(code, w);
	set_upper(w, w->upper);
	if (w->coded && w->values.run < 0)
		return tw_walk_damaged(w, TW_ERR_DAMAGED, "values that make no sense, at instruction", w->first_insn + tw_batch_n_insns(w));
	return error;
}

static int run_all(struct tw_walk *w)
{
	int error = 0;
	while (!error && w->c < w->c_end) {
		error = run_code(w);
		if (!error && full(w))
			error = tw_batch_flush(w); /* the tag may be one with which code has started, and continues */
		else if (!error && w->left)
			error = run_left(w);
		else if (!error && w->c < w->c_end)
			error = run_any(w);
	}
	if (error)
		return error;
	if (w->coded ? tw_value_reader_end(&w->values) : 0)
		return tw_walk_damaged(w, TW_ERR_STREAM, "values left over, of", w->chunk->n_m);
	if (!w->coded && w->m != w->m_end)
		return tw_walk_damaged(w, TW_ERR_STREAM, "values left over:", (unsigned long long)(w->m_end - w->m));
	if (w->e != w->e_end)
		return tw_walk_damaged(w, TW_ERR_STREAM, "bytes of events left over:", (unsigned long long)(w->e_end - w->e));
	return 0;
}

static void start_chunk(struct tw_walk *w, const struct tw_chunk *chunk)
{
	memset(w->reg, 0, sizeof w->reg);
	w->chunk = chunk;
	w->c = chunk->c;
	w->c_end = chunk->c + chunk->n_c;
	w->m = chunk->m;
	w->m_end = chunk->m + chunk->n_m;
	w->e = chunk->e;
	w->e_end = chunk->e + chunk->n_e;
	w->started = 0;
	w->stopped = 0;
	w->has_partial = 0;
	w->left = 0;
	w->taken = 0;
	w->first_block = chunk->first_block;
	w->first_ref = chunk->first_ref;
	w->first_insn = chunk->first_insn;
	set_upper(w, chunk->upper);
	tw_batch_start(w);
	tw_counted_begin(w);
}

static int walk(struct tw_walk *w, const struct tw_chunk *chunk, struct tw_walk_counts *counts)
{
	int error = run_all(w);
	int flushed = w->stopped ? 0 : tw_batch_flush_last(w);
	if (counts)
		*counts = (struct tw_walk_counts){
		    w->first_insn - chunk->first_insn,
		    w->first_block - chunk->first_block,
		    w->first_ref - chunk->first_ref,
		};
	return error ? error : flushed;
}

int tw_walk_chunk(struct tw_walk *w, const struct tw_chunk *chunk, struct tw_walk_counts *counts)
{
	start_chunk(w, chunk);
	return walk(w, chunk, counts);
}

int tw_walk_coded(struct tw_walk *w, const struct tw_chunk *chunk, const uint8_t *section, size_t n, struct tw_walk_counts *counts)
{
	start_chunk(w, chunk);
	int error = tw_value_reader_begin(&w->values, section, n);
	return error ? tw_walk_damaged(w, error, "no values of", chunk->n_m) : walk(w, chunk, counts);
}

int tw_walk_read(struct tw_walk *w, const struct tw_coded_chunk *chunk, struct tw_walk_counts *counts)
{
	return chunk->values ? tw_walk_coded(w, &chunk->chunk, chunk->values, chunk->n_values, counts)
	                     : tw_walk_chunk(w, &chunk->chunk, counts);
}
