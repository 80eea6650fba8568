#include "analyzers/race_state.h"

#include <string.h>

/* ---- lines ---- */

/* The page of an address, of those that the thread came to last. */
static inline struct tw_epoch_page *page_of(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr)
{
	const uint64_t number = addr / TW_EPOCH_PAGE;
	struct tw_race_page *recent = &t->pages[number % TW_RACE_PAGES];
	if (recent->number != number || !recent->page) {
		const struct tw_place p = tw_shared_memory_place(&s->ordering.shared, t->order->program, addr);
		recent->page = tw_epoch_page(&s->shadow, p.program, p.addr);
		recent->number = number;
	}
	return recent->page;
}

static struct tw_epoch_line *line_of(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr)
{
	struct tw_epoch_page *p = page_of(s, t, addr);
	return p ? &p->lines[addr % TW_EPOCH_PAGE / TW_EPOCH_LINE] : NULL;
}

void tw_race_forget_places(struct tw_race_state *s)
{
	for (size_t i = 0; i < s->n_threads; i++) {
		if (!s->threads[i].known)
			continue;
		memset(s->threads[i].pages, 0, sizeof s->threads[i].pages);
		tw_race_lines_forget(&s->lines[i], 0, UINT64_MAX);
	}
}

void tw_race_forget(struct tw_race_state *s, uint32_t program, uint64_t start, uint64_t end)
{
	tw_epoch_forget(&s->shadow, program, start, end);
	for (size_t i = 0; i < s->n_threads; i++)
		tw_race_lines_forget(&s->lines[i], start, end);
}

struct access {
	struct tw_race_state *s;
	struct tw_race_thread *t;
	uint64_t addr; /* of the line */
};

static int found(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later)
{
	const struct access *a = context;
	struct tw_race_state *s = a->s;
	const size_t runner = tw_ordering_runner(&s->ordering, earlier->thread);
	if (runner == a->t->order->index && ((earlier->flags | later->flags) & TW_EPOCH_OF_THREAD))
		return 0;
	if (s->hybrid && tw_locksets_meet(&s->locksets, earlier->locks, later->locks))
		return 0;
	const int first = __builtin_ctzll(earlier->mask & later->mask);
	const struct tw_race race = {.access = {*later, *earlier},
	                             .serial = {a->t->serial, s->threads[runner].serial},
	                             .image = {a->t->image, s->threads[runner].image},
	                             .addr = a->addr + (unsigned)first};
	return tw_races_note(&s->races, &race) ? 0 : tw_races_add(&s->races, &race);
}

/* The bytes of the line at `line` that an access to [addr, end) accesses. */
static inline uint64_t mask_of(uint64_t line, uint64_t addr, uint64_t end)
{
	const uint64_t from = addr > line ? addr - line : 0, to = end - line < TW_EPOCH_LINE ? end - line : TW_EPOCH_LINE;
	return ~0ull >> (TW_EPOCH_LINE - (to - from)) << from;
}

/*
 * Bytes of a line were accessed, as `seen` says, by accesses that are not atomic: repetitions need not be checked in
 * this epoch, unless another access there may be atomic.
 */
static int keep_seen(struct tw_race_thread *t, uint64_t line, const struct tw_epoch_line *l, const struct tw_epoch_seen *seen)
{
	const uint64_t marked = l->atomic | l->waited;
	int error = tw_race_lines_renew(t->lines, tw_epoch_number(t->order->who, t->order->clock), t->locks);
	if (!error)
		tw_race_lines_set(t->lines, line, seen->read & ~marked, seen->written & ~marked);
	return error;
}

static int check_lines(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, uint64_t bytes, struct tw_epoch_access a)
{
	int error = 0;
	for (uint64_t line = addr & -(uint64_t)TW_EPOCH_LINE; line < addr + bytes && !error; line += TW_EPOCH_LINE) {
		struct access at = {s, t, line};
		struct tw_epoch_line *l = line_of(s, t, line);
		struct tw_epoch_seen seen;
		a.mask = mask_of(line, addr, addr + bytes);
		error = l ? tw_epoch_add(&s->shadow, l, &a, &t->order->clocks, &seen, found, &at) : TW_ERR_MEMORY;
		if (!error && !(a.flags & TW_EPOCH_ATOMIC))
			error = keep_seen(t, line, l, &seen);
	}
	return error;
}

/* ---- what is a thread's own ---- */

static int is_local_storage(const struct tw_race_thread *t, uint64_t addr)
{
	enum { RECORD = 4096 };
	const uint64_t fs = t->order->fs;
	return fs && addr - (fs - TW_RACE_LOCAL_STORAGE) < TW_RACE_LOCAL_STORAGE + RECORD;
}

int tw_race_is_private(const struct tw_race_thread *t, uint64_t addr)
{
	const uint64_t fs = t->order->fs, low = t->lowest - TW_RACE_LOCAL_STORAGE;
	if (is_local_storage(t, addr))
		return 1;
	return t->lowest != UINT64_MAX && addr - low < (fs > low && fs - low < TW_RACE_STACK ? fs - low : TW_RACE_STACK);
}

/* Does the thread run a task, and access its own memory, so that other tasks that it runs may do so, too? */
static int is_of_thread(const struct tw_race_state *s, const struct tw_race_thread *t, uint64_t addr)
{
	const struct tw_ordering_frame *f = tw_ordering_deferred(t->order);
	return f && (is_local_storage(t, addr) || tw_ordering_reduces(&s->ordering, f));
}

static struct tw_epoch_access access_of(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, uint64_t pc, int flags)
{
	flags |= is_of_thread(s, t, addr) ? TW_EPOCH_OF_THREAD : 0;
	return (struct tw_epoch_access){.pc = pc,
	                                .thread = (uint32_t)t->order->who,
	                                .clock = t->order->clock,
	                                .path = tw_callpath_number(&t->path, &s->paths, t->image),
	                                .locks = t->locks,
	                                .flags = (uint8_t)flags};
}

int tw_race_release_block(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, uint64_t back)
{
	return check_lines(s, t, addr, 8, access_of(s, t, addr, back - 1, TW_EPOCH_WRITE));
}

int tw_race_leave_maker(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_race_maker *m, uint64_t pc)
{
	enum { MOST = 64 << 10 };
	const uint64_t bytes = m->slot - m->low;
	return bytes && bytes < MOST ? check_lines(s, t, m->low, bytes, access_of(s, t, m->low, pc, TW_EPOCH_WRITE)) : 0;
}

int tw_race_take_buffer(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, uint64_t bytes, int is_filled, uint64_t back)
{
	s->checked++;
	return check_lines(s, t, addr, bytes, access_of(s, t, addr, back - 1, is_filled ? TW_EPOCH_WRITE : 0));
}

/* ---- atomic variables ---- */

static void mark_atomic(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, unsigned bytes, int waited)
{
	for (uint64_t line = addr & -(uint64_t)TW_EPOCH_LINE; line < addr + bytes; line += TW_EPOCH_LINE) {
		struct tw_epoch_line *l = line_of(s, t, line);
		const uint64_t mask = mask_of(line, addr, addr + bytes);
		if (!l || !(mask & ~(waited ? l->waited : l->atomic)))
			continue;
		*(waited ? &l->waited : &l->atomic) |= mask;
		for (size_t i = 0; i < s->n_threads; i++)
			tw_race_lines_forget(&s->lines[i], line, line + TW_EPOCH_LINE);
	}
}

void tw_race_mark_waited(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, unsigned bytes)
{
	mark_atomic(s, t, addr, bytes, 1);
}

/* Is the access to an atomic variable, although its instruction does not show it? */
static int is_marked(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_ref *r, const struct tw_atomic_insn *insn)
{
	const struct tw_epoch_line *l = line_of(s, t, r->addr);
	const int may_be = insn->kind == TW_ATOMIC_UNKNOWN && (r->type & (TW_READ | TW_WRITE)) != (TW_READ | TW_WRITE);
	const uint64_t marked = !l ? 0 : may_be ? l->waited | l->atomic : l->waited;
	return marked && (marked & mask_of(r->addr & -(uint64_t)TW_EPOCH_LINE, r->addr, r->addr + r->size));
}

int tw_race_orders(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, const struct tw_ref *r)
{
	const struct tw_atomic_insn *insn = tw_atomics_of(&s->atomics, run->descriptor, r, t->image);
	return insn && insn->kind != TW_ATOMIC_RELAXED && (insn->kind == TW_ATOMIC_ORDERS || is_marked(s, t, r, insn));
}

/* ---- loads that are repeated ---- */

/* The thread has accessed something. */
static void note_access(struct tw_race_thread *t, uint64_t addr)
{
	if (!tw_race_is_private(t, addr))
		t->waiting.is_loud = 1;
}

/* It accesses an atomic variable, which orders threads. */
static void note_ordering(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_ref *r, int locked)
{
	const int loads = !(r->type & TW_WRITE) && !locked;
	const uint64_t way = t->load.pc == r->pc && t->load.addr == r->addr ? t->load.way : 0;
	if (!loads) {
		t->waiting.pc = 0;
		return;
	}
	if (t->waiting.pc != r->pc || t->waiting.addr != r->addr || t->waiting.way != way) {
		t->waiting.told = tw_ordering_atomic_tells(&s->ordering, t->order, r->addr);
		t->waiting.version = tw_ordering_atomic_writes(&s->ordering, t->order->program, r->addr);
	}
	t->waiting.pc = r->pc;
	t->waiting.addr = r->addr;
	t->waiting.way = way;
	t->waiting.is_loud = 0;
}

/* ---- accesses of atomic variables ---- */

/* What the thread has recently read there is the expected value of a reduction by compare-and-exchange. The line of that mov may be any. */
static int expect(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_ref *r)
{
	enum { NEAR = 256 };
	const struct tw_epoch_line *l = line_of(s, t, r->addr);
	int error = 0;
	for (unsigned i = 0; l && i < l->n && !error; i++) {
		const struct tw_epoch_access *a = i ? &l->more[i - 1] : &l->first;
		const int is_own =
		    a->thread == t->order->who && a->mask & mask_of(r->addr & -(uint64_t)TW_EPOCH_LINE, r->addr, r->addr + r->size);
		if (is_own && !(a->flags & (TW_EPOCH_WRITE | TW_EPOCH_ATOMIC)) && r->pc - a->pc < NEAR)
			error = tw_races_expect(&s->races, a->pc, t->image);
	}
	return error;
}

/* Applies the ordering of an access to an atomic variable: that of a read before, that of a write after it. */
static int check_atomic(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_ref *r, int orders, uint8_t lacks)
{
	const int reads = orders && (r->type & TW_READ) && !(lacks & TW_ATOMIC_NO_ACQUIRE), writes = orders && (r->type & TW_WRITE);
	int error = reads ? tw_ordering_atomic(&s->ordering, t->order, r->addr, 1, 0) : 0;
	if (!error && reads)
		error = tw_race_note_read(s, t, r->addr);
	if (!error)
		error = check_lines(s, t, r->addr, r->size,
		                    access_of(s, t, r->addr, r->pc, TW_EPOCH_ATOMIC | (r->type & TW_WRITE ? TW_EPOCH_WRITE : 0)));
	if (!error && writes)
		error = lacks & TW_ATOMIC_NO_RELEASE ? tw_ordering_atomic_counts(&s->ordering, t->order, r->addr)
		                                     : tw_ordering_atomic(&s->ordering, t->order, r->addr, 0, 1);
	if (writes && t->goal == r->addr)
		t->stuck = TW_RACE_AT_GOAL;
	return error;
}

/* Is it to be looked at when others have come further? */
static int waits(struct tw_race_thread *t, const struct tw_ref *r, const struct tw_atomic_insn *insn)
{
	if (!(r->type & TW_READ) || t->may_load) {
		t->may_load = 0;
		return 0;
	}
	t->stuck = TW_RACE_AT_LOAD;
	t->load = (struct tw_race_load){r->pc, r->addr, 0, insn->locked};
	return 1;
}

/* ---- references ---- */

static int check(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, const struct tw_ref *r)
{
	if (t->fills && (r->type & (TW_READ | TW_WRITE)) == TW_WRITE)
		return 0;
	const struct tw_atomic_insn *insn = tw_atomics_of(&s->atomics, run->descriptor, r, t->image);
	if (!insn)
		return TW_ERR_MEMORY;
	const int atomic = insn->kind >= TW_ATOMIC_RELAXED || is_marked(s, t, r, insn), orders = insn->kind != TW_ATOMIC_RELAXED;
	if (atomic && orders && waits(t, r, insn))
		return 0;
	s->checked++;
	if (insn->kind >= TW_ATOMIC_RELAXED)
		mark_atomic(s, t, r->addr, r->size, 0);
	if (atomic && orders)
		note_ordering(s, t, r, insn->locked);
	if (atomic) {
		const int error = insn->reduces ? expect(s, t, r) : 0;
		return error ? error : check_atomic(s, t, r, orders, insn->lacks);
	}
	if (tw_race_waits(t) && !insn->leads)
		note_access(t, r->addr);
	return check_lines(s, t, r->addr, r->size, access_of(s, t, r->addr, r->pc, r->type & TW_WRITE ? TW_EPOCH_WRITE : 0));
}

int tw_race_take_refs(struct tw_race_state *s, struct tw_race_thread *t, struct tw_part *p, const struct tw_block_run *run, size_t n)
{
	const struct tw_ref *refs = p->refs + run->first_ref;
	int error = 0;
	for (; p->ref < n && !error && t->stuck == TW_RACE_GOES_ON; p->ref++) {
		error = check(s, t, run, &refs[p->ref]);
		if (t->stuck == TW_RACE_AT_LOAD)
			return error;
	}
	return error;
}

/* All that is seen from here on is of the thread's epoch. */
static int renew(struct tw_race_thread *t)
{
	return tw_race_lines_renew(t->lines, tw_epoch_number(t->order->who, t->order->clock), t->locks);
}

/* ---- string instructions ---- */

static inline int begins_string(const struct tw_ref_shape *r, size_t n)
{
	return n > 2 && r->pc == r[2].pc;
}

/* Accesses of one instruction, each right behind the one before, or right before it. */
struct string {
	uint64_t addr, bytes; /* all of them */
	size_t n;
};

static int is_same(const struct tw_ref_shape *a, const struct tw_ref_shape *b)
{
	return a->pc == b->pc && a->size == b->size && a->type == b->type;
}

/* The string that starts with the first of n references; every `step`-th belongs to the instruction. */
static struct string string_of(const struct tw_ref_shape *r, const uint64_t *addr, size_t n, size_t step)
{
	const uint64_t by = n > step && addr[step] < addr[0] ? -(uint64_t)r->size : r->size;
	size_t k = 1;
	while (k * step < n && is_same(r, &r[k * step]) && addr[k * step] == addr[(k - 1) * step] + by)
		k++;
	const uint64_t last = addr[(k - 1) * step];
	return (struct string){last < addr[0] ? last : addr[0], k * r->size, k};
}

/* Is any of these bytes known to be accessed by atomic instructions? */
static int has_marked(struct tw_race_state *s, struct tw_race_thread *t, const struct string *x)
{
	for (uint64_t line = x->addr & -(uint64_t)TW_EPOCH_LINE; line < x->addr + x->bytes; line += TW_EPOCH_LINE) {
		const struct tw_epoch_line *l = line_of(s, t, line);
		if (l && ((l->atomic | l->waited) & mask_of(line, x->addr, x->addr + x->bytes)))
			return 1;
	}
	return 0;
}

static int check_string(struct tw_race_state *s, struct tw_race_thread *t, const struct string *x, const struct tw_ref_shape *r)
{
	const struct tw_epoch_access a = access_of(s, t, x->addr, r->pc, r->type & TW_WRITE ? TW_EPOCH_WRITE : 0);
	int error = 0;
	if (t->fills && (r->type & (TW_READ | TW_WRITE)) == TW_WRITE)
		return 0;
	s->checked += x->n;
	for (uint64_t line = x->addr & -(uint64_t)TW_EPOCH_LINE, end = x->addr + x->bytes; line < end && !error; line += TW_EPOCH_LINE) {
		const uint64_t from = line > x->addr ? line : x->addr, to = end - line < TW_EPOCH_LINE ? end : line + TW_EPOCH_LINE;
		if (!tw_race_lines_have(t->lines, from, (uint32_t)(to - from), r->type & TW_WRITE))
			error = check_lines(s, t, from, to - from, a);
	}
	return error;
}

/*
 * Takes a string, or two alternating ones, one read and one written, as a few accesses to lines: within an epoch
 * their order does not matter. *taken: the number of references; 0: not a string, or they must be checked one by one.
 */
static int take_string(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_ref_shape *r, const uint64_t *addr, size_t n,
                       size_t *taken)
{
	enum { LEAST = 4 };
	const size_t step = n > 1 && is_same(r, &r[1]) ? 1 : 2;
	struct string x[2] = {{0}};
	*taken = 0;
	if (n < LEAST * step || !is_same(r, &r[step]))
		return 0;
	for (size_t i = 0; i < step; i++) {
		x[i] = string_of(r + i, addr + i, n - i, step);
		if (x[i].n < LEAST || x[i].n != x[0].n || r[i].insn != r->insn || has_marked(s, t, &x[i]))
			return 0;
	}
	int error = check_string(s, t, &x[0], r);
	if (!error && step > 1)
		error = check_string(s, t, &x[1], r + 1);
	*taken = step * x[0].n;
	return error;
}

int tw_race_take_addresses(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run,
                           const struct tw_ref_shape *shapes, const uint64_t *addr, size_t n, size_t *done)
{
	const struct tw_atomic_insn *insns = tw_by_fragment_get(&s->atomics.fragments, run->descriptor->number);
	int error = renew(t);
	size_t i = 0;
	for (; i < n && !error; i++) {
		const struct tw_ref_shape *r = &shapes[i];
		const uint64_t at = addr[i];
		size_t taken = 0;
		if (insns && !tw_race_waits(t) && tw_atomics_is_plain(&insns[r->insn]) && begins_string(r, n - i))
			error = take_string(s, t, r, addr + i, n - i, &taken);
		if (error || taken) {
			i += taken ? taken - 1 : 0;
			continue;
		}
		if (insns && tw_atomics_is_plain(&insns[r->insn]) && tw_race_lines_have(t->lines, at, r->size, r->type & TW_WRITE)) {
			if (tw_race_waits(t) && !insns[r->insn].leads)
				note_access(t, at);
			continue;
		}
		const struct tw_ref ref = {.pc = r->pc, .addr = at, .size = r->size, .insn = r->insn, .type = r->type};
		error = check(s, t, run, &ref);
		if (error || t->stuck)
			break;
		insns = tw_by_fragment_get(&s->atomics.fragments, run->descriptor->number);
		error = renew(t);
	}
	*done = i;
	return error;
}
