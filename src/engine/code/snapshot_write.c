#include "engine/code/snapshot_file.h"
#include "engine/code/cache.h"
#include "engine/code/numbers.h"
#include "engine/code/stale.h"
#include "engine/code/stub.h"
#include "engine/code/tables.h"
#include "engine/code/translations.h"
#include "engine/heap.h"
#include "engine/record/calls.h"
#include "engine/record/instrumentor.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>

#define LONGEST_INSN 15u

static struct tw_translations *const tr = &tw_translations;

/* ---- what may be in it ---- */

/* Of /proc/self/pagemap. */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61)

static bool is_private(u64 page)
{
	return (page & PAGE_SWAPPED) || ((page & PAGE_PRESENT) && !(page & PAGE_OF_FILE));
}

/* The first page of the module from `at` on that no longer belongs to the file, as far as is known; the module's end: none. */
static u64 next_private(const struct tw_module *m, u64 at, i64 pagemap)
{
	u64 page[64];
	while (at < m->end) {
		u64 n = (m->end - at) / TW_PAGE < 64 ? (m->end - at) / TW_PAGE : 64;
		if (tw_failed(pagemap) || tw_sys4(__NR_pread64, pagemap, page, n * 8, at / TW_PAGE * 8) != (i64)n * 8)
			return at;
		for (u64 k = 0; k < n; k++)
			if (is_private(page[k]))
				return at + k * TW_PAGE;
		at += n * TW_PAGE;
	}
	return m->end;
}

static i64 open_pagemap(void)
{
	return tw_sys(__NR_open, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
}

static void close_pagemap(i64 fd)
{
	if (!tw_failed(fd))
		tw_sys(__NR_close, fd, 0, 0);
}

/* Do all pages of each module still belong to the file? Writable modules are checked page by page, when a snapshot is made. */
static void check_modules(void)
{
	const i64 fd = open_pagemap();
	for (u32 k = 1; k <= tw_modules.n; k++) {
		struct tw_module *m = &tw_modules.of[k];
		if (m->state == MODULE_PRESENT && !m->writable && next_private(m, m->start, fd) < m->end)
			m->state = MODULE_CHANGED;
	}
	close_pagemap(fd);
}

/* Extends *hash over this code. False: it cannot be read; its file may have been truncated. */
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

bool tw_snapshot_numbered(void)
{
	return tw_recorder.whole->records && !tw_engine.control->budget.bare;
}

/* Do its number, and those of its paths, belong to this program alone, or has it none? */
static bool is_numbered_well(const struct fragment *f)
{
	return !tw_snapshot_numbered() || f->rec.number >= TW_FIRST_CLAIMED << 16;
}

static bool is_kept(const struct fragment *f)
{
	const struct tw_module *m = &tw_modules.of[f->module];
	u64 hash = 0;
	if (!is_numbered_well(f) || f->owner || !f->module || m->state == MODULE_CHANGED || (f->above && f->above->module != f->module))
		return false;
	for (u32 k = 0; m->state == MODULE_PRESENT && k < f->rec.n_pieces; k++) {
		const struct piece *p = &f->rec.piece[k];
		if (p->pc + p->bytes + LONGEST_INSN > m->end || !hash_code(p->pc, p->bytes, &hash))
			return false;
	}
	return m->state == MODULE_EXPECTED || (u32)(hash >> 32) == f->code_hash;
}

u32 tw_snapshot_new(u32 n)
{
	u32 good = 0;
	check_modules();
	for (u32 i = n; i < tr->n_host; i++) {
		const struct fragment *f = tw_fragment_made(i);
		good += f->kind == FRAGMENT_CODE && !f->stale && is_kept(f);
	}
	return good;
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

static void drop_lookup(const struct fragment *l)
{
	tw_table_drop_entry(l->lookup_kind, tw_table_number(l->upper_from), l->site, l->rec.pc);
}

/* The tables hold lookups of modules 1 to `last` only. */
static void drop_lookups_behind(u32 last)
{
	for (u32 i = 0; i < tr->n_host; i++) {
		const struct fragment *l = tw_fragment_made(i);
		if (l->kind == FRAGMENT_LOOKUP && (!l->target->module || l->target->module > last))
			drop_lookup(l);
	}
}

static void make_shadows(void)
{
	for (u8 kind = 0; kind < LOOKUP_KINDS; kind++) {
		const u64 bytes = tw_table_bytes(tr->n_sites[kind]);
		tr->shadow_sites[kind] = tr->n_sites[kind];
		for (u32 k = 0; k < tr->n_uppers; k++)
			if (tr->tables[kind][k]) {
				tr->shadows[kind][k] = tw_heap_pages(bytes);
				memcpy(tr->shadows[kind][k], tr->tables[kind][k], bytes);
			}
	}
}

/* ---- modules that can be written ---- */

/* One bit for each page of a module, from its start. */
#define MOST_PAGES 16384u
struct pages {
	u64 bits[MOST_PAGES / 64];
	u32 n; /* that are set */
};

static void put(struct pages *p, u64 k)
{
	const u64 bit = 1ull << k % 64;
	p->n += !(p->bits[k / 64] & bit);
	p->bits[k / 64] |= bit;
}

/* Does f involve any of these pages? `add`: adds its own to them. */
static bool touches(const struct fragment *f, const struct tw_module *m, struct pages *p, bool add)
{
	bool any = false;
	for (u32 k = 0; k < f->rec.n_pieces; k++) {
		const u64 first = (f->rec.piece[k].pc - m->start) / TW_PAGE;
		const u64 last = (f->rec.piece[k].pc + f->rec.piece[k].bytes + LONGEST_INSN - m->start) / TW_PAGE;
		for (u64 page = first; page <= last && page < MOST_PAGES; page++) {
			any |= p->bits[page / 64] >> page % 64 & 1;
			if (add)
				put(p, page);
		}
	}
	return any;
}

/* Makes stale what involves the pages, or with NULL the whole module. */
static void drop_of(u32 number, struct pages *p)
{
	for (u32 i = 0; i < tr->n_host; i++) {
		struct fragment *f = tw_fragment_made(i);
		if (f->kind == FRAGMENT_CODE && !f->stale && f->module == number && (!p || touches(f, &tw_modules.of[number], p, false)))
			tw_fragment_make_stale(f);
	}
}

static u32 count_pages(u32 number, struct pages *p)
{
	for (u32 i = 0; i < tr->n_host; i++) {
		const struct fragment *f = tw_fragment_made(i);
		if (f->kind == FRAGMENT_CODE && !f->stale && f->module == number)
			touches(f, &tw_modules.of[number], p, true);
	}
	return p->n;
}

/*
 * A writable module is kept as far as it is on pages that nobody has written since they were mapped. A process that
 * starts with it detects all stores into the module, at the cost of a fault for each page written. So nothing is kept
 * of a module that is mostly not code, such as a heap.
 */
static void look_at_writable(u32 number)
{
	enum { MUCH = 16 }; /* a part of its pages */
	static struct pages found;
	struct tw_module *m = &tw_modules.of[number];
	const i64 fd = open_pagemap();
	const bool fits = (m->end - m->start) / TW_PAGE <= MOST_PAGES;
	found = (struct pages){0};
	for (u64 at = m->start; fits && (at = next_private(m, at, fd)) < m->end; at += TW_PAGE)
		put(&found, (at - m->start) / TW_PAGE);
	close_pagemap(fd);
	drop_of(number, fits ? &found : NULL);
	found = (struct pages){0};
	m->kept = fits && count_pages(number, &found) > (m->end - m->start) / TW_PAGE / MUCH;
	if (!m->kept)
		drop_of(number, NULL);
}

/* Leaves what is right in any process that runs the same files. */
static void prepare(const struct snapshot_head *h)
{
	tw_cache_trim();
	check_modules();
	for (u32 k = 1; k <= tw_modules.n; k++)
		if (tw_modules.of[k].writable && tw_modules.of[k].state == MODULE_PRESENT)
			look_at_writable(k);
	for (u32 i = 0; i < tr->n_host; i++)
		if (tw_fragment_made(i)->kind == FRAGMENT_CODE && !tw_fragment_made(i)->stale && !is_kept(tw_fragment_made(i)))
			tw_fragment_make_stale(tw_fragment_made(i));
	for (u32 i = 0; i < tr->n_host; i++)
		if (tw_fragment_made(i)->kind == FRAGMENT_CODE)
			unlink_foreign(tw_fragment_made(i));
	drop_lookups_behind(h->n_startup);
	make_shadows();
	drop_lookups_behind(h->n_base);
}

/* ---- writing ---- */

/* Do kept fragments use the tables of this upper half? */
static bool is_of_kept(u32 upper)
{
	return !tw_snapshot_numbered() || upper >= TW_FIRST_CLAIMED;
}

static bool fill_tables(struct snapshot_head *h)
{
	h->n_tables = 0;
	for (u32 kind = 0; kind < LOOKUP_KINDS; kind++)
		for (u32 k = 0; k < tr->n_uppers; k++) {
			if (!tr->tables[kind][k] || !is_of_kept(tr->upper[k]))
				continue;
			if (h->n_tables == TABLES)
				return false;
			h->table[h->n_tables++] =
			    (struct snapshot_table){kind, tr->upper[k], tr->tables[kind][k], tr->shadows[kind][k], tr->misses[kind][k]};
		}
	return true;
}

static void fill_rows(struct snapshot_claimed *c)
{
	for (u32 k = 0; k < c->n; k++)
		c->row[k] = *tw_numbers_row(c->upper[k]);
}

static u64 total(const struct snapshot_head *h)
{
	u64 n = HEAD_BYTES;
	for (u32 k = 0; k < SEGMENTS; k++)
		n += h->segment[k].bytes;
	return n;
}

static void fill_returns(struct snapshot_head *h)
{
	const u64 *returns;
	const u32 n = tw_calls_returns(&returns);
	h->returns = n ? tw_heap_pages(tw_page_up(n * sizeof *returns)) : NULL;
	h->n_returns = h->returns ? n : 0;
	memcpy(h->returns, returns, h->n_returns * sizeof *returns);
}

bool tw_snapshot_make(struct snapshot_head *h)
{
	prepare(h);
	fill_returns(h);
	h->segment[0] = (struct snapshot_segment){ARENA_CACHE, tw_page_up(tr->cache_at) - ARENA_CACHE};
	h->segment[1] = (struct snapshot_segment){ARENA_STUBS, tw_page_up(tr->stubs_at) - ARENA_STUBS};
	h->segment[2] = (struct snapshot_segment){ARENA_HEAP, tw_page_up((u64)(tr->host_map + tr->n_host)) - ARENA_HEAP};
	h->segment[3] = (struct snapshot_segment){tr->heap_mark, tw_page_up(tw_heap_at) - tr->heap_mark};
	h->cache_at = tr->cache_at;
	h->stubs_at = tr->stubs_at;
	h->n_host = tr->n_host;
	h->n_modules = tw_modules.n;
	h->wide = tw_table_wide();
	memcpy(h->n_sites, tr->n_sites, sizeof h->n_sites);
	memcpy(h->module, tw_modules.of, sizeof h->module);
	h->lead.magic = TW_SNAPSHOT_MAGIC;
	h->lead.bytes = total(h);
	fill_rows(&h->claimed);
	return fill_tables(h);
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
	return !n || tw_sys4(__NR_pwrite64, fd, from, n, offset) == (i64)n;
}

/* Pages of zeros are left out: untouched parts of the store are zeros. */
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

bool tw_snapshot_write(int fd, struct snapshot_head *h, u64 place)
{
	u64 at = place + HEAD_BYTES;
	for (u32 k = 0; k < SEGMENTS; k++) {
		if (!write_pages(fd, (const u8 *)h->segment[k].start, h->segment[k].bytes, at))
			return false;
		at += h->segment[k].bytes;
	}
	h->heap_at = tw_heap_at;
	return write_all(fd, (const u8 *)h, sizeof *h, place);
}
