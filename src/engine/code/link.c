#include "engine/code/link.h"
#include "engine/code/fragments.h"
#include "engine/code/lookup.h"
#include "engine/code/tables.h"
#include "engine/counts.h"
#include "engine/record/instrumentor.h"
#include "engine/x86_64/emit.h"

/* Links a direct exit to f. */
static void link_direct(struct exit *x, struct fragment *f)
{
	const u8 *to = f->rec.map.code;
	if (tw_instr()->records && !tw_upper_fits(&f->rec, x->upper)) {
		struct fragment *bridge = tw_bridge_make(f);
		if (!bridge)
			return;
		to = bridge->rec.map.code;
	}
	emit_patch(x->patch, to);
	tw_count(TW_COUNT_LINKS, 1);
	x->linked = 1;
	x->next_in = f->incoming;
	f->incoming = x;
}

/*
 * The lookup of f for such an exit that continues with `next` if the target differs: one that was removed from the
 * table (tw_table_drop) may exist.
 */
static struct fragment *lookup_for(struct fragment *f, const struct exit *x, const u8 *next)
{
	for (struct fragment *l = f->lookups; l; l = l->next_lookup)
		if (l->lookup_kind == tw_exit_lookup_kind(x) && l->upper_from == x->upper && l->site == x->context && l->miss == next)
			return l;
	return tw_lookup_make(f, x, next, false);
}

void tw_link_exit(struct exit *x, struct fragment *f)
{
	if (tw_exit_is_indirect(x)) {
		u64 *slot = tw_table_slot(f->rec.pc, x->upper, tw_exit_lookup_kind(x), x->context);
		tw_table_set(slot, lookup_for(tw_fragment_best(f, f->rec.context), x, (const u8 *)*slot));
	} else if (x && x->kind == EXIT_LINK && !x->linked && !x->from->stale && !tw_bits_announced(&f->rec)) {
		link_direct(x, tw_fragment_best(f, x->context));
	}
}

void tw_link_take_exits(struct fragment *from, struct fragment *s)
{
	struct exit *x = from->incoming;
	from->incoming = NULL;
	for (struct exit *next; x; x = next) {
		next = x->next_in;
		if (x->kind == EXIT_LINK && tw_fragment_best(from, x->context) == s) {
			link_direct(x, s);
		} else {
			x->next_in = from->incoming;
			from->incoming = x;
		}
	}
}

void tw_link_take_lookups(struct fragment *from, struct fragment *s)
{
	struct fragment *l = from->lookups;
	from->lookups = NULL;
	for (; l; l = l->next_lookup) {
		const struct exit x = {
		    .kind = l->lookup_kind == LOOKUP_RETURN ? EXIT_RETURN : EXIT_INDIRECT, .upper = l->upper_from, .context = l->site};
		u64 *slot = tw_table_slot(s->rec.pc, l->upper_from, l->lookup_kind, l->site);
		const u8 *next = *slot == (u64)l->entry ? l->miss : (const u8 *)*slot;
		tw_table_set(slot, tw_lookup_make(s, &x, next, false));
	}
}

void tw_link_replace_entry(struct fragment *f, struct fragment *s)
{
	const u8 *end = f->rec.map.code + (f->first_patch ? f->first_patch : f->rec.map.code_bytes);
	if (tw_engine.n_threads != 1 || !f->above || !tw_upper_fits(&s->rec, f->rec.upper_in) || f->rec.any_upper ||
	    end < f->rec.map.code + 5)
		return;
	f->rec.map.code[0] = 0xe9;
	emit_patch(f->rec.map.code + 1, s->rec.map.code);
	s->replaced = f;
}
