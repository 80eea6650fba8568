/*
 * races: two accesses to the same bytes, by two threads, one of them a write, which nothing orders: neither happened before the other (ordering.h). FastTrack's epochs (epochs.h) say which
 * earlier accesses a later one can race with.
 *
 * What is checked are the accesses of the program's code; what the C library and libgomp do within is theirs, and the calls of theirs that order threads are known (ordering.h).
 * Accesses of a process that has one thread yet are not kept: all that its later threads do comes after.
 *
 * A variable is atomic where an atomic instruction accessed it (atomics.h): a thread that reads it acquires, one that writes it releases, but for relaxed accesses. Between an atomic access and
 * one of which it is known that it is none there is a race as between any two.
 *
 * With --hybrid locks order nothing; a race is then what nothing else orders, and no common lock protects: a second opinion, which finds races that a lucky order hid, and suspects
 * programs that hand over by locks alone.
 */
#include "analyzers/atomics.h"
#include "analyzers/ordering.h"
#include "analyzers/postponed.h"
#include "analyzers/race_report.h"
#include "analyzers/runtime_code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { RECENT = 1024, STACK_BELOW = 8 << 20 };

/* Accesses of the thread's epoch that have been looked at: most come again. */
struct recent {
	uint64_t key;
	uint32_t clock;
	uint32_t releases; /* of an atomic read: as many there had been; else 0 */
};

struct thread {
	uint32_t serial, image;
	int known;
	enum tw_code_owner owner; /* of the last block */
	uint8_t end;              /* enum tw_end of it */
	struct tw_ordering_thread *order;
	struct tw_calling calling;
	struct tw_callpath path;
	struct tw_held held;
	uint16_t locks;  /* number of the set that it holds */
	uint64_t lowest; /* place of a return address on its stack */
	struct tw_postponed postponed;
	struct recent *recent;
};

struct state {
	const struct tw_context *context;
	const struct tw_recording *recording;
	int hybrid;
	struct tw_calling_kinds kinds;
	struct tw_runtime_code runtime;
	struct tw_atomics atomics;
	struct tw_callpaths paths;
	struct tw_locksets locksets;
	struct tw_ordering ordering;
	struct tw_epoch shadow;
	struct tw_races races;
	struct thread *threads;
	size_t n_threads;
	uint32_t *threaded; /* processes that have made threads */
	size_t n_threaded;
	size_t n_postponed; /* threads of which something is */
	uint64_t checked;
};

/* ---- states ---- */

static void free_thread(struct thread *t)
{
	tw_calling_free(&t->calling);
	tw_callpath_free(&t->path);
	tw_held_free(&t->held);
	tw_postponed_free(&t->postponed);
	free(t->recent);
}

static void free_state(struct state *s)
{
	for (size_t i = 0; i < s->n_threads && s->threads; i++)
		free_thread(&s->threads[i]);
	free(s->threads);
	free(s->threaded);
	tw_calling_kinds_free(&s->kinds);
	tw_runtime_code_free(&s->runtime);
	tw_atomics_free(&s->atomics);
	tw_callpaths_free(&s->paths);
	tw_locksets_free(&s->locksets);
	tw_ordering_free(&s->ordering);
	tw_epoch_free(&s->shadow);
	tw_races_free(&s->races);
	free(s);
}

static int init(struct state *s)
{
	static const struct tw_calling_option options[] = {{"lock", TW_CALLED_OMP_LOCK},    {"unlock", TW_CALLED_UNLOCK},
	                                                   {"trylock", TW_CALLED_TRY_LOCK}, {"alloc", TW_CALLED_MALLOC},
	                                                   {"free", TW_CALLED_FREE},        {NULL, 0}};
	const char *suppressions = tw_context_text(s->context, "suppressions");
	int error = tw_calling_kinds_init(&s->kinds, s->context, options);
	if (!error)
		error = tw_ordering_init(&s->ordering, s->recording);
	if (!error && suppressions)
		error = tw_races_suppress(&s->races, suppressions);
	s->ordering.without_locks = s->hybrid = tw_context_flag(s->context, "hybrid");
	return error;
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = s->runtime.context = s->atomics.context = s->races.context = arg;
	s->recording = tw_context_recording(arg);
	s->n_threads = tw_recording_n_threads(s->recording);
	s->threads = calloc(s->n_threads + 1, sizeof *s->threads);
	s->threaded = calloc(s->n_threads + 1, sizeof *s->threaded);
	if (s->threads && s->threaded && !init(s))
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
		t->serial = serial;
		t->image = tw_names_image(names, serial);
		t->order = &s->ordering.threads[i];
		t->lowest = UINT64_MAX;
		t->recent = calloc(RECENT, sizeof *t->recent);
	}
	return t->recent ? t : NULL;
}

static int is_threaded(const struct state *s, uint32_t process)
{
	for (size_t i = 0; i < s->n_threaded; i++)
		if (s->threaded[i] == process)
			return 1;
	return 0;
}

/* ---- accesses ---- */

struct access {
	struct state *s;
	struct thread *t;
	uint64_t addr; /* of the word */
};

static int found(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later)
{
	const struct access *a = context;
	struct state *s = a->s;
	if (s->hybrid && tw_locksets_meet(&s->locksets, earlier->locks, later->locks))
		return 0;
	const int first = __builtin_ctz(earlier->mask & later->mask);
	const struct tw_race race = {.access = {*later, *earlier},
	                             .serial = {a->t->serial, s->threads[earlier->thread].serial},
	                             .image = a->t->image,
	                             .addr = a->addr + (unsigned)first};
	return tw_races_add(&s->races, &race);
}

/* The bytes of a word that are accessed. */
static uint8_t mask_of(uint64_t word, uint64_t addr, uint64_t end)
{
	const unsigned from = addr > word ? (unsigned)(addr - word) : 0, to = end < word + 8 ? (unsigned)(end - word) : 8;
	return (uint8_t)(((1u << to) - 1) & ~((1u << from) - 1));
}

static int check_words(struct state *s, struct thread *t, uint64_t addr, uint64_t bytes, struct tw_epoch_access a)
{
	int error = 0;
	for (uint64_t word = addr & ~7ull; word < addr + bytes && !error; word += 8) {
		struct access at = {s, t, word};
		struct tw_epoch_word *w = tw_epoch_word(&s->shadow, t->order->process, word);
		a.mask = mask_of(word, addr, addr + bytes);
		error = w ? tw_epoch_add(w, &a, &t->order->clocks, found, &at) : TW_ERR_MEMORY;
	}
	return error;
}

static struct tw_epoch_access access_of(struct state *s, struct thread *t, uint64_t pc, int flags)
{
	return (struct tw_epoch_access){.pc = pc,
	                                .thread = (uint32_t)t->order->index,
	                                .clock = t->order->clock,
	                                .path = tw_callpath_number(&t->path, &s->paths, t->image),
	                                .locks = t->locks,
	                                .flags = (uint8_t)flags};
}

/* What an access to an atomic variable orders is done: what it reads before, what it writes behind it. */
static int check_atomic(struct state *s, struct thread *t, const struct tw_ref *r, int orders)
{
	const int reads = orders && (r->type & TW_READ), writes = orders && (r->type & TW_WRITE);
	int error = reads ? tw_ordering_atomic(&s->ordering, t->order, r->addr, 1, 0) : 0;
	if (!error)
		error = check_words(s, t, r->addr, r->size,
		                    access_of(s, t, r->pc, TW_EPOCH_ATOMIC | (r->type & TW_WRITE ? TW_EPOCH_WRITE : 0)));
	return error || !writes ? error : tw_ordering_atomic(&s->ordering, t->order, r->addr, 0, 1);
}

static void mark_atomic(struct state *s, const struct thread *t, uint64_t addr, unsigned bytes, int waited)
{
	for (uint64_t word = addr & ~7ull; word < addr + bytes; word += 8) {
		struct tw_epoch_word *w = tw_epoch_word(&s->shadow, t->order->process, word);
		if (w)
			*(waited ? &w->waited : &w->atomic) |= mask_of(word, addr, addr + bytes);
	}
}

/* Is what the access is to an atomic variable, though its instruction does not say so? */
static int is_marked(struct state *s, const struct thread *t, const struct tw_ref *r, const struct tw_atomic_insn *insn)
{
	const struct tw_epoch_word *w = tw_epoch_word(&s->shadow, t->order->process, r->addr);
	const uint8_t mask = mask_of(r->addr & ~7ull, r->addr, r->addr + r->size);
	return w && ((w->waited & mask) || (insn->kind == TW_ATOMIC_UNKNOWN && (w->atomic & mask)));
}

static uint64_t key_of(const struct tw_ref *r)
{
	return r->addr << 10 | (r->size & 0xff) << 2 | r->type;
}

static struct recent *recent_of(const struct thread *t, const struct tw_ref *r)
{
	return &t->recent[(r->addr ^ r->addr >> 10) % RECENT];
}

/* Has such an access been looked at, and would it be the same again? */
static int is_recent(const struct state *s, const struct thread *t, const struct tw_ref *r)
{
	const struct recent *recent = recent_of(t, r);
	return recent->key == key_of(r) && recent->clock == t->order->clock &&
	       (!recent->releases || recent->releases == s->ordering.releases);
}

/* An access that is not like one of the epoch that was looked at. */
static int check(struct state *s, struct thread *t, const struct tw_block_run *run, const struct tw_ref *r)
{
	const struct tw_atomic_insn *insn = tw_atomics_of(&s->atomics, run->descriptor, r, t->image);
	if (!insn)
		return TW_ERR_MEMORY;
	s->checked++;
	if (insn->kind >= TW_ATOMIC_RELAXED)
		mark_atomic(s, t, r->addr, r->size, 0);
	const int atomic = insn->kind >= TW_ATOMIC_RELAXED || is_marked(s, t, r, insn);
	if (!atomic || r->type == TW_READ)
		*recent_of(t, r) = (struct recent){key_of(r), t->order->clock, atomic ? s->ordering.releases : 0};
	if (atomic)
		return check_atomic(s, t, r, insn->kind != TW_ATOMIC_RELAXED);
	return check_words(s, t, r->addr, r->size, access_of(s, t, r->pc, r->type & TW_WRITE ? TW_EPOCH_WRITE : 0));
}

static int take_refs(struct state *s, struct thread *t, const struct tw_block_run *run, const struct tw_ref *refs, size_t n)
{
	int error = 0;
	for (size_t i = 0; i < n && !error; i++)
		if (!is_recent(s, t, &refs[i]))
			error = check(s, t, run, &refs[i]);
	return error;
}

/* ---- calls and other events ---- */

/* A block is given back: that is as if all of it were written. */
static int release_block(struct state *s, struct thread *t, const struct tw_open_call *c)
{
	const struct tw_epoch_access a = access_of(s, t, c->back - 1, TW_EPOCH_WRITE);
	const enum tw_code_owner owner = tw_runtime_code_at(&s->runtime, c->back - 1, t->serial);
	const int theirs = owner == TW_CODE_LIBRARY || owner == TW_CODE_OPENMP;
	return c->args[0] && !theirs && is_threaded(s, t->order->process) ? check_words(s, t, c->args[0], 8, a) : 0;
}

static void give_block(struct state *s, const struct thread *t, uint64_t addr, uint64_t bytes)
{
	if (addr)
		tw_epoch_forget(&s->shadow, t->order->process, addr, addr + bytes);
}

static int take_memory(struct state *s, struct thread *t, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	if (step->change == TW_CALLING_ENTERED)
		return c->kind == TW_CALLED_FREE ? release_block(s, t, c) : 0;
	switch (c->kind) {
	case TW_CALLED_MALLOC:
	case TW_CALLED_NEW_ALIGNED:
		give_block(s, t, step->result, c->args[0]);
		return 0;
	case TW_CALLED_CALLOC:
		give_block(s, t, step->result, c->args[0] * c->args[1]);
		return 0;
	case TW_CALLED_POSIX_MEMALIGN:
		give_block(s, t, step->stored, c->args[2]);
		return 0;
	case TW_CALLED_REALLOC:
	case TW_CALLED_MEMALIGN:
		give_block(s, t, step->result == c->args[0] ? 0 : step->result, c->args[1]);
		return 0;
	default:
		return 0;
	}
}

static int take_call(struct state *s, struct thread *t, const struct tw_calling_step *step)
{
	struct tw_held_step held;
	if (step->change == TW_CALLING_NOTHING || step->within)
		return 0;
	if (tw_called_is_memory(step->call.kind))
		return take_memory(s, t, step);
	if (step->call.kind == TW_CALLED_CREATE && !is_threaded(s, t->order->process))
		s->threaded[s->n_threaded++] = t->order->process;
	if (step->call.kind == TW_CALLED_GUARD_ACQUIRE)
		mark_atomic(s, t, step->call.args[0], 1, 1);
	int error = tw_held_take(&t->held, step, &held);
	if (!error && held.change != TW_HELD_NOTHING) {
		t->locks = tw_locksets_number(&s->locksets, &t->held);
		error = tw_ordering_lock(&s->ordering, t->order, &held);
	}
	return error ? error : tw_ordering_call(&s->ordering, t->order, step);
}

/* Where the thread's stack is, as far as it was used, another one may have had its own before. */
static void begin_stack(struct state *s, const struct thread *t, const struct tw_keyframe *k)
{
	if (k->seg_base[TW_SEG_FS])
		for (size_t i = 0; i < s->n_threads; i++) {
			const struct thread *o = &s->threads[i];
			if (o->known && o != t && o->order->ended && o->order->fs == k->seg_base[TW_SEG_FS] && o->lowest < o->order->fs &&
			    o->order->fs - o->lowest < STACK_BELOW)
				tw_epoch_forget(&s->shadow, t->order->process, o->lowest - 4096, o->order->fs + 4096);
		}
}

static void take_syscall(struct state *s, const struct thread *t, const struct tw_syscall *e)
{
	if (e->number == SYS_futex)
		mark_atomic(s, t, e->args[0], 4, 1);
	if (e->number == SYS_munmap && !e->result)
		tw_epoch_forget(&s->shadow, t->order->process, e->args[0], e->args[0] + e->args[1]);
}

/* Has the process more than one thread from here on? Who made the other, or that other, comes first. */
static int makes_thread(const struct thread *t, const struct tw_event *e)
{
	const struct tw_thread_start *start = e->payload;
	const struct tw_fork *fork = e->payload;
	return (e->type == TW_EVENT_FORK && fork->child_pid == t->order->process) ||
	       (e->type == TW_EVENT_THREAD_START && start->pid != start->tid);
}

static int take_event(struct state *s, struct thread *t, const struct tw_event *e)
{
	struct tw_calling_step step;
	if (makes_thread(t, e) && !is_threaded(s, t->order->process))
		s->threaded[s->n_threaded++] = t->order->process;
	if (e->type == TW_EVENT_SYSCALL && !t->calling.in_closed)
		take_syscall(s, t, e->payload);
	if (e->type == TW_EVENT_KEYFRAME && !t->order->fs)
		begin_stack(s, t, e->payload);
	int error = tw_ordering_event(&s->ordering, t->order, e);
	do {
		if (!error)
			error = tw_calling_take(&t->calling, &s->kinds, e, &step);
		if (!error)
			error = take_call(s, t, &step);
	} while (!error && step.more);
	return error;
}

/* ---- blocks ---- */

/* Control has come from one's code to another's. *waits: it is to be looked at when another thread has come further. */
static int change_owner(struct state *s, struct thread *t, const struct tw_block_run *run, enum tw_code_owner owner, int *waits)
{
	const enum tw_code_owner before = t->owner;
	t->owner = owner;
	if (before != TW_CODE_OPENMP || owner != TW_CODE_PROGRAM || t->end != TW_END_ICALL)
		return 0;
	int error = tw_ordering_comes(&s->ordering, t->order, run->pc, t->path.n, waits);
	*waits = *waits && !t->calling.n;
	if (*waits)
		t->owner = before;
	return error;
}

/* Whose a block is, on whose behalf it runs. */
static enum tw_code_owner owner_of(struct state *s, const struct thread *t, const struct tw_block_run *run)
{
	const enum tw_code_owner owner = tw_runtime_code_of(&s->runtime, run, t->serial);
	if (owner != TW_CODE_GIVEN)
		return owner;
	const struct tw_callpath *p = &t->path;
	const int by_openmp = p->n && tw_runtime_code_at(&s->runtime, p->frames[p->n - 1].back - 1, t->serial) == TW_CODE_OPENMP;
	return by_openmp ? TW_CODE_OPENMP : TW_CODE_PROGRAM;
}

static int take_block(struct state *s, struct thread *t, const struct tw_part *p, size_t i, int *waits)
{
	const struct tw_block_run *run = &p->blocks[i];
	const size_t end = i + 1 < p->n_blocks ? p->blocks[i + 1].first_ref : p->n_refs, n = end - run->first_ref;
	const enum tw_code_owner owner = owner_of(s, t, run);
	uint64_t last;
	int error = owner != t->owner ? change_owner(s, t, run, owner, waits) : 0;
	if (error || *waits)
		return error;
	if (owner == TW_CODE_OPENMP)
		error = tw_ordering_goes(&s->ordering, t->order, t->path.n);
	t->end = tw_descriptor_blocks(run->descriptor)[run->block].end;
	if (!error && owner == TW_CODE_PROGRAM && !t->calling.in_closed && s->n_threaded && is_threaded(s, t->order->process))
		error = take_refs(s, t, run, p->refs + run->first_ref, n);
	if (error || !n)
		return error;
	last = p->refs[end - 1].addr;
	error = tw_callpath_take(&t->path, run, &last, 1);
	if (t->path.n && t->path.frames[t->path.n - 1].slot < t->lowest)
		t->lowest = t->path.frames[t->path.n - 1].slot;
	return error;
}

static int take_events(struct state *s, struct thread *t, struct tw_part *p)
{
	int error = 0;
	for (; p->event < p->n_events && p->events[p->event].block <= p->block && !error; p->event++)
		error = take_event(s, t, &p->events[p->event]);
	return error;
}

/* Looks at a part as far as that can be done now; `force`: to its end. */
static int take_part(struct state *s, struct thread *t, struct tw_part *p, int force)
{
	int error = 0;
	for (; p->block < p->n_blocks && !error; p->block++) {
		int waits = 0;
		error = take_events(s, t, p);
		if (!error)
			error = take_block(s, t, p, p->block, &waits);
		if (waits && !force)
			return error;
		if (waits) { /* again, as if nothing had changed */
			t->owner = TW_CODE_PROGRAM;
			error = take_block(s, t, p, p->block, &waits);
		}
	}
	return error ? error : take_events(s, t, p);
}

static int is_done(const struct tw_part *p)
{
	return p->block == p->n_blocks && p->event == p->n_events;
}

/* What was postponed of the thread, as far as that can be looked at now. */
static int take_postponed(struct state *s, struct thread *t, int force)
{
	int error = 0;
	for (struct tw_part *p; !error && (p = tw_postponed_first(&t->postponed));) {
		error = take_part(s, t, p, force);
		if (!is_done(p))
			return error;
		tw_postponed_drop(&t->postponed);
	}
	s->n_postponed -= !error;
	return error;
}

static int take_all_postponed(struct state *s, int force)
{
	int error = 0;
	for (size_t i = 0; i < s->n_threads && s->n_postponed && !error; i++)
		if (tw_postponed_first(&s->threads[i].postponed))
			error = take_postponed(s, &s->threads[i], force);
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	struct thread *t = thread_of(s, b->thread);
	if (!t)
		return TW_ERR_MEMORY;
	struct tw_part part = tw_part_of(b);
	if (tw_postponed_first(&t->postponed))
		return tw_postponed_add(&t->postponed, &part);
	int error = take_part(s, t, &part, 0);
	if (!error && !is_done(&part)) {
		s->n_postponed++;
		error = tw_postponed_add(&t->postponed, &part);
	}
	return error || !s->n_postponed ? error : take_all_postponed(s, 0);
}

static int merge(void *state, void *later)
{
	struct state *s = state;
	free_state(later);
	return tw_context_wrong(s->context, "it sees all threads at once, and has nothing to merge");
}

static int print_all(struct state *s)
{
	struct tw_names *names = tw_context_names(s->context);
	struct tw_answer *a = tw_context_answer(s->context);
	const struct tw_recording_info *info = tw_recording_info(s->recording);
	if (!names)
		return TW_ERR_MEMORY;
	tw_answer_fact_text(a, "ordered_by",
	                    s->hybrid     ? "all but locks"
	                    : info->order ? "calls and time stamps of atomic instructions"
	                                  : "calls; atomic instructions have no time stamps");
	tw_answer_fact(a, "threads", s->n_threads);
	tw_answer_fact(a, "accesses_checked", s->checked);
	tw_races_print(&s->races, &s->paths, &s->locksets, names, (unsigned)tw_context_number(s->context, "depth"));
	return 0;
}

static int end(void *state, int error)
{
	struct state *s = state;
	if (!error)
		error = take_all_postponed(s, 1);
	if (!error)
		error = print_all(s);
	free_state(s);
	return error;
}

static const struct tw_option options[] = {
    {"hybrid", TW_OPTION_FLAG, NULL, NULL, "locks order nothing: races are what has no lock in common and no other order"},
    {"suppressions", TW_OPTION_TEXT, "FILE", NULL, "leave out what its lines name: function:, file:, module: or object: and a pattern"},
    {"lock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that take the lock they are given, named with record --calls=NAME"},
    {"trylock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that take it if they return 0"},
    {"unlock", TW_OPTION_TEXT, "NAME,...", NULL, "functions that give it back"},
    {"alloc", TW_OPTION_TEXT, "NAME,...", NULL, "functions that allocate as malloc does"},
    {"free", TW_OPTION_TEXT, "NAME,...", NULL, "functions that free as free does"},
    {"depth", TW_OPTION_NUMBER, "N", "8", "so many calls of each path, the innermost first"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_races = {
    .name = "races",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "data races: accesses of two threads that nothing orders",
    .help = "Threads are ordered by pthreads, C11 threads, semaphores, OpenMP (gcc's), C++'s\n"
            "static initialization (record --calls), and by atomic variables, whose order\n"
            "is sure where they have time stamps (record --order). --range limits it to a\n"
            "variable or addresses.\n",
    .options = options,
    .needs = TW_NEEDS_REFS | TW_NEEDS_FLOW | TW_NEEDS_NAMES | TW_NEEDS_CALLS | TW_WANTS_ORDER,
    .scope = TW_SCOPE_ALL,
};
