#include "engine/code/fragments.h"
#include "engine/code/module.h"
#include "engine/code/numbers.h"
#include "engine/code/translations.h"
#include "engine/heap.h"
#include "engine/record/instrumentor.h"
#include "engine/thread.h"

static struct tw_translations *const tr = &tw_translations;

/* ---- by what they are of ---- */

/* Nearby code is nearby in the table, too: a small program uses few pages of it. */
static u32 bucket(u64 pc)
{
	return (u32)(pc >> 3) % HASH_BUCKETS;
}

bool tw_fragment_is_alone(const struct fragment *f)
{
	return tw_engine.n_threads == 1 || (f->owner && f->owner == tw_thread_self());
}

/* May the calling thread enter f? */
static bool is_for_us(const struct fragment *f)
{
	return tw_module_usable(f->module) && (!f->owner || f->owner == tw_thread_self());
}

static struct fragment *next_in_bucket(const struct fragment *f)
{
	return (struct fragment *)(u64)f->next_hash;
}

/* The next fragment of pc from f on. */
static struct fragment *at_pc(struct fragment *f, u64 pc)
{
	while (f && (f->rec.pc != pc || !is_for_us(f)))
		f = next_in_bucket(f);
	return f;
}

struct fragment *tw_fragment_first(u64 pc)
{
	return at_pc((struct fragment *)(u64)tr->hash[bucket(pc)], pc);
}

struct fragment *tw_fragment_other(const struct fragment *f)
{
	return at_pc(next_in_bucket(f), f->rec.pc);
}

struct fragment *tw_fragment_find(u64 pc, u32 context, bool superblock)
{
	struct fragment *f = tw_fragment_first(pc);
	while (f && (f->rec.context != context || f->is_superblock != superblock))
		f = tw_fragment_other(f);
	return f;
}

struct fragment *tw_fragment_plain(u64 pc)
{
	return tw_fragment_find(pc, tw_instr()->context, false);
}

static u32 count_bits(u32 v)
{
	u32 n = 0;
	for (; v; v &= v - 1)
		n++;
	return n;
}

struct fragment *tw_fragment_best(struct fragment *f, u32 context)
{
	struct fragment *best = NULL;
	if (!tw_instr()->superblocks)
		return f;
	for (struct fragment *s = tw_fragment_first(f->rec.pc); s; s = tw_fragment_other(s))
		if (s->is_superblock && !(s->rec.context & ~context) &&
		    (!best || count_bits(s->rec.context) > count_bits(best->rec.context)))
			best = s;
	return best ? best : f;
}

/* ---- by page ---- */

u32 *tw_fragment_pages(u64 page)
{
	return &tr->pages[tw_hash(page / TW_PAGE, PAGE_BITS)];
}

/* f has been made from this code: tw_fragment_invalidate finds it by these pages. */
static void note_pages(struct fragment *f, const struct piece *code)
{
	for (u64 page = code->pc & ~(u64)(TW_PAGE - 1); page < code->pc + code->bytes; page += TW_PAGE) {
		struct on_page *n = tw_heap(sizeof *n);
		u32 *head = tw_fragment_pages(page);
		*n = (struct on_page){(u32)(u64)f, *head};
		*head = (u32)(u64)n;
	}
}

/* ---- which there are ---- */

void tw_fragment_admit(struct fragment *f)
{
	tw_numbers_enter(f);
	for (u32 k = 0; k < f->rec.n_pieces; k++)
		note_pages(f, &f->rec.piece[k]);
	u32 *head = &tr->hash[bucket(f->rec.pc)];
	f->next_hash = *head;
	*head = (u32)(u64)f;
}

void tw_fragment_take_out(const struct fragment *f)
{
	u32 *p = &tr->hash[bucket(f->rec.pc)];
	while (*p && *p != (u32)(u64)f)
		p = &((struct fragment *)(u64)*p)->next_hash;
	if (*p)
		*p = f->next_hash;
}

/* ---- loops without choices ---- */

/* The only place to which f's exits lead; 0: there are several, or it is told in any case. */
static u64 only_way(const struct fragment *f)
{
	if (f->rec.end == TW_END_JUMP || f->rec.end == TW_END_CALL)
		return f->pc_target;
	return f->rec.end == TW_END_FALL ? f->pc_fall : 0;
}

#define MOST_STEPS 1000

bool tw_fragment_loops(const struct fragment *f)
{
	u64 pc = only_way(f);
	for (u32 n = 0; pc && n < MOST_STEPS; n++) {
		if (pc == f->rec.pc)
			return true;
		const struct fragment *next = tw_fragment_find(pc, f->rec.context, false);
		if (!next || next->rec.ticks)
			return false;
		pc = only_way(next);
	}
	return pc != 0;
}
