#include "engine/fragment.h"
#include "engine/memory.h"
#include "engine/x86_64/emit.h"
#include "engine/x86_64/glue.h"
#include "engine/x86_64/translate.h"
#include "instrument/instrumentor.h"
#include <linux/mman.h>

#define HASH_BUCKETS (1u << 17)
#define MAX_FRAGMENTS (1u << 20)
#define TABLE_ENTRIES 65536u
#define MAX_UPPERS 1024u

static u64 heap_at = ARENA_HEAP, cache_at = ARENA_CACHE, stubs_at = ARENA_STUBS;
static struct fragment **hash;
static struct fragment **host_map; /* in order of address */
static u32 n_host;
static u64 *tables[MAX_UPPERS];
static u8 *miss_stub[MAX_UPPERS];

static void reserve(u64 start, u64 end, int prot)
{
	tw_mmap(start, end - start, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

void tw_fragment_init(void)
{
	reserve(ARENA_CACHE, ARENA_STUBS_END, PROT_READ | PROT_WRITE | PROT_EXEC);
	reserve(ARENA_HEAP, ARENA_HEAP_END, PROT_READ | PROT_WRITE);
	hash = tw_heap(HASH_BUCKETS * sizeof *hash);
	host_map = tw_heap((u64)MAX_FRAGMENTS * sizeof *host_map);
}

void *tw_heap(u64 bytes)
{
	u64 at = (heap_at + 7) & ~7ull;
	if (at + bytes > ARENA_HEAP_END) {
		tw_engine_fail(TW_FAILURE_ENGINE, "the engine's heap is full");
		__builtin_trap();
	}
	heap_at = at + bytes;
	return (void *)at;
}

/* ---- the cache ---- */

u8 *tw_cache_room(u32 bytes)
{
	cache_at = (cache_at + 7) & ~7ull;
	if (cache_at + bytes > ARENA_CACHE_END || n_host == MAX_FRAGMENTS)
		return NULL;
	return (u8 *)cache_at;
}

void tw_cache_commit(struct fragment *f)
{
	cache_at = (u64)f->code + f->code_bytes;
	host_map[n_host] = f;
	__atomic_store_n(&n_host, n_host + 1, __ATOMIC_RELEASE);
}

struct fragment *tw_fragment_at(u64 host)
{
	u32 lo = 0, hi = __atomic_load_n(&n_host, __ATOMIC_ACQUIRE);
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if ((u64)host_map[mid]->code <= host)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || host >= (u64)host_map[lo - 1]->code + host_map[lo - 1]->code_bytes)
		return NULL;
	return host_map[lo - 1];
}

const struct state_entry *tw_fragment_state(const struct fragment *f, u64 host)
{
	u16 offset = (u16)(host - (u64)f->code);
	u32 lo = 0, hi = f->n_states;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (f->state[mid].offset <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return &f->state[lo ? lo - 1 : 0];
}

/* ---- exits ---- */

struct exit *tw_exit_new(u8 kind, u64 pc, struct fragment *from)
{
	struct exit *x = tw_heap(sizeof *x);
	x->kind = kind;
	x->pc = pc;
	x->from = from;
	x->upper = from ? from->number >> 16 : 0;
	return x;
}

/* An emitter for the stub area. */
static struct emit stub_emit;

static struct emit *stub_begin(void)
{
	if (stubs_at + 128 > ARENA_STUBS_END) {
		tw_engine_fail(TW_FAILURE_ENGINE, "no more room for exit stubs");
		__builtin_trap();
	}
	stub_emit.start = stub_emit.at = (u8 *)stubs_at;
	return &stub_emit;
}

static u8 *stub_end(void)
{
	stubs_at = (u64)stub_emit.at;
	return stub_emit.start;
}

u8 *tw_stub_new(struct exit *x)
{
	struct emit *e = stub_begin();
	emit_mov_gs_imm(e, T_EXIT, (u32)(u64)x);
	emit_jmp(e, (const u8 *)tw_exit_cache);
	return x->stub = stub_end();
}

void tw_fragment_link(struct exit *x, struct fragment *f)
{
	const u8 *to = f->code;
	if (tw_engine.instr->records && x->upper != f->number >> 16) {
		struct fragment *bridge = tw_translate_bridge(f);
		if (!bridge)
			return;
		to = bridge->code;
	}
	emit_patch(x->patch, to);
	x->linked = 1;
}

/* ---- indirect branches ---- */

/* Where an indirect branch out of this half goes that finds nothing: rcx is the target, rcx and r10 are in their slots. */
static u8 *miss_for(u32 upper)
{
	if (miss_stub[upper])
		return miss_stub[upper];
	struct exit *x = tw_exit_new(EXIT_INDIRECT, 0, NULL);
	x->upper = upper;
	struct emit *e = stub_begin();
	emit_mov_gs_reg(e, T_PC, TW_RCX);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	emit_mov_gs_imm(e, T_EXIT, (u32)(u64)x);
	emit_jmp(e, (const u8 *)tw_exit_cache);
	return miss_stub[upper] = stub_end();
}

u64 *tw_fragment_table(u32 upper)
{
	if (upper >= MAX_UPPERS)
		upper = MAX_UPPERS - 1;
	if (!tables[upper]) {
		u64 *t = tw_heap(TABLE_ENTRIES * sizeof *t);
		u64 miss = (u64)miss_for(upper);
		for (u32 i = 0; i < TABLE_ENTRIES; i++)
			t[i] = miss;
		tables[upper] = t;
	}
	return tables[upper];
}

void tw_fragment_land(struct fragment *f, u32 upper)
{
	u64 *table = tw_fragment_table(upper);
	u64 *slot = &table[f->pc & 0xffff];
	struct fragment *landing = tw_translate_landing(f, upper, (const u8 *)*slot);
	if (landing)
		__atomic_store_n(slot, (u64)landing->code, __ATOMIC_RELEASE);
}

/* ---- finding ---- */

static u32 bucket(u64 pc, u16 context)
{
	return (u32)(((pc ^ (u64)context << 40) * 0x9e3779b97f4a7c15ull) >> (64 - 17));
}

struct fragment *tw_fragment_find(u64 pc, u16 context)
{
	for (struct fragment *f = hash[bucket(pc, context)]; f; f = f->next_hash)
		if (f->pc == pc && f->context == context)
			return f;
	return NULL;
}

struct fragment *tw_fragment_get(u64 pc, u16 context)
{
	u64 limit;
	struct fragment *f = tw_fragment_find(pc, context);
	if (f)
		return f;
	if (!tw_memory_executable(pc, &limit))
		return NULL;
	tw_memory_watch(pc, 1);
	f = tw_translate(pc, context, limit);
	if (!f) {
		tw_engine_fail(TW_FAILURE_ENGINE, "the code cache is full");
		__builtin_trap();
	}
	tw_memory_watch(pc, f->app_bytes);
	struct fragment **head = &hash[bucket(pc, context)];
	f->next_hash = *head;
	*head = f;
	return f;
}

/* ---- change ---- */

static void make_stale(struct fragment *f)
{
	struct fragment **p = &hash[bucket(f->pc, f->context)];
	while (*p && *p != f)
		p = &(*p)->next_hash;
	if (*p)
		*p = f->next_hash;
	f->stale = true;
	struct exit *x = tw_exit_new(EXIT_STALE, f->pc, f);
	x->context = f->context;
	/* The jump in one store: the entry is 8-byte aligned. */
	const u8 *stub = tw_stub_new(x);
	u64 word;
	u32 rel = (u32)(stub - (f->code + 5));
	memcpy(&word, f->code, 8);
	word = (word & ~0xffffffffffull) | 0xe9 | (u64)rel << 8;
	__atomic_store_n((u64 *)f->code, word, __ATOMIC_RELEASE);
}

void tw_fragment_invalidate(u64 start, u64 end)
{
	for (u32 i = 0; i < n_host; i++) {
		struct fragment *f = host_map[i];
		if (f->kind == FRAGMENT_CODE && !f->stale && f->pc < end && f->pc + f->app_bytes > start)
			make_stale(f);
	}
}
