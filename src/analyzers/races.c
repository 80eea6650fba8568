/*
 * races: two accesses to the same bytes, by two threads, at least one of them a write, which nothing orders: neither
 * happened before the other (ordering.h). FastTrack's epochs (epochs.h) tell with which earlier accesses a later one
 * can race.
 *
 * Checked are the accesses of the program's code. Internal accesses of the C library and libgomp are their own, and
 * their calls that order threads are known (ordering.h). Accesses of a process that still has one thread, and shares
 * no memory with others, are not kept: everything that its later threads do comes after. Accesses to memory shared by
 * processes are kept by their place in the segment (shared_memory.h).
 *
 * A variable is atomic if an atomic instruction accessed it (atomics.h): a thread that reads it acquires, one that
 * writes it releases, except for relaxed accesses. An atomic access can race with one that is known to be plain.
 *
 * With --hybrid locks order nothing; a race is then two accesses that nothing else orders and no common lock
 * protects. This is a second opinion, which finds races that a lucky order hid, but suspects programs that
 * synchronize by locks alone.
 */
#include "analyzers/race_state.h"

#include <stdlib.h>

static void free_thread(struct tw_race_thread *t)
{
	tw_calling_free(&t->calling);
	tw_callpath_free(&t->path);
	tw_held_free(&t->held);
	tw_postponed_free(&t->postponed);
}

static void free_state(struct tw_race_state *s)
{
	for (size_t i = 0; i < s->n_threads && s->threads; i++)
		free_thread(&s->threads[i]);
	for (size_t i = 0; i < s->n_threads && s->lines; i++)
		tw_race_lines_free(&s->lines[i]);
	free(s->threads);
	free(s->lines);
	tw_race_pieces_free(&s->pieces);
	free(s->threaded);
	tw_calling_kinds_free(&s->kinds);
	tw_runtime_code_free(&s->runtime);
	tw_atomics_free(&s->atomics);
	tw_callpaths_free(&s->paths);
	tw_locksets_free(&s->locksets);
	tw_ordering_free(&s->ordering);
	tw_epoch_free(&s->shadow);
	tw_races_free(&s->races);
	tw_rows_free(&s->reads);
	tw_heard_free(&s->heard);
	free(s);
}

static int init(struct tw_race_state *s)
{
	static const struct tw_calling_option options[] = {{"lock", TW_CALLED_OMP_LOCK},    {"unlock", TW_CALLED_UNLOCK},
	                                                   {"trylock", TW_CALLED_TRY_LOCK}, {"alloc", TW_CALLED_MALLOC},
	                                                   {"free", TW_CALLED_FREE},        {NULL, 0}};
	const char *suppressions = tw_context_text(s->context, "suppressions");
	int error = tw_calling_kinds_init(&s->kinds, s->context, options);
	if (!error)
		error = tw_ordering_init(&s->ordering, s->context);
	if (!error && s->unstamped)
		error = tw_heard_init(&s->heard, tw_race_clocks(s));
	for (size_t i = 0; i < s->n_threads && !error && s->unstamped; i++)
		s->ordering.threads[i].heard = &s->heard;
	if (!error && suppressions)
		error = tw_races_suppress(&s->races, suppressions);
	s->ordering.without_locks = s->hybrid = tw_context_flag(s->context, "hybrid");
	return error;
}

static void *begin(void *arg)
{
	struct tw_race_state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = s->runtime.context = s->atomics.context = s->races.context = arg;
	s->recording = tw_context_recording(arg);
	s->n_threads = tw_recording_n_threads(s->recording);
	s->reads.width = 1;
	s->unstamped = !tw_recording_info(s->recording)->order;
	s->threads = calloc(s->n_threads + 1, sizeof *s->threads);
	s->lines = calloc(s->n_threads + 1, sizeof *s->lines);
	s->threaded = calloc(s->n_threads + 1, sizeof *s->threaded);
	if (s->threads && s->lines && s->threaded && !init(s))
		return s;
	free_state(s);
	return NULL;
}

static struct tw_race_thread *thread_of(struct tw_race_state *s, uint32_t serial)
{
	const size_t i = tw_recording_find_thread(s->recording, serial);
	struct tw_names *names = tw_context_names(s->context);
	if (i >= s->n_threads || !names)
		return NULL;
	struct tw_race_thread *t = &s->threads[i];
	if (!t->known) {
		t->serial = serial;
		t->image = tw_names_image(names, serial);
		t->order = &s->ordering.threads[i];
		t->lines = &s->lines[i];
		t->lowest = UINT64_MAX;
		t->known = 1;
	}
	return t;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct tw_race_state *s = state;
	struct tw_race_thread *t = thread_of(s, b->thread);
	if (!t)
		return TW_ERR_MEMORY;
	return tw_race_take_batch(s, t, b);
}

static int merge(void *state, void *later)
{
	struct tw_race_state *s = state;
	free_state(later);
	return tw_context_wrong(s->context, "it sees all threads at once, and has nothing to merge");
}

static int print_all(struct tw_race_state *s)
{
	struct tw_names *names = tw_context_names(s->context);
	struct tw_answer *a = tw_context_answer(s->context);
	const struct tw_recording_info *info = tw_recording_info(s->recording);
	if (!names)
		return TW_ERR_MEMORY;
	tw_answer_fact_text(a, "ordered_by",
	                    s->hybrid     ? "all but locks"
	                    : info->order ? "calls and time stamps of atomic instructions"
	                                  : "calls; what only atomic instructions order may be told");
	tw_answer_fact(a, "threads", s->n_threads);
	tw_answer_fact(a, "accesses_checked", s->checked);
	tw_races_judge_unknown(&s->races, &s->atomics);
	tw_races_print(&s->races, &s->paths, &s->locksets, names, (unsigned)tw_context_number(s->context, "depth"));
	return 0;
}

static int end(void *state, int error)
{
	struct tw_race_state *s = state;
	if (!error)
		error = tw_race_take_rest(s);
	if (!error)
		error = tw_race_find_possible(s);
	if (!error)
		error = print_all(s);
	free_state(s);
	return error;
}

static const struct tw_option options[] = {
    {"hybrid", TW_OPTION_FLAG, NULL, NULL, "locks establish no order: report accesses without a common lock or another order"},
    {"suppressions", TW_OPTION_TEXT, "FILE", NULL,
     "omit races that match a line of FILE: function:, file:, module: or object: and a pattern"},
    {"lock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that acquire the lock they are given, recorded with record --calls=NAME"},
    {"trylock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that acquire it if they return 0"},
    {"unlock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that release it"},
    {"alloc", TW_OPTION_TEXT, "NAME,...", NULL, "functions that allocate like malloc"},
    {"free", TW_OPTION_TEXT, "NAME,...", NULL, "functions that free like free"},
    {"depth", TW_OPTION_NUMBER, "N", "8", "number of calls shown of each path, innermost first"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_races = {
    .name = "races",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "data races: accesses of two threads without an order",
    .help = "Threads, and processes that share memory, are ordered by pthreads, C11 threads,\n"
            "semaphores, GCC's OpenMP, C++'s static initialization (record --calls), and by\n"
            "atomic variables, whose order is certain only with time stamps (record --order).\n"
            "Use --range to check only one variable or address range.\n",
    .options = options,
    .needs = TW_NEEDS_REFS | TW_NEEDS_FLOW | TW_NEEDS_NAMES | TW_NEEDS_CALLS | TW_WANTS_ORDER,
    .scope = TW_SCOPE_ALL,
};
