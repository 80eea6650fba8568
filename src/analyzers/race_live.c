/*
 * Batches as they come. The accesses of a stretch's pieces are mostly repetitions within the thread's epoch: then
 * only the thread's position changes.
 */
#include "analyzers/race_state.h"

/* How far a batch has been looked at. */
struct live {
	const struct tw_batch *b;
	const struct tw_block_run *run; /* the newest block; NULL: none yet */
	size_t blocks, refs, event;     /* so many blocks have begun; so many references of the newest have been looked at */
	uint64_t last;                  /* where the newest of these is */
	int looks;                      /* what the block accesses is to be looked at */
	int leaves;                     /* the newest block may call or return */
	int is_new;                     /* what it has seen is marked with the thread's epoch, and `looks` is right */
};

static int take_events(struct tw_race_state *s, struct tw_race_thread *t, struct live *l)
{
	int error = 0;
	l->is_new = 0;
	for (; l->event < l->b->n_events && l->b->events[l->event].block <= l->blocks && !error; l->event++)
		error = tw_race_take_event(s, t, &l->b->events[l->event]);
	return error;
}

/* Before which block an event comes; none any more: behind all blocks. */
static inline size_t next_event(const struct live *l)
{
	return l->event < l->b->n_events ? l->b->events[l->event].block : SIZE_MAX;
}

static int leave_block(struct tw_race_state *s, struct tw_race_thread *t, struct live *l)
{
	const int leaves = l->leaves;
	l->leaves = 0;
	return leaves && l->run && l->refs ? tw_race_leave_block(s, t, l->run, l->last) : 0;
}

/* What comes between the newest block and the next. */
static inline int go_on(struct tw_race_state *s, struct tw_race_thread *t, struct live *l)
{
	int error = l->leaves ? leave_block(s, t, l) : 0;
	return error || next_event(l) > l->blocks ? error : take_events(s, t, l);
}

/* ---- block by block ---- */

static int begin_block(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_block_run *run)
{
	int error = go_on(s, t, l);
	l->run = run;
	l->refs = 0;
	l->leaves = 1;
	l->is_new = 0;
	l->blocks++;
	return error ? error : tw_race_enter_block(s, t, run, &l->looks);
}

/* The thread's code has accessed these. */
static inline void note_reads(struct tw_race_thread *t, const uint64_t *addr, size_t n)
{
	if (t->owner == TW_CODE_OPENMP)
		tw_ordering_reads_all(t->order, addr, n);
}

/* Does another block of the owner whose code ran before change nothing by itself? */
static inline int is_quiet(const struct tw_race_thread *t)
{
	return t->owner != TW_CODE_OPENMP || !tw_ordering_has_ended(t->order, t->path.n);
}

/* References of the newest block. */
static int take_refs(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_ref_shape *shapes,
                     const uint64_t *addr, size_t n)
{
	size_t done = n;
	if (!n || !l->run)
		return 0;
	int error = l->looks ? tw_race_take_addresses(s, t, l->run, shapes, addr, n, &done) : 0;
	note_reads(t, addr, n);
	l->refs += done;
	l->last = addr[n - 1];
	return error;
}

/* Blocks of a stretch from `first` on. */
static int take_blocks(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_stretch *st, const uint64_t *addr,
                       size_t first, size_t n)
{
	int error = 0;
	for (size_t k = first; k < first + n && !error && !t->stuck; k++) {
		const struct tw_block_run *run = &st->blocks[k];
		const uint32_t end = k + 1 < st->n_blocks ? run[1].first_ref : st->n_refs;
		error = begin_block(s, t, l, run);
		if (!error && !t->stuck)
			error = take_refs(s, t, l, st->refs + run->first_ref, addr + run->first_ref, end - run->first_ref);
	}
	return error;
}

/* ---- piece by piece ---- */

/* The newest block belongs to a piece, of which this many references have been processed. */
static inline void stand_in(struct tw_race_thread *t, struct live *l, const struct tw_block_run *run, uint8_t end, size_t refs,
                            const uint64_t *addr)
{
	l->run = run;
	l->refs = refs;
	l->last = refs ? addr[run->first_ref + refs - 1] : l->last;
	l->leaves = 1;
	t->end = end;
}

/* Does the thread lack any of what these access? */
static inline int lacks(const struct tw_race_lines *lines, const struct tw_race_shape *shapes, const uint64_t *addr, size_t n)
{
	uint64_t lack = 0;
	for (size_t i = 0; i < n; i++)
		lack |= tw_race_lines_lack(lines, addr[i], &shapes[i]);
	return lack != 0;
}

/* This many references of the piece were processed, then the thread got stuck: it is in one of the blocks. */
static void stop_within(struct tw_race_thread *t, struct live *l, const struct tw_stretch *st, const struct tw_race_piece *p, size_t done,
                        const uint64_t *addr)
{
	uint32_t k = p->n_blocks - 1;
	while (k && st->blocks[p->first + k].first_ref > p->first_ref + done)
		k--;
	const struct tw_block_run *run = &st->blocks[p->first + k];
	l->blocks += k + 1;
	stand_in(t, l, run, tw_descriptor_blocks(run->descriptor)[run->block].end, p->first_ref + done - run->first_ref, addr);
}

/* A piece of the owner whose code ran before, within which nothing happens. Equivalent to taking it block by block. */
static inline int take_simple(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_stretch *st,
                              const struct tw_race_piece *p, const uint64_t *addr)
{
	t->fills = 0;
	if (l->looks && p->n_refs && (tw_race_waits(t) || lacks(t->lines, &s->pieces.shapes[p->shapes], addr + p->first_ref, p->n_refs))) {
		size_t done = p->n_refs;
		l->is_new = 0;
		int error =
		    tw_race_take_addresses(s, t, &st->blocks[p->first], st->refs + p->first_ref, addr + p->first_ref, p->n_refs, &done);
		if (error)
			return error;
		if (t->stuck) {
			stop_within(t, l, st, p, done, addr);
			return 0;
		}
	}
	note_reads(t, addr + p->first_ref, p->n_refs);
	l->blocks += p->n_blocks;
	stand_in(t, l, &st->blocks[p->first + p->n_blocks - 1], p->end, p->last_refs, addr);
	l->leaves = p->leaves;
	return 0;
}

/* Everything that the thread sees from here on belongs to its epoch, and it is known whether accesses are checked. */
static inline int renew(struct tw_race_state *s, struct tw_race_thread *t, struct live *l)
{
	if (l->is_new)
		return 0;
	l->is_new = 1;
	l->looks = tw_race_looks(s, t);
	return tw_race_lines_renew(t->lines, tw_epoch_number(t->order->who, t->order->clock), t->locks);
}

static int take_pieces(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_stretch *st,
                       const struct tw_race_piece *p, const uint64_t *addr)
{
	int error = 0, more = 1;
	for (; more && !error && !t->stuck; more = !p++->is_last) {
		error = go_on(s, t, l);
		if (error)
			break;
		if (p->simple && p->owner == t->owner && is_quiet(t) && next_event(l) >= l->blocks + p->n_blocks) {
			error = renew(s, t, l);
			error = error ? error : take_simple(s, t, l, st, p, addr);
		} else {
			error = take_blocks(s, t, l, st, addr, p->first, p->n_blocks);
		}
	}
	return error;
}

/* ---- stretches in which nothing happens ---- */

/* Stretches that have been passed over. */
struct passed {
	size_t end, blocks;              /* the next one's number in the batch; blocks behind them */
	const uint64_t *addr;            /* of the next one's references */
	const struct tw_race_divided *d; /* what is known of the last one; NULL: there is none */
};

/* Skips the next stretch, as often as it comes in a row and the thread lacks nothing of it. Is there more to do? */
static inline int pass_same(const struct tw_race_state *s, const struct tw_race_thread *t, const struct live *l, size_t most,
                            struct passed *x)
{
	const struct tw_stretch *const *stretches = l->b->stretches, *st = stretches[x->end];
	const struct tw_race_divided *d = tw_race_pieces_of(&s->pieces, st);
	if (!d || d->quick != t->owner + 1)
		return 0;
	const struct tw_race_shape *shapes = &s->pieces.shapes[d->shapes];
	const size_t n_refs = l->looks ? d->n_refs : 0, by = d->n_refs, n_blocks = d->n_blocks, n = l->b->n_stretches;
	const uint64_t *at = x->addr;
	size_t k = x->end, blocks = x->blocks;
	while (k < n && stretches[k] == st && blocks + n_blocks <= most && !lacks(t->lines, shapes, at, n_refs)) {
		at += by;
		blocks += n_blocks;
		k++;
	}
	if (k == x->end)
		return 0;
	*x = (struct passed){k, blocks, at, d};
	return k < n && stretches[k] != st;
}

/*
 * Skips stretches from number i of the batch on that are a single piece each of the current owner's code, neither
 * call nor return, and of which the thread lacks nothing; the newest block does not call or return either. *addr: of
 * the references of number i, and then of what comes next.
 */
static size_t pass_over(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, size_t i, const uint64_t **addr)
{
	struct passed x = {.end = i, .blocks = l->blocks, .addr = *addr};
	const size_t most = next_event(l);
	while (is_quiet(t) && pass_same(s, t, l, most, &x))
		;
	if (x.d) {
		note_reads(t, *addr, (size_t)(x.addr - *addr));
		const struct tw_race_piece *p = &s->pieces.items[x.d->first - 1];
		t->fills = 0;
		l->blocks = x.blocks;
		stand_in(t, l, &l->b->stretches[x.end - 1]->blocks[p->n_blocks - 1], p->end, p->last_refs, x.addr - x.d->n_refs);
		l->leaves = 0;
		*addr = x.addr;
	}
	return x.end - i;
}

/* ---- stretch by stretch ---- */

static int take_stretch(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_stretch *st,
                        const uint64_t *addr)
{
	const struct tw_race_code code = {&s->runtime, &s->atomics, t->serial, t->image};
	const struct tw_race_piece *p = tw_race_pieces_make(&s->pieces, &code, st, addr);
	if (p)
		return take_pieces(s, t, l, st, p, addr);
	const uint32_t leading = st->n_blocks ? st->blocks->first_ref : st->n_refs;
	int error = take_refs(s, t, l, st->refs, addr, leading);
	return error || t->stuck ? error : take_blocks(s, t, l, st, addr, 0, st->n_blocks);
}

static int take_stretches(struct tw_race_state *s, struct tw_race_thread *t, struct live *l)
{
	const struct tw_batch *b = l->b;
	const uint64_t *addr = b->addr;
	int error = 0;
	for (size_t i = 0; i < b->n_stretches && !error && !t->stuck;) {
		const struct tw_stretch *st = b->stretches[i++];
		const struct tw_race_piece *p = tw_race_pieces_have(&s->pieces, st);
		error = p ? take_pieces(s, t, l, st, p, addr) : take_stretch(s, t, l, st, addr);
		addr += st->n_refs;
		if (!error && !t->stuck && !l->leaves && i < b->n_stretches && !tw_race_waits(t) && next_event(l) > l->blocks) {
			error = renew(s, t, l);
			i += error ? 0 : pass_over(s, t, l, i, &addr);
		}
	}
	return error;
}

int tw_race_take_live(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b, struct tw_part *left)
{
	struct live l = {.b = b};
	t->stuck = TW_RACE_GOES_ON;
	int error = take_stretches(s, t, &l);
	if (error)
		return error;
	if (!t->stuck) {
		error = leave_block(s, t, &l);
		return error ? error : take_events(s, t, &l);
	}
	*left = tw_part_of(b);
	left->block = l.blocks - 1;
	left->ref = l.refs;
	left->event = l.event;
	return 0;
}
