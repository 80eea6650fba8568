#include "engine/record/told.h"
#include "base/region.h"

#define MAPPINGS 512u

/* The last ones that were mapped. Under tw_engine.lock. */
static struct mapping {
	u64 start, end, offset, module; /* module 0: of no file */
} mappings[MAPPINGS];
static u32 n_mapped;

void tw_told_mapped(const char *path, u64 address, u64 length, u64 offset)
{
	if (!(tw_engine.control->flags & TW_FLAG_LEARN))
		return;
	tw_lock(&tw_engine.lock);
	mappings[n_mapped++ % MAPPINGS] = (struct mapping){address, address + length, offset, path[0] == '/' ? tw_told_module(path) : 0};
	tw_unlock(&tw_engine.lock);
}

static struct tw_told_place place_of(u64 pc)
{
	for (u32 k = n_mapped; k && n_mapped - k < MAPPINGS; k--) {
		const struct mapping *m = &mappings[(k - 1) % MAPPINGS];
		if (pc >= m->start && pc < m->end)
			return (struct tw_told_place){m->module, pc - m->start + m->offset};
	}
	return (struct tw_told_place){0, 0};
}

/* Is the key absent? Enters it if it is to be told now. */
static bool is_new(struct tw_told_place at, u64 key, bool now)
{
	u64 *table = (u64 *)((u8 *)tw_engine.channel + tw_sizes()->claims_at);
	if (tw_form_of(tw_engine.control->format) != TW_FORM_PLAIN)
		return true;
	for (u32 k = 0; k < TW_TOLD_PROBES; k++) {
		u64 *e = &table[(tw_told_first(at) + k) % tw_sizes()->claim_entries], there = __atomic_load_n(e, __ATOMIC_RELAXED);
		if (!there && (!now || __atomic_compare_exchange_n(e, &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
			return true;
		if (there == key)
			return false;
	}
	return true;
}

static bool is_call(u32 end)
{
	return end == TW_END_CALL || end == TW_END_ICALL;
}

bool tw_told_new(const struct tw_learned *e, bool now)
{
	const u32 what = tw_engine.control->learn_what;
	const struct tw_told_place to = place_of(e->pc);
	bool new = is_new(to, tw_told_block(to, e->bytes), now) || !to.module;
	if (!e->from)
		return new;
	struct tw_told_place from = place_of(e->from - 1);
	const bool has_key = from.module && to.module;
	from.offset++;
	if (what & TW_TELL_EDGES)
		new |= is_new(from, tw_told_edge(from, to, false), now) || !has_key;
	if (what & TW_TELL_CALLS && is_call(e->from_end))
		new |= is_new(from, tw_told_edge(from, to, true), now) || !has_key;
	return new;
}

static struct tw_region_table regions(void)
{
	return (struct tw_region_table){(u64 *)((u8 *)tw_engine.channel + tw_sizes()->claims_at), tw_sizes()->claim_entries};
}

bool tw_told_has_region(u64 pc, u64 bytes)
{
	const struct tw_told_place at = place_of(pc);
	return at.module && tw_region_knows((enum tw_region_log)tw_engine.control->learn_log, regions(), at, bytes);
}

void tw_told_add_region(u64 pc, u64 bytes)
{
	const struct tw_told_place at = place_of(pc);
	if (at.module)
		tw_region_add((enum tw_region_log)tw_engine.control->learn_log, regions(), at, bytes);
}
