#include "engine/code/tables.h"
#include "engine/code/stub.h"
#include "engine/code/translations.h"
#include "engine/heap.h"
#include "engine/record/instrumentor.h"
#include "engine/record/told.h"
#include "engine/x86_64/glue.h"

#define WIDE_MASK 0x3ffffu
#define MUCH_CODE (32u << 20)

static struct tw_translations *const tr = &tw_translations;
u32 tw_table_mask = 0xffff;

/* ---- how wide they are ---- */

static u32 entries(void)
{
	return tw_table_mask + 1;
}

void tw_table_widen(bool wide)
{
	tw_table_mask = wide ? WIDE_MASK : 0xffff;
}

/* Does the processor have a pext that is not microcoded? AMD's has since family 0x19 (Zen 3). */
static bool has_fast_pext(void)
{
	u32 eax = 7, ebx, ecx = 0, edx, family = 1;
	__asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	if (!(ebx & 1u << 8)) /* BMI2 */
		return false;
	__asm__ volatile("cpuid" : "+a"(family), "=b"(ebx), "=c"(ecx), "=d"(edx));
	family = (family >> 8 & 15) + (family >> 20 & 255);
	return tw_engine.is_amd ? family >= 0x19 : family == 6;
}

bool tw_table_wants_wide(u64 code)
{
	return code >= MUCH_CODE && tw_arena_heap_end() == ARENA_HEAP_END && !tw_recorder.whole->records && !tw_sites_used() &&
	       has_fast_pext();
}

/* ---- what is in them ---- */

/*
 * Where an indirect branch from this half goes if it finds nothing. For a jump, the target is in rcx, and rcx and r10
 * are in their slots; for a return the target is still on the stack, and rcx is in its slot.
 */
static u8 *miss_stub(u32 upper, u8 kind)
{
	struct exit *x = tw_exit_new(kind == LOOKUP_RETURN ? EXIT_RETURN : EXIT_INDIRECT, 0, NULL);
	x->upper = upper;
	struct emit *e = tw_stub_begin();
	if (kind == LOOKUP_RETURN) {
		emit_mov_reg_mem(e, TW_RCX, TW_RSP, 0);
		emit_lea(e, TW_RSP, TW_RSP, 8);
	} else {
		emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	}
	emit_mov_gs_reg(e, T_PC, TW_RCX);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_mov_gs_imm(e, T_EXIT, (u32)(u64)x);
	emit_jmp(e, (const u8 *)tw_exit_cache);
	return tw_stub_end(e);
}

void tw_table_clear(u32 k, u8 kind)
{
	for (u32 i = 0; i < entries() + tr->n_sites[kind]; i++)
		tr->tables[kind][k][i] = (u64)tr->misses[kind][k];
}

u64 tw_table_bytes(u32 sites)
{
	return tw_page_up((entries() + sites) * sizeof(u64));
}

void tw_table_complete(u32 k, u8 kind, u32 sites)
{
	for (u32 i = entries() + sites; i < entries() + tr->n_sites[kind]; i++)
		if (!tr->tables[kind][k][i])
			tr->tables[kind][k][i] = (u64)tr->misses[kind][k];
}

u32 tw_table_number(u32 upper)
{
	u32 k = 0;
	while (k < tr->n_uppers && tr->upper[k] != upper)
		k++;
	if (k == MAX_UPPERS)
		__builtin_trap(); /* tw_translations_full says so long before */
	if (k == tr->n_uppers)
		tr->upper[tr->n_uppers++] = upper;
	return k;
}

/*
 * Can there be sites in this run, in whatever mode a thread is? A table made while recording is cleared, copied and
 * searched like those of bare code.
 */
static bool has_room_for_sites(void)
{
	return tw_engine.control->flags & TW_FLAG_LEARN && tw_engine.control->learn_what != TW_TELL_BLOCKS;
}

u64 *tw_table_of(u32 upper, u8 kind)
{
	const u32 k = tw_table_number(tw_tags_used() ? 0 : upper); /* with tags lookups look for themselves */
	if (!tr->tables[kind][k]) {
		tr->misses[kind][k] = miss_stub(tw_tags_used() ? 0 : upper, kind);
		tr->tables[kind][k] = tw_heap_pages((entries() + (has_room_for_sites() ? MAX_SITES : 0)) * sizeof(u64));
		tw_table_clear(k, kind);
	}
	return tr->tables[kind][k];
}

bool tw_sites_used(void)
{
	return tw_told_wanted() && has_room_for_sites();
}

struct exit *tw_site_new(struct fragment *from, u8 kind)
{
	struct exit *x = tw_exit_new(kind, 0, from);
	u64 *table = tw_table_of(x->upper, tw_exit_lookup_kind(x));
	u32 *n = &tr->n_sites[tw_exit_lookup_kind(x)];
	if (*n >= MAX_SITES)
		return x;
	table[entries() + (*n)++] =
	    (u64)tr->misses[tw_exit_lookup_kind(x)][tw_table_number(x->upper)]; /* the last entry that it can reach */
	x->context = *n;
	return x;
}

u64 *tw_table_slot(u64 pc, u32 upper, u8 kind, u32 site)
{
	return &tw_table_of(upper, kind)[site + (pc & tw_table_mask)];
}

void tw_table_set(u64 *slot, const struct fragment *lookup)
{
	if (lookup)
		__atomic_store_n(slot, (u64)lookup->entry, __ATOMIC_RELEASE);
}

void tw_table_drop_entry(u32 kind, u32 k, u32 site, u64 pc)
{
	__atomic_store_n(&tr->tables[kind][k][site + (pc & tw_table_mask)], (u64)tr->misses[kind][k], __ATOMIC_RELEASE);
}

void tw_table_drop(const struct fragment *f)
{
	const u64 pc = f->rec.pc;
	for (const struct fragment *l = f->lookups; l; l = l->next_lookup)
		if (l->site)
			tw_table_drop_entry(l->lookup_kind, tw_table_number(l->upper_from), l->site, pc);
	for (u32 kind = 0; kind < LOOKUP_KINDS; kind++)
		for (u32 k = 0; k < tr->n_uppers; k++)
			if (tr->tables[kind][k])
				tw_table_drop_entry(kind, k, 0, pc);
}
