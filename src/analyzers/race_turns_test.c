/*
 * Small multithreaded programs that pass data through atomic variables, executed here in many random orders, with
 * random times between which the order is unknown, and in batches that end anywhere. For each execution it is known
 * which accesses race: for one without a race none must be reported; for one whose threads wait for nothing that
 * could order them one must be.
 *
 * race_turns_test RUNS [FROM [PROGRAM]] runs more executions of each program, or of one, number FROM and following,
 * and prints the numbers of those with wrong reports.
 */
#include "analyzers/race_state.h"
#include "replay/state.h"
#include "unit.h"
#include "unit_fragment.h"
#include "unit_threads.h"

#include <stdlib.h>
#include <sys/syscall.h>

static const struct program programs[] = {
    {"questions",
     TURNS,
     2,
     FREE,
     {{WRITE(0), STORE(0, 1, 0), AWAIT_EXACTLY(1, 1, 0), READ(1)}, {AWAIT_EXACTLY(0, 1, 0), READ(0), WRITE(1), STORE(1, 1, 0)}}},
    {"loud questions",
     TURNS,
     2,
     FREE,
     {{WRITE(0), STORE(0, 1, 0), AWAIT_LOUDLY(1, 1, 0), READ(1)}, {AWAIT_LOUDLY(0, 1, 0), READ(0), WRITE(1), STORE(1, 1, 0)}}},
    {"chain", 1, 3, FREE, {{AWAIT(1, 1, 0), READ(0)}, {AWAIT(0, 1, 0), STORE(1, 1, 0)}, {WRITE(0), STORE(0, 1, 0)}}},
    {"chain of phases",
     TURNS,
     3,
     FREE,
     {{AWAIT(1, 1, 0), READ(0), STORE(2, 1, 0)}, {AWAIT(0, 1, 0), STORE(1, 1, 0)}, {WRITE(0), STORE(0, 1, 0), AWAIT(2, 1, 0)}}},
    {"phases", 1, 2, FREE, {{AWAIT(0, 0, 2), READ(0), READ(1)}, {WRITE(0), STORE(0, 0, 1), WRITE(1), WRITE(1), STORE(0, 0, 2)}}},
    {"looks", TURNS, 2, FREE, {{IF(0, 0, 1, 1), READ(0)}, {IF(0, 0, 1, 0), STORE(1, 0, 1), STORE(0, 0, 1)}}},
    {"looks once", 1, 2, FREE, {{IF(0, 0, 1, 1), READ(0)}, {WRITE(0), STORE(0, 0, 1)}}},
    {"tickets",
     TURNS,
     3,
     FREE,
     {{TAKE(0), AWAIT_TICKET(1, 1, 0), WRITE(0), STORE_TICKET(1, 1, 1)},
      {TAKE(0), AWAIT_TICKET(1, 1, 0), WRITE(0), STORE_TICKET(1, 1, 1)},
      {TAKE(0), AWAIT_TICKET(1, 1, 0), READ(0), STORE_TICKET(1, 1, 1)}}},
    {"round",
     TURNS,
     3,
     FREE,
     {{AWAIT_EXACTLY(0, 3, -3), WRITE(0), STORE(0, 3, -2)},
      {AWAIT_EXACTLY(0, 3, -2), WRITE(0), STORE(0, 3, -1)},
      {AWAIT_EXACTLY(0, 3, -1), READ(0), WRITE(0), STORE(0, 3, 0)}}},
    {"queue", TURNS, 2, FREE, {{AWAIT(0, 1, -1), WRITE(0), STORE(1, 1, 0)}, {AWAIT(1, 1, 0), READ(0), STORE(0, 1, 0)}}},
    {"queue of two",
     TURNS,
     2,
     FREE,
     {{AWAIT(0, 2, -2), WRITE(0), STORE(1, 2, -1), AWAIT(0, 2, -3), WRITE(1), STORE(1, 2, 0)},
      {AWAIT(1, 2, -1), READ(0), STORE(0, 2, -1), AWAIT(1, 2, 0), READ(1), STORE(0, 2, 0)}}},
    {"barrier",
     TURNS,
     2,
     FREE,
     {{WRITE(0), STORE(0, 1, 0), AWAIT(1, 1, 0), READ(1), STORE(2, 1, 0), AWAIT(3, 1, 0)},
      {WRITE(1), STORE(1, 1, 0), AWAIT(0, 1, 0), READ(0), STORE(3, 1, 0), AWAIT(2, 1, 0)}}},
    {"master",
     TURNS,
     3,
     FREE,
     {{AWAIT(0, 1, 0), AWAIT(1, 1, 0), READ(0), READ(1), WRITE(2), STORE(2, 1, 0)},
      {WRITE(0), STORE(0, 1, 0), AWAIT(2, 1, 0), READ(2)},
      {WRITE(1), STORE(1, 1, 0), AWAIT(2, 1, 0), READ(2)}}},
    {"spin lock", TURNS, 2, FREE, {{LOCK(0), WRITE(0), STORE(0, 0, 0)}, {LOCK(0), WRITE(0), STORE(0, 0, 0)}}},
    {"last of two", 1, 2, FREE, {{WRITE(0), COUNT(0, 2, 2), READ(1), STORE(0, 0, 0)}, {WRITE(1), COUNT(0, 2, 2), READ(0), STORE(0, 0, 0)}}},
    {"last of two, after a look",
     1,
     2,
     FREE_SLOWLY,
     {{WRITE(0), LOAD(1), COUNT_TIMED(0, 2, 1), READ(1)}, {WRITE(1), LOAD(2), COUNT_TIMED(0, 2, 1), READ(0)}}},
    {"told too early", 1, 2, RACY, {{STORE(0, 0, 1), WRITE(0)}, {AWAIT(0, 0, 1), READ(0)}}},
    {"nothing between", 1, 2, RACY, {{WRITE(0), STORE(0, 0, 1)}, {WRITE(0), STORE(0, 0, 2)}}},
    {"looks without care", 1, 2, BY_CHANCE, {{WRITE(0), STORE(0, 0, 1)}, {LOAD(0), READ(0)}}},
    {"questions answered late",
     TURNS,
     2,
     RACY,
     {{WRITE(0), STORE(0, 1, 0), AWAIT_EXACTLY(1, 1, 0), READ(1)}, {AWAIT_EXACTLY(0, 1, 0), READ(0), STORE(1, 1, 0), WRITE(1)}}},
    {"beyond the ticket",
     TURNS,
     2,
     RACY,
     {{TAKE(0), AWAIT_TICKET(1, 1, 0), STORE_TICKET(1, 1, 1), WRITE(0)},
      {TAKE(0), AWAIT_TICKET(1, 1, 0), STORE_TICKET(1, 1, 1), WRITE(0)}}},
    {"chain from behind", 1, 3, RACY, {{AWAIT(1, 1, 0), READ(0)}, {AWAIT(0, 1, 0), STORE(1, 1, 0)}, {STORE(0, 1, 0), WRITE(0)}}},
};

/* ---- its analysis ---- */

static void know_code(struct tw_race_state *s, struct tw_descriptor *d, int kind, int locked)
{
	uint8_t *owner = calloc(1, 1);
	struct tw_atomic_insn *insn = calloc(2, sizeof *insn);
	*owner = TW_CODE_PROGRAM + 1;
	*insn = (struct tw_atomic_insn){.kind = (uint8_t)kind, .locked = (uint8_t)locked};
	CHECK(tw_by_fragment_set(&s->runtime.fragments, d->number, owner) && tw_by_fragment_set(&s->atomics.fragments, d->number, insn));
}

static void make_code(struct run *r, struct tw_race_state *s)
{
	for (int i = 0; i < r->program->n_threads; i++)
		for (int k = 0; k < OPS; k++) {
			const enum kind kind = r->program->ops[i][k].kind;
			for (int w = 0; w < 2; w++)
				r->code[i][k][w] = unit_descriptor((uint32_t)(16 + (i * OPS + k) * 2 + w), 1, 0, NULL, 0);
			know_code(s, r->code[i][k][1], TW_ATOMIC_EXPRESSLY_PLAIN, 0);
			know_code(s, r->code[i][k][0],
			          kind == READS || kind == WRITES ? TW_ATOMIC_EXPRESSLY_PLAIN
			          : kind == TAKES                 ? TW_ATOMIC_RELAXED
			                                          : TW_ATOMIC_ORDERS,
			          kind == TAKES || kind == LOCKS || kind == COUNTS || kind == COUNTS_TIMED);
		}
}

static struct tw_race_state *make_state(size_t n)
{
	struct tw_race_state *s = calloc(1, sizeof *s);
	struct tw_ordering *o = &s->ordering;
	s->n_threads = o->n_threads = n;
	s->threads = calloc(n + 1, sizeof *s->threads);
	s->lines = calloc(n + 1, sizeof *s->lines);
	s->threaded = calloc(n + 1, sizeof *s->threaded);
	s->threaded[s->n_threaded++] = PROGRAM;
	o->threads = calloc(n + 1, sizeof *o->threads);
	o->teams = calloc(1, sizeof *o->teams);
	o->n_teams = o->teams_room = 1;
	for (size_t i = 0; i < n; i++) {
		o->threads[i] = (struct tw_ordering_thread){
		    .index = i, .who = i, .program = PROGRAM, .clock = 1, .has_begun = 1, .fs = STORAGE_AT + (i << 24)};
		EQUAL(tw_clocks_set(&o->threads[i].clocks, i, 1), 0);
		s->threads[i] = (struct tw_race_thread){
		    .serial = (uint32_t)i, .order = &o->threads[i], .lines = &s->lines[i], .lowest = UINT64_MAX, .known = 1};
	}
	return s;
}

static void free_state(struct tw_race_state *s)
{
	for (size_t i = 0; i < s->n_threads; i++) {
		tw_callpath_free(&s->threads[i].path);
		tw_postponed_free(&s->threads[i].postponed);
		tw_race_lines_free(&s->lines[i]);
	}
	free(s->threads);
	free(s->lines);
	free(s->threaded);
	tw_race_pieces_free(&s->pieces);
	tw_runtime_code_free(&s->runtime);
	tw_atomics_free(&s->atomics);
	tw_callpaths_free(&s->paths);
	tw_ordering_free(&s->ordering);
	tw_epoch_free(&s->shadow);
	tw_races_free(&s->races);
	free(s);
}

/* The time that the thread's next batch begins with. */
static void begin_batch(struct thread *t, struct tw_batch *b, struct tw_event *e)
{
	static struct tw_syscall call;
	static struct tw_stamp stamp;
	if (t->items[t->given].code)
		return;
	const struct item *at = &t->items[t->given++];
	call = (struct tw_syscall){.number = SYS_sched_yield, .tsc = at->time};
	stamp = (struct tw_stamp){.kind = TW_STAMP_LOCK, .tsc = at->time, .after = at->stamp == 2};
	*e = at->stamp ? (struct tw_event){.payload = &stamp, .bytes = sizeof stamp, .type = TW_EVENT_STAMP}
	               : (struct tw_event){.payload = &call, .bytes = sizeof call, .type = TW_EVENT_SYSCALL};
	b->events = e;
	b->n_events = 1;
}

/* Hands over the thread's next batch, of at most so many blocks, up to the next time. */
static int give(struct tw_race_state *s, struct run *r, size_t i, size_t most)
{
	static struct tw_batch_lists lists = {.has_blocks = 1, .has_refs = 1};
	static struct tw_ref_shape shapes[MOST_BLOCKS];
	static uint64_t addr[MOST_BLOCKS];
	struct thread *t = &r->threads[i];
	struct tw_stretch stretch = {.blocks = lists.blocks, .refs = shapes};
	const struct tw_stretch *stretches = &stretch;
	struct tw_event e;
	struct tw_batch b = {.thread = (uint32_t)i, .stretches = &stretches, .n_stretches = 1, .addr = addr, .lists = &lists};
	begin_batch(t, &b, &e);
	for (; t->given < t->n && t->items[t->given].code && b.n_blocks < most; t->given++) {
		const struct item *at = &t->items[t->given];
		const uint64_t pc = tw_descriptor_blocks(at->code)->pc;
		const uint32_t n = (uint32_t)b.n_blocks++;
		addr[n] = at->addr;
		lists.blocks[n] = (struct tw_block_run){.pc = pc, .descriptor = at->code, .first_ref = n, .n_insns = 1};
		lists.refs[n] = (struct tw_ref){.pc = pc, .addr = at->addr, .size = 8, .type = (uint8_t)at->type};
		shapes[n] = (struct tw_ref_shape){.pc = pc, .size = 8, .type = (uint8_t)at->type};
	}
	b.n_refs = b.n_blocks;
	stretch.n_blocks = stretch.n_refs = (uint32_t)b.n_blocks;
	return tw_race_take_batch(s, &s->threads[i], &b);
}

/* The batch that starts first among the remaining ones; one without a time comes right after the previous one. n: there is none. */
static size_t earliest(const struct run *r, const uint64_t *times)
{
	const size_t n = (size_t)r->program->n_threads;
	size_t first = n;
	uint64_t best = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct thread *t = &r->threads[i];
		const uint64_t at = t->given == t->n ? UINT64_MAX : t->items[t->given].code ? times[i] : t->items[t->given].time;
		if (at < best) {
			best = at;
			first = i;
		}
	}
	return first;
}

static size_t analyze(struct run *r, struct tw_race_state *s)
{
	static const size_t mosts[] = {2, 5, 17, 100, MOST_BLOCKS};
	const size_t most = mosts[next(5)];
	uint64_t times[THREADS] = {0};
	size_t i;
	int error = 0;
	while (!error && (i = earliest(r, times)) < s->n_threads) {
		const struct thread *t = &r->threads[i];
		times[i] = t->items[t->given].code ? times[i] : t->items[t->given].time;
		error = give(s, r, i, most);
	}
	error = error ? error : tw_race_take_rest(s);
	EQUAL(error, 0);
	return s->races.n;
}

/* ---- many executions ---- */

struct tally {
	unsigned long racy, told, wrong;
};

static void free_run(struct run *r)
{
	for (int i = 0; i < r->program->n_threads; i++) {
		free(r->threads[i].items);
		for (int k = 0; k < OPS; k++)
			free(r->code[i][k][0]), free(r->code[i][k][1]);
	}
	free(r);
}

static void run_once(const struct program *p, unsigned long number, struct tally *tally)
{
	struct run *r = calloc(1, sizeof *r);
	struct tw_race_state *s = make_state((size_t)p->n_threads);
	seed = (number + 1) * 0x9e3779b97f4a7c15ull;
	r->program = p;
	make_code(r, s);
	execute(r);
	const int told = analyze(r, s) != 0;
	tally->racy += r->races != 0;
	tally->told += r->races && told;
	tally->wrong += !r->races && told;
	if (p->races != BY_CHANCE && told != !!r->races)
		fprintf(stderr, "%s, number %lu: %s\n", p->name, number, told ? "a false race" : "the race is not told");
	free_run(r);
	free_state(s);
}

static void run_often(const struct program *p, unsigned long from, unsigned long n)
{
	struct tally tally = {0};
	for (unsigned long k = 0; k < n; k++)
		run_once(p, from + k, &tally);
	EQUAL(tally.wrong, 0);
	if (p->races == FREE || p->races == FREE_SLOWLY)
		EQUAL(tally.racy, 0);
	if (p->races == RACY)
		EQUAL(tally.told, n);
}

int main(int argc, char **argv)
{
	enum { RUNS = 60 };
	const unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : RUNS, from = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
		if (argc < 4 || !strcmp(argv[3], programs[i].name))
			run_often(&programs[i], from, n);
	return UNIT_END();
}
