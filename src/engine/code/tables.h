/*
 * The tables by which indirect branches find their target without leaving the cache.
 *
 * A table is indexed by the low 16 bits of the target and holds host addresses: of a lookup (lookup.h), a few
 * instructions that check whether the target is theirs (and otherwise continue with the next of the chain) and enter
 * the fragment; or of the code that leaves the cache if nothing is found. Returns have a table of their own: their
 * lookups find the target still on the stack and need one register less. In a large program many targets share an
 * entry, and going through their lookups, which are cold code, takes most of its start-up time. So tables are wide,
 * indexed by the low 18 bits, if the modules at the program's entry have much code, nothing is recorded, the arena is
 * not a small one, and the machine has a fast pext. There is one pair of tables for each upper half of fragment
 * numbers, because a lookup also writes the TW_TAG_UPPER record where the halves differ; so nothing is tested at run
 * time. In the tagged form there is one pair for all.
 *
 * Bare code that tells what is learned (LEARNED events) must enter the dispatcher when an indirect branch goes to a
 * target for the first time, even if other branches have gone there before. So there each indirect branch is a *site*
 * with lookups of its own, and indexes the table with an offset equal to its number. Sites share the table: the entry
 * of site s and target t is at s plus the lower half of t, and its lookups are distinguished by the whole target. So
 * a branch costs what it does in other bare code.
 *
 * What must hold: tables are caches. Running threads read an entry at any moment. It is changed by one store, under
 * tw_engine.lock, and leads either to a lookup whose fragment is not stale or to the code for misses.
 */
#ifndef TW_TABLES_H
#define TW_TABLES_H

#include "engine/code/fragment.h"

/* These bits of a target are its index: read by machine code. Changes only while there are no tables. */
extern u32 tw_table_mask;

static inline bool tw_table_wide(void)
{
	return tw_table_mask != 0xffff;
}

/* Tables are wide from now on, or no longer. There are none at this time. */
void tw_table_widen(bool wide);

/* Do programs with this many bytes of code have wide tables here? */
bool tw_table_wants_wide(u64 code);

/* The number of the tables of an upper half, which has some from now on. */
u32 tw_table_number(u32 upper);

/* The table for indirect branches from fragments with this upper half. */
u64 *tw_table_of(u32 upper, u8 kind);

/* The entry for this target of a site, or with site 0 of all branches that share it. */
u64 *tw_table_slot(u64 pc, u32 upper, u8 kind, u32 site);

/* The lookup, if there is one, is entered there. */
void tw_table_set(u64 *slot, const struct fragment *lookup);

/* Branches of this site find nothing for this target in the k-th tables. */
void tw_table_drop_entry(u32 kind, u32 k, u32 site, u64 pc);

/* Indirect branches to f find nothing any more (nor do those to its neighbours in the tables, until these are looked up again). */
void tw_table_drop(const struct fragment *f);

/* All indirect branches that use these tables, the k-th of a kind, find nothing. */
void tw_table_clear(u32 k, u8 kind);

/* Memory of a table used by this many sites: whole pages. */
u64 tw_table_bytes(u32 sites);

/* The k-th table of a kind has become one for this many sites: unset entries of later ones find nothing. */
void tw_table_complete(u32 k, u8 kind, u32 sites);

/* Is each indirect branch a site? */
bool tw_sites_used(void);

/*
 * A site of the fragment that is being made: an exit, to which thread.from points while the branch runs. Its number
 * may be 0 if there are too many.
 */
struct exit *tw_site_new(struct fragment *from, u8 kind);

#endif
