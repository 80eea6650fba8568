#include "engine/snapshot.h"
#include "engine/known.h"
#include "engine/module.h"
#include "engine/translations.h"
#include "instrument/instrumentor.h"
#include <asm/resource.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>

#define MAGIC        0x746f687370616e73ull
#define PROBES       16u
#define MIN_NEW      200u       /* fragments that are worth a snapshot */
#define MIN_FORK     500u       /* ... and more that are worth taking one for, in a process that has translations */
#define MAX_WRITTEN  6u         /* snapshots of one program */
#define MAX_OF_FORKS 12u        /* ... by forks */
#define FORK_SHARE   50u        /* a part of the fragments that a fork is to have in memory of its own at the most */
#define CALLS_A_LOOK 256u       /* system calls of a fork that lives on, after which it looks whether to leave or to take one... */
#define LOOK_NS      100000000u /* ...not more often than that */
#define HEAP_ROOM    (16u << 20)
#define LONGEST_INSN 15u
#define SEGMENTS     4u

/* A part of the arena, in whole pages; in the file they follow the head, one after the other. */
struct segment {
	u64 start, bytes;
};

/* One table of landings. */
struct table {
	u32 kind, upper;
	u64 *table, *shadow;
	const u8 *miss;
};
#define TABLES 8u

/* What a snapshot begins with. */
struct head {
	u64 magic;
	struct tw_file engine;
	struct segment segment[SEGMENTS];
	u64 heap_at, cache_at, stubs_at;
	u32 n_host, low_upper, top_upper, n_tables;
	u32 n_base;    /* modules that the loader of the engine mapped */
	u32 n_startup; /* ... and that were there at the program's entry */
	u32 n_modules;
	struct table table[TABLES];
	struct tw_module module[TW_MODULES];
};
#define HEAD_BYTES ((sizeof(struct head) + TW_PAGE - 1) & ~(u64)(TW_PAGE - 1))

static struct {
	bool possible; /* in this process */
	bool first;    /* the first of the recording, and not a fork */
	bool fork;
	bool complete; /* none was taken, or everything in it is in use */
	struct tw_file engine;
	u64 key;
	u32 n_base, n_startup;
	u32 taken; /* fragments */
	u64 place; /* of what was taken in the store, plus 1 */
	u32 calls; /* a fork's, since it looked */
	u64 looked_at;
	u32 seen; /* fragments there were then */
} s;

static struct head head;
static struct tw_translations *const tr = &tw_translations;

static struct tw_store *store(void)
{
	return &tw_engine.control->store;
}

/* The channel's memfd, which the engine does not keep open. An error, also where its path has come to name something else. */
static i64 open_channel(void)
{
	struct stat st;
	i64 fd = tw_sys(__NR_open, tw_engine.channel_path, O_RDWR | O_CLOEXEC, 0);
	if (tw_failed(fd) || (!tw_failed(tw_sys(__NR_fstat, fd, &st, 0)) && st.st_ino == tw_engine.channel_inode))
		return fd;
	tw_sys(__NR_close, fd, 0, 0);
	return -1;
}

/* ---- which ---- */

static u64 make_key(void)
{
	u64 h = tw_fragment_hash(0, (const u8 *)&s.engine, sizeof s.engine);
	for (u32 k = 1; k <= s.n_base; k++) {
		const struct tw_module *m = &tw_modules.of[k];
		h = tw_fragment_hash(h, (const u8 *)&m->file, sizeof m->file);
		h = tw_fragment_hash(h, (const u8 *)&m->start, sizeof m->start);
	}
	return h | 1;
}

/* Does what is recorded, and how, let translations be shared? */
static bool is_shareable(void)
{
	const struct tw_control *c = tw_engine.control;
	bool window = c->window.start.kind || c->window.stop.kind;
	return store()->limit && tw_engine.recorder->format == TW_FORMAT_NONE && !window && !c->dump_all && !c->dump_pc &&
	       !(c->flags & TW_FLAG_VERIFY);
}

/* The entry for this process's program; `make`: a new one if there is none and there is room. */
static struct tw_store_entry *find_entry(bool make)
{
	for (u32 k = 0; k < PROBES; k++) {
		struct tw_store_entry *e = &store()->entry[(s.key + k) % TW_STORE_ENTRIES];
		u64 key = __atomic_load_n((u64 *)&e->key, __ATOMIC_ACQUIRE);
		if (!key && make && __atomic_compare_exchange_n((u64 *)&e->key, &key, s.key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return e;
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
	return tw_sys4(__NR_pread64, fd, to, n, TW_STORE_AT + offset) == (i64)n;
}

/* Was it made by this engine from the modules that are mapped now? */
static bool fits(const struct head *h)
{
	if (h->magic != MAGIC || !tw_file_equal(&h->engine, &s.engine) || h->n_base != s.n_base || h->n_modules >= TW_MODULES)
		return false;
	for (u32 k = 1; k <= s.n_base; k++)
		if (!tw_module_equal(&h->module[k], &tw_modules.of[k]))
			return false;
	return true;
}

static int protection(const struct segment *g)
{
	return PROT_READ | PROT_WRITE | (g->start < ARENA_STUBS_END ? PROT_EXEC : 0);
}

/* What is in the way of nothing: nothing has been translated. */
static bool map_segments(const struct head *h, int fd, u64 offset)
{
	bool ok = true;
	offset += HEAD_BYTES;
	for (u32 k = 0; k < SEGMENTS; k++) {
		const struct segment *g = &h->segment[k];
		if (ok && g->bytes)
			ok = !tw_failed(
			    tw_mmap(g->start, g->bytes, protection(g), MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd, TW_STORE_AT + offset));
		offset += g->bytes;
	}
	for (u32 k = 0; !ok && k < SEGMENTS; k++) {
		const struct segment *g = &h->segment[k];
		if (tw_failed(tw_mmap(g->start, g->bytes, protection(g), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
			__builtin_trap(); /* the arena is lost */
	}
	return ok;
}

/* Is this module of a snapshot mapped in full, as far as `now` tells? */
static bool is_mapped(const struct tw_module *m, const struct tw_modules *now)
{
	for (u32 k = 1; k <= now->n; k++) {
		const struct tw_module *o = &now->of[k];
		if (o->state == MODULE_PRESENT && o->end == o->start + o->length && tw_module_equal(o, m))
			return true;
	}
	return false;
}

/* The snapshot's modules, with their numbers; then those that are mapped and not among them. */
static void adopt_modules(const struct head *h)
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
static void adopt(const struct head *h)
{
	tr->heap_at = h->heap_at;
	tr->cache_at = h->cache_at;
	tr->stubs_at = h->stubs_at;
	tr->n_host = s.taken = h->n_host;
	tr->low_upper = h->low_upper;
	tr->top_upper = h->top_upper;
	for (u32 k = 0; k < h->n_tables; k++) {
		const struct table *b = &h->table[k];
		tr->tables[b->kind][b->upper] = b->table;
		tr->shadows[b->kind][b->upper] = b->shadow;
		tr->misses[b->kind][b->upper] = b->miss;
	}
	adopt_modules(h);
	s.n_startup = h->n_startup;
	s.complete = false;
	tw_snapshot_came();
}

/* Reads the head of the snapshot of this program that is the best now, and leaves the channel open. An error: there is none that fits. */
static i64 open_best(const struct tw_store_entry *e, struct head *h, u64 *offset)
{
	u64 place = __atomic_load_n((u64 *)&e->offset, __ATOMIC_ACQUIRE);
	i64 fd = place ? open_channel() : -1;
	if (tw_failed(fd))
		return fd;
	*offset = place - 1;
	if (read_all((int)fd, h, sizeof *h, *offset) && fits(h))
		return fd;
	tw_sys(__NR_close, fd, 0, 0);
	return -1;
}

/* Goes on with the best snapshot, in the place of the translations that there are. False: there is none, or it cannot be had. */
static bool go_on_with(const struct tw_store_entry *e)
{
	u64 offset;
	i64 fd = e ? open_best(e, &head, &offset) : -1;
	if (tw_failed(fd))
		return false;
	if (tr->n_host)
		tw_fragment_restart();
	s.taken = 0;
	s.complete = true;
	const bool mapped = map_segments(&head, (int)fd, offset);
	if (mapped) {
		adopt(&head);
		s.place = offset + 1;
	}
	tw_sys(__NR_close, fd, 0, 0);
	return mapped;
}

void tw_snapshot_take(void)
{
	s.n_base = tw_modules.n;
	s.first = tw_known_program() == 1;
	s.possible = is_shareable() && s.n_base && !tw_modules.missed && tw_file_identify(-1, "/proc/self/exe", &s.engine);
	s.complete = true;
	tw_engine.filtered = tw_sys(__NR_prctl, PR_GET_SECCOMP, 0, 0) != 0;
	if (!s.possible)
		return;
	s.key = make_key();
	if (go_on_with(find_entry(false)))
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
	if (go_on_with(e))
		__atomic_fetch_add((u32 *)&store()->forks, first, __ATOMIC_RELAXED);
}

void tw_snapshot_forked(const struct thread *t)
{
	s.first = false;
	s.fork = true;
	s.place = s.calls = 0;
	if (!s.possible || t->unfollowed || tw_engine.gs_used)
		return;
	const struct tw_store_entry *e = find_entry(false);
	if (offered(e) >= tr->n_host + tr->n_host / 4 + MIN_FORK)
		exchange(e);
}

/* ---- the second set of tables ---- */

static void raise_table(u8 kind, u32 upper)
{
	u64 *table = tr->tables[kind][upper], *shadow = tr->shadows[kind][upper];
	if (!shadow)
		return;
	tr->shadows[kind][upper] = NULL;
	i64 r = tw_sys6(__NR_mremap, (u64)shadow, TABLE_BYTES, TABLE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, (u64)table, 0);
	i64 hole = tw_mmap((u64)(tw_failed(r) ? table : shadow), TABLE_BYTES, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (tw_failed(hole))
		__builtin_trap(); /* the arena is lost */
	if (tw_failed(r))
		tw_fragment_clear_table(upper, kind);
}

void tw_snapshot_came(void)
{
	for (u32 k = 1; k <= s.n_startup; k++)
		if (!tw_module_usable((u8)k))
			return;
	if (s.complete || tw_engine.n_threads > 1)
		return;
	s.complete = true;
	for (u8 kind = 0; kind < LANDING_KINDS; kind++)
		for (u32 upper = 0; upper < MAX_UPPERS; upper++)
			raise_table(kind, upper);
}

void tw_snapshot_started(void)
{
	if (!s.taken)
		s.n_startup = tw_modules.n;
}

/* ---- leaving: what may be in it ---- */

/* Of /proc/self/pagemap. */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61)

static bool is_private(u64 page)
{
	return (page & PAGE_SWAPPED) || ((page & PAGE_PRESENT) && !(page & PAGE_OF_FILE));
}

/* Are all pages of the module still the file's? */
static bool is_as_in_file(const struct tw_module *m, int pagemap)
{
	u64 page[64];
	for (u64 at = m->start; at < m->end;) {
		u64 n = (m->end - at) / TW_PAGE < 64 ? (m->end - at) / TW_PAGE : 64;
		if (tw_sys4(__NR_pread64, pagemap, page, n * 8, at / TW_PAGE * 8) != (i64)n * 8)
			return false;
		for (u64 k = 0; k < n; k++)
			if (is_private(page[k]))
				return false;
		at += n * TW_PAGE;
	}
	return true;
}

static void check_modules(void)
{
	i64 fd = tw_sys(__NR_open, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	for (u32 k = 1; k <= tw_modules.n; k++) {
		struct tw_module *m = &tw_modules.of[k];
		if (m->state == MODULE_PRESENT && (tw_failed(fd) || !is_as_in_file(m, (int)fd)))
			m->state = MODULE_CHANGED;
	}
	if (!tw_failed(fd))
		tw_sys(__NR_close, fd, 0, 0);
}

/* Goes on with *hash over this code. False: it cannot be read; its file may have been cut short. */
static bool hash_code(u64 pc, u32 bytes, u64 *hash)
{
	u8 code[256];
	while (bytes) {
		u32 n = bytes < sizeof code ? bytes : sizeof code;
		if (!tw_copy(code, (const void *)pc, n))
			return false;
		*hash = tw_fragment_hash(*hash, code, n);
		pc += n;
		bytes -= n;
	}
	return true;
}

static bool is_kept(const struct fragment *f)
{
	const struct tw_module *m = &tw_modules.of[f->module];
	u64 hash = 0;
	if (f->owner || !f->module || m->state == MODULE_CHANGED || (f->above && f->above->module != f->module))
		return false;
	for (u32 k = 0; m->state == MODULE_PRESENT && k < f->n_pieces; k++) {
		const struct piece *p = &f->piece[k];
		if (p->pc + p->bytes + LONGEST_INSN > m->end || !hash_code(p->pc, p->bytes, &hash))
			return false;
	}
	return m->state == MODULE_EXPECTED || hash == f->code_hash;
}

/* Exits of other modules do not lead to f. */
static void unlink_foreign(struct fragment *f)
{
	struct exit *x = f->incoming;
	f->incoming = NULL;
	for (struct exit *next; x; x = next) {
		next = x->next_in;
		if (x->from->module == f->module) {
			x->next_in = f->incoming;
			f->incoming = x;
		} else {
			tw_exit_unlink(x);
		}
	}
}

/* The tables hold landings of modules 1 to `last` only. */
static void drop_landings_behind(u32 last)
{
	for (u32 i = 0; i < tr->n_host; i++) {
		const struct fragment *l = tr->host_map[i];
		if (l->kind == FRAGMENT_LANDING && (!l->target->module || l->target->module > last))
			tr->tables[l->landing_kind][l->upper_from][l->pc & 0xffff] = (u64)tr->misses[l->landing_kind][l->upper_from];
	}
}

static void make_shadows(void)
{
	for (u8 kind = 0; kind < LANDING_KINDS; kind++)
		for (u32 upper = 0; upper < MAX_UPPERS; upper++)
			if (tr->tables[kind][upper]) {
				tr->shadows[kind][upper] = tw_heap_pages(TABLE_BYTES);
				memcpy(tr->shadows[kind][upper], tr->tables[kind][upper], TABLE_BYTES);
			}
}

/* Leaves what is right in any process that runs the same files. */
static void prepare(void)
{
	tw_cache_trim();
	check_modules();
	for (u32 i = 0; i < tr->n_host; i++)
		if (tr->host_map[i]->kind == FRAGMENT_CODE && !tr->host_map[i]->stale && !is_kept(tr->host_map[i]))
			tw_fragment_make_stale(tr->host_map[i]);
	for (u32 i = 0; i < tr->n_host; i++)
		unlink_foreign(tr->host_map[i]);
	drop_landings_behind(s.n_startup);
	make_shadows();
	drop_landings_behind(s.n_base);
}

/* ---- leaving: writing ---- */

static bool fill_tables(struct head *h)
{
	h->n_tables = 0;
	for (u32 kind = 0; kind < LANDING_KINDS; kind++)
		for (u32 upper = 0; upper < MAX_UPPERS; upper++) {
			if (!tr->tables[kind][upper])
				continue;
			if (h->n_tables == TABLES)
				return false;
			h->table[h->n_tables++] =
			    (struct table){kind, upper, tr->tables[kind][upper], tr->shadows[kind][upper], tr->misses[kind][upper]};
		}
	return true;
}

static bool fill_head(struct head *h)
{
	memset(h, 0, sizeof *h);
	h->magic = MAGIC;
	h->engine = s.engine;
	h->segment[0] = (struct segment){ARENA_CACHE, tw_page_up(tr->cache_at) - ARENA_CACHE};
	h->segment[1] = (struct segment){ARENA_STUBS, tw_page_up(tr->stubs_at) - ARENA_STUBS};
	h->segment[2] = (struct segment){ARENA_HEAP, tw_page_up((u64)(tr->host_map + tr->n_host)) - ARENA_HEAP};
	h->segment[3] = (struct segment){tr->heap_mark, tw_page_up(tr->heap_at) - tr->heap_mark};
	h->heap_at = tr->heap_at;
	h->cache_at = tr->cache_at;
	h->stubs_at = tr->stubs_at;
	h->n_host = tr->n_host;
	h->low_upper = tr->low_upper;
	h->top_upper = tr->top_upper;
	h->n_base = s.n_base;
	h->n_startup = s.n_startup;
	h->n_modules = tw_modules.n;
	memcpy(h->module, tw_modules.of, sizeof h->module);
	return fill_tables(h);
}

static u64 total(const struct head *h)
{
	u64 n = HEAD_BYTES;
	for (u32 k = 0; k < SEGMENTS; k++)
		n += h->segment[k].bytes;
	return n;
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

static bool is_zero(const u64 *page)
{
	for (u32 k = 0; k < TW_PAGE / 8; k++)
		if (page[k])
			return false;
	return true;
}

static bool write_all(int fd, const u8 *from, u64 n, u64 offset)
{
	return !n || tw_sys4(__NR_pwrite64, fd, from, n, TW_STORE_AT + offset) == (i64)n;
}

/* Pages of zeros are left out: the store has none but those. */
static bool write_pages(int fd, const u8 *from, u64 bytes, u64 offset)
{
	u64 begin = 0;
	for (u64 at = 0; at < bytes; at += TW_PAGE) {
		if (!is_zero((const u64 *)(from + at)))
			continue;
		if (!write_all(fd, from + begin, at - begin, offset + begin))
			return false;
		begin = at + TW_PAGE;
	}
	return write_all(fd, from + begin, bytes - begin, offset + begin);
}

static bool write_snapshot(int fd, const struct head *h, u64 offset)
{
	u64 at = offset + HEAD_BYTES;
	for (u32 k = 0; k < SEGMENTS; k++) {
		if (!write_pages(fd, (const u8 *)h->segment[k].start, h->segment[k].bytes, at))
			return false;
		at += h->segment[k].bytes;
	}
	return write_all(fd, (const u8 *)h, sizeof *h, offset);
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

/* Is this process's better than the one there is? Forks live beside each other, and each has what the snapshot lacks in memory of its own. */
static bool is_better(const struct tw_store_entry *e)
{
	u32 there = offered(e), written = __atomic_load_n((u32 *)&e->written, __ATOMIC_RELAXED);
	return tr->n_host > there + there / (s.fork ? FORK_SHARE : 4) + MIN_NEW && written < (s.fork ? MAX_OF_FORKS : MAX_WRITTEN);
}

static void write_as(struct tw_store_entry *e, int fd)
{
	prepare();
	i64 offset = fill_head(&head) ? reserve_room(total(&head)) : -1;
	if (offset < 0 || !write_snapshot(fd, &head, (u64)offset))
		return;
	__atomic_store_n((u64 *)&e->offset, (u64)offset + 1, __ATOMIC_RELEASE);
	__atomic_store_n((u32 *)&e->fragments, head.n_host, __ATOMIC_RELEASE);
	__atomic_fetch_add((u32 *)&e->written, 1, __ATOMIC_RELAXED);
}

/* Writing far behind in a file is a matter of the program's limit on the size of files. */
static bool may_write(void)
{
	u64 limit[2];
	return !tw_sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) && limit[0] >= TW_STORE_AT + TW_STORE_BYTES;
}

/* Is there room for what there is now, and the shadows? */
static bool has_room(void)
{
	u64 bytes = tr->cache_at - ARENA_CACHE + tr->stubs_at - ARENA_STUBS + tr->heap_at - ARENA_HEAP;
	return store()->used + bytes < store()->limit && tr->heap_at + HEAP_ROOM < ARENA_HEAP_END;
}

/* Is this process one whose translations could be another's? */
static bool is_able(const struct thread *t)
{
	return s.possible && s.complete && tw_engine.n_threads == 1 && !t->vforked && !t->unfollowed && !tw_engine.gs_used &&
	       !tw_engine.filtered && !s.first && tw_channel_collector_alive(tw_engine.control);
}

static bool is_wanted(const struct thread *t)
{
	return is_able(t) && tr->n_host > s.taken + MIN_NEW && has_room();
}

/* In entry e, if it is better than what is there. */
static void leave_in(struct tw_store_entry *e)
{
	if (!e || !is_better(e) || !may_write() || !begin(e))
		return;
	i64 fd = open_channel();
	if (!tw_failed(fd)) {
		tw_lock(&tw_engine.lock);
		write_as(e, (int)fd);
		tw_unlock(&tw_engine.lock);
		tw_sys(__NR_close, fd, 0, 0);
	}
	__atomic_store_n((u32 *)&e->writer, 0, __ATOMIC_RELEASE);
}

void tw_snapshot_leave(const struct thread *t)
{
	if (is_wanted(t))
		leave_in(find_entry(true));
}

static u64 now_ns(void)
{
	struct __kernel_timespec now;
	tw_sys(__NR_clock_gettime, CLOCK_MONOTONIC, &now, 0);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* Is it time for a look? *settled: little has been translated since the last. */
static bool is_time(bool *settled)
{
	if (!s.fork || ++s.calls < CALLS_A_LOOK)
		return false;
	const u64 now = now_ns();
	s.calls = 0;
	if (now - s.looked_at < LOOK_NS)
		return false;
	*settled = tr->n_host < s.seen + s.seen / 64;
	s.looked_at = now;
	s.seen = tr->n_host;
	return true;
}

void tw_snapshot_look(const struct thread *t)
{
	bool settled;
	if (!is_time(&settled) || tr->n_host < s.taken + s.taken / FORK_SHARE + MIN_FORK || !is_able(t))
		return;
	const u32 enough = tr->n_host - tr->n_host / 32;
	struct tw_store_entry *e = find_entry(true);
	if (settled && offered(e) < enough && is_wanted(t))
		leave_in(e);
	if (offered(e) >= enough && __atomic_load_n((u64 *)&e->offset, __ATOMIC_ACQUIRE) != s.place)
		exchange(e);
}
