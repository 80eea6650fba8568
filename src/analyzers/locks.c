/*
 * locks: how often each lock was taken, how often and how long threads waited for it, how long it was held, and in
 * which orders threads took several: if one thread takes B while it holds A, and another A while it holds B, they may
 * end up waiting for each other.
 *
 * held.h says which calls take and release locks. There was a wait if, when a lock was asked for, another thread held
 * it exclusively, by the times of the calls; the waiting time is that of the call. For each lock the longest hold and
 * the longest wait are reported with the thread and its call path.
 */
#include "analyzers/callpath.h"
#include "analyzers/held.h"
#include "analyzers/process.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* The longest of several times, and who it was. */
struct longest {
	uint64_t cycles;
	uint32_t thread, path; /* to where the lock was asked for */
};

struct lock {
	uint64_t addr;
	uint32_t program, image;
	uint32_t holders, alone; /* threads that hold it now; whether one does so alone */
	uint64_t taken, waited, refused;
	uint64_t wait, hold; /* cycles */
	struct longest longest_wait, longest_hold;
};

/* While it held one lock, a thread took another. */
struct pair {
	size_t first, second; /* locks */
	uint32_t path, thread;
	uint64_t times;
};

struct thread {
	int known, waits; /* waits: what it asks for is held by another */
	uint32_t program, image;
	struct tw_calling calling;
	struct tw_callpath path;
	struct tw_held held;
};

struct state {
	const struct tw_context *context;
	const struct tw_recording *recording;
	struct tw_calling_kinds kinds;
	struct tw_callpaths paths;
	struct thread *threads;
	size_t n_threads;
	struct lock *locks; /* sorted by nothing: found by `find` */
	size_t n_locks, locks_room;
	uint32_t *slots; /* open hash of their numbers + 1 */
	size_t n_slots;
	struct pair *pairs;
	size_t n_pairs, pairs_room;
};

static void free_state(struct state *s)
{
	for (size_t i = 0; i < s->n_threads && s->threads; i++) {
		tw_calling_free(&s->threads[i].calling);
		tw_callpath_free(&s->threads[i].path);
		tw_held_free(&s->threads[i].held);
	}
	free(s->threads);
	tw_calling_kinds_free(&s->kinds);
	tw_callpaths_free(&s->paths);
	free(s->locks);
	free(s->slots);
	free(s->pairs);
	free(s);
}

static void *begin(void *arg)
{
	static const struct tw_calling_option options[] = {
	    {"lock", TW_CALLED_OMP_LOCK}, {"unlock", TW_CALLED_UNLOCK}, {"trylock", TW_CALLED_TRY_LOCK}, {NULL, 0}};
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = arg;
	s->recording = tw_context_recording(arg);
	s->n_threads = tw_recording_n_threads(s->recording);
	s->threads = calloc(s->n_threads + 1, sizeof *s->threads);
	if (s->threads && !tw_calling_kinds_init(&s->kinds, arg, options))
		return s;
	free_state(s);
	return NULL;
}

static struct thread *thread_of(struct state *s, uint32_t serial)
{
	const size_t i = tw_recording_find_thread(s->recording, serial);
	struct tw_names *names = tw_context_names(s->context);
	if (i >= s->n_threads || !names)
		return NULL;
	struct thread *t = &s->threads[i];
	if (!t->known) {
		t->known = 1;
		t->program = tw_process_program(s->context, serial);
		t->image = tw_names_image(names, serial);
	}
	return t;
}

/* ---- locks ---- */

static uint32_t *find_slot(const struct state *s, uint32_t program, uint64_t addr)
{
	size_t i = (size_t)((addr ^ (uint64_t)program << 40) * 0x9e3779b97f4a7c15ull >> 32) & (s->n_slots - 1);
	while (s->slots[i] && (s->locks[s->slots[i] - 1].addr != addr || s->locks[s->slots[i] - 1].program != program))
		i = (i + 1) & (s->n_slots - 1);
	return &s->slots[i];
}

static int make_room(struct state *s)
{
	enum { FIRST = 256 };
	struct lock *locks = tw_array_room(s->locks, s->n_locks, &s->locks_room, sizeof *locks);
	if (!locks)
		return 0;
	s->locks = locks;
	if (2 * s->n_locks < s->n_slots)
		return 1;
	free(s->slots);
	s->n_slots = s->n_slots ? 2 * s->n_slots : FIRST;
	s->slots = calloc(s->n_slots, sizeof *s->slots);
	for (size_t i = 0; i < s->n_locks && s->slots; i++)
		*find_slot(s, locks[i].program, locks[i].addr) = (uint32_t)i + 1;
	return s->slots != NULL;
}

static struct lock *lock_of(struct state *s, const struct thread *t, uint64_t addr)
{
	if (!make_room(s))
		return NULL;
	uint32_t *slot = find_slot(s, t->program, addr);
	if (!*slot) {
		s->locks[s->n_locks] = (struct lock){.addr = addr, .program = t->program, .image = t->image};
		*slot = (uint32_t)++s->n_locks;
	}
	return &s->locks[*slot - 1];
}

static int note_pair(struct state *s, size_t first, size_t second, uint32_t path, uint32_t thread)
{
	for (size_t i = 0; i < s->n_pairs; i++)
		if (s->pairs[i].first == first && s->pairs[i].second == second) {
			s->pairs[i].times++;
			return 0;
		}
	struct pair *pairs = tw_array_room(s->pairs, s->n_pairs, &s->pairs_room, sizeof *pairs);
	if (!pairs)
		return TW_ERR_MEMORY;
	s->pairs = pairs;
	pairs[s->n_pairs++] = (struct pair){first, second, path, thread, 1};
	return 0;
}

static void note_longest(struct longest *l, uint64_t cycles, uint32_t thread, uint32_t path)
{
	if (cycles > l->cycles)
		*l = (struct longest){cycles, thread, path};
}

/* The thread has taken a lock, the last that it holds. */
static int take(struct state *s, struct thread *t, uint32_t thread, const struct tw_calling_step *call, const struct tw_held_lock *held)
{
	struct lock *l = lock_of(s, t, held->addr);
	const uint32_t path = tw_callpath_of_call(&t->path, &s->paths, t->image, call->call.sp, call->call.back);
	const uint64_t wait = held->taken > held->asked ? held->taken - held->asked : 0;
	int error = l ? 0 : TW_ERR_MEMORY;
	if (error)
		return error;
	const size_t number = (size_t)(l - s->locks);
	l->taken++;
	l->holders++;
	l->alone = !held->shared;
	if (t->waits) {
		l->waited++;
		l->wait += wait;
		note_longest(&l->longest_wait, wait, thread, path);
	}
	t->waits = 0;
	t->held.items[t->held.n - 1].path = path;
	for (size_t i = 0; i + 1 < t->held.n && !error; i++) {
		const struct lock *first = lock_of(s, t, t->held.items[i].addr);
		error = first ? note_pair(s, (size_t)(first - s->locks), number, path, thread) : TW_ERR_MEMORY;
	}
	return error;
}

static int give(struct state *s, const struct thread *t, uint32_t thread, const struct tw_held_lock *held, uint64_t tsc)
{
	struct lock *l = lock_of(s, t, held->addr);
	if (!l)
		return TW_ERR_MEMORY;
	const uint64_t hold = held->taken && tsc > held->taken ? tsc - held->taken : 0;
	l->hold += hold;
	note_longest(&l->longest_hold, hold, thread, held->path);
	l->holders -= l->holders != 0;
	l->alone = l->holders ? l->alone : 0;
	return 0;
}

static int take_step(struct state *s, struct thread *t, uint32_t thread, const struct tw_calling_step *call)
{
	struct tw_held_step step;
	if (call->change == TW_CALLING_NOTHING || call->within)
		return 0;
	int error = tw_held_take(&t->held, call, &step);
	struct lock *l = error || step.change == TW_HELD_NOTHING ? NULL : lock_of(s, t, step.lock.addr);
	if (!l)
		return error;
	if (step.change == TW_HELD_ASKED)
		t->waits = l->holders && (l->alone || !step.lock.shared);
	l->refused += step.change == TW_HELD_REFUSED;
	if (step.change == TW_HELD_TAKEN)
		return take(s, t, thread, call, &step.lock);
	return step.change == TW_HELD_GIVEN ? give(s, t, thread, &step.lock, call->tsc) : 0;
}

/* ---- batches ---- */

static int take_event(struct state *s, struct thread *t, uint32_t thread, const struct tw_event *e)
{
	struct tw_calling_step step;
	int error;
	do {
		error = tw_calling_take(&t->calling, &s->kinds, e, &step);
		if (!error)
			error = take_step(s, t, thread, &step);
	} while (!error && step.more);
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	struct thread *t = thread_of(s, b->thread);
	const struct tw_block_run *run = tw_batch_blocks(b);
	size_t event = 0;
	int error = t ? 0 : TW_ERR_MEMORY;
	for (size_t i = 0; i <= b->n_blocks && !error; i++) {
		for (; event < b->n_events && b->events[event].block <= i && !error; event++)
			error = take_event(s, t, b->thread, &b->events[event]);
		if (i < b->n_blocks && !error) {
			const size_t end = i + 1 < b->n_blocks ? run[i + 1].first_ref : b->n_refs;
			error = tw_callpath_take(&t->path, &run[i], b->addr + run[i].first_ref, end - run[i].first_ref);
		}
	}
	return error;
}

static int merge(void *state, void *later)
{
	struct state *s = state;
	free_state(later);
	return tw_context_wrong(s->context, "it sees all threads at once, and has nothing to merge");
}

/* ---- the answer ---- */

/* Nanoseconds of a number of cycles. */
static uint64_t ns_of(const struct state *s, uint64_t cycles)
{
	const uint64_t hz = tw_recording_info(s->recording)->tsc_hz;
	return hz ? (uint64_t)((double)cycles * 1e9 / (double)hz) : 0;
}

static void name_lock(const struct lock *l, struct tw_names *names, char *to, size_t size)
{
	tw_held_name(names, l->image, l->addr, to, size);
}

static int by_wait(const void *a, const void *b)
{
	const struct lock *x = *(const struct lock *const *)a, *y = *(const struct lock *const *)b;
	if (x->wait != y->wait)
		return x->wait > y->wait ? -1 : 1;
	if (x->taken != y->taken)
		return x->taken > y->taken ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int print_locks(const struct state *s, struct tw_answer *a, struct tw_names *names)
{
	static const struct tw_column columns[] = {
	    {"taken", TW_COLUMN_COUNT},        {"waited", TW_COLUMN_COUNT},       {"refused", TW_COLUMN_COUNT},
	    {"wait_ns", TW_COLUMN_COUNT},      {"longest_wait", TW_COLUMN_COUNT}, {"hold_ns", TW_COLUMN_COUNT},
	    {"longest_hold", TW_COLUMN_COUNT}, {"lock", TW_COLUMN_TEXT},          {NULL, 0}};
	const struct lock **order = calloc(s->n_locks + 1, sizeof(const struct lock *));
	char name[400];
	if (!order)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < s->n_locks; i++)
		order[i] = &s->locks[i];
	qsort(order, s->n_locks, sizeof *order, by_wait);
	tw_answer_table(a, "locks", "Locks, longest total wait first", columns);
	for (size_t i = 0; i < s->n_locks; i++) {
		const struct lock *l = order[i];
		name_lock(l, names, name, sizeof name);
		tw_answer_row(a, (struct tw_cell[]){{.count = l->taken},
		                                    {.count = l->waited},
		                                    {.count = l->refused},
		                                    {.count = ns_of(s, l->wait)},
		                                    {.count = ns_of(s, l->longest_wait.cycles)},
		                                    {.count = ns_of(s, l->hold)},
		                                    {.count = ns_of(s, l->longest_hold.cycles)},
		                                    {.text = name}});
	}
	free(order);
	return 0;
}

/* What was held or waited for longest. */
struct told {
	const struct lock *lock;
	const struct longest *longest;
	const char *what;
};

static int by_cycles(const void *a, const void *b)
{
	const struct told *x = a, *y = b;
	if (x->longest->cycles != y->longest->cycles)
		return x->longest->cycles > y->longest->cycles ? -1 : 1;
	return (x->lock->addr > y->lock->addr) - (x->lock->addr < y->lock->addr);
}

static int print_longest(const struct state *s, struct tw_answer *a, struct tw_names *names)
{
	static const struct tw_column columns[] = {{"ns", TW_COLUMN_COUNT},  {"what", TW_COLUMN_TEXT}, {"thread", TW_COLUMN_COUNT},
	                                           {"lock", TW_COLUMN_TEXT}, {"path", TW_COLUMN_TEXT}, {NULL, 0}};
	const unsigned depth = (unsigned)tw_context_number(s->context, "depth");
	struct told *all = calloc(2 * s->n_locks + 1, sizeof *all);
	char name[400], path[TW_CALLPATH_TEXT];
	size_t n = 0;
	if (!all)
		return TW_ERR_MEMORY;
	for (const struct lock *l = s->locks; l < s->locks + s->n_locks; l++) {
		if (l->longest_hold.cycles)
			all[n++] = (struct told){l, &l->longest_hold, "held"};
		if (l->longest_wait.cycles)
			all[n++] = (struct told){l, &l->longest_wait, "waited"};
	}
	qsort(all, n, sizeof *all, by_cycles);
	tw_answer_table(a, "longest", "The longest hold and wait of each lock, and where the lock was requested", columns);
	for (const struct told *t = all; t < all + n; t++) {
		name_lock(t->lock, names, name, sizeof name);
		tw_callpath_text(&s->paths, t->longest->path, names, depth, path, sizeof path);
		tw_answer_row(a, (struct tw_cell[]){{.count = ns_of(s, t->longest->cycles)},
		                                    {.text = t->what},
		                                    {.count = t->longest->thread},
		                                    {.text = name},
		                                    {.text = path}});
	}
	free(all);
	return 0;
}

/* Is there a path from lock `from` to lock `to`? `seen` has a byte for each lock, 0. */
static int leads(const struct state *s, size_t from, size_t to, uint8_t *seen)
{
	size_t *todo = malloc((s->n_locks + 1) * sizeof *todo), n = 0;
	int found = 0;
	for (size_t at = from; todo && !found;) {
		for (size_t i = 0; i < s->n_pairs; i++) {
			const struct pair *p = &s->pairs[i];
			if (p->first != at || seen[p->second])
				continue;
			seen[p->second] = 1;
			found |= p->second == to;
			todo[n++] = p->second;
		}
		if (!n)
			break;
		at = todo[--n];
	}
	free(todo);
	return found;
}

static int print_orders(const struct state *s, struct tw_answer *a, struct tw_names *names)
{
	static const struct tw_column columns[] = {
	    {"times", TW_COLUMN_COUNT}, {"thread", TW_COLUMN_COUNT}, {"orders", TW_COLUMN_TEXT}, {NULL, 0}};
	const unsigned depth = (unsigned)tw_context_number(s->context, "depth");
	char first[400], second[400], path[TW_CALLPATH_TEXT], text[TW_CALLPATH_TEXT + 1000];
	tw_answer_table(a, "inversions", "Lock orders that contradict each other: possible deadlocks", columns);
	for (size_t i = 0; i < s->n_pairs; i++) {
		const struct pair *p = &s->pairs[i];
		uint8_t *seen = calloc(s->n_locks + 1, 1);
		if (!seen)
			return TW_ERR_MEMORY;
		const int back = leads(s, p->second, p->first, seen);
		free(seen);
		if (!back)
			continue;
		name_lock(&s->locks[p->first], names, first, sizeof first);
		name_lock(&s->locks[p->second], names, second, sizeof second);
		tw_callpath_text(&s->paths, p->path, names, depth, path, sizeof path);
		snprintf(text, sizeof text, "%s, then %s: %s", first, second, path);
		tw_answer_row(a, (struct tw_cell[]){{.count = p->times}, {.count = p->thread}, {.text = text}});
	}
	return 0;
}

static int print_all(const struct state *s)
{
	struct tw_names *names = tw_context_names(s->context);
	struct tw_answer *a = tw_context_answer(s->context);
	uint64_t taken = 0, waited = 0;
	for (size_t i = 0; i < s->n_locks; i++) {
		taken += s->locks[i].taken;
		waited += s->locks[i].waited;
	}
	tw_answer_fact(a, "taken", taken);
	tw_answer_fact(a, "waited", waited);
	int error = names ? print_locks(s, a, names) : TW_ERR_MEMORY;
	error = error ? error : print_longest(s, a, names);
	return error ? error : print_orders(s, a, names);
}

static int end(void *state, int error)
{
	if (!error)
		error = print_all(state);
	free_state(state);
	return error;
}

static const struct tw_option options[] = {
    {"lock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that acquire the lock they are given, recorded with record --calls=NAME"},
    {"trylock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that acquire it if they return 0"},
    {"unlock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that release it"},
    {"depth", TW_OPTION_NUMBER, "N", "8", "number of calls shown of each path, innermost first"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_locks = {
    .name = "locks",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "locks: contention, hold times, orders that may deadlock",
    .help = "Locks are those of pthreads, C11 and OpenMP (record --calls), identified by\n"
            "address. A lock is contended if another thread held it when it was requested.\n"
            "The longest hold and wait of each are shown with thread and call path. An\n"
            "inversion is a pair of locks taken in one order in one place and in the opposite\n"
            "order in others, possibly through further locks.\n",
    .options = options,
    .needs = TW_NEEDS_REFS | TW_NEEDS_FLOW | TW_NEEDS_NAMES | TW_NEEDS_CALLS,
    .scope = TW_SCOPE_ALL,
};
