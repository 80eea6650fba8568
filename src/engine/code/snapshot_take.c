#include "engine/code/snapshot_take.h"
#include "engine/code/snapshot_tables.h"
#include "engine/code/flush.h"
#include "engine/code/numbers.h"
#include "engine/code/tables.h"
#include "engine/code/translations.h"
#include "engine/record/calls.h"
#include "engine/record/descriptor_table.h"
#include "engine/record/instrumentor.h"
#include "engine/counts.h"
#include "engine/heap.h"
#include "engine/x86_64/glue.h"
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/stat.h>

static struct snapshot_head head;
static struct tw_translations *const tr = &tw_translations;
static struct tw_snapshots *const s = &tw_snapshots;

static bool read_all(int fd, void *to, u64 n, u64 offset)
{
	return tw_sys4(__NR_pread64, fd, to, n, offset) == (i64)n;
}

/* Was it made by this engine from the modules that are mapped now? */
static bool fits(const struct snapshot_head *h)
{
	if (h->lead.magic != TW_SNAPSHOT_MAGIC || memcmp(&h->lead.machine, &tw_snapshot_store()->machine, sizeof h->lead.machine))
		return false;
	if (!tw_file_equal(&h->engine, &s->engine) || h->n_base != s->n_base || h->n_modules >= TW_MODULES)
		return false;
	for (u32 k = 1; k <= s->n_base; k++)
		if (!tw_module_equal(&h->module[k], &tw_modules.of[k]))
			return false;
	return true;
}

/* Nothing has been translated, so nothing is in the way. */
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

/* Is this module of a snapshot mapped completely, according to `now`, and has nobody been able to write there? */
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
	tr->n_host = tr->n_code = s->taken = h->n_host;
	tw_translator.began_warm = true;
	tr->n_stale = tr->n_spared = 0;
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
	tw_calls_expect(h->returns, h->n_returns);
	s->n_startup = h->n_startup;
	s->complete = false;
	tw_snapshot_came();
	tw_count(TW_COUNT_TAKEN, 1);
	tw_count(TW_COUNT_TAKEN_PIECES, h->n_host);
	tw_translations_count();
}

/* A file of what was kept for this program, or an error. */
static i64 open_of_key(const char *suffix)
{
	char path[TW_KEEP_PATH + 32];
	const u64 number = tw_store_file_number(s->key, tw_snapshot_store()->learned);
	tw_format(path, sizeof path, "%s/%016lx%s", tw_snapshot_store()->keep, (unsigned long)number, suffix);
	return tw_sys(__NR_open, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
}

/* Is the file in the state for which it was named? */
static bool is_sealed(int file)
{
	struct tw_seal seal;
	struct tw_file now;
	const i64 fd = open_of_key(TW_SEAL_SUFFIX);
	const bool is_there = !tw_failed(fd) && read_all((int)fd, &seal, sizeof seal, 0) && seal.magic == TW_SEAL_MAGIC;
	if (!tw_failed(fd))
		tw_sys(__NR_close, fd, 0, 0);
	s->kept_lacked = is_there ? (u32)seal.lacked : 0;
	return is_there && tw_file_state(file, NULL, &now) && tw_file_equal(&now, &seal.file);
}

/* Has only the user of this process been able to write the file, and does it have the length given in its first bytes? */
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
	const bool knows = tw_snapshot_store()->learned || !(tw_engine.control->flags & TW_FLAG_LEARN);
	const i64 fd = tw_snapshot_store()->keep[0] && knows ? open_of_key(TW_KEEP_SUFFIX) : -1;
	if (tw_failed(fd) || (is_own((int)fd) && is_sealed((int)fd)))
		return fd;
	tw_sys(__NR_close, fd, 0, 0);
	return -1;
}

/*
 * Reads the head of the snapshot at this place, an entry's offset, and leaves the file that contains it open, at *at.
 * An error: none fits.
 */
static i64 open_at(u64 place, struct snapshot_head *h, u64 *at)
{
	const bool kept = place == TW_STORE_KEPT;
	i64 fd = kept ? open_kept() : tw_channel_open();
	if (tw_failed(fd))
		return fd;
	*at = kept ? 0 : tw_sizes()->store_at + place - 1;
	if (read_all((int)fd, h, sizeof *h, *at) && fits(h) && (!kept || !s->claimant || h->lead.id == s->claimant->kept_id))
		return fd;
	tw_sys(__NR_close, fd, 0, 0);
	return -1;
}

bool tw_snapshot_go_on(u64 place)
{
	u64 at;
	const u64 began = tw_tsc();
	i64 fd = open_at(place, &head, &at);
	if (tw_failed(fd))
		return false;
	const bool empty = !tr->n_host || tw_flush_restart();
	if (empty) {
		s->taken = 0;
		s->complete = true;
	}
	const bool mapped = empty && map_segments(&head, (int)fd, at);
	if (mapped) {
		adopt(&head);
		s->place = place;
		tw_recorder.start.base = place == TW_STORE_KEPT && s->records ? s->claimant->kept_base : head.lead.base;
		tw_recorder.start.entries = head.claimed.entries;
	}
	tw_sys(__NR_close, fd, 0, 0);
	tw_count_cycles(TW_COUNT_HANDING_CYCLES, began, tw_tsc());
	return mapped;
}

bool tw_snapshot_take_shared(void)
{
	const u64 place = tw_snapshot_place(tw_snapshot_entry(false));
	return place && tw_snapshot_go_on(place);
}

bool tw_snapshot_take_kept(void)
{
	if (!tw_snapshot_go_on(TW_STORE_KEPT))
		return false;
	struct tw_store_entry *e = tw_snapshot_entry(true);
	u64 none = 0;
	if (!e)
		return true;
	if (__atomic_compare_exchange_n((u64 *)&e->offset, &none, TW_STORE_KEPT, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
		__atomic_fetch_add((u32 *)&e->lacked, s->kept_lacked, __ATOMIC_RELAXED);
		__atomic_store_n((u32 *)&e->fragments, s->taken, __ATOMIC_RELEASE);
	}
	return true;
}

/* ---- kept snapshots, if something is recorded ---- */

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

/* Waits for the process that loads it. False: that has died, or does nothing. */
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

bool tw_snapshot_claim(void)
{
	struct tw_store_entry *e = tw_snapshot_entry(true);
	u32 kept = TW_KEPT_UNKNOWN;
	if (!e)
		return false;
	const u32 claimant = (u32)(e - tw_snapshot_store()->entry) + 1;
	if (__atomic_compare_exchange_n((u32 *)&e->kept, &kept, TW_KEPT_LOADING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		e->loader = tw_engine.pid;
		const bool loaded = load(e, claimant);
		if (loaded) {
			__atomic_store_n((u32 *)&e->lacked, s->kept_lacked, __ATOMIC_RELAXED);
			__atomic_store_n((u32 *)&e->fragments, head.n_host, __ATOMIC_RELEASE);
			__atomic_store_n((u64 *)&e->offset, TW_STORE_KEPT, __ATOMIC_RELEASE);
		}
		__atomic_store_n((u32 *)&e->kept, loaded ? TW_KEPT_LOADED : TW_KEPT_NONE, __ATOMIC_RELEASE);
	} else if (!wait_for_loader(e)) {
		return false;
	}
	tw_recorder.start.claimant = claimant;
	s->claimant = e;
	return true;
}
