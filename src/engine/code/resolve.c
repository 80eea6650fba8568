#include "engine/code/resolve.h"
#include "engine/code/fragments.h"
#include "engine/code/learned.h"
#include "engine/code/link.h"
#include "engine/code/memory.h"
#include "engine/code/private.h"
#include "engine/code/tables.h"
#include "engine/code/translate.h"
#include "engine/record/budget.h"
#include "engine/record/calls.h"
#include "engine/record/instrumentor.h"
#include "engine/record/told.h"
#include "engine/thread.h"
#include "engine/x86_64/glue.h"

static struct fragment *make(u64 pc, u32 context, u64 limit, struct exit *x)
{
	struct fragment *lookup = NULL;
	struct fragment *f = tw_translate(pc, context, limit, x, &lookup);
	if (!f)
		return NULL;
	f->owner = tw_private_owner();
	tw_fragment_admit(f);
	if (f->owner)
		tw_private_keep(f, x, lookup);
	else if (lookup)
		tw_table_set(tw_table_slot(pc, x->upper, tw_exit_lookup_kind(x), x->context), lookup);
	else
		tw_link_exit(x, f);
	return f;
}

struct fragment *tw_resolve(u64 pc, u32 context, struct exit *x)
{
	const u64 began = tw_told_wanted() ? tw_tsc() : 0;
	bool beyond_file, new = false;
	if (tw_exit_is_indirect(x) && tw_sites_used())
		x = (struct exit *)tw_thread_self()->from;
	if (tw_calls_stops_at(pc))
		x = NULL; /* the dispatcher is entered there each time */
	struct fragment *f = tw_fragment_find(pc, tw_instr()->context, false);
	if (f) {
		tw_private_end(tw_thread_self());
		tw_link_exit(x, f);
	} else {
		const u64 limit = tw_memory_code_end(pc, &beyond_file);
		f = limit > pc ? make(pc, tw_instr()->context, limit, x) : NULL;
		new = true;
	}
	if (!f)
		return NULL;
	if (began) {
		const u64 tells = new ? tw_tsc() : began;
		const bool told = tw_learned_tell(f, x, new);
		tw_budget_told(tw_thread_self(), tells, told);
	}
	struct fragment *best = tw_fragment_best(f, context);
	if (x && !best->owner && (x->kind == EXIT_SYSCALL || x->kind == EXIT_INT80 || x->kind == EXIT_EMULATE))
		__atomic_store_n(&x->again, best, __ATOMIC_RELEASE);
	return best;
}
