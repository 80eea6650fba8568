#include "engine/code/snapshot_tables.h"
#include "engine/code/flush.h"
#include "engine/code/tables.h"
#include "engine/code/translations.h"
#include <asm/unistd.h>
#include <linux/mman.h>

static struct tw_translations *const tr = &tw_translations;
static struct tw_snapshots *const s = &tw_snapshots;

static void raise_table(u8 kind, u32 k)
{
	u64 *table = tr->tables[kind][k], *shadow = tr->shadows[kind][k];
	if (!shadow)
		return;
	const u64 bytes = tw_table_bytes(tr->shadow_sites[kind]);
	const int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP; /* memory stays where the shadow was: nobody else's */
	tr->shadows[kind][k] = NULL;
	if (tw_failed(tw_sys6(__NR_mremap, (u64)shadow, bytes, bytes, (u64)how, (u64)table, 0)))
		memcpy(table, shadow, bytes); /* before Linux 5.13 */
	tw_table_complete(k, kind, tr->shadow_sites[kind]);
}

void tw_snapshot_came(void)
{
	for (u32 k = 1; k <= s->n_startup; k++)
		if (!tw_module_usable((u8)k))
			return;
	if (s->complete || tw_engine.n_threads > 1)
		return;
	s->complete = true;
	for (u8 kind = 0; kind < LOOKUP_KINDS; kind++)
		for (u32 k = 0; k < tr->n_uppers; k++)
			raise_table(kind, k);
}

static u64 code_of_modules(void)
{
	u64 bytes = 0;
	for (u32 k = 1; k <= tw_modules.n; k++)
		bytes += tw_modules.of[k].length;
	return bytes;
}

static void widen(void)
{
	if (tw_engine.n_threads == 1 && !tw_table_wide() && tw_table_wants_wide(code_of_modules()) && (!tr->n_host || tw_flush_restart()))
		tw_table_widen(true);
}

void tw_snapshot_started(void)
{
	s->started = true;
	if (s->taken)
		return;
	s->n_startup = tw_modules.n;
	widen();
}

void tw_snapshot_look_at_start(void)
{
	if (s->started || s->taken || !tw_translator.program_entry || tw_modules.n == s->modules_seen)
		return;
	s->modules_seen = tw_modules.n;
	widen();
}
