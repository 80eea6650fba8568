#include "channel/collector.h"
#include "channel/barred.h"
#include "channel/channel_file.h"
#include "channel/clear.h"
#include "channel/collector_state.h"
#include "base/helper_thread.h"
#include "base/zeros.h"
#include "channel/drain.h"
#include "channel/budget.h"
#include "channel/demux.h"
#include "channel/displaced.h"
#include "channel/switch.h"
#include "channel/expand.h"
#include "channel/holder.h"
#include "channel/keep.h"
#include "channel/machine.h"
#include "channel/output_queue.h"
#include "channel/output_write.h"
#include "channel/spool.h"
#include "channel/descriptor_tables.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long the drain loop sleeps, how often it looks for dead threads, and at how many (each costs three system calls). */
enum { WAIT_NS = 50 * 1000 * 1000, CHECKS = 100, HOLDER_NAPS = 4000 };

/* ---- the loop ---- */

/* Is it a place that is detected here, not in the code? If it is a time, *next becomes at most what is left until then. */
static int is_due(const struct tw_collector *c, const struct tw_where *where, int stop, uint64_t *next)
{
	uint64_t passed = tw_machine_ns() - c->started;
	if (where->kind == TW_WHERE_COUNT)
		return stop && c->recorded >= where->value;
	if (where->kind != TW_WHERE_TIME)
		return 0;
	if (passed < where->value && where->value - passed < *next)
		*next = where->value - passed;
	return passed >= where->value;
}

/* Stored bytes, plus an estimate for what waits in the spool: by the ratio for what came out of it before, or at first the usual one. */
static uint64_t bytes_in_all(struct tw_collector *c)
{
	enum { USUAL = 16 };
	struct tw_collector_progress now = {0};
	tw_collector_progress(c, &now);
	const uint64_t came_out = now.spooled - now.waiting;
	const double share = came_out ? (double)now.stored / (double)came_out : 1.0 / USUAL;
	return now.stored + (uint64_t)((double)now.waiting * share);
}

/* Notes which limit is reached, the first one. */
static int limit_is_reached(struct tw_collector *c, uint64_t *next)
{
	const struct tw_where time = {.kind = TW_WHERE_TIME, .value = c->most_ns};
	if (!c->limit && c->most_ns && is_due(c, &time, 1, next))
		c->limit = TW_LIMIT_TIME;
	if (!c->limit && c->most_bytes && bytes_in_all(c) >= c->most_bytes)
		c->limit = TW_LIMIT_BYTES;
	return c->limit != TW_LIMIT_NONE;
}

/* Tells the engines when a window event is due. Returns for how long nothing will be, at most WAIT_NS. */
static uint64_t look_at_window(struct tw_collector *c)
{
	struct tw_window_control *w = &c->control->window;
	uint64_t next = WAIT_NS;
	uint32_t due = (is_due(c, &w->start, 0, &next) ? 1u : 0) | (is_due(c, &w->stop, 1, &next) || limit_is_reached(c, &next) ? 2u : 0);
	if (due)
		atomic_fetch_or(&w->due, due);
	if (c->switching)
		tw_switching_look(c->switching, tw_machine_ns() - c->started, &(struct tw_switched){c->written, c->records}, &next);
	return next;
}

static void wait_for_bell(struct tw_collector *c, uint32_t bell, uint64_t ns)
{
	struct timespec t = {0, (long)ns};
	syscall(SYS_futex, &c->control->doorbell, FUTEX_WAIT, bell, &t, NULL, 0);
}

static void ring_bell(struct tw_collector *c)
{
	atomic_fetch_add(&c->control->doorbell, 1);
	tw_drain_wake(&c->control->doorbell);
}

static void sweep_tables(struct tw_collector *c)
{
	int error = tw_tables_sweep(c->tables);
	if (error)
		tw_drain_note_failure(c, error);
}

static void take_budget(struct tw_collector *c, int all)
{
	int error = tw_budget_take(&c->control->budget, &c->budget, all);
	if (error)
		tw_drain_note_failure(c, error);
}

static void drain_until_ended(struct tw_collector *c)
{
	uint64_t checked = tw_machine_ns();
	int told = 0;
	for (;;) {
		uint32_t bell = atomic_load(&c->control->doorbell);
		int ended = atomic_load(&c->ended);
		unsigned active, done = tw_drain_all(c, &active);
		if (ended && !active)
			return;
		if (atomic_load(&c->stopping)) {
			tw_drain_leave_running(c);
			return;
		}
		c->holder = tw_holder_look(c->control, c->holder);
		uint64_t now = tw_machine_ns(), wait = look_at_window(c);
		if (now - checked >= WAIT_NS || ended > told) {
			tw_drain_check_threads(c, CHECKS);
			tw_output_age(c->output);
			tw_output_make_way(c->output, tw_drain_count_busy(c, now, 2 * WAIT_NS));
			sweep_tables(c);
			tw_drain_clear_slots(c, now);
			take_budget(c, 0);
			if (c->yields && !c->control->budget.bare) /* else it is charged to nobody */
				tw_displaced_look(c);
			checked = now;
			told = ended;
		} else if (!done) {
			tw_output_prepare(c->output);
			wait_for_bell(c, bell, wait);
		}
	}
}

static void *run(void *arg)
{
	struct tw_collector *c = arg;
	if (c->yields)
		tw_helper_thread_yield(TW_PRIORITY_LOW);
	pthread_mutex_lock(tw_channel_life(c));
	sem_post(&c->ready);
	drain_until_ended(c);
	for (uint32_t s = 0; s < tw_channel_slots_used(c->control); s++)
		tw_drain_descriptors(c, s);
	pthread_mutex_unlock(tw_channel_life(c));
	sem_post(&c->done);
	return NULL;
}

/* ---- starting ---- */

/* Something is known from earlier runs: each run records other parts of what the program does. */
static void learn_more(struct tw_budget_control *b, const struct tw_collector_options *options)
{
	if (b->period)
		b->begun -= tw_machine_ns() * 0x9e3779b97f4a7c15u % b->period;
	b->seeks = options->seeks ? TW_SEEKS_NEW : TW_SEEKS_NOTHING;
}

static void init_control(struct tw_collector *c, const struct tw_collector_options *options)
{
	struct tw_control *control = c->control;
	control->magic = TW_CHANNEL_MAGIC;
	control->version = TW_CHANNEL_VERSION;
	control->format = options->format;
	control->flags = (options->verify ? TW_FLAG_VERIFY : 0) | (options->no_follow ? TW_FLAG_NO_FOLLOW : 0) |
	                 (options->order ? TW_FLAG_ORDER : 0) | (options->learn ? TW_FLAG_LEARN : 0) |
	                 (options->stack ? TW_FLAG_STACK : 0) | (options->rest ? TW_FLAG_REST : 0);
	if (c->count_only && tw_form_of(options->format) == TW_FORM_PLAIN && options->format != TW_FORMAT_NONE && !options->order &&
	    !options->calls && !tw_sizes_limited(options->sizes))
		control->flags |= TW_FLAG_TALLY;
	if (options->calls) {
		control->flags |= TW_FLAG_CALLS;
		snprintf(control->calls, sizeof control->calls, "%s", options->calls + (options->calls[0] == ','));
	}
	control->collector_pid = getpid();
	control->descriptors_most = tw_machine_memory() / 2;
	control->window.start = options->start;
	control->window.stop = options->stop;
	control->window.limited = options->most_bytes || options->most_ns;
	c->most_bytes = options->most_bytes;
	c->most_ns = options->most_ns;
	c->tell_left = options->tell_left;
	c->tell_context = options->tell_context;
	control->learn_what = options->learn;
	control->learn_log = options->log;
	tw_budget_start(&control->budget, &options->budget);
	control->budget.bare = options->bare != 0;
	control->budget.switches = options->switches;
	control->budget.compiled = options->switchable;
	c->stop_at = options->stop.kind == TW_WHERE_COUNT ? options->stop.value : UINT64_MAX;
	c->started = tw_machine_ns();
	control->dump_pc = options->dump_pc;
	control->dump_all = options->dump_all != 0;
	control->hot = options->hot;
	control->budget.seeks = options->learn && options->seeks ? TW_SEEKS_ALL : TW_SEEKS_NOTHING;
	if (options->learn && options->fill_told && options->fill_told(options->fill_context, control))
		learn_more(&control->budget, options);
	control->versions = options->versions;
	control->store.limit = options->share < options->sizes->store_bytes ? options->share : options->sizes->store_bytes;
	tw_machine_xstate(&control->xstate);
}

static int start_keeping(struct tw_collector *c, const struct tw_collector_options *options)
{
	if (!options->keep || !c->control->store.limit || tw_form_of(options->format) != TW_FORM_PLAIN)
		return TW_OK;
	c->control->store.keep_limit = options->keep_bytes;
	int error = tw_keep_begin(&c->control->store, options->keep, options->must_keep);
	if (options->learn && !options->bare)
		c->control->store.keep[0] = 0;
	return options->must_keep ? error : TW_OK;
}

/*
 * There is no spool if there are no buffers, if each must be looked at as it comes, or if there is no room; then what
 * cannot be encoded at once waits in the program.
 */
static void start_spool(struct tw_collector *c, const struct tw_collector_options *options)
{
	const int is_charged = options->switchable && options->budget.period; /* by what is in the buffers */
	const int at_once = options->feed || is_charged || options->ring.bytes || options->ring.ns || options->stop.kind == TW_WHERE_COUNT;
	if (options->writer && !options->discard && options->format != TW_FORMAT_NONE && !at_once && options->spool >= TW_SPOOL_LEAST)
		tw_spool_new(tw_writer_directory(options->writer), options->spool, &c->spool);
	if (c->spool || c->count_only)
		tw_far_begin(&c->far);
}

static int start_output(struct tw_collector *c, const struct tw_collector_options *options)
{
	start_spool(c, options);
	struct tw_output_options o = {
	    .writer = options->writer,
	    .ring = options->ring,
	    .discard = options->discard || options->format == TW_FORMAT_NONE,
	    .keep_refs = options->format == TW_FORMAT_CALL,
	    .check = options->check,
	    .check_context = options->check_context,
	    .feed = options->feed,
	    .spool = c->spool,
	    .grows_if_cheap = !options->must_grow,
	    .demux = c->demux,
	    .yields = options->yields,
	};
	return tw_output_new(&o, &c->output);
}

static int start_tables(struct tw_collector *c)
{
	struct tw_tables_options o = {c->fd, c->control, c->demux, c->expand, c->output};
	c->tables = tw_tables_new(&o);
	return c->tables ? TW_OK : tw_fail(TW_ERR_MEMORY, "collector");
}

static int start_thread(struct tw_collector *c)
{
	sem_init(&c->ready, 0, 0);
	sem_init(&c->done, 0, 0);
	int why = pthread_create(&c->thread_id, NULL, run, c);
	if (why)
		return tw_fail(TW_ERR_SYSTEM, "thread: %s", strerror(why));
	while (sem_wait(&c->ready) && errno == EINTR)
		;
	return TW_OK;
}

static int start_all(struct tw_collector *c, const struct tw_collector_options *options)
{
	c->count_refs = options->format == TW_FORMAT_CALL;
	c->logged = c->count_refs || options->verify;
	c->is_fed = options->feed != NULL;
	c->analyzers = options->analyzers;
	c->count_only = options->discard && !c->is_fed && !c->logged && options->stop.kind != TW_WHERE_COUNT;
	c->is_small = options->discard || options->format == TW_FORMAT_NONE;
	c->yields = options->yields;
	c->demux = tw_demux_new(c->count_refs);
	int other_form = tw_form_of(options->format) != TW_FORM_PLAIN;
	if (other_form)
		c->expand = tw_expand_new(options->format, c->logged, c->count_only);
	int error = c->demux && (c->expand || !other_form) ? tw_channel_map(c, options->sizes) : tw_fail(TW_ERR_MEMORY, "collector");
	if (error)
		return error;
	if (options->switchable)
		c->barred = tw_barred_listen(c->path);
	init_control(c, options);
	if (options->switchable && !(c->switching = tw_switching_new(c->base, &options->burst)))
		return tw_fail(TW_ERR_MEMORY, "collector");
	error = start_keeping(c, options);
	if (!error)
		error = tw_channel_make_life(c);
	if (!error)
		error = start_output(c, options);
	if (!error)
		error = start_tables(c);
	return error ? error : start_thread(c);
}

void tw_collector_free(struct tw_collector *c)
{
	if (!c)
		return;
	tw_collector_given_back(c);
	tw_holder_end(c->holder);
	tw_spool_remove(c->spool);
	tw_far_end(&c->far);
	tw_demux_free(c->demux);
	tw_expand_free(c->expand);
	tw_tables_free(c->tables);
	free(c->budget.of);
	free(c->budget_result);
	tw_switching_free(c->switching);
	tw_zeros_free(c->base, c->base ? c->control->sizes.channel_bytes : 0);
	if (c->fd >= 0)
		close(c->fd);
	if (c->barred >= 0)
		close(c->barred);
	tw_zeros_free(c, sizeof *c);
}

int tw_collector_new(const struct tw_collector_options *options, struct tw_collector **out)
{
	struct tw_collector *c = tw_zeros_new(sizeof *c);
	if (!c)
		return tw_fail(TW_ERR_MEMORY, "collector");
	c->fd = c->barred = -1;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	*out = c; /* before there are threads that ask for it */
	int error = start_all(c, options);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		*out = NULL;
		struct tw_output_result unused;
		if (c->output) {
			tw_output_finish(c->output, &unused);
			tw_output_free(c->output);
		}
		tw_collector_free(c);
		return error;
	}
	return TW_OK;
}

void tw_collector_keep(struct tw_collector *c)
{
	tw_output_keep(c->output);
}

const struct tw_control *tw_collector_control(const struct tw_collector *c)
{
	return c->control;
}

const char *tw_collector_path(const struct tw_collector *c)
{
	return c->path;
}

const char *tw_collector_bare_path(struct tw_collector *c)
{
	static const struct timespec nap = {0, 500000};
	uint32_t holder = 0;
	if (atomic_compare_exchange_strong(&c->control->holder, &holder, TW_HOLDER_WANTED)) {
		holder = TW_HOLDER_WANTED;
		ring_bell(c);
	}
	for (int n = 0; holder == TW_HOLDER_WANTED && n < HOLDER_NAPS; n++) {
		nanosleep(&nap, NULL);
		holder = atomic_load(&c->control->holder);
	}
	if (holder == TW_HOLDER_WANTED)
		return c->path;
	tw_channel_path(c, holder, c->bare_path, sizeof c->bare_path);
	return c->bare_path;
}

void tw_collector_window(const struct tw_collector *c, struct tw_collector_window *out)
{
	const struct tw_window_control *w = &c->control->window;
	uint32_t found = atomic_load(&w->found);
	out->opened = atomic_load(&w->opened);
	out->start_found = w->start.kind != TW_WHERE_FUNCTION || (found & 1);
	out->stop_found = w->stop.kind != TW_WHERE_FUNCTION || (found & 2);
}

void tw_collector_progress(struct tw_collector *c, struct tw_collector_progress *out)
{
	struct tw_totals totals;
	tw_output_progress(c->output, &totals, &out->stored);
	out->insns = totals.insns;
	out->refs = totals.refs;
	tw_output_waiting(c->output, &out->spooled, &out->waiting);
}

enum tw_limit tw_collector_limit(const struct tw_collector *c)
{
	return c->limit;
}

const struct tw_budget *tw_collector_budget(const struct tw_collector *c, size_t *n)
{
	*n = c->budget.n;
	return c->budget_result;
}

const struct tw_budget_end *tw_collector_budget_end(const struct tw_collector *c)
{
	return c->budget_result && !c->control->budget.bare ? &c->budget_end : NULL;
}

struct tw_collector_shares tw_collector_shares(const struct tw_collector *c)
{
	const struct tw_store *store = &c->control->store;
	return (struct tw_collector_shares){atomic_load(&c->control->next_program), atomic_load(&store->taken), atomic_load(&store->forks)};
}

void tw_collector_keep_translations(struct tw_collector *c, uint64_t learned)
{
	tw_keep_end(&c->control->store, c->fd, c->control->sizes.store_at, c->tables, learned);
}

uint64_t tw_collector_learned(const struct tw_collector *c)
{
	return c->control->store.learned;
}

void tw_collector_counts(const struct tw_collector *c, uint64_t counts[TW_COUNTS])
{
	memset(counts, 0, TW_COUNTS * sizeof *counts);
	for (unsigned row = 0; row < TW_COUNT_ROWS; row++)
		for (unsigned k = 0; k < TW_COUNTS; k++) {
			const uint64_t n = atomic_load(&c->control->counts[row].of[k]);
			counts[k] = k < TW_COUNT_MOST_PIECES ? counts[k] + n : n > counts[k] ? n : counts[k];
		}
}

const struct tw_descriptor *tw_collector_descriptor(const struct tw_collector *c, uint32_t number)
{
	return tw_demux_descriptor(c->demux, number);
}

/* ---- ending ---- */

static void say_failure(const struct tw_collector *c, struct tw_output_result *result)
{
	const struct tw_control *control = c->control;
	char program[256] = "";
	const unsigned barred = tw_barred_count(c->barred, program, sizeof program);
	if (result->failure[0])
		return;
	if (atomic_load(&control->failure) && control->failure_text[0])
		snprintf(result->failure, sizeof result->failure, "%.*s", (int)sizeof control->failure_text, control->failure_text);
	else if (atomic_load(&control->failure))
		snprintf(result->failure, sizeof result->failure, "a process stopped recording and did not say why");
	else if (atomic_load(&control->refused) && !c->failure[0])
		snprintf(result->failure, sizeof result->failure,
		         "programs that another version of trackway cc has compiled are not in it: %u; compile them again",
		         atomic_load(&control->refused));
	else if (barred && !c->failure[0])
		snprintf(result->failure, sizeof result->failure,
		         "programs that could not open the recorder's channel are not in it: %u, of which %s was the first; they were "
		         "executed as another user, or had no /proc, or too few addresses (ulimit -v)",
		         barred, program);
	else if (atomic_load(&control->starved) && atomic_load(&control->barred) && !c->failure[0])
		snprintf(result->failure, sizeof result->failure,
		         "what %u threads ran is not in it: their processes could not open the recorder's channel: they are another "
		         "user's, or have no /proc, "
		         "or as many files open as they may",
		         atomic_load(&control->starved));
	else if (atomic_load(&control->starved) && !c->failure[0])
		snprintf(result->failure, sizeof result->failure,
		         "what %u threads ran is not in it: there was no memory for it, or too few addresses (ulimit -v), or there were "
		         "more than %u at once",
		         atomic_load(&control->starved), control->sizes.slots);
	else
		snprintf(result->failure, sizeof result->failure, "%s", c->failure);
}

unsigned tw_collector_end(struct tw_collector *c, unsigned ms)
{
	const struct timespec until = tw_machine_deadline(ms);
	atomic_store(&c->ended, 1);
	ring_bell(c);
	int waited;
	while ((waited = sem_timedwait(&c->done, &until)) && errno == EINTR)
		;
	return waited ? tw_drain_count_processes(c) : 0;
}

void tw_collector_stop(struct tw_collector *c)
{
	atomic_fetch_add(&c->stopping, 1);
	ring_bell(c);
}

/* What became of the budget is kept with the recording. */
static void store_budget(struct tw_collector *c)
{
	size_t bytes;
	if (!c->control->budget.period)
		return;
	take_budget(c, 1);
	c->budget_result = tw_budget_result(&c->control->budget, &c->budget, &bytes);
	void *copy = c->budget_result ? malloc(bytes) : NULL;
	if (copy)
		memcpy(copy, c->budget_result, bytes);
	tw_output_block(c->output, TW_BLOCK_BUDGET, copy, bytes);
	if (c->control->budget.bare)
		return;
	c->budget_end = tw_budget_end(&c->control->budget);
	struct tw_budget_end *end = malloc(sizeof *end);
	if (end)
		*end = c->budget_end;
	tw_output_block(c->output, TW_BLOCK_BUDGET_END, end, sizeof *end);
}

/*
 * A recording has all descriptors of kept translations, since it could not be known which ones would run. Some may
 * belong to libraries that are now at another address or not mapped: readers must not take them for the code that is
 * now at their addresses.
 */
static void store_idle(struct tw_collector *c)
{
	size_t n;
	uint32_t *numbers = c->count_only ? NULL : tw_demux_idle(c->demux, &n);
	if (numbers)
		tw_output_block(c->output, TW_BLOCK_IDLE, numbers, n * sizeof *numbers);
}

/* Waits until all that was spooled is encoded. */
static void empty_spool(struct tw_collector *c)
{
	enum { MOMENT_MS = 500 };
	const int stopped = atomic_load(&c->stopping);
	uint64_t left;
	while ((left = tw_output_settle(c->output, MOMENT_MS))) {
		if (atomic_load(&c->stopping) != stopped)
			tw_output_abandon(c->output);
		else if (c->tell_left)
			c->tell_left(c->tell_context, left);
	}
	if (c->tell_left)
		c->tell_left(c->tell_context, 0);
}

static void *give_back(void *arg)
{
	struct tw_collector *c = arg;
	const struct tw_sizes *sizes = &c->control->sizes;
	if (c->drops_spool)
		tw_spool_unlink(c->spool);
	tw_output_free(c->output);
	tw_spool_free(c->spool);
	if (!atomic_load(&c->stopping) && !c->is_small)
		tw_clear_range(c->fd, tw_buffer_at(sizes, 0, 0), tw_channel_slots_used(c->control) * tw_slot_bytes(sizes));
	return NULL;
}

/*
 * Releases the memory and the file that encoding used, and buffers, which takes some milliseconds, in parallel with
 * the other work at the end; if nothing is stored there is little.
 */
static void begin_giving_back(struct tw_collector *c)
{
	c->has_giver = !c->is_small && tw_helper_thread_start(&c->giver, give_back, c);
	if (c->has_giver)
		return;
	give_back(c);
	c->spool = NULL;
}

void tw_collector_given_back(struct tw_collector *c)
{
	if (!c->has_giver)
		return;
	pthread_join(c->giver, NULL);
	c->has_giver = 0;
	c->spool = NULL;
}

void tw_collector_finish(struct tw_collector *c, struct tw_output_result *result)
{
	pthread_join(c->thread_id, NULL);
	if (c->spool)
		empty_spool(c);
	store_idle(c);
	store_budget(c);
	struct tw_totals tally;
	tw_demux_tally(c->demux, &tally);
	if (c->expand)
		tw_expand_tally(c->expand, &tally);
	tally.written = c->written;
	tw_output_add(c->output, &tally);
	tw_output_finish(c->output, result);
	c->drops_spool = !result->abandoned;
	begin_giving_back(c);
	if (!(c->control->flags & TW_FLAG_LEARN))
		tw_collector_keep_translations(c, 0);
	result->totals.fragments = tw_tables_fragments(c->tables);
	say_failure(c, result);
}
