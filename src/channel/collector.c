#include "channel/collector.h"
#include "channel/budget.h"
#include "channel/clear.h"
#include "channel/demux.h"
#include "channel/expand.h"
#include "channel/liveness.h"
#include "channel/keep.h"
#include "channel/machine.h"
#include "channel/spool.h"
#include "channel/overdue.h"
#include "channel/descriptor_tables.h"
#include "channel/tally.h"
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long the drain loop sleeps, how often it looks for threads that died, and at how many (each costs three system calls). */
enum { WAIT_NS = 50 * 1000 * 1000, CHECKS = 100 };

/* A thread that takes so long for all of its buffers is slow, a slot that has been free so long is not wanted, and so many of those are cleared at a time. */
#define SLOW_NS (2000 * 1000 * 1000ull)
enum { FREE_NS = 1000 * 1000 * 1000, CLEARED = 8 };

_Static_assert(sizeof(pthread_mutex_t) <= 64, "tw_control.life has room for a mutex");
_Static_assert(offsetof(struct tw_control, life) % _Alignof(pthread_mutex_t) == 0, "tw_control.life is aligned for a mutex");

/* What the collector knows of the thread in a slot. */
struct thread {
	int active;
	uint32_t next; /* buffer to drain next */
	uint32_t sequence;
	uint64_t insns, blocks, refs;
	struct tw_demux_stop stop;    /* where recording stops at a count */
	uint64_t emptied[TW_BUFFERS]; /* when each buffer was last given back, or the thread began */
	uint64_t freed;               /* when the slot came free; 0: its buffers have no memory */
	struct tw_seen seen;
	struct tw_overdue overdue;
	struct tw_thread_info info;
};

struct tw_collector {
	int fd;
	ino_t inode; /* of the channel */
	int count_refs, logged;
	int count_only; /* nothing is stored or compared: the fast way */
	uint8_t *base;
	struct tw_control *control;
	char path[64];
	struct tw_demux *demux;
	struct tw_expand *expand; /* NULL: buffers are of the plain form */
	uint64_t stop_at;         /* instructions recorded after which nothing more is; UINT64_MAX: none */
	uint64_t written;         /* bytes of the buffers taken */
	struct tw_spool *spool;   /* NULL: there is none */
	struct tw_output *output;
	struct tw_descriptor_tables *tables;
	pthread_t thread_id;
	sem_t ready, done;
	_Atomic int ended;    /* the program has been waited for */
	_Atomic int stopping; /* what still runs is not waited for; how often that was asked for */
	uint32_t next_check;  /* slot */
	uint64_t started;     /* when, in ns */
	uint64_t most_bytes, most_ns;
	enum tw_limit limit; /* that was reached */
	uint64_t recorded;   /* instructions, for a window that closes at a count */
	struct tw_budget_taken budget;
	struct tw_budget *budget_result; /* of budget.n periods */
	void (*tell_left)(void *context, uint64_t left);
	void *tell_context;
	char failure[512]; /* what was wrong with what the engine wrote */
	struct thread thread[TW_SLOTS];
	struct tw_burst burst;
};

/* ---- one buffer ---- */

static void note_failure(struct tw_collector *c, int error)
{
	if (!c->failure[0])
		tw_failure_sentence(error, c->failure, sizeof c->failure);
}

/* Of the program whose threads have this slot. */
static void take_descriptors(struct tw_collector *c, uint32_t s)
{
	int error = tw_tables_take(c->tables, atomic_load(&c->control->slot[s].table), c->control->slot[s].pid);
	if (error)
		note_failure(c, error);
}

/* What is taken of the thread next stops where the count is reached. */
static struct tw_demux_stop *stop_of(const struct tw_collector *c, struct thread *t)
{
	if (c->stop_at == UINT64_MAX)
		return NULL;
	t->stop.insns = c->recorded < c->stop_at ? c->stop_at - c->recorded : 0;
	return &t->stop;
}

static struct tw_job *begin_job(struct tw_collector *c, const struct thread *t, uint32_t flags)
{
	struct tw_job *job = tw_output_take(c->output);
	struct tw_chunk *chunk = &job->chunk;
	chunk->thread = t->info.serial;
	chunk->sequence = t->sequence;
	chunk->flags = flags;
	chunk->upper = 0;
	chunk->first_insn = t->insns;
	chunk->first_block = t->blocks;
	chunk->first_ref = t->refs;
	return job;
}

static void end_job(struct tw_collector *c, struct thread *t, struct tw_job *job, int error)
{
	struct tw_chunk *chunk = &job->chunk;
	if (error) {
		chunk->flags |= TW_CHUNK_TORN;
		note_failure(c, error);
	}
	if (!chunk->n_c) {
		tw_output_drop(c->output, job);
		return;
	}
	t->sequence++;
	t->insns += chunk->insns;
	c->recorded += chunk->insns;
	t->blocks += chunk->blocks;
	t->refs += chunk->refs;
	job->thread = t->info;
	job->dead = t->seen.dead && (chunk->flags & TW_CHUNK_LAST);
	job->wait_status = t->seen.wait_status;
	tw_output_put(c->output, job);
}

/* A buffer of the plain form as it is. */
static void spool(struct tw_collector *c, const struct thread *t, const struct tw_demux_input *in, uint32_t flags)
{
	const struct tw_output_buffer buffer = {t->info, flags, t->seen.dead, t->seen.wait_status};
	if (in->bytes)
		tw_output_spool(c->output, &buffer, in);
}

/* What is of the plain form: spooled, stored or only counted. */
static void take_plain(struct tw_collector *c, struct thread *t, struct tw_demux_input *in, uint32_t flags)
{
	if (c->spool) {
		spool(c, t, in, flags);
		return;
	}
	struct tw_job *job = begin_job(c, t, flags);
	in->stop = stop_of(c, t);
	int error = c->count_only ? tw_demux_count(c->demux, in, &job->chunk) : tw_demux_buffer(c->demux, in, &job->chunk);
	end_job(c, t, job, error);
}

/* A buffer of another form than the plain one. */
static void take_expanded(struct tw_collector *c, struct thread *t, const struct tw_demux_input *in, uint32_t flags)
{
	struct tw_demux_input piece;
	int more, last;
	tw_expand_begin(c->expand, in, flags & TW_CHUNK_TORN);
	while ((more = tw_expand_next(c->expand, &piece, &last)) > 0)
		take_plain(c, t, &piece, last ? flags : 0);
	if (more < 0)
		note_failure(c, more);
	c->written += tw_expand_used(c->expand) + in->slack_end;
}

static void take_buffer(struct tw_collector *c, struct thread *t, struct tw_demux_input *in, uint32_t flags)
{
	if (c->expand) {
		take_expanded(c, t, in, flags);
		return;
	}
	c->written += in->bytes + in->slack_end;
	take_plain(c, t, in, flags);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The next buffer of a slot, if it is full. */
static int find_full(struct tw_collector *c, uint32_t s, struct tw_demux_input *in)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t b = c->thread[s].next;
	if (atomic_load_explicit(&slot->buffer[b].state, memory_order_acquire) != TW_BUFFER_FULL)
		return 0;
	uint8_t *data = tw_channel_buffer(c->base, s, b);
	*in = (struct tw_demux_input){data, tw_channel_slack(data), slot->buffer[b].bytes, slot->buffer[b].slack_end, NULL};
	return 1;
}

/*
 * Zeros for the thread. One that takes its time to fill its buffers gets them back without memory: else it would have that of all of them in the end, and never
 * need two.
 */
static void clear_next(struct tw_collector *c, uint32_t s, const struct tw_demux_input *in)
{
	struct thread *t = &c->thread[s];
	uint64_t now = tw_machine_ns(), took = now - t->emptied[t->next];
	t->emptied[t->next] = now;
	if (took < SLOW_NS || tw_clear_range(c->fd, tw_buffer_at(&c->control->sizes, s, t->next), TW_BUFFER_STRIDE))
		tw_clear_buffer(tw_channel_buffer(c->base, s, t->next), in->bytes, in->slack_end);
}

/* Gives the next buffer back to the thread. */
static void give_back(struct tw_collector *c, uint32_t s, const struct tw_demux_input *in)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t b = c->thread[s].next;
	clear_next(c, s, in);
	slot->buffer[b].bytes = slot->buffer[b].slack_end = 0;
	atomic_store_explicit(&slot->buffer[b].state, TW_BUFFER_EMPTY, memory_order_release);
	futex_wake(&slot->buffer[b].state);
	c->thread[s].next = (b + 1) % c->control->sizes.buffers;
}

/* Drains the buffers of a slot that are full, one turn of the ring at most. Returns how many. */
static unsigned drain_full(struct tw_collector *c, uint32_t s)
{
	struct tw_demux_input in;
	unsigned done = 0;
	for (; done < c->control->sizes.buffers && find_full(c, s, &in); done++) {
		take_descriptors(c, s);
		take_buffer(c, &c->thread[s], &in, 0);
		give_back(c, s, &in);
	}
	return done;
}

/* ---- slots ---- */

static void adopt(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	struct thread *t = &c->thread[s];
	if (!t->active) {
		const uint64_t now = tw_machine_ns();
		memset(t, 0, sizeof *t);
		t->active = 1;
		for (int b = 0; b < TW_BUFFERS; b++)
			t->emptied[b] = now;
	}
	t->info.serial = atomic_load(&slot->serial);
	t->info.pid = slot->pid;
	t->info.tid = slot->tid;
	t->info.parent_pid = slot->parent_pid;
}

/* Takes what the thread of slot s has counted. `live`: it runs on. */
static void take_tally(struct tw_collector *c, uint32_t s, int live)
{
	const struct tw_tally_input in = {c->tables, c->control, c->fd, c->base, s};
	if (!(c->control->flags & TW_FLAG_TALLY))
		return;
	struct tw_totals tallied;
	int error = tw_tally_take(&in, &tallied);
	tw_output_add(c->output, &tallied);
	if (!error && !live)
		error = tw_tally_clear(&in);
	if (error)
		note_failure(c, error);
}

static void release(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	take_descriptors(c, s);
	take_tally(c, s, 0);
	tw_output_thread_ends(c->output, c->thread[s].info.serial);
	c->thread[s].active = 0;
	c->thread[s].freed = tw_machine_ns();
	c->thread[s].seen = (struct tw_seen){0}; /* the next may be looked for before it is adopted */
	c->thread[s].overdue = (struct tw_overdue){0};
	slot->pid = slot->tid = slot->parent_pid = 0;
	atomic_store(&slot->ask, TW_ASK_CLOSED);
	atomic_store(&slot->current, 0);
	atomic_store(&slot->table, 0);
	atomic_store_explicit(&slot->state, TW_SLOT_FREE, memory_order_release);
}

/* Scans what a thread left in buffers it had not finished. `live`: it runs on, and they are its own. */
static void salvage(struct tw_collector *c, uint32_t s, int live)
{
	struct thread *t = &c->thread[s];
	const uint32_t n = c->control->sizes.buffers;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *data = tw_channel_buffer(c->base, s, (t->next + i) % n);
		if (!data[c->expand ? 2 : 0]) /* the tag of the keyframe */
			continue;
		struct tw_demux_input in = {.data = data, .slack = tw_channel_slack(data)};
		take_descriptors(c, s);
		in.bytes = TW_BUFFER_BYTES;
		if (!c->expand)
			tw_demux_torn_end(c->demux, &in, c->logged);
		take_buffer(c, t, &in, TW_CHUNK_TORN | TW_CHUNK_LAST);
		if (!live)
			tw_clear_buffer(data, TW_BUFFER_BYTES, TW_SLACK_BYTES);
	}
}

static unsigned drain_slot(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	if (state == TW_SLOT_FREE || state == TW_SLOT_RESERVED)
		return 0;
	adopt(c, s);
	unsigned n = drain_full(c, s);
	if (state == TW_SLOT_ACTIVE || n >= c->control->sizes.buffers)
		return n;
	if (state == TW_SLOT_DEAD)
		salvage(c, s, 0);
	release(c, s);
	return n + 1;
}

/* Returns how much was done; *active says how many slots are still in use. */
static unsigned drain_all(struct tw_collector *c, unsigned *active)
{
	unsigned done = 0;
	*active = 0;
	for (uint32_t s = 0; s < c->control->sizes.slots; s++) {
		done += drain_slot(c, s);
		*active += atomic_load_explicit(&c->control->slot[s].state, memory_order_relaxed) != TW_SLOT_FREE;
	}
	return done;
}

/* A slot that came free a second ago is not the next to be taken: the memory of its buffers goes back to the machine. */
static void clear_slot(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t unclaimed = 0;
	if (!atomic_compare_exchange_strong(&slot->claim, &unclaimed, 1))
		return;
	const int is_free = atomic_load(&slot->state) == TW_SLOT_FREE;
	if (is_free)
		atomic_store(&slot->state, TW_SLOT_CLEARED);
	atomic_store(&slot->claim, 0);
	if (!is_free)
		return;
	tw_clear_range(c->fd, tw_buffer_at(&c->control->sizes, s, 0), tw_slot_bytes(&c->control->sizes));
	c->thread[s].freed = 0;
	atomic_store(&slot->state, TW_SLOT_FREE);
}

static void clear_slots(struct tw_collector *c, uint64_t now)
{
	unsigned most = CLEARED;
	for (uint32_t s = 0; s < c->control->sizes.slots && most; s++) {
		const struct thread *t = &c->thread[s];
		if (t->active || !t->freed || now - t->freed < FREE_NS)
			continue;
		clear_slot(c, s);
		most -= !t->freed;
	}
}

/* ---- threads that died ---- */

/* The thread of slot s, which has died, has nothing locked any more. */
static void unlock_descriptors(struct tw_collector *c, uint32_t s)
{
	uint32_t holder = s + 1;
	atomic_compare_exchange_strong(&c->control->descriptor_lock, &holder, 0);
}

/* A slot that was only reserved holds nothing yet, and is free again at once. */
static void check_slot(struct tw_collector *c, uint32_t s)
{
	struct tw_slot *slot = &c->control->slot[s];
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	uint32_t tid = slot->tid;
	if (state != TW_SLOT_ACTIVE && state != TW_SLOT_RESERVED)
		return;
	int namespaces = atomic_load(&c->control->namespaces) != 0;
	const int ended = tw_thread_has_ended(slot, c->inode, namespaces, &c->thread[s].seen);
	if (slot->tid != tid)
		return;
	if (!ended) {
		if (state == TW_SLOT_ACTIVE)
			tw_overdue_look(slot, &c->thread[s].seen, &c->thread[s].overdue);
		return;
	}
	unlock_descriptors(c, s);
	atomic_compare_exchange_strong(&slot->state, &state, state == TW_SLOT_ACTIVE ? TW_SLOT_DEAD : TW_SLOT_FREE);
}

/* Looks at `most` slots in use, going on from where it stopped the last time. */
static void check_threads(struct tw_collector *c, unsigned most)
{
	for (uint32_t n = 0; n < c->control->sizes.slots && most; n++) {
		uint32_t s = c->next_check++ % c->control->sizes.slots;
		if (atomic_load_explicit(&c->control->slot[s].state, memory_order_relaxed) == TW_SLOT_FREE)
			continue;
		check_slot(c, s);
		most--;
	}
}

/* Processes of which a first thread is there. */
static unsigned count_processes(const struct tw_collector *c)
{
	unsigned n = 0;
	for (uint32_t s = 0; s < c->control->sizes.slots; s++) {
		const struct tw_slot *slot = &c->control->slot[s];
		n += atomic_load(&slot->state) == TW_SLOT_ACTIVE && slot->pid == slot->tid;
	}
	return n;
}

/* Takes what there is of the threads that still run, and leaves them. */
static void leave_running(struct tw_collector *c)
{
	struct tw_control *control = c->control;
	unsigned n = count_processes(c);
	if (!atomic_load(&control->failure))
		snprintf(control->failure_text, sizeof control->failure_text, "stopped by a signal while %u process%s ran", n,
		         n == 1 ? "" : "es");
	atomic_store(&control->failure, TW_FAILURE_COLLECTOR);
	for (uint32_t s = 0; s < c->control->sizes.slots; s++) {
		drain_slot(c, s);
		if (atomic_load(&control->slot[s].state) != TW_SLOT_ACTIVE)
			continue;
		take_descriptors(c, s);
		salvage(c, s, 1);
		take_tally(c, s, 1);
	}
}

/* ---- the loop ---- */

/* Whether the place is one that is found here, and not in the code. If it is a time, *next becomes no more than what is left till then. */
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

/* What is stored, and what waits in the spool will come to: as much of it as of what came out of there before, or at first as is usual. */
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

/* Programs in two versions go over to that which records, or back. */
static void set_switch(struct tw_collector *c, uint64_t *next)
{
	const struct tw_window_control *w = &c->control->window;
	const uint64_t passed = tw_machine_ns() - c->started, opened = w->start.kind == TW_WHERE_TIME ? w->start.value : 0;
	const uint32_t due = atomic_load(&w->due);
	const int is_open = passed >= opened && !(due & 2);
	atomic_store(tw_channel_switch(c->control), (uint8_t)(is_open && tw_burst_is_on(&c->burst, passed - opened, next)));
}

/* Tells the engines what is due of the window. Returns for how long nothing will be, at most WAIT_NS. */
static uint64_t look_at_window(struct tw_collector *c)
{
	struct tw_window_control *w = &c->control->window;
	uint64_t next = WAIT_NS;
	uint32_t due = (is_due(c, &w->start, 0, &next) ? 1u : 0) | (is_due(c, &w->stop, 1, &next) || limit_is_reached(c, &next) ? 2u : 0);
	if (due)
		atomic_fetch_or(&w->due, due);
	set_switch(c, &next);
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
	futex_wake(&c->control->doorbell);
}

static void sweep_tables(struct tw_collector *c)
{
	int error = tw_tables_sweep(c->tables);
	if (error)
		note_failure(c, error);
}

static void take_budget(struct tw_collector *c, int all)
{
	int error = tw_budget_take(&c->control->budget, &c->budget, all);
	if (error)
		note_failure(c, error);
}

static void drain_until_ended(struct tw_collector *c)
{
	uint64_t checked = tw_machine_ns();
	int told = 0;
	for (;;) {
		uint32_t bell = atomic_load(&c->control->doorbell);
		int ended = atomic_load(&c->ended);
		unsigned active, done = drain_all(c, &active);
		if (ended && !active)
			return;
		if (atomic_load(&c->stopping)) {
			leave_running(c);
			return;
		}
		uint64_t now = tw_machine_ns(), wait = look_at_window(c);
		if (now - checked >= WAIT_NS || ended > told) {
			check_threads(c, CHECKS);
			tw_output_age(c->output);
			sweep_tables(c);
			clear_slots(c, now);
			take_budget(c, 0);
			checked = now;
			told = ended;
		} else if (!done) {
			wait_for_bell(c, bell, wait);
		}
	}
}

static pthread_mutex_t *life_of(struct tw_collector *c)
{
	return (pthread_mutex_t *)(void *)&c->control->life;
}

static void *run(void *arg)
{
	struct tw_collector *c = arg;
	pthread_mutex_lock(life_of(c));
	sem_post(&c->ready);
	drain_until_ended(c);
	for (uint32_t s = 0; s < c->control->sizes.slots; s++)
		take_descriptors(c, s);
	pthread_mutex_unlock(life_of(c));
	sem_post(&c->done);
	return NULL;
}

/* ---- starting ---- */

static int make_life(struct tw_collector *c)
{
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	int why = pthread_mutex_init(life_of(c), &a);
	pthread_mutexattr_destroy(&a);
	return why ? tw_fail(TW_ERR_SYSTEM, "mutex: %s", strerror(why)) : TW_OK;
}

/* A limit on the size of files counts here too, though this is none. What of it can be raised without privilege is raised for the moment. */
static int set_size(int fd, uint64_t bytes)
{
	struct rlimit before, most;
	getrlimit(RLIMIT_FSIZE, &before);
	most = before;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_FSIZE, &most);
	int failed = ftruncate(fd, (off_t)bytes), why = errno;
	setrlimit(RLIMIT_FSIZE, &before);
	if (failed && why == EFBIG)
		return tw_fail(TW_ERR_SYSTEM,
		               "the limit on the size of files (ulimit -f) is below the %llu MB of shared memory that recording needs",
		               (unsigned long long)(bytes >> 20));
	return failed ? tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(why)) : TW_OK;
}

/*
 * Where traced processes open the memfd. It is always as long: it stands on the stack of every program that is executed, whose addresses would otherwise
 * change with the number of digits.
 */
static void set_path(struct tw_collector *c)
{
	enum { LONGEST = 26 };
	char rest[LONGEST + 1];
	const int n = snprintf(rest, sizeof rest, "%d/fd/%d", (int)getpid(), c->fd);
	snprintf(c->path, sizeof c->path, "/proc/%.*s%s", LONGEST - n, "//////////////////////////", rest);
}

static int map_channel(struct tw_collector *c, const struct tw_sizes *sizes)
{
	char name[32];
	snprintf(name, sizeof name, "trackway-%d", (int)getpid()); /* by which `trackway stop` finds this process */
	c->fd = memfd_create(name, MFD_CLOEXEC);
	int error = c->fd < 0 ? tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno)) : set_size(c->fd, sizes->memfd_bytes);
	if (error)
		return error;
	void *base = mmap(NULL, sizes->channel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, c->fd, 0);
	if (base == MAP_FAILED)
		return tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno));
	struct stat st;
	c->inode = fstat(c->fd, &st) ? 0 : st.st_ino;
	c->base = base;
	c->control = base;
	c->control->sizes = *sizes;
	set_path(c);
	return TW_OK;
}

static void init_control(struct tw_collector *c, const struct tw_collector_options *options)
{
	struct tw_control *control = c->control;
	control->magic = TW_CHANNEL_MAGIC;
	control->version = TW_CHANNEL_VERSION;
	control->format = options->format;
	control->flags = (options->verify ? TW_FLAG_VERIFY : 0) | (options->no_follow ? TW_FLAG_NO_FOLLOW : 0) |
	                 (options->order ? TW_FLAG_ORDER : 0) | (options->learn ? TW_FLAG_LEARN : 0);
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
	tw_budget_start(&control->budget, &options->budget);
	control->budget.bare = options->bare != 0;
	if (options->learn) /* each run records other parts of what the program does */
		control->budget.begun -= tw_machine_ns() * 0x9e3779b97f4a7c15u % control->budget.period;
	c->stop_at = options->stop.kind == TW_WHERE_COUNT ? options->stop.value : UINT64_MAX;
	c->started = tw_machine_ns();
	control->dump_pc = options->dump_pc;
	control->dump_all = options->dump_all != 0;
	control->hot = options->hot;
	if (options->learn && options->fill_told)
		options->fill_told(options->fill_context, control);
	control->versions = options->versions;
	control->store.limit = options->share < options->sizes->store_bytes ? options->share : options->sizes->store_bytes;
	tw_machine_xstate(&control->xstate);
	c->burst = options->burst;
	atomic_store(tw_channel_switch(control), options->start.kind != TW_WHERE_TIME);
}

static int start_keeping(struct tw_collector *c, const struct tw_collector_options *options)
{
	if (!options->keep || !c->control->store.limit || tw_form_of(options->format) != TW_FORM_PLAIN)
		return TW_OK;
	c->control->store.keep_limit = options->keep_bytes;
	int error = tw_keep_begin(&c->control->store, options->keep, options->must_keep);
	return options->must_keep ? error : TW_OK;
}

/* Where a buffer has to be looked at as it comes there is none; and where there is no room for one: then what cannot be encoded at once waits in the program. */
static void start_spool(struct tw_collector *c, const struct tw_collector_options *options)
{
	const int at_once = options->feed || options->ring.bytes || options->ring.ns || options->stop.kind == TW_WHERE_COUNT;
	if (options->writer && !options->discard && !at_once && options->spool >= TW_SPOOL_LEAST)
		tw_spool_new(tw_writer_directory(options->writer), options->spool, &c->spool);
}

static int start_output(struct tw_collector *c, const struct tw_collector_options *options)
{
	start_spool(c, options);
	struct tw_output_options o = {
	    .writer = options->writer,
	    .ring = options->ring,
	    .discard = options->discard,
	    .keep_refs = options->format == TW_FORMAT_CALL,
	    .check = options->check,
	    .check_context = options->check_context,
	    .feed = options->feed,
	    .spool = c->spool,
	    .demux = c->demux,
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
	c->count_only = options->discard && !options->feed && !c->logged && options->stop.kind != TW_WHERE_COUNT;
	c->demux = tw_demux_new(c->count_refs);
	int other_form = tw_form_of(options->format) != TW_FORM_PLAIN;
	if (other_form)
		c->expand = tw_expand_new(options->format, c->logged, c->count_only);
	int error = c->demux && (c->expand || !other_form) ? map_channel(c, options->sizes) : tw_fail(TW_ERR_MEMORY, "collector");
	if (error)
		return error;
	init_control(c, options);
	error = start_keeping(c, options);
	if (!error)
		error = make_life(c);
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
	tw_spool_remove(c->spool);
	tw_demux_free(c->demux);
	tw_expand_free(c->expand);
	tw_tables_free(c->tables);
	free(c->budget.of);
	free(c->budget_result);
	if (c->base)
		munmap(c->base, c->control->sizes.channel_bytes);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

int tw_collector_new(const struct tw_collector_options *options, struct tw_collector **out)
{
	struct tw_collector *c = calloc(1, sizeof *c);
	if (!c)
		return tw_fail(TW_ERR_MEMORY, "collector");
	c->fd = -1;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	*out = c; /* before there are threads that ask for it */
	int error = start_all(c, options);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		*out = NULL;
		struct tw_output_result unused;
		if (c->output)
			tw_output_finish(c->output, &unused);
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

struct tw_collector_shares tw_collector_shares(const struct tw_collector *c)
{
	const struct tw_store *store = &c->control->store;
	return (struct tw_collector_shares){atomic_load(&c->control->next_program), atomic_load(&store->taken), atomic_load(&store->forks)};
}

const struct tw_descriptor *tw_collector_descriptor(const struct tw_collector *c, uint32_t number)
{
	return tw_demux_descriptor(c->demux, number);
}

/* ---- ending ---- */

static void say_failure(const struct tw_collector *c, struct tw_output_result *result)
{
	const struct tw_control *control = c->control;
	if (result->failure[0])
		return;
	if (atomic_load(&control->failure) && control->failure_text[0])
		snprintf(result->failure, sizeof result->failure, "%.*s", (int)sizeof control->failure_text, control->failure_text);
	else if (atomic_load(&control->failure))
		snprintf(result->failure, sizeof result->failure, "a process stopped recording and did not say why");
	else
		snprintf(result->failure, sizeof result->failure, "%s", c->failure);
}

unsigned tw_collector_end(struct tw_collector *c, unsigned ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000 + (until.tv_nsec + ms % 1000 * 1000000 >= 1000000000);
	until.tv_nsec = (until.tv_nsec + ms % 1000 * 1000000) % 1000000000;
	atomic_store(&c->ended, 1);
	ring_bell(c);
	int waited;
	while ((waited = sem_timedwait(&c->done, &until)) && errno == EINTR)
		;
	return waited ? count_processes(c) : 0;
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

void tw_collector_finish(struct tw_collector *c, struct tw_output_result *result)
{
	pthread_join(c->thread_id, NULL);
	if (c->spool)
		empty_spool(c);
	store_budget(c);
	struct tw_totals tally;
	tw_demux_tally(c->demux, &tally);
	if (c->expand)
		tw_expand_tally(c->expand, &tally);
	tally.written = c->written;
	tw_output_add(c->output, &tally);
	tw_output_finish(c->output, result);
	if (result->abandoned)
		tw_spool_free(c->spool);
	else
		tw_spool_remove(c->spool);
	c->spool = NULL;
	tw_keep_end(&c->control->store, c->fd, c->control->sizes.store_at, c->tables);
	result->totals.fragments = tw_tables_fragments(c->tables);
	say_failure(c, result);
}
