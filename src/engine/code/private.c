#include "engine/code/private.h"
#include "engine/code/link.h"
#include "engine/code/tables.h"
#include "engine/code/translations.h"
#include "engine/record/instrumentor.h"
#include "engine/thread.h"

struct thread *tw_private_owner(void)
{
	return tw_engine.n_threads > 1 && !tw_instr()->records ? tw_thread_self() : NULL;
}

void tw_private_end(struct thread *t)
{
	struct tw_private *p = &t->code->private;
	struct fragment *first = p->first;
	if (!first)
		return;
	for (struct fragment *f = p->newest; f && f->owner; f = f->above)
		f->owner = NULL;
	if (!first->stale && p->lookup) {
		u64 *slot = tw_table_slot(first->rec.pc, p->x->upper, tw_exit_lookup_kind(p->x), p->x->context);
		if (*slot == (u64)p->lookup->miss)
			tw_table_set(slot, p->lookup);
	} else if (!first->stale && !tw_exit_is_indirect(p->x)) {
		tw_link_exit(p->x, first);
	}
	*p = (struct tw_private){0};
}

void tw_private_publish(struct thread *t)
{
	if (!t->code->private.first)
		return;
	tw_lock(&tw_engine.lock);
	tw_private_end(t);
	tw_unlock(&tw_engine.lock);
}

void tw_private_publish_all(void)
{
	for (struct thread *t = tw_thread_any(NULL); t; t = tw_thread_any(t))
		if (t->code->generation == tw_translations_generation)
			tw_private_end(t);
}

void tw_private_keep(struct fragment *f, struct exit *x, struct fragment *lookup)
{
	struct thread *t = tw_thread_self();
	struct tw_private *p = &t->code->private;
	if (!f->above) {
		tw_private_end(t);
		*p = (struct tw_private){.first = f, .x = x, .lookup = lookup};
	}
	p->newest = f;
}
