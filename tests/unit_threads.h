/*
 * Small programs of threads that hand data over by atomic variables, for unit tests: executed in random orders, at random speeds, with times at random. What each thread did is written down,
 * and whether accesses of the execution raced: by the values that were really read.
 *
 * A test sets `seed`, makes code for each operation in a struct run that is otherwise zeros, and calls execute(); what the threads did is then its own to free.
 */
#ifndef TW_UNIT_THREADS_H
#define TW_UNIT_THREADS_H

#include <stdlib.h>
#include <string.h>
#include <trackway/descriptor.h>
#include <trackway/event.h>

enum { THREADS = 3, OPS = 12, VARIABLES = 8, DATA = 8, TURNS = 12, MOST_ITEMS = 1 << 16, MOST_BLOCKS = 500, PROGRAM = 1 };
enum { ATOMIC_AT = 0x100000, DATA_AT = 0x200000, OWN_AT = 0x300000, STORAGE_AT = 0x70000000 };

static uint64_t seed;

static inline unsigned next(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

/* ---- programs ---- */

enum kind { END, STORES, AWAITS, AWAITS_LOUDLY, LOADS, IFS, READS, WRITES, TAKES, LOCKS, COUNTS, COUNTS_TIMED };

/* Values are a * turn + b, or where `ticket` says so a * (the ticket taken last) + b. AWAIT: until the variable is `exact`-ly so, or at least so. */
struct op {
	enum kind kind;
	int variable, a, b, ticket, exact;
	int skip; /* of IF: so many where the variable is less; of COUNT and COUNT_TIMED: where it is not the a-th that counts */
};

struct program {
	const char *name;
	int turns, n_threads;
	/* FREE_SLOWLY: time goes by at each step; BY_CHANCE: another order, in which it would not race, explains most of its executions */
	enum { FREE, FREE_SLOWLY, RACY, BY_CHANCE } races;
	struct op ops[THREADS][OPS];
};

#define STORE(v, x, y)                                                                                                                     \
	{                                                                                                                                  \
		.kind = STORES, .variable = v, .a = x, .b = y                                                                              \
	}
#define STORE_TICKET(v, x, y)                                                                                                              \
	{                                                                                                                                  \
		.kind = STORES, .variable = v, .a = x, .b = y, .ticket = 1                                                                 \
	}
#define AWAIT(v, x, y)                                                                                                                     \
	{                                                                                                                                  \
		.kind = AWAITS, .variable = v, .a = x, .b = y                                                                              \
	}
#define AWAIT_EXACTLY(v, x, y)                                                                                                             \
	{                                                                                                                                  \
		.kind = AWAITS, .variable = v, .a = x, .b = y, .exact = 1                                                                  \
	}
#define AWAIT_TICKET(v, x, y)                                                                                                              \
	{                                                                                                                                  \
		.kind = AWAITS, .variable = v, .a = x, .b = y, .ticket = 1, .exact = 1                                                     \
	}
#define AWAIT_LOUDLY(v, x, y)                                                                                                              \
	{                                                                                                                                  \
		.kind = AWAITS_LOUDLY, .variable = v, .a = x, .b = y, .exact = 1                                                           \
	}
#define LOAD(v)                                                                                                                            \
	{                                                                                                                                  \
		.kind = LOADS, .variable = v                                                                                               \
	}
#define IF(v, x, y, n)                                                                                                                     \
	{                                                                                                                                  \
		.kind = IFS, .variable = v, .a = x, .b = y, .skip = n                                                                      \
	}
#define READ(d)                                                                                                                            \
	{                                                                                                                                  \
		.kind = READS, .variable = d                                                                                               \
	}
#define WRITE(d)                                                                                                                           \
	{                                                                                                                                  \
		.kind = WRITES, .variable = d                                                                                              \
	}
#define TAKE(v)                                                                                                                            \
	{                                                                                                                                  \
		.kind = TAKES, .variable = v                                                                                               \
	}
/* By a locked instruction whose time is not recorded. */
#define COUNT(v, x, n)                                                                                                                     \
	{                                                                                                                                  \
		.kind = COUNTS, .variable = v, .a = x, .skip = n                                                                           \
	}
#define COUNT_TIMED(v, x, n)                                                                                                               \
	{                                                                                                                                  \
		.kind = COUNTS_TIMED, .variable = v, .a = x, .skip = n                                                                     \
	}
#define LOCK(v)                                                                                                                            \
	{                                                                                                                                  \
		.kind = LOCKS, .variable = v                                                                                               \
	}

/* ---- an execution ---- */

/* What a thread did: a block of one instruction with one reference; or a time. */
struct item {
	const struct tw_descriptor *code;
	uint64_t addr, time;
	int type, stamp; /* stamp: 1 before a locked instruction, 2 behind it */
};

struct thread {
	struct item *items;
	size_t n, given;
	size_t op;
	int turn, ticket, loads;
	enum { AT_OP, RELAXES, IN_LOCKED, BEHIND_LOCKED } at;
	unsigned clock[THREADS];
};

struct run {
	const struct program *program;
	struct thread threads[THREADS];
	struct tw_descriptor *code[THREADS][OPS][2]; /* of each op: the access, and what it does while it waits */
	int value[VARIABLES];
	unsigned known[VARIABLES][THREADS]; /* by who acquires it */
	unsigned wrote[DATA][THREADS], read[DATA][THREADS];
	uint64_t time;
	/* So much time goes by at a step, or up to twice that, as if threads were interrupted everywhere; 0: none to speak of. */
	unsigned leap;
	int races;
	unsigned cuts_waiting, cuts_else; /* one time in so many */
};

static inline void put(struct thread *t, struct item item)
{
	if (t->n < MOST_ITEMS)
		t->items[t->n++] = item;
}

static inline void put_time(struct run *r, struct thread *t, int stamp)
{
	put(t, (struct item){.time = ++r->time, .stamp = stamp});
}

static inline void put_access(struct run *r, struct thread *t, int waits, uint64_t addr, int type)
{
	put(t, (struct item){.code = r->code[t - r->threads][t->op][waits], .addr = addr, .type = type});
	r->time += r->leap ? r->leap + next(r->leap) : 1;
}

static inline void join(unsigned *to, const unsigned *from)
{
	for (int i = 0; i < THREADS; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
}

static inline void store(struct run *r, struct thread *t, int variable, int value)
{
	r->value[variable] = value;
	memcpy(r->known[variable], t->clock, sizeof t->clock);
	t->clock[t - r->threads]++;
}

static inline int load(struct run *r, struct thread *t, int variable)
{
	join(t->clock, r->known[variable]);
	return r->value[variable];
}

static inline void access_data(struct run *r, struct thread *t, int data, int writes)
{
	const int me = (int)(t - r->threads);
	for (int i = 0; i < THREADS; i++)
		r->races += i != me && (r->wrote[data][i] > t->clock[i] || (writes && r->read[data][i] > t->clock[i]));
	(writes ? r->wrote : r->read)[data][me] = t->clock[me];
}

static inline int wanted(const struct thread *t, const struct op *o)
{
	return o->a * (o->ticket ? t->ticket : t->turn) + o->b;
}

/* The thread goes on, `by` operations further. */
static inline void advance(struct run *r, struct thread *t, int by)
{
	const int me = (int)(t - r->threads);
	t->op += (size_t)by;
	t->at = AT_OP;
	if (r->program->ops[me][t->op].kind == END && t->turn < r->program->turns) {
		t->op = 0;
		t->turn++;
	}
	if (r->cuts_else && !next(r->cuts_else))
		put_time(r, t, 0);
}

/* Reads and writes at once: what was there. */
static inline int exchange(struct run *r, struct thread *t, int variable, int value)
{
	const int before = load(r, t, variable);
	join(r->known[variable], t->clock);
	t->clock[t - r->threads]++;
	r->value[variable] = value;
	return before;
}

static inline int count_one(struct run *r, struct thread *t, int variable)
{
	return exchange(r, t, variable, r->value[variable] + 1);
}

static inline int by_count(const struct op *o, int before)
{
	return before % o->a == o->a - 1 ? 1 : 1 + o->skip;
}

/* A locked instruction, between two times. */
static inline void take_locked(struct run *r, struct thread *t, const struct op *o)
{
	switch (t->at) {
	case AT_OP:
		put_time(r, t, 1);
		t->at = IN_LOCKED;
		break;
	case IN_LOCKED:
		put_access(r, t, 0, ATOMIC_AT + 64 * (uint64_t)o->variable, TW_MODIFY);
		if (o->kind == LOCKS) {
			t->ticket = exchange(r, t, o->variable, 1);
		} else if (o->kind == COUNTS_TIMED) {
			t->ticket = count_one(r, t, o->variable);
		} else {
			t->ticket = r->value[o->variable]++;
		}
		t->at = BEHIND_LOCKED;
		break;
	default:
		put_time(r, t, 2);
		advance(r, t, o->kind == LOCKS && t->ticket ? 0 : o->kind == COUNTS_TIMED ? by_count(o, t->ticket) : 1);
	}
}

static inline void count(struct run *r, struct thread *t, const struct op *o)
{
	put_access(r, t, 0, ATOMIC_AT + 64 * (uint64_t)o->variable, TW_MODIFY);
	advance(r, t, by_count(o, count_one(r, t, o->variable)));
}

static inline void relax(struct run *r, struct thread *t, const struct op *o)
{
	const uint64_t me = (uint64_t)(t - r->threads);
	put_access(r, t, 1, o->kind == AWAITS_LOUDLY ? OWN_AT + 64 * me : STORAGE_AT + (me << 24) - 64, TW_WRITE);
	if (r->cuts_waiting && !next(r->cuts_waiting))
		put_time(r, t, 0);
	t->at = AT_OP;
}

static inline void step(struct run *r, struct thread *t)
{
	const struct op *o = &r->program->ops[t - r->threads][t->op];
	const uint64_t atomic = ATOMIC_AT + 64 * (uint64_t)o->variable, data = DATA_AT + 64 * (uint64_t)o->variable;
	int value;
	switch (o->kind) {
	case END:
		return;
	case STORES:
		put_access(r, t, 0, atomic, TW_WRITE);
		store(r, t, o->variable, wanted(t, o));
		break;
	case READS:
	case WRITES:
		put_access(r, t, 0, data, o->kind == WRITES ? TW_WRITE : TW_READ);
		access_data(r, t, o->variable, o->kind == WRITES);
		break;
	case TAKES:
	case LOCKS:
	case COUNTS_TIMED:
		take_locked(r, t, o);
		return;
	case COUNTS:
		count(r, t, o);
		return;
	default:
		if (t->at == RELAXES) {
			relax(r, t, o);
			return;
		}
		put_access(r, t, 0, atomic, TW_READ);
		value = load(r, t, o->variable);
		if ((o->kind == AWAITS || o->kind == AWAITS_LOUDLY) && (o->exact ? value != wanted(t, o) : value < wanted(t, o))) {
			t->at = RELAXES;
			return;
		}
		advance(r, t, o->kind == IFS && value < wanted(t, o) ? 1 + o->skip : 1);
		return;
	}
	advance(r, t, 1);
}

static inline int is_over(const struct run *r)
{
	for (int i = 0; i < r->program->n_threads; i++)
		if (r->program->ops[i][r->threads[i].op].kind != END)
			return 0;
	return 1;
}

static inline void execute(struct run *r)
{
	static const unsigned cuts[] = {0, 3, 20, 200}, bursts[] = {1, 4, 30, 300, 3000};
	const unsigned some = 1 + next(sizeof bursts / sizeof *bursts);
	r->cuts_waiting = cuts[next(4)];
	r->cuts_else = cuts[next(4)];
	r->leap = r->program->races != FREE_SLOWLY && next(4) ? 0 : 50000;
	for (int i = 0; i < r->program->n_threads; i++) {
		r->threads[i].items = malloc(MOST_ITEMS * sizeof(struct item));
		r->threads[i].turn = 1;
		r->threads[i].clock[i] = 1;
		put_time(r, &r->threads[i], 0);
	}
	while (!is_over(r)) {
		struct thread *t = &r->threads[next((unsigned)r->program->n_threads)];
		for (unsigned n = 1 + next(bursts[next(some)]); n; n--)
			step(r, t);
	}
	for (int i = 0; i < r->program->n_threads; i++)
		put_time(r, &r->threads[i], 0);
}

#endif
