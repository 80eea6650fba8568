#include "engine/code/stale.h"
#include "engine/code/fragments.h"
#include "engine/code/module.h"
#include "engine/code/stub.h"
#include "engine/code/tables.h"
#include "engine/code/translations.h"
#include "engine/counts.h"
#include "engine/record/instrumentor.h"

#define BREAKPOINT 0xcc

static struct tw_translations *const tr = &tw_translations;

void tw_fragment_make_stale(struct fragment *f)
{
	for (; f && !f->stale; f = f->above) {
		tw_fragment_take_out(f);
		f->stale = true;
		tr->n_stale += f->kind == FRAGMENT_CODE;
		tw_count(TW_COUNT_STALE, f->kind == FRAGMENT_CODE);
		for (struct exit *x = f->incoming; x; x = x->next_in)
			tw_exit_unlink(x);
		f->incoming = NULL;
		tw_table_drop(f);
		__atomic_store_n(f->rec.map.code, (u8)BREAKPOINT, __ATOMIC_RELEASE);
		if (tw_recorder.whole->records && f->replaced)
			tw_fragment_make_stale(f->replaced);
	}
}

/* Does f have code in [start, end)? If its module is not mapped yet, what is there does not concern it. */
static bool is_concerned(const struct fragment *f, u64 start, u64 end)
{
	return !f->stale && tw_module_usable(f->module) && tw_fragment_holds(f, start, end);
}

static void invalidate_page(u64 page, u64 start, u64 end)
{
	for (u32 *p = tw_fragment_pages(page); *p;) {
		struct on_page *n = (struct on_page *)(u64)*p;
		struct fragment *f = (struct fragment *)(u64)n->fragment;
		if (is_concerned(f, start, end))
			tw_fragment_make_stale(f);
		if (f->stale)
			*p = n->next;
		else
			p = &n->next;
	}
}

void tw_fragment_invalidate(u64 start, u64 end)
{
	u64 first = start & ~(u64)(TW_PAGE - 1);
	if ((end - first) / TW_PAGE < PAGE_BUCKETS / 16) {
		for (u64 page = first; page < end; page += TW_PAGE)
			invalidate_page(page, start, end);
		return;
	}
	for (u32 i = 0; i < tr->n_host; i++) {
		struct fragment *f = tw_fragment_made(i);
		if (f->kind == FRAGMENT_CODE && is_concerned(f, start, end))
			tw_fragment_make_stale(f);
	}
}
