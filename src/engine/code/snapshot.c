#include "engine/code/snapshot.h"
#include "engine/code/snapshot_tables.h"
#include "engine/code/snapshot_take.h"
#include "engine/code/learned.h"
#include "engine/code/private.h"
#include "engine/code/translations.h"
#include "engine/record/descriptor_table.h"
#include "engine/record/instrumentor.h"
#include "engine/record/program.h"
#include "engine/counts.h"
#include "engine/heap.h"
#include "engine/x86_64/glue.h"
#include <asm/resource.h>
#include <asm/unistd.h>
#include <linux/prctl.h>
#include <linux/time.h>

#define MIN_NEW      200u   /* fragments that are worth a snapshot */
#define MIN_LACKED   100u   /* counted as this many fragments: the effort of making the first one */
#define LACKED_SHARE 16u    /* fraction of a snapshot's fragments: when others have made this many, another snapshot pays off */
#define MIN_FORK     500u   /* ... plus this many, before it pays off to take one in a process that has translations */
#define MAX_WRITTEN  6u     /* snapshots of one program */
#define MAX_OF_FORKS 12u    /* ... by forks */
#define FORK_SHARE   50u    /* the largest fraction of the fragments that a fork should have in its own memory */
#define MUCH         20000u /* fragments that a long-running process leaves while it runs, if it has half as many again as the snapshot */
#define USEFUL       8u     /* fraction of what has been made that others must be able to use */
#define CALLS_A_LOOK 256u   /* system calls of a long-running process after which it checks whether to leave or take one... */
#define LOOK_NS      100000000u /* ...not more often than that */
#define LIVES_ON_NS  700000000u /* a program that ends earlier leaves what it has once, at its end */
/* Left for processes that start with a snapshot: if the heap is full, everything is discarded, and first each gets its own copy. */
#define HEAP_ROOM (24u << 20)

static struct snapshot_head head;
static struct tw_translations *const tr = &tw_translations;
static struct tw_snapshots *const s = &tw_snapshots;

/* ---- taking ---- */

void tw_snapshot_take(char *const *argv)
{
	s->n_base = tw_modules.n;
	s->first = tw_program_serial() == 1;
	s->records = tw_snapshot_numbered();
	s->possible = tw_snapshot_shareable() && s->n_base && !tw_modules.missed && tw_file_identify(-1, "/proc/self/exe", &s->engine);
	s->complete = true;
	tw_translator.filtered = tw_sys(__NR_prctl, PR_GET_SECCOMP, 0, 0) != 0;
	if (!s->possible)
		return;
	s->key = tw_snapshot_key(argv);
	s->possible = !s->records || tw_snapshot_claim();
	if (s->possible && (tw_snapshot_take_shared() || (!s->records && tw_snapshot_take_kept())))
		__atomic_fetch_add((u32 *)&tw_snapshot_store()->taken, 1, __ATOMIC_RELAXED);
}

/* A fork continues with what another has left, and is counted the first time. */
static void exchange(const struct tw_store_entry *e)
{
	const bool first = !s->place;
	const u64 place = tw_snapshot_place(e);
	if (place && tw_snapshot_go_on(place))
		__atomic_fetch_add((u32 *)&tw_snapshot_store()->forks, first, __ATOMIC_RELAXED);
}

void tw_snapshot_forked(const struct thread *t)
{
	s->first = false;
	s->fork = true;
	s->place = s->calls = 0;
	s->had = tr->n_host;
	if (s->records || !s->possible || t->record->unfollowed || tw_translator.gs_used)
		return;
	const struct tw_store_entry *e = tw_snapshot_entry(false);
	if (tw_snapshot_offered(e) >= tr->n_host + tr->n_host / 4 + MIN_FORK)
		exchange(e);
}

/* ---- leaving ---- */

static u64 now_ns(void)
{
	struct __kernel_timespec now;
	tw_sys(__NR_clock_gettime, CLOCK_MONOTONIC, &now, 0);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* Room in the store: its offset, or -1. */
static i64 reserve_room(u64 bytes)
{
	u64 used = __atomic_load_n((u64 *)&tw_snapshot_store()->used, __ATOMIC_RELAXED);
	do {
		if (used + bytes > tw_snapshot_store()->limit)
			return -1;
	} while (!__atomic_compare_exchange_n((u64 *)&tw_snapshot_store()->used, &used, used + bytes, false, __ATOMIC_RELAXED,
	                                      __ATOMIC_RELAXED));
	return (i64)used;
}

/* Becomes the writer of the entry. A writer that died is replaced. */
static bool begin(struct tw_store_entry *e)
{
	u32 writer = 0;
	if (__atomic_compare_exchange_n((u32 *)&e->writer, &writer, tw_engine.pid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	bool gone = tw_sys(__NR_kill, writer, 0, 0) == -3; /* ESRCH */
	return gone && __atomic_compare_exchange_n((u32 *)&e->writer, &writer, tw_engine.pid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static u32 lacked(const struct tw_store_entry *e)
{
	return __atomic_load_n((const u32 *)&e->lacked, __ATOMIC_RELAXED);
}

/* What this process has made since it started, including the effort of its first one. */
static u32 own_cost(void)
{
	const u32 begun = s->had > s->taken ? s->had : s->taken;
	return tr->n_host > begun ? tr->n_host - begun + MIN_LACKED : 0;
}

/*
 * Is this process's snapshot better than the existing one? A limited number of times, and whenever it is twice as
 * large. Forks run side by side, and each has what the snapshot lacks in its own memory.
 */
static bool is_better(const struct tw_store_entry *e)
{
	u32 there = tw_snapshot_offered(e), written = __atomic_load_n((u32 *)&e->written, __ATOMIC_RELAXED);
	const bool more = tr->n_host > there + there / (s->fork ? FORK_SHARE : 8) + MIN_NEW;
	const bool paid = tr->n_host > there && lacked(e) > there / LACKED_SHARE + MIN_NEW;
	return (more || paid) && (tr->n_host / 2 > there || written < (s->fork ? MAX_OF_FORKS : MAX_WRITTEN));
}

/* What goes with the numbers of fragments. False: others cannot have the descriptors. */
static bool fill_claimed(void)
{
	struct snapshot_claimed *c = &head.claimed;
	const struct tw_store_entry *e = s->claimant;
	if (!tw_table_stay())
		return false;
	head.lead.base = tw_recorder.table_number;
	c->entries = tw_recorder.table->entries;
	c->n = e->n_claimed;
	memcpy(c->upper, e->claimed, sizeof c->upper);
	return c->n != 0;
}

/* For people who list what is kept. */
static void fill_description(struct tw_snapshot_lead *lead)
{
	const u64 n = strlen(tw_engine.program_path), most = sizeof lead->program - 1;
	lead->format = tw_engine.control->format;
	lead->verify = (tw_engine.control->flags & TW_FLAG_VERIFY) != 0;
	lead->learns = (tw_engine.control->flags & TW_FLAG_LEARN) != 0;
	lead->fragments = tr->n_host;
	tw_format(lead->program, sizeof lead->program, "%s", tw_engine.program_path + (n > most ? n - most : 0));
}

static void write_as(struct tw_store_entry *e, int fd)
{
	memset(&head, 0, sizeof head);
	fill_description(&head.lead);
	head.lead.machine = tw_snapshot_store()->machine;
	head.engine = s->engine;
	head.n_base = s->n_base;
	head.n_startup = s->n_startup;
	head.lead.id = now_ns() ^ (u64)tw_engine.pid << 40;
	if (s->records && !fill_claimed())
		return;
	i64 offset = tw_snapshot_make(&head) ? reserve_room(head.lead.bytes) : -1;
	if (offset < 0 || !tw_snapshot_write(fd, &head, tw_sizes()->store_at + (u64)offset))
		return;
	__atomic_store_n((u64 *)&e->offset, (u64)offset + 1, __ATOMIC_RELEASE);
	__atomic_store_n((u32 *)&e->fragments, head.n_host, __ATOMIC_RELEASE);
	__atomic_fetch_add((u32 *)&e->written, 1, __ATOMIC_RELAXED);
	tw_count(TW_COUNT_LEFT, 1);
	tw_count(TW_COUNT_LEFT_BYTES, head.lead.bytes);
}

/* Writing at a large offset of a file is subject to the program's file size limit. */
static bool may_write(void)
{
	u64 limit[2];
	return !tw_sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) && limit[0] >= tw_sizes()->tables_at;
}

/* Is there room for the present contents, and the shadows? */
static bool has_room(void)
{
	u64 bytes = tr->cache_at - ARENA_CACHE + tr->stubs_at - ARENA_STUBS + tw_heap_at - ARENA_HEAP;
	return tw_snapshot_store()->used + bytes < tw_snapshot_store()->limit && tw_heap_at + HEAP_ROOM < tw_arena_heap_end();
}

/* Could another process use this one's translations? */
static bool is_able(const struct thread *t)
{
	const bool known = !s->records || (t->record->recording && tw_table_is_there());
	return known && s->possible && s->complete && !tw_learned_left_out() && !t->vforked && !t->record->unfollowed &&
	       !tw_translator.gs_used && !tw_translator.filtered && (!s->first || tw_snapshot_store()->keep[0]) &&
	       tw_channel_collector_alive(tw_engine.control);
}

static bool is_wanted(const struct thread *t)
{
	return is_able(t) && tr->n_host > s->taken && has_room();
}

/*
 * Is enough of what has been made since useful to others? A program that maps an image with code of its own makes a
 * lot each time that is not. Under the lock.
 */
static bool is_of_use(void)
{
	return tw_snapshot_new(s->taken) > (tr->n_host - s->taken) / USEFUL;
}

/* Into entry e, if it is better than what is there. */
static void leave_in(struct tw_store_entry *e)
{
	if (!e || !is_better(e) || !may_write() || !begin(e))
		return;
	const u64 began = tw_tsc();
	i64 fd = tw_channel_open();
	__atomic_store_n((u32 *)&e->lacked, 0, __ATOMIC_RELAXED); /* also of what is not of use */
	if (!tw_failed(fd)) {
		tw_lock(&tw_engine.lock);
		tw_private_publish_all();
		if (is_of_use())
			write_as(e, (int)fd);
		tw_unlock(&tw_engine.lock);
		tw_sys(__NR_close, fd, 0, 0);
	}
	__atomic_store_n((u32 *)&e->writer, 0, __ATOMIC_RELEASE);
	tw_count_cycles(TW_COUNT_HANDING_CYCLES, began, tw_tsc());
}

void tw_snapshot_leave(const struct thread *t)
{
	struct tw_store_entry *e = is_wanted(t) ? tw_snapshot_entry(true) : NULL;
	if (!e)
		return;
	__atomic_fetch_add((u32 *)&e->lacked, own_cost(), __ATOMIC_RELAXED);
	leave_in(e);
}

/* Is it time to check? *settled: little has been translated since the last time. */
static bool is_time(bool *settled)
{
	if (!s->possible || ++s->calls < CALLS_A_LOOK)
		return false;
	const u64 now = now_ns();
	s->calls = 0;
	if (now - s->looked_at < LOOK_NS)
		return false;
	s->first_look = s->first_look ? s->first_look : now;
	*settled = tr->n_host < s->seen + s->seen / 64;
	s->looked_at = now;
	s->seen = tr->n_host;
	return true;
}

/* For a process that may be killed, or run for long: what it has is worth more to others now than it costs. */
static void leave_much(const struct thread *t)
{
	struct tw_store_entry *e = tw_snapshot_entry(false);
	const u32 there = tw_snapshot_offered(e);
	if (tr->n_host > there + there / 2 + MUCH && is_wanted(t))
		leave_in(e ? e : tw_snapshot_entry(true));
}

void tw_snapshot_look(const struct thread *t)
{
	bool settled;
	tw_snapshot_look_at_start();
	if (!is_time(&settled))
		return;
	if (!s->fork || s->records || tw_engine.n_threads != 1) {
		if (s->looked_at - s->first_look >= LIVES_ON_NS)
			leave_much(t);
		return;
	}
	if (tr->n_host < s->taken + s->taken / FORK_SHARE + MIN_FORK || !is_able(t))
		return;
	const u32 enough = tr->n_host - tr->n_host / 32;
	struct tw_store_entry *e = tw_snapshot_entry(true);
	if (settled && tw_snapshot_offered(e) < enough && is_wanted(t))
		leave_in(e);
	if (tw_snapshot_offered(e) >= enough && tw_snapshot_place(e) != s->place)
		exchange(e);
}
