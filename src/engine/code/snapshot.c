#include "engine/code/snapshot.h"
#include "engine/record/descriptor_table.h"
#include "engine/code/snapshot_file.h"
#include "engine/code/flush.h"
#include "engine/code/learned.h"
#include "engine/code/numbers.h"
#include "engine/code/private.h"
#include "engine/code/tables.h"
#include "engine/code/translations.h"
#include "engine/record/instrumentor.h"
#include "engine/record/program.h"
#include "engine/counts.h"
#include "engine/heap.h"
#include "engine/x86_64/glue.h"
#include <asm/resource.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/time.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/stat.h>

#define PROBES       16u
#define MANY_KINDS   (32u << 20) /* bytes of code, the program's and its loader's, of a program whose processes may be of several kinds */
#define MIN_NEW      200u        /* fragments that are worth a snapshot */
#define MIN_LACKED   100u        /* as many fragments as it takes a process to make the first one */
#define LACKED_SHARE 16u         /* a part of a snapshot's fragments: when others have made as many, they have paid for another */
#define MIN_FORK     500u        /* ... and more that are worth taking one for, in a process that has translations */
#define MAX_WRITTEN  6u          /* snapshots of one program */
#define MAX_OF_FORKS 12u         /* ... by forks */
#define FORK_SHARE   50u         /* a part of the fragments that a fork is to have in memory of its own at the most */
#define MUCH         20000u /* fragments that a process which lives on leaves while it runs, if they are half as many again as there are */
#define USEFUL       8u     /* a part of what has been made that others must have a use for */
#define CALLS_A_LOOK 256u   /* system calls of a process that lives on, after which it looks whether to leave or to take one... */
#define LOOK_NS      100000000u /* ...not more often than that */
#define LIVES_ON_NS  700000000u /* a program that ends before leaves what it has once, at its end */
/* Left to who begins with a snapshot: when the heap is full, all is thrown away, and that costs each its own copy first. */
#define HEAP_ROOM (24u << 20)

static struct {
	bool possible; /* in this process */
	bool first;    /* the first of the recording, which may be the only one, and not a fork */
	bool fork;
	bool complete; /* none was taken, or everything in it is in use */
	struct tw_file engine;
	u64 key;
	u32 n_base, n_startup;
	u32 taken;       /* fragments */
	u32 had;         /* of a fork: its parent's */
	u32 kept_lacked; /* what the kept file's seal says */
	u64 place;       /* of what was taken: the entry's offset */
	u32 calls;       /* since it looked */
	u64 looked_at, first_look;
	bool started;     /* the program has, not only its loader */
	u32 modules_seen; /* that there were when it was last asked whether tables are to be wide */
	u32 seen;         /* fragments there were then */
	bool records;
	struct tw_store_entry *claimant; /* where something is recorded: by whose numbers */
} s;

static struct snapshot_head head;
static struct tw_translations *const tr = &tw_translations;

static struct tw_store *store(void)
{
	return &tw_engine.control->store;
}

/* ---- which ---- */

/*
 * A large program of many processes executes itself for each, and tells by --type= what that is to do, as Chromium and Electron do: renderer, gpu-process, utility with a
 * subtype. Each kind runs code that the others do not, and has snapshots of its own.
 */
static u64 hash_of_kind(u64 h, char *const *argv)
{
	u64 code = 0;
	for (u32 k = 1; k <= s.n_base; k++)
		code += tw_modules.of[k].length;
	for (; code >= MANY_KINDS && *argv; argv++)
		if (tw_starts_with(*argv, "--type=") || tw_starts_with(*argv, "--utility-sub-type="))
			h = tw_fragment_hash(h, (const u8 *)*argv, strlen(*argv));
	return h;
}

static u64 make_key(char *const *argv)
{
	u64 h = tw_fragment_hash(0, (const u8 *)&s.engine, sizeof s.engine);
	const struct tw_control *c = tw_engine.control;
	const u32 how[] = {c->flags, c->format, c->hot, c->versions, c->learn_what};
	h = tw_fragment_hash(h, (const u8 *)how, sizeof how);
	for (u32 k = 1; k <= s.n_base; k++) {
		const struct tw_module *m = &tw_modules.of[k];
		h = tw_fragment_hash(h, (const u8 *)&m->file, sizeof m->file);
		h = tw_fragment_hash(h, (const u8 *)&m->start, sizeof m->start);
	}
	return hash_of_kind(h, argv) | 1;
}

/* Does what is recorded, and how, let translations be shared? */
static bool is_shareable(void)
{
	const struct tw_control *c = tw_engine.control;
	const bool window = c->window.start.kind || c->window.stop.kind, plain = tw_form_of(c->format) == TW_FORM_PLAIN;
	return store()->limit && plain && !window && (!c->budget.period || c->budget.bare) && !c->dump_all && !c->dump_pc &&
	       !c->learn_log && !(c->flags & (TW_FLAG_CALLS | TW_FLAG_ORDER));
}

/* The entry for this process's program; `make`: a new one if there is none and there is room. */
static struct tw_store_entry *find_entry(bool make)
{
	for (u32 k = 0; k < PROBES; k++) {
		struct tw_store_entry *e = &store()->entry[(s.key + k) % TW_STORE_ENTRIES];
		u64 key = __atomic_load_n((u64 *)&e->key, __ATOMIC_ACQUIRE);
		if (!key && make && __atomic_compare_exchange_n((u64 *)&e->key, &key, s.key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			store()->occupied[__atomic_fetch_add((u32 *)&store()->n_occupied, 1, __ATOMIC_RELAXED)] = (u16)(e - store()->entry);
			return e;
		}
		if (key == s.key)
			return e;
		if (!key && !make)
			return NULL;
	}
	return NULL;
}

/* ---- taking ---- */

static bool read_all(int fd, void *to, u64 n, u64 offset)
{
	return tw_sys4(__NR_pread64, fd, to, n, offset) == (i64)n;
}

/* Was it made by this engine from the modules that are mapped now? */
static bool fits(const struct snapshot_head *h)
{
	if (h->lead.magic != TW_SNAPSHOT_MAGIC || memcmp(&h->lead.machine, &store()->machine, sizeof h->lead.machine))
		return false;
	if (!tw_file_equal(&h->engine, &s.engine) || h->n_base != s.n_base || h->n_modules >= TW_MODULES)
		return false;
	for (u32 k = 1; k <= s.n_base; k++)
		if (!tw_module_equal(&h->module[k], &tw_modules.of[k]))
			return false;
	return true;
}

/* What is in the way of nothing: nothing has been translated. */
static bool map_segments(const struct snapshot_head *h, int fd, u64 offset)
{
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	const struct snapshot_segment *g = h->segment, *const end = g + SEGMENTS;
	offset += HEAD_BYTES;
	for (; g < end; offset += g++->bytes)
		if (g->bytes && tw_failed(tw_mmap(g->start, g->bytes, prot, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd, offset)))
			break;
	if (g == end)
		return true;
	while (g-- > h->segment)
		tw_translations_clear(g->start, g->bytes);
	return false;
}

/* Is this module of a snapshot mapped in full, as far as `now` tells, and has nobody been able to write there? */
static bool is_mapped(const struct tw_module *m, const struct tw_modules *now)
{
	if (m->writable)
		return false;
	for (u32 k = 1; k <= now->n; k++) {
		const struct tw_module *o = &now->of[k];
		if (o->state == MODULE_PRESENT && o->end == o->start + o->length && tw_module_equal(o, m))
			return true;
	}
	return false;
}

/* The snapshot's modules, with their numbers; then those that are mapped and not among them. */
static void adopt_modules(const struct snapshot_head *h)
{
	static struct tw_modules now;
	now = tw_modules;
	tw_modules.n = h->n_modules;
	for (u32 k = 1; k <= h->n_modules; k++) {
		struct tw_module *m = &tw_modules.of[k];
		*m = h->module[k];
		m->end = m->start + m->length;
		m->state = is_mapped(m, &now) ? MODULE_PRESENT : MODULE_EXPECTED;
	}
	for (u32 k = 1; k <= now.n && tw_modules.n + 1 < TW_MODULES; k++) {
		const struct tw_module *m = &now.of[k];
		if (m->state == MODULE_PRESENT && !is_mapped(m, &tw_modules))
			tw_modules.of[++tw_modules.n] = *m;
	}
}

/* The fragments mapped are this process's. */
static void adopt(const struct snapshot_head *h)
{
	tw_heap_at = h->heap_at;
	tr->cache_at = h->cache_at;
	tr->stubs_at = h->stubs_at;
	tr->n_host = tr->n_code = s.taken = h->n_host;
	tw_translator.began_warm = true;
	tr->n_stale = 0;
	tw_table_widen(h->wide);
	memcpy(tr->n_sites, h->n_sites, sizeof tr->n_sites);
	memcpy(tr->shadow_sites, h->n_sites, sizeof tr->shadow_sites);
	for (u32 k = 0; k < h->n_tables; k++) {
		const struct snapshot_table *b = &h->table[k];
		const u32 of = tw_table_number(b->upper);
		tr->tables[b->kind][of] = b->table;
		tr->shadows[b->kind][of] = b->shadow;
		tr->misses[b->kind][of] = b->miss;
	}
	for (u32 k = 0; k < h->claimed.n; k++)
		*tw_numbers_row(h->claimed.upper[k]) = h->claimed.row[k];
	adopt_modules(h);
	s.n_startup = h->n_startup;
	s.complete = false;
	tw_snapshot_came();
	tw_count(TW_COUNT_TAKEN, 1);
	tw_count(TW_COUNT_TAKEN_PIECES, h->n_host);
	tw_translations_count();
}

/* A file of what was kept for this program, or an error. */
static i64 open_of_key(const char *suffix)
{
	char path[TW_KEEP_PATH + 32];
	const u64 number = tw_store_file_number(s.key, store()->learned);
	tw_format(path, sizeof path, "%s/%016lx%s", store()->keep, (unsigned long)number, suffix);
	return tw_sys(__NR_open, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
}

/* Is the file in the state that it got its name in? */
static bool is_sealed(int file)
{
	struct tw_seal seal;
	struct tw_file now;
	const i64 fd = open_of_key(TW_SEAL_SUFFIX);
	const bool is_there = !tw_failed(fd) && read_all((int)fd, &seal, sizeof seal, 0) && seal.magic == TW_SEAL_MAGIC;
	if (!tw_failed(fd))
		tw_sys(__NR_close, fd, 0, 0);
	s.kept_lacked = is_there ? (u32)seal.lacked : 0;
	return is_there && tw_file_state(file, NULL, &now) && tw_file_equal(&now, &seal.file);
}

/* Has only the user of this process been able to write the file, and has it the length that its first bytes say? */
static bool is_own(int fd)
{
	struct stat st;
	struct tw_snapshot_lead lead;
	if (tw_failed(tw_sys(__NR_fstat, fd, &st, 0)) || !S_ISREG(st.st_mode) || (st.st_mode & 022) ||
	    st.st_uid != (u32)tw_sys(__NR_geteuid, 0, 0, 0))
		return false;
	return read_all(fd, &lead, sizeof lead, 0) && (u64)st.st_size == lead.bytes + lead.descriptors;
}

/* The file that an earlier recording kept for this program (channel/keep.h). */
static i64 open_kept(void)
{
	const bool knows = store()->learned || !(tw_engine.control->flags & TW_FLAG_LEARN);
	const i64 fd = store()->keep[0] && knows ? open_of_key(TW_KEEP_SUFFIX) : -1;
	if (tw_failed(fd) || (is_own((int)fd) && is_sealed((int)fd)))
		return fd;
	tw_sys(__NR_close, fd, 0, 0);
	return -1;
}

/* Reads the head of the snapshot at this place, an entry's offset, and leaves the file open that it is in at *at. An error: there is none that fits. */
static i64 open_at(u64 place, struct snapshot_head *h, u64 *at)
{
	const bool kept = place == TW_STORE_KEPT;
	i64 fd = kept ? open_kept() : tw_channel_open();
	if (tw_failed(fd))
		return fd;
	*at = kept ? 0 : tw_sizes()->store_at + place - 1;
	if (read_all((int)fd, h, sizeof *h, *at) && fits(h) && (!kept || !s.claimant || h->lead.id == s.claimant->kept_id))
		return fd;
	tw_sys(__NR_close, fd, 0, 0);
	return -1;
}

/* Goes on with the snapshot at this place, in the place of the translations that there are. False: it cannot be had. */
static bool go_on_with(u64 place)
{
	u64 at;
	const u64 began = tw_tsc();
	i64 fd = open_at(place, &head, &at);
	if (tw_failed(fd))
		return false;
	const bool empty = !tr->n_host || tw_flush_restart();
	if (empty) {
		s.taken = 0;
		s.complete = true;
	}
	const bool mapped = empty && map_segments(&head, (int)fd, at);
	if (mapped) {
		adopt(&head);
		s.place = place;
		tw_recorder.start.base = place == TW_STORE_KEPT && s.records ? s.claimant->kept_base : head.lead.base;
		tw_recorder.start.entries = head.claimed.entries;
	}
	tw_sys(__NR_close, fd, 0, 0);
	tw_count_cycles(TW_COUNT_HANDING_CYCLES, began, tw_tsc());
	return mapped;
}

static u64 best_place(const struct tw_store_entry *e)
{
	return e ? __atomic_load_n((u64 *)&e->offset, __ATOMIC_ACQUIRE) : 0;
}

/* What a process of this recording left, or an earlier recording, as another process has found. */
static bool take_shared(void)
{
	const u64 place = best_place(find_entry(false));
	return place && go_on_with(place);
}

/* What an earlier recording kept; the others of this one are told. */
static bool take_kept(void)
{
	if (!go_on_with(TW_STORE_KEPT))
		return false;
	struct tw_store_entry *e = find_entry(true);
	u64 none = 0;
	if (!e)
		return true;
	if (__atomic_compare_exchange_n((u64 *)&e->offset, &none, TW_STORE_KEPT, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
		__atomic_fetch_add((u32 *)&e->lacked, s.kept_lacked, __ATOMIC_RELAXED);
		__atomic_store_n((u32 *)&e->fragments, s.taken, __ATOMIC_RELEASE);
	}
	return true;
}

/* ---- what is kept, where something is recorded ---- */

/* Its descriptors become this recording's, and its numbers this program's. */
static bool load(struct tw_store_entry *e, u32 claimant)
{
	const i64 fd = open_kept();
	if (tw_failed(fd))
		return false;
	const bool good = read_all((int)fd, &head, sizeof head, 0) && fits(&head) && head.lead.descriptors &&
	                  head.lead.n_claimed <= TW_MOST_CLAIMED &&
	                  tw_table_claim(claimant, head.lead.claimed, head.lead.n_claimed, head.lead.number);
	e->kept_id = head.lead.id;
	e->kept_base = good ? tw_table_load((int)fd, head.lead.bytes, head.lead.descriptors) : 0;
	tw_recorder.start.loaded = e->kept_base != 0;
	tw_sys(__NR_close, fd, 0, 0);
	return e->kept_base != 0;
}

/* Waits for who loads it. False: that one has died, or does nothing. */
static bool wait_for_loader(const struct tw_store_entry *e)
{
	enum { PAUSE = 500, PATIENCE = 2000000 }; /* us */
	for (u32 n = 0; __atomic_load_n((const u32 *)&e->kept, __ATOMIC_ACQUIRE) == TW_KEPT_LOADING; n++) {
		const bool gone = tw_sys(__NR_kill, e->loader, 0, 0) == -3; /* ESRCH */
		if ((e->loader && gone) || n * PAUSE > PATIENCE)
			return false;
		tw_pause(PAUSE);
	}
	return true;
}

/* The process's program has numbers of its own, and its kept file, if there is one, is loaded, by the first that comes. False: none may be drawn. */
static bool get_claimant(void)
{
	struct tw_store_entry *e = find_entry(true);
	u32 kept = TW_KEPT_UNKNOWN;
	if (!e)
		return false;
	const u32 claimant = (u32)(e - store()->entry) + 1;
	if (__atomic_compare_exchange_n((u32 *)&e->kept, &kept, TW_KEPT_LOADING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		e->loader = tw_engine.pid;
		const bool loaded = load(e, claimant);
		if (loaded) {
			__atomic_store_n((u32 *)&e->lacked, s.kept_lacked, __ATOMIC_RELAXED);
			__atomic_store_n((u32 *)&e->fragments, head.n_host, __ATOMIC_RELEASE);
			__atomic_store_n((u64 *)&e->offset, TW_STORE_KEPT, __ATOMIC_RELEASE);
		}
		__atomic_store_n((u32 *)&e->kept, loaded ? TW_KEPT_LOADED : TW_KEPT_NONE, __ATOMIC_RELEASE);
	} else if (!wait_for_loader(e)) {
		return false;
	}
	tw_recorder.start.claimant = claimant;
	s.claimant = e;
	return true;
}

void tw_snapshot_take(char *const *argv)
{
	s.n_base = tw_modules.n;
	s.first = tw_program_serial() == 1;
	s.records = tw_snapshot_numbered();
	s.possible = is_shareable() && s.n_base && !tw_modules.missed && tw_file_identify(-1, "/proc/self/exe", &s.engine);
	s.complete = true;
	tw_translator.filtered = tw_sys(__NR_prctl, PR_GET_SECCOMP, 0, 0) != 0;
	if (!s.possible)
		return;
	s.key = make_key(argv);
	s.possible = !s.records || get_claimant();
	if (s.possible && (take_shared() || (!s.records && take_kept())))
		__atomic_fetch_add((u32 *)&store()->taken, 1, __ATOMIC_RELAXED);
}

/* How many fragments the best snapshot has that this process, whose program has started, could go on with. */
static u32 offered(const struct tw_store_entry *e)
{
	return e ? __atomic_load_n((u32 *)&e->fragments, __ATOMIC_ACQUIRE) : 0;
}

/* Likewise a fork, which is counted the first time. */
static void exchange(const struct tw_store_entry *e)
{
	const bool first = !s.place;
	const u64 place = best_place(e);
	if (place && go_on_with(place))
		__atomic_fetch_add((u32 *)&store()->forks, first, __ATOMIC_RELAXED);
}

void tw_snapshot_forked(const struct thread *t)
{
	s.first = false;
	s.fork = true;
	s.place = s.calls = 0;
	s.had = tr->n_host;
	if (s.records || !s.possible || t->record->unfollowed || tw_translator.gs_used)
		return;
	const struct tw_store_entry *e = find_entry(false);
	if (offered(e) >= tr->n_host + tr->n_host / 4 + MIN_FORK)
		exchange(e);
}

/* ---- the second set of tables ---- */

static void raise_table(u8 kind, u32 k)
{
	u64 *table = tr->tables[kind][k], *shadow = tr->shadows[kind][k];
	if (!shadow)
		return;
	const u64 bytes = tw_table_bytes(tr->shadow_sites[kind]);
	const int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP; /* memory stays where the shadow was: nobody else's */
	tr->shadows[kind][k] = NULL;
	if (tw_failed(tw_sys6(__NR_mremap, (u64)shadow, bytes, bytes, (u64)how, (u64)table, 0)))
		memcpy(table, shadow, bytes); /* before Linux 5.13 */
	tw_table_complete(k, kind, tr->shadow_sites[kind]);
}

void tw_snapshot_came(void)
{
	for (u32 k = 1; k <= s.n_startup; k++)
		if (!tw_module_usable((u8)k))
			return;
	if (s.complete || tw_engine.n_threads > 1)
		return;
	s.complete = true;
	for (u8 kind = 0; kind < LOOKUP_KINDS; kind++)
		for (u32 k = 0; k < tr->n_uppers; k++)
			raise_table(kind, k);
}

static u64 code_of_modules(void)
{
	u64 bytes = 0;
	for (u32 k = 1; k <= tw_modules.n; k++)
		bytes += tw_modules.of[k].length;
	return bytes;
}

static void widen(void)
{
	if (tw_engine.n_threads == 1 && !tw_table_wide() && tw_table_wants_wide(code_of_modules()) && (!tr->n_host || tw_flush_restart()))
		tw_table_widen(true);
}

void tw_snapshot_started(void)
{
	s.started = true;
	if (s.taken)
		return;
	s.n_startup = tw_modules.n;
	widen();
}

/* Large modules run much before the program's entry, and what is made of that is thrown away where tables become wide: so that is done as soon as they are mapped. */
static void look_at_start(void)
{
	if (s.started || s.taken || !tw_translator.program_entry || tw_modules.n == s.modules_seen)
		return;
	s.modules_seen = tw_modules.n;
	widen();
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
	u64 used = __atomic_load_n((u64 *)&store()->used, __ATOMIC_RELAXED);
	do {
		if (used + bytes > store()->limit)
			return -1;
	} while (!__atomic_compare_exchange_n((u64 *)&store()->used, &used, used + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return (i64)used;
}

/* Becomes the writer of the entry. One that has died at it is replaced. */
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

/* What this process has made since it began, as if each had come to make its first one. */
static u32 own_cost(void)
{
	const u32 begun = s.had > s.taken ? s.had : s.taken;
	return tr->n_host > begun ? tr->n_host - begun + MIN_LACKED : 0;
}

/* Is this process's better than the one there is? So many times, and whenever there is twice as much. Forks live beside each other, and each has what the snapshot lacks in memory of its own. */
static bool is_better(const struct tw_store_entry *e)
{
	u32 there = offered(e), written = __atomic_load_n((u32 *)&e->written, __ATOMIC_RELAXED);
	const bool more = tr->n_host > there + there / (s.fork ? FORK_SHARE : 8) + MIN_NEW;
	const bool paid = tr->n_host > there && lacked(e) > there / LACKED_SHARE + MIN_NEW;
	return (more || paid) && (tr->n_host / 2 > there || written < (s.fork ? MAX_OF_FORKS : MAX_WRITTEN));
}

/* What goes with the numbers of fragments. False: others cannot have the descriptors. */
static bool fill_claimed(void)
{
	struct snapshot_claimed *c = &head.claimed;
	const struct tw_store_entry *e = s.claimant;
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
	head.lead.machine = store()->machine;
	head.engine = s.engine;
	head.n_base = s.n_base;
	head.n_startup = s.n_startup;
	head.lead.id = now_ns() ^ (u64)tw_engine.pid << 40;
	if (s.records && !fill_claimed())
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

/* Writing far behind in a file is a matter of the program's limit on the size of files. */
static bool may_write(void)
{
	u64 limit[2];
	return !tw_sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) && limit[0] >= tw_sizes()->tables_at;
}

/* Is there room for what there is now, and the shadows? */
static bool has_room(void)
{
	u64 bytes = tr->cache_at - ARENA_CACHE + tr->stubs_at - ARENA_STUBS + tw_heap_at - ARENA_HEAP;
	return store()->used + bytes < store()->limit && tw_heap_at + HEAP_ROOM < tw_arena_heap_end();
}

/* Is this process one whose translations could be another's? */
static bool is_able(const struct thread *t)
{
	const bool known = !s.records || (t->record->recording && tw_table_is_there());
	return known && s.possible && s.complete && !tw_learned_left_out() && !t->vforked && !t->record->unfollowed &&
	       !tw_translator.gs_used && !tw_translator.filtered && (!s.first || store()->keep[0]) &&
	       tw_channel_collector_alive(tw_engine.control);
}

static bool is_wanted(const struct thread *t)
{
	return is_able(t) && tr->n_host > s.taken && has_room();
}

/* Is enough of what has been made since of use to others? A program that maps an image with code of its own makes much each time that is not. Under the lock. */
static bool is_of_use(void)
{
	return tw_snapshot_new(s.taken) > (tr->n_host - s.taken) / USEFUL;
}

/* In entry e, if it is better than what is there. */
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
	struct tw_store_entry *e = is_wanted(t) ? find_entry(true) : NULL;
	if (!e)
		return;
	__atomic_fetch_add((u32 *)&e->lacked, own_cost(), __ATOMIC_RELAXED);
	leave_in(e);
}

/* Is it time for a look? *settled: little has been translated since the last. */
static bool is_time(bool *settled)
{
	if (!s.possible || ++s.calls < CALLS_A_LOOK)
		return false;
	const u64 now = now_ns();
	s.calls = 0;
	if (now - s.looked_at < LOOK_NS)
		return false;
	s.first_look = s.first_look ? s.first_look : now;
	*settled = tr->n_host < s.seen + s.seen / 64;
	s.looked_at = now;
	s.seen = tr->n_host;
	return true;
}

/* Of a process that may be killed, or run on for long: what it has is worth more to others, now, than what it costs. */
static void leave_much(const struct thread *t)
{
	struct tw_store_entry *e = find_entry(false);
	const u32 there = offered(e);
	if (tr->n_host > there + there / 2 + MUCH && is_wanted(t))
		leave_in(e ? e : find_entry(true));
}

void tw_snapshot_look(const struct thread *t)
{
	bool settled;
	look_at_start();
	if (!is_time(&settled))
		return;
	if (!s.fork || s.records || tw_engine.n_threads != 1) {
		if (s.looked_at - s.first_look >= LIVES_ON_NS)
			leave_much(t);
		return;
	}
	if (tr->n_host < s.taken + s.taken / FORK_SHARE + MIN_FORK || !is_able(t))
		return;
	const u32 enough = tr->n_host - tr->n_host / 32;
	struct tw_store_entry *e = find_entry(true);
	if (settled && offered(e) < enough && is_wanted(t))
		leave_in(e);
	if (offered(e) >= enough && best_place(e) != s.place)
		exchange(e);
}
