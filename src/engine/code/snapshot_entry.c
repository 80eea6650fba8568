#include "engine/code/snapshot_entry.h"

#define PROBES     16u
#define MANY_KINDS (32u << 20) /* a program with this many bytes of code, its own and its loader's, may have several kinds of processes */

struct tw_snapshots tw_snapshots;

static struct tw_snapshots *const s = &tw_snapshots;

/*
 * A large program of many processes executes itself for each, and passes its role as --type=, as Chromium and
 * Electron do: renderer, gpu-process, utility with a subtype. Each kind runs code that the others do not, and has
 * snapshots of its own.
 */
static u64 hash_of_kind(u64 h, char *const *argv)
{
	u64 code = 0;
	for (u32 k = 1; k <= s->n_base; k++)
		code += tw_modules.of[k].length;
	for (; code >= MANY_KINDS && *argv; argv++)
		if (tw_starts_with(*argv, "--type=") || tw_starts_with(*argv, "--utility-sub-type="))
			h = tw_fragment_hash(h, (const u8 *)*argv, strlen(*argv));
	return h;
}

u64 tw_snapshot_key(char *const *argv)
{
	u64 h = tw_fragment_hash(0, (const u8 *)&s->engine, sizeof s->engine);
	const struct tw_control *c = tw_engine.control;
	const u32 how[] = {c->flags, c->format, c->hot, c->versions, c->learn_what};
	h = tw_fragment_hash(h, (const u8 *)how, sizeof how);
	if (c->flags & TW_FLAG_CALLS) /* where they are called blocks end */
		h = tw_fragment_hash(h, (const u8 *)c->calls, strlen(c->calls));
	for (u32 k = 1; k <= s->n_base; k++) {
		const struct tw_module *m = &tw_modules.of[k];
		h = tw_fragment_hash(h, (const u8 *)&m->file, sizeof m->file);
		h = tw_fragment_hash(h, (const u8 *)&m->start, sizeof m->start);
	}
	return hash_of_kind(h, argv) | 1;
}

bool tw_snapshot_shareable(void)
{
	const struct tw_control *c = tw_engine.control;
	const bool window = c->window.start.kind || c->window.stop.kind, plain = tw_form_of(c->format) == TW_FORM_PLAIN;
	return tw_snapshot_store()->limit && plain && !window && (!c->budget.period || c->budget.bare) && !c->dump_all && !c->dump_pc &&
	       !c->learn_log;
}

struct tw_store_entry *tw_snapshot_entry(bool make)
{
	struct tw_store *store = tw_snapshot_store();
	for (u32 k = 0; k < PROBES; k++) {
		struct tw_store_entry *e = &store->entry[(s->key + k) % TW_STORE_ENTRIES];
		u64 key = __atomic_load_n((u64 *)&e->key, __ATOMIC_ACQUIRE);
		if (!key && make && __atomic_compare_exchange_n((u64 *)&e->key, &key, s->key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			store->occupied[__atomic_fetch_add((u32 *)&store->n_occupied, 1, __ATOMIC_RELAXED)] = (u16)(e - store->entry);
			return e;
		}
		if (key == s->key)
			return e;
		if (!key && !make)
			return NULL;
	}
	return NULL;
}

u64 tw_snapshot_place(const struct tw_store_entry *e)
{
	return e ? __atomic_load_n((u64 *)&e->offset, __ATOMIC_ACQUIRE) : 0;
}

u32 tw_snapshot_offered(const struct tw_store_entry *e)
{
	return e ? __atomic_load_n((u32 *)&e->fragments, __ATOMIC_ACQUIRE) : 0;
}
