#include "engine/code/fragment.h"
#include "engine/record/bits.h"
#include "engine/record/budget.h"
#include "engine/record/buffer.h"
#include "engine/record/told.h"
#include "engine/code/cache.h"
#include "engine/record/describe.h"
#include "engine/code/known_paths.h"
#include "engine/code/memory.h"
#include "engine/code/module.h"
#include "engine/code/snapshot.h"
#include "engine/thread.h"
#include "engine/code/translations.h"
#include "engine/record/calls.h"
#include "engine/x86_64/emit.h"
#include "engine/x86_64/glue.h"
#include "engine/code/translate.h"
#include "engine/record/instrumentor.h"
#include "engine/heap.h"
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>

struct tw_code_process tw_translator;

#define BREAKPOINT 0xcc

struct tw_translations tw_translations;
static struct tw_translations *const tr = &tw_translations;
static struct fragment **numbered[65536]; /* by upper half, then by lower */

static bool reserve(u64 start, u64 end, int how)
{
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	return !tw_failed(tw_mmap(start, end - start, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0));
}

/* The areas of the arena, empty; they are all alike, and where nothing is between them one mapping. False: everything is as it was. */
static bool reserve_areas(int how)
{
	if (tw_arena_cache_end() == ARENA_STUBS && tw_arena_stubs_end() == ARENA_HEAP)
		return reserve(ARENA_CACHE, tw_arena_heap_end(), how);
	if (!reserve(ARENA_CACHE, tw_arena_cache_end(), how))
		return false;
	if (!reserve(ARENA_STUBS, tw_arena_stubs_end(), how) || !reserve(ARENA_HEAP, tw_arena_heap_end(), how))
		__builtin_trap(); /* the arena is lost */
	return true;
}

/* `how`: MAP_FIXED where they were in use. */
static bool lay_out(int how)
{
	if (!reserve_areas(how))
		return false;
	memset(tr, 0, sizeof *tr);
	tw_heap_at = ARENA_HEAP;
	tr->cache_at = ARENA_CACHE;
	tr->stubs_at = ARENA_STUBS;
	tr->hash = tw_heap_pages(HASH_BUCKETS * sizeof *tr->hash);
	tr->pages = tw_heap_pages(PAGE_BUCKETS * sizeof *tr->pages);
	tr->on_host = tw_heap_pages(CACHE_PAGES * sizeof *tr->on_host);
	tw_state_init();
	tr->host_map = tw_heap_pages((u64)MAX_FRAGMENTS * sizeof *tr->host_map); /* last: most of it is never used */
	tr->heap_mark = tw_heap_at = tw_page_up(tw_heap_at);
	return true;
}

bool tw_fragment_init(void)
{
	return lay_out(MAP_FIXED_NOREPLACE);
}

/* What one translation may take at the most, with a good margin. */
#define CACHE_MARGIN (1u << 20)
#define STUBS_MARGIN (1u << 16)
#define HEAP_MARGIN  (4u << 20)

/* ---- numbers ---- */

/* Fragments by tag: a lossy table. */
#define TAG_ENTRIES (1u << 19)
static struct fragment **tagged;

static struct fragment **tag_slot(u32 tag)
{
	return &tagged[(tag * 0x9e3779b1u) >> 13 & (TAG_ENTRIES - 1)];
}

static void note_tag(struct fragment *f)
{
	if (!tagged)
		__atomic_store_n(&tagged, tw_heap(TAG_ENTRIES * sizeof *tagged), __ATOMIC_RELEASE);
	__atomic_store_n(tag_slot(f->rec.tag), f, __ATOMIC_RELEASE);
}

struct fragment *tw_fragment_tagged(u32 tag)
{
	struct fragment *f = __atomic_load_n(&tagged, __ATOMIC_ACQUIRE) ? __atomic_load_n(tag_slot(tag), __ATOMIC_ACQUIRE) : NULL;
	return f && f->rec.tag == tag ? f : NULL;
}

struct fragment ***tw_fragment_row(u32 upper)
{
	return &numbered[upper];
}

static void number_fragment(struct fragment *f)
{
	struct fragment ***row = tw_fragment_row(f->rec.number >> 16);
	if (!*row)
		*row = tw_heap(65536 * sizeof **row);
	for (u32 k = 0; k < tw_path_count(&f->rec); k++)
		(*row)[(f->rec.number + k) & 0xffff] = f;
}

struct fragment *tw_fragment_numbered(u32 number)
{
	struct fragment **row = numbered[number >> 16];
	return row ? row[number & 0xffff] : NULL;
}

/* f can be found by what stands for it in buffers. */
static void number(struct fragment *f)
{
	if (!tw_instr()->records)
		return;
	if (f->rec.descriptor)
		note_tag(f);
	else if (!tw_tags_used())
		number_fragment(f);
}

/* ---- exits ---- */

struct exit *tw_exit_new(u8 kind, u64 pc, struct fragment *from)
{
	struct exit *x = tw_heap(sizeof *x);
	x->kind = kind;
	x->pc = pc;
	x->from = from;
	x->upper = from ? from->rec.upper_out : 0;
	return x;
}

/* An emitter for the stub area. */
static struct emit stub_emit;

static struct emit *stub_begin(void)
{
	if (tr->stubs_at + 128 > tw_arena_stubs_end()) {
		tw_engine_fail(TW_FAILURE_ENGINE, "no more room for exit stubs");
		__builtin_trap();
	}
	stub_emit.start = stub_emit.at = (u8 *)tr->stubs_at;
	return &stub_emit;
}

static u8 *stub_end(void)
{
	tr->stubs_at = (u64)stub_emit.at;
	return stub_emit.start;
}

u8 *tw_stub_new(struct exit *x)
{
	struct emit *e = stub_begin();
	emit_mov_gs_imm(e, T_EXIT, (u32)(u64)x);
	emit_jmp(e, (const u8 *)tw_exit_cache);
	u8 *stub = stub_end();
	x->stub = (u32)(u64)stub;
	return stub;
}

/* Links a direct exit to f. */
static void link_direct(struct exit *x, struct fragment *f)
{
	const u8 *to = f->rec.map.code;
	if (tw_instr()->records && !tw_upper_fits(&f->rec, x->upper)) {
		struct fragment *bridge = tw_translate_bridge(f);
		if (!bridge)
			return;
		to = bridge->rec.map.code;
	}
	emit_patch(x->patch, to);
	x->linked = 1;
	x->next_in = f->incoming;
	f->incoming = x;
}

/* ---- indirect branches ---- */

/*
 * Where an indirect branch out of this half goes that finds nothing. Of a jump, the target is in rcx, and rcx and r10 are in their slots; of a return
 * the target is still on the stack, and rcx is in its slot.
 */
static u8 *miss_stub(u32 upper, u8 kind)
{
	struct exit *x = tw_exit_new(kind == LOOKUP_RETURN ? EXIT_RETURN : EXIT_INDIRECT, 0, NULL);
	x->upper = upper;
	struct emit *e = stub_begin();
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
	return stub_end();
}

void tw_fragment_clear_table(u32 k, u8 kind)
{
	for (u32 i = 0; i < TABLE_ENTRIES; i++)
		tr->tables[kind][k][i] = (u64)tr->misses[kind][k];
}

u32 tw_fragment_tables_of(u32 upper)
{
	u32 k = 0;
	while (k < tr->n_uppers && tr->upper[k] != upper)
		k++;
	if (k == MAX_UPPERS)
		__builtin_trap(); /* is_full says so long before */
	if (k == tr->n_uppers)
		tr->upper[tr->n_uppers++] = upper;
	return k;
}

u64 *tw_fragment_table(u32 upper, u8 kind)
{
	const u32 k = tw_fragment_tables_of(tw_tags_used() ? 0 : upper); /* with tags lookups look for themselves */
	if (!tr->tables[kind][k]) {
		tr->misses[kind][k] = miss_stub(tw_tags_used() ? 0 : upper, kind);
		tr->tables[kind][k] = tw_heap_pages(TABLE_BYTES + (tw_sites_used() ? MAX_SITES * sizeof(u64) : 0));
		tw_fragment_clear_table(k, kind);
	}
	return tr->tables[kind][k];
}

static u8 lookup_of(const struct exit *x)
{
	return x->kind == EXIT_RETURN ? LOOKUP_RETURN : LOOKUP_JUMP;
}

static bool is_indirect(const struct exit *x)
{
	return x && (x->kind == EXIT_INDIRECT || x->kind == EXIT_RETURN);
}

static bool learns(void)
{
	return (tw_engine.control->flags & TW_FLAG_LEARN) && !tw_instr()->records;
}

bool tw_sites_used(void)
{
	return learns() && tw_engine.control->learn_what != TW_TELL_BLOCKS;
}

struct exit *tw_site_new(struct fragment *from, u8 kind)
{
	struct exit *x = tw_exit_new(kind, 0, from);
	u64 *table = tw_fragment_table(x->upper, lookup_of(x));
	u32 *n = &tr->n_sites[lookup_of(x)];
	if (*n >= MAX_SITES)
		return x;
	table[TABLE_ENTRIES + (*n)++] =
	    (u64)tr->misses[lookup_of(x)][tw_fragment_tables_of(x->upper)]; /* the last entry that it can come to */
	x->context = *n;
	return x;
}

/* The entry of a site's, or with site 0 of all that share it. */
static u64 *table_slot(u64 pc, u32 upper, u8 kind, u32 site)
{
	return &tw_fragment_table(upper, kind)[site + (pc & 0xffff)];
}

static void set_lookup(u64 *slot, const struct fragment *lookup)
{
	if (lookup)
		__atomic_store_n(slot, (u64)lookup->entry, __ATOMIC_RELEASE);
}

/* ---- finding ---- */

/* Code that is close together is so here too: a small program uses few pages of the table. */
static u32 bucket(u64 pc)
{
	return (u32)(pc >> 3) % HASH_BUCKETS;
}

/* May the calling thread enter f? */
static bool is_for_us(const struct fragment *f)
{
	return tw_module_usable(f->module) && (!f->owner || f->owner == tw_thread_self());
}

static struct fragment *next_in_bucket(const struct fragment *f)
{
	return (struct fragment *)(u64)f->next_hash;
}

/* The next fragment of pc from f on. */
static struct fragment *at_pc(struct fragment *f, u64 pc)
{
	while (f && (f->rec.pc != pc || !is_for_us(f)))
		f = next_in_bucket(f);
	return f;
}

static struct fragment *first_at(u64 pc)
{
	return at_pc((struct fragment *)(u64)tr->hash[bucket(pc)], pc);
}

static struct fragment *find(u64 pc, u32 context, bool superblock)
{
	struct fragment *f = first_at(pc);
	while (f && (f->rec.context != context || f->is_superblock != superblock))
		f = at_pc(next_in_bucket(f), pc);
	return f;
}

struct fragment *tw_fragment_plain(u64 pc)
{
	return find(pc, tw_instr()->context, false);
}

static u32 count_bits(u32 v)
{
	u32 n = 0;
	for (; v; v &= v - 1)
		n++;
	return n;
}

/* What to enter where f would do: the superblock there that knows most of what is known; f if there is none. */
static struct fragment *best_for(struct fragment *f, u32 context)
{
	struct fragment *best = NULL;
	if (!tw_instr()->superblocks)
		return f;
	for (struct fragment *s = first_at(f->rec.pc); s; s = at_pc(next_in_bucket(s), f->rec.pc))
		if (s->is_superblock && !(s->rec.context & ~context) &&
		    (!best || count_bits(s->rec.context) > count_bits(best->rec.context)))
			best = s;
	return best ? best : f;
}

static u32 count_superblocks(u64 pc)
{
	u32 n = 0;
	for (struct fragment *f = first_at(pc); f; f = at_pc(next_in_bucket(f), pc))
		n += f->is_superblock;
	return n;
}

/* ---- linking ---- */

/* The lookup of f for such an exit that goes on to `next` if the target is another: there may be one that was taken out of the table (drop_lookups). */
static struct fragment *lookup_for(struct fragment *f, const struct exit *x, const u8 *next)
{
	for (struct fragment *l = f->lookups; l; l = l->next_lookup)
		if (l->lookup_kind == lookup_of(x) && l->upper_from == x->upper && l->site == x->context && l->miss == next)
			return l;
	return tw_translate_lookup(f, x, next, false);
}

/* Links x to f, a plain fragment, or to the superblock that is best for it. */
static void link_exit(struct exit *x, struct fragment *f)
{
	if (is_indirect(x)) {
		u64 *slot = table_slot(f->rec.pc, x->upper, lookup_of(x), x->context);
		set_lookup(slot, lookup_for(best_for(f, f->rec.context), x, (const u8 *)*slot));
	} else if (x && x->kind == EXIT_LINK && !x->linked && !x->from->stale && !tw_bits_announced(&f->rec)) {
		link_direct(x, best_for(f, x->context));
	}
}

static u32 *pages_of(u64 page)
{
	return &tr->pages[tw_hash(page / TW_PAGE, PAGE_BITS)];
}

/* f has been made from this code: what tw_fragment_invalidate finds it by. */
static void note_pages(struct fragment *f, const struct piece *code)
{
	for (u64 page = code->pc & ~(u64)(TW_PAGE - 1); page < code->pc + code->bytes; page += TW_PAGE) {
		struct on_page *n = tw_heap(sizeof *n);
		u32 *head = pages_of(page);
		*n = (struct on_page){(u32)(u64)f, *head};
		*head = (u32)(u64)n;
	}
}

/* f, just made, can be found from now on: by who wants to run its code, and by who changes that. */
static void admit(struct fragment *f)
{
	number(f);
	for (u32 k = 0; k < f->rec.n_pieces; k++) {
		tw_memory_watch(f->rec.piece[k].pc, f->rec.piece[k].bytes);
		note_pages(f, &f->rec.piece[k]);
	}
	u32 *head = &tr->hash[bucket(f->rec.pc)];
	f->next_hash = *head;
	*head = (u32)(u64)f;
}

/* Those of the exits linked to `from` that s is better for lead to s from now on. */
static void take_exits(struct fragment *from, struct fragment *s)
{
	struct exit *x = from->incoming;
	from->incoming = NULL;
	for (struct exit *next; x; x = next) {
		next = x->next_in;
		if (x->kind == EXIT_LINK && best_for(from, x->context) == s) {
			link_direct(x, s);
		} else {
			x->next_in = from->incoming;
			from->incoming = x;
		}
	}
}

/* Likewise the indirect branches that land at `from`. */
static void take_lookups(struct fragment *from, struct fragment *s)
{
	struct fragment *l = from->lookups;
	from->lookups = NULL;
	for (; l; l = l->next_lookup) {
		const struct exit x = {
		    .kind = l->lookup_kind == LOOKUP_RETURN ? EXIT_RETURN : EXIT_INDIRECT, .upper = l->upper_from, .context = l->site};
		u64 *slot = table_slot(s->rec.pc, l->upper_from, l->lookup_kind, l->site);
		const u8 *next = *slot == (u64)l->entry ? l->miss : (const u8 *)*slot;
		set_lookup(slot, tw_translate_lookup(s, &x, next, false));
	}
}

/* f's entry becomes a jump to s, for the fragment that falls into it. Only while nobody else can be running it. */
static void replace_entry(struct fragment *f, struct fragment *s)
{
	const u8 *end = f->rec.map.code + (f->first_patch ? f->first_patch : f->rec.map.code_bytes);
	if (tw_engine.n_threads != 1 || !f->above || !tw_upper_fits(&s->rec, f->rec.upper_in) || f->rec.any_upper ||
	    end < f->rec.map.code + 5)
		return;
	f->rec.map.code[0] = 0xe9;
	emit_patch(f->rec.map.code + 1, s->rec.map.code);
	s->replaced = f;
}

/* Is there to be a superblock of this path? */
static bool is_wanted(const struct tw_path *path)
{
	const struct fragment *there = find(path->pc[0], path->context, true);
	if (there || path->old)
		return there && there == path->old;
	if (path->context == tw_instr()->context)
		return path->n > 1 || path->loops;
	return count_superblocks(path->pc[0]) < tw_engine.control->versions;
}

static void remove_from_hash(const struct fragment *f)
{
	u32 *p = &tr->hash[bucket(f->rec.pc)];
	while (*p && *p != (u32)(u64)f)
		p = &((struct fragment *)(u64)*p)->next_hash;
	if (*p)
		*p = f->next_hash;
}

/* s takes the place of the superblock f, of the same key: no branch leads to that any more, and it is not found. Who is in it goes on to one of its exits. */
static void retire(struct fragment *f, struct fragment *s)
{
	remove_from_hash(f);
	take_exits(f, s);
	take_lookups(f, s);
	s->remade = f->remade;
	f->superblock = s;
	__atomic_store_n(&f->superseded, true, __ATOMIC_RELEASE);
}

/* A path that begins like one that has been taken before, here or by another process (in *room then), is that one. */
static const struct tw_path *taken_before(const struct tw_path *path, struct tw_path *room)
{
	const struct tw_path *before = tw_known_path(path);
	if (before != path || path->n < 2)
		return before;
	*room = (struct tw_path){.context = path->context};
	room->n = tw_described_path(path->pc, path->context, room->pc, &room->loops);
	return room->n ? room : path;
}

void tw_fragment_join(const struct tw_path *path)
{
	const u32 plain = tw_instr()->context;
	if (!is_wanted(path))
		return;
	struct tw_path room;
	const struct tw_path *taken = path->old ? path : taken_before(path, &room);
	struct fragment *s = tw_translate_superblock(taken);
	if (!s)
		return;
	tw_known_path_keep(taken);
	admit(s);
	if (path->old)
		retire(path->old, s);
	for (struct fragment *f = first_at(s->rec.pc); f; f = at_pc(next_in_bucket(f), s->rec.pc)) {
		if (f == s || f->rec.number >> 16 == UNRECORDED_NUMBER >> 16) /* of another mode: window.h */
			continue;
		take_exits(f, s);
		if (path->context == plain) {
			take_lookups(f, s);
			replace_entry(f, s);
			__atomic_store_n(&f->superblock, s, __ATOMIC_RELAXED);
			__atomic_store_n(&f->superseded, true, __ATOMIC_RELEASE);
		}
	}
}

/* ---- loops without choices ---- */

/* The one place where control goes when f is left; 0: there are several, or what happens there is told anyway. */
static u64 only_way(const struct fragment *f)
{
	if (f->rec.end == TW_END_JUMP || f->rec.end == TW_END_CALL)
		return f->pc_target;
	return f->rec.end == TW_END_FALL ? f->pc_fall : 0;
}

#define MOST_STEPS 1000

bool tw_fragment_loops(const struct fragment *f)
{
	u64 pc = only_way(f);
	for (u32 n = 0; pc && n < MOST_STEPS; n++) {
		if (pc == f->rec.pc)
			return true;
		const struct fragment *next = find(pc, f->rec.context, false);
		if (!next || next->rec.ticks)
			return false;
		pc = only_way(next);
	}
	return pc != 0;
}

/* ---- making ---- */

static u32 generation; /* how often translations were thrown away; a futex */
static bool emptying;

/* New fragments are private first. Those of superblocks' formats are not: a superblock could not take the place of one that another falls into. */
static struct thread *owner_of_new(void)
{
	return tw_engine.n_threads > 1 && !tw_instr()->records ? tw_thread_self() : NULL;
}

bool tw_fragment_is_alone(const struct fragment *f)
{
	return tw_engine.n_threads == 1 || (f->owner && f->owner == tw_thread_self());
}

/* Under the lock. */
static void publish(struct tw_private *p)
{
	struct fragment *first = p->first;
	if (!first)
		return;
	for (struct fragment *f = p->newest; f && f->owner; f = f->above)
		f->owner = NULL;
	if (!first->stale && p->lookup) {
		u64 *slot = table_slot(first->rec.pc, p->x->upper, lookup_of(p->x), p->x->context);
		if (*slot == (u64)p->lookup->miss)
			set_lookup(slot, p->lookup);
	} else if (!first->stale && !is_indirect(p->x)) {
		link_exit(p->x, first);
	}
	*p = (struct tw_private){0};
}

void tw_fragment_publish(struct thread *t)
{
	if (!t->code->private.first)
		return;
	tw_lock(&tw_engine.lock);
	publish(&t->code->private);
	tw_unlock(&tw_engine.lock);
}

void tw_fragment_publish_all(void)
{
	for (struct thread *t = tw_thread_any(NULL); t; t = tw_thread_any(t))
		if (t->code->generation == generation)
			publish(&t->code->private);
}

/* f, just made because of x, which may be NULL, is private. */
static void keep_private(struct fragment *f, struct exit *x, struct fragment *lookup)
{
	struct tw_private *p = &tw_thread_self()->code->private;
	if (!f->above) {
		publish(p);
		*p = (struct tw_private){.first = f, .x = x, .lookup = lookup};
	}
	p->newest = f;
}

static struct fragment *make(u64 pc, u32 context, u64 limit, struct exit *x)
{
	struct fragment *lookup = NULL;
	if (pc == tw_translator.program_entry)
		tw_snapshot_started();
	tw_memory_watch(pc, 1);
	struct fragment *f = tw_translate(pc, context, limit, x, &lookup);
	if (!f)
		return NULL;
	f->owner = owner_of_new();
	admit(f);
	if (f->owner)
		keep_private(f, x, lookup);
	else if (lookup)
		set_lookup(table_slot(pc, x->upper, lookup_of(x), x->context), lookup);
	else
		link_exit(x, f);
	return f;
}

/* Where x, an exit that bare code has been left by, is; NULL: that is not known, or has been told. */
static const struct fragment *left_from(struct exit *x)
{
	if (!x || !(is_indirect(x) || (x->kind == EXIT_LINK && !x->told)))
		return NULL;
	x->told = true;
	return x->from;
}

/* In code that records nothing: f is come by, for the first time at all if it is `new`, or by x, which is not linked to it. False: nothing was told. */
static bool tell_learned(const struct fragment *f, struct exit *x, bool new)
{
	struct thread *t = tw_thread_self();
	const struct fragment *from = left_from(x);
	const struct piece *p = &f->rec.piece[f->rec.n_pieces - 1];
	struct tw_learned e = {.pc = p->pc, .bytes = p->bytes};
	if (!from && !new)
		return false;
	if (from) {
		const struct piece *before = &from->rec.piece[from->rec.n_pieces - 1];
		e.from = before->pc + before->bytes;
		e.from_end = before->end;
	}
	const bool now = tw_budget_may_tell(t), tells = tw_told_new(&e, now) && now;
	if (tells)
		tw_buffer_event(t, TW_EVENT_LEARNED, &e, sizeof e, NULL, 0);
	return tells;
}

struct fragment *tw_fragment_get(u64 pc, u32 context, struct exit *x)
{
	const u64 began = learns() ? tw_tsc() : 0;
	bool beyond_file, new = false;
	if (is_indirect(x) && tw_sites_used())
		x = (struct exit *)tw_thread_self()->from;
	if (tw_calls_stops_at(pc))
		x = NULL; /* the dispatcher is come by there each time */
	struct fragment *f = find(pc, tw_instr()->context, false);
	if (f) {
		publish(&tw_thread_self()->code->private);
		link_exit(x, f);
	} else {
		const u64 limit = tw_memory_code_end(pc, &beyond_file);
		f = limit > pc ? make(pc, tw_instr()->context, limit, x) : NULL;
		new = true;
	}
	if (!f)
		return NULL;
	if (began) {
		const u64 tells = new ? tw_tsc() : began;
		const bool told = tell_learned(f, x, new);
		tw_budget_told(tw_thread_self(), tells, told);
	}
	struct fragment *best = best_for(f, context);
	if (x && !best->owner && (x->kind == EXIT_SYSCALL || x->kind == EXIT_INT80 || x->kind == EXIT_EMULATE))
		__atomic_store_n(&x->again, best, __ATOMIC_RELEASE);
	return best;
}

/* ---- change ---- */

/* In the k-th tables. */
static void drop_entry(u32 kind, u32 k, u32 site, u64 pc)
{
	__atomic_store_n(&tr->tables[kind][k][site + (pc & 0xffff)], (u64)tr->misses[kind][k], __ATOMIC_RELEASE);
}

/* Indirect branches to f find nothing any more (nor do those to its neighbours in the tables, until they are looked up again). */
static void drop_lookups(const struct fragment *f)
{
	const u64 pc = f->rec.pc;
	for (const struct fragment *l = f->lookups; l; l = l->next_lookup)
		if (l->site)
			drop_entry(l->lookup_kind, tw_fragment_tables_of(l->upper_from), l->site, pc);
	for (u32 kind = 0; kind < LOOKUP_KINDS; kind++)
		for (u32 k = 0; k < tr->n_uppers; k++)
			if (tr->tables[kind][k])
				drop_entry(kind, k, 0, pc);
}

void tw_exit_unlink(struct exit *x)
{
	emit_patch(x->patch, (const u8 *)(u64)x->stub);
	x->linked = 0;
}

/* With the fragments that run into it without a jump, or by one in the place of their entry. */
void tw_fragment_make_stale(struct fragment *f)
{
	for (; f && !f->stale; f = f->above) {
		remove_from_hash(f);
		f->stale = true;
		for (struct exit *x = f->incoming; x; x = x->next_in)
			tw_exit_unlink(x);
		f->incoming = NULL;
		drop_lookups(f);
		__atomic_store_n(f->rec.map.code, (u8)BREAKPOINT, __ATOMIC_RELEASE);
		if (tw_recorder.whole->records && f->replaced)
			tw_fragment_make_stale(f->replaced);
	}
}

bool tw_fragment_holds(const struct fragment *f, u64 start, u64 end)
{
	for (u32 k = 0; k < f->rec.n_pieces; k++)
		if (f->rec.piece[k].pc < end && f->rec.piece[k].pc + f->rec.piece[k].bytes > start)
			return true;
	return false;
}

static void invalidate_page(u64 page, u64 start, u64 end)
{
	for (u32 *p = pages_of(page); *p;) {
		struct on_page *n = (struct on_page *)(u64)*p;
		struct fragment *f = (struct fragment *)(u64)n->fragment;
		if (!f->stale && tw_fragment_holds(f, start, end))
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
		if (f->kind == FRAGMENT_CODE && !f->stale && tw_fragment_holds(f, start, end))
			tw_fragment_make_stale(f);
	}
}

/* ---- emptying ---- */

static bool is_full(void)
{
	return tr->cache_at + CACHE_MARGIN >= tw_arena_cache_end() || tr->stubs_at + STUBS_MARGIN >= tw_arena_stubs_end() ||
	       tw_heap_at + HEAP_MARGIN >= tw_arena_heap_end() || tr->n_host + 16 >= MAX_FRAGMENTS || tr->n_uppers + 16 >= MAX_UPPERS;
}

static void empty(void)
{
	memset(tr->hash, 0, HASH_BUCKETS * sizeof *tr->hash);
	memset(tr->pages, 0, PAGE_BUCKETS * sizeof *tr->pages);
	tr->n_uppers = 0;
	memset(tr->tables, 0, sizeof tr->tables);
	memset(tr->shadows, 0, sizeof tr->shadows);
	memset(numbered, 0, sizeof numbered);
	tagged = NULL;
	tw_state_forget();
	tr->n_host = 0;
	memset((void *)tr->heap_mark, 0, tw_heap_at - tr->heap_mark);
	tw_heap_at = tr->heap_mark;
	tr->cache_at = ARENA_CACHE;
	tr->stubs_at = ARENA_STUBS;
	memset(tr->on_host, 0, CACHE_PAGES * sizeof *tr->on_host);
	memset(tr->piece, 0, sizeof tr->piece);
}

/* Is a thread other than t in the cache? */
static bool others_in_cache(const struct thread *t)
{
	for (const struct thread *o = NULL; (o = tw_thread_any(o));)
		if (o != t && __atomic_load_n(&o->code->in_cache, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

/* Makes everything stale, and waits until the other threads have come out. The lock is free meanwhile. */
static void call_out(const struct thread *t)
{
	for (u32 i = 0; i < tr->n_host; i++)
		if (tw_fragment_made(i)->kind == FRAGMENT_CODE)
			tw_fragment_make_stale(tw_fragment_made(i));
	while (others_in_cache(t)) {
		tw_unlock(&tw_engine.lock);
		tw_pause(100);
		tw_lock(&tw_engine.lock);
	}
}

/* Waits while another thread empties the cache. */
static void settle(void)
{
	while (emptying) {
		u32 now = generation;
		tw_unlock(&tw_engine.lock);
		tw_sys4(__NR_futex, &generation, FUTEX_WAIT_PRIVATE, now, NULL);
		tw_lock(&tw_engine.lock);
	}
}

static void throw_away(const struct thread *t)
{
	__atomic_store_n(&emptying, true, __ATOMIC_SEQ_CST);
	call_out(t);
	empty();
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&emptying, false, __ATOMIC_RELEASE);
	tw_sys(__NR_futex, &generation, FUTEX_WAKE_PRIVATE, ~0u >> 1);
}

bool tw_fragment_restart(void)
{
	if (!lay_out(MAP_FIXED))
		return false;
	if (tw_recorder.whole->records)
		memset(numbered, 0, sizeof numbered);
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
	return true;
}

void tw_fragment_switch(struct thread *t, const struct instrumentor *to)
{
	publish(&t->code->private);
	if (tw_engine.n_threads > 1)
		throw_away(t);
	t->code->generation = generation;
	tw_recorder.instr = to;
}

void tw_fragment_cross(struct thread *t)
{
	publish(&t->code->private);
}

bool tw_fragment_make_room(struct thread *t)
{
	if (emptying) {
		tw_fragment_left(t);
		settle();
	}
	if (is_full())
		throw_away(t);
	bool missed = t->code->generation != generation;
	if (missed)
		t->code->private = (struct tw_private){0};
	t->code->generation = generation;
	t->code->in_cache = true;
	return missed;
}

struct fragment *tw_fragment_again(struct thread *t, const struct exit *x)
{
	__atomic_store_n(&t->code->in_cache, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&emptying, __ATOMIC_SEQ_CST) || __atomic_load_n(&generation, __ATOMIC_ACQUIRE) != t->code->generation)
		return NULL;
	struct fragment *f = __atomic_load_n(&x->again, __ATOMIC_ACQUIRE);
	bool usable =
	    f && f->rec.pc == t->pc && !__atomic_load_n(&f->stale, __ATOMIC_RELAXED) && !__atomic_load_n(&f->superseded, __ATOMIC_RELAXED);
	return usable ? f : NULL;
}

void tw_fragment_lock_settled(void)
{
	tw_lock(&tw_engine.lock);
	settle();
}
