#include "engine/code/cache.h"
#include "engine/code/fragments.h"
#include "engine/thread.h"
#include "engine/code/translations.h"
#include "engine/counts.h"
#include "engine/heap.h"
#include "engine/x86_64/emit.h"

static struct tw_translations *const tr = &tw_translations;

/* ---- pieces ---- */

static struct tw_cache_piece *own_piece(void)
{
	return &tr->piece[tw_thread_index(tw_thread_self()) % CACHE_PIECES];
}

/* Room for this many bytes in the piece: extends it if possible, otherwise takes another piece. False: the cache is full. */
static bool make_room(struct tw_cache_piece *p, u32 bytes)
{
	if (p->at + bytes <= p->end)
		return true;
	if (tr->cache_at + CACHE_PIECE_BYTES > tw_arena_cache_end())
		return false;
	if (p->end != tr->cache_at)
		p->at = tr->cache_at;
	tr->cache_at += CACHE_PIECE_BYTES;
	p->end = tr->cache_at;
	return true;
}

void tw_cache_trim(void)
{
	for (u32 k = 0; k < CACHE_PIECES; k++) {
		struct tw_cache_piece *p = &tr->piece[k];
		if (p->end && p->end == tr->cache_at)
			tr->cache_at = p->end = p->at;
	}
}

/* ---- falling ---- */

/* Can f be placed where the last fragment's last jump is, so that x falls into it? */
static bool can_fall(const struct tw_cache_piece *p, const struct exit *x, const struct fragment *f)
{
	if (!x || x->kind != EXIT_LINK || !p->newest || p->newest != x->from || !tw_fragment_is_alone(x->from))
		return false;
	const struct exit *last = x->from->last_exit;
	if (x->linked || x->from->stale || !last || last->linked || last->kind != EXIT_LINK || (u64)last->patch + 4 != p->at)
		return false;
	if ((u64)last->patch == (u64)x->from->rec.map.code + 1)
		return false; /* nothing would be left: two fragments at one address, of which one may become stale */
	return (x == last || x->is_jcc) && tw_upper_fits(&f->rec, x->upper);
}

/*
 * Swaps the targets of the conditional branch x and of `last`, the jump after it. What is between them, perhaps a
 * nop, is on x's way from now on.
 */
static void turn_round(struct exit *x, struct exit *last)
{
	struct fragment *from = x->from;
	x->patch[-1] ^= 1;
	emit_patch(x->patch, (const u8 *)(u64)last->stub);
	last->patch = x->patch;
	from->rec.map.turned = (u16)((u64)x->patch + 4 - (u64)from->rec.map.code);
}

/* Makes x fall out of its fragment: the jump at the end is removed; if x is the conditional branch before it, that is inverted. */
static void fall(struct tw_cache_piece *p, struct exit *x, struct fragment *f)
{
	struct fragment *from = x->from;
	struct exit *last = from->last_exit;
	u8 *jump = last->patch - 1;
	if (x != last)
		turn_round(x, last);
	x->linked = 1;
	f->above = from;
	from->last_exit = NULL;
	from->rec.map.code_bytes = (u16)(jump - from->rec.map.code);
	p->at = (u64)jump;
}

u8 *tw_cache_room(struct fragment *f, struct exit *x)
{
	struct tw_cache_piece *p = own_piece();
	const u32 bytes = f->kind == FRAGMENT_LOOKUP ? 2 * MAX_FRAGMENT_BYTES : MAX_FRAGMENT_BYTES; /* its target may follow */
	if (tr->n_host == MAX_FRAGMENTS || !make_room(p, bytes))
		return NULL;
	if (can_fall(p, x, f))
		fall(p, x, f);
	return (u8 *)p->at;
}

/* ---- by address ---- */

static struct fragment **starting_in(u64 host)
{
	return &tr->on_host[(host - ARENA_CACHE) / TW_PAGE];
}

static void count(const struct fragment *f)
{
	static const u8 what[] = {
	    [FRAGMENT_CODE] = TW_COUNT_FRAGMENTS, [FRAGMENT_LOOKUP] = TW_COUNT_LOOKUPS, [FRAGMENT_BRIDGE] = TW_COUNT_BRIDGES};
	tw_count(what[f->kind], 1);
	tw_count(TW_COUNT_CACHE_BYTES, f->rec.map.code_bytes);
	tw_translations_count();
}

void tw_cache_commit(struct fragment *f)
{
	struct tw_cache_piece *p = own_piece();
	struct fragment **last = starting_in((u64)f->rec.map.code);
	p->at = (u64)f->rec.map.code + f->rec.map.code_bytes;
	p->newest = f;
	f->before = *last;
	__atomic_store_n(last, f, __ATOMIC_RELEASE);
	tr->host_map[tr->n_host++] = (u32)(u64)f;
	tr->n_code += f->kind == FRAGMENT_CODE;
	count(f);
}

/* The one that starts last of those that start at or before this address and in its page. */
static struct fragment *last_before(u64 host, u64 page)
{
	struct fragment *f = __atomic_load_n(starting_in(page), __ATOMIC_ACQUIRE);
	while (f && (u64)f->rec.map.code > host)
		f = f->before;
	return f;
}

struct fragment *tw_fragment_at(u64 host)
{
	struct fragment *f = NULL;
	for (u64 page = host & ~(u64)(TW_PAGE - 1); !f && page >= ARENA_CACHE && page + MAX_FRAGMENT_BYTES + TW_PAGE > host;
	     page -= TW_PAGE)
		f = last_before(host, page);
	return f && host < (u64)f->rec.map.code + f->rec.map.code_bytes ? f : NULL;
}
