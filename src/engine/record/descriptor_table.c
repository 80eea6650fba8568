#include "engine/record/descriptor_table.h"
#include "engine/record/program.h"
#include "engine/heap.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

static u64 mapped; /* bytes of the table */

static struct tw_table_state *state_of(u32 table)
{
	return &tw_engine.control->table[table - 1];
}

/* Takes a free table, after naming it in the slot. 0: none. */
static u32 take_free(struct tw_slot *s)
{
	for (u32 table = 1; table <= tw_sizes()->tables; table++) {
		u32 *program = (u32 *)&state_of(table)->program, none = 0;
		if (__atomic_load_n(program, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n((u32 *)&s->table, table, __ATOMIC_SEQ_CST);
		if (__atomic_compare_exchange_n(program, &none, tw_program_serial(), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return table;
	}
	return 0;
}

/* Maps it behind the rest of the channel, where there is room for it. */
static bool map(u32 table)
{
	mapped = tw_sizes()->table_at_once;
	i64 fd = tw_channel_open();
	i64 at = tw_failed(fd) ? fd
	                       : tw_mmap((u64)tw_engine.channel + tw_sizes()->channel_bytes, mapped, PROT_READ | PROT_WRITE,
	                                 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, (int)fd, tw_table_at(tw_sizes(), table));
	tw_sys(__NR_close, fd, 0, 0);
	tw_recorder.table = tw_failed(at) ? NULL : (struct tw_descriptor_table *)at;
	return tw_recorder.table;
}

/* Where its groups end now. */
static u64 end_now(void)
{
	const struct tw_descriptor_table *table = tw_recorder.table;
	const u64 used = __atomic_load_n((const u64 *)&table->used, __ATOMIC_ACQUIRE);
	return used ? used : sizeof *table;
}

/* Where a group of so many bytes would end if appended now. */
static u64 end_with(u32 bytes)
{
	return tw_table_place(end_now(), bytes) + bytes;
}

bool tw_table_is_mapped(u32 bytes)
{
	const u64 end = end_with(bytes);
	return end <= mapped || end > tw_sizes()->table_bytes;
}

bool tw_table_map(u32 bytes)
{
	const u64 end = end_with(bytes);
	while (end > mapped && end <= tw_sizes()->table_bytes) {
		const u64 more = mapped + tw_sizes()->table_at_once;
		if (more > tw_sizes()->table_bytes || tw_failed(tw_sys4(__NR_mremap, tw_recorder.table, mapped, more, 0)))
			return false;
		mapped = more;
	}
	return true;
}

/*
 * Tables of ended programs become free as soon as the collector gets to them. But if the number of files is limited,
 * there may be too few.
 */
static bool take(struct tw_slot *s)
{
	enum { PAUSE = 5000, PATIENCE = 10000000 }; /* us */
	u32 table;
	for (u32 n = 0; !(table = take_free(s)); n++) {
		if (!tw_channel_collector_alive(tw_engine.control))
			return false;
		if (tw_sizes()->tables < tw_sizes()->slots && n * PAUSE >= PATIENCE) {
			tw_engine_fail(TW_FAILURE_CHANNEL, "more than %u programs at once", tw_sizes()->tables);
			return false;
		}
		tw_pause(PAUSE);
	}
	tw_recorder.table_number = table;
	if (!map(table))
		return false;
	tw_recorder.table->base = tw_recorder.start.base;
	tw_recorder.table->entries = tw_recorder.start.entries;
	tw_recorder.table->claimant = tw_recorder.start.claimant;
	return true;
}

static bool is_ours(const struct tw_table_state *state)
{
	return (__atomic_load_n((const u32 *)&state->program, __ATOMIC_SEQ_CST) & ~TW_TABLE_STAYS) == tw_program_serial();
}

/* The slot names the table: from now on, nobody gives it up, unless that has happened already. */
static bool wait_until_ours(void)
{
	struct tw_table_state *state = state_of(tw_recorder.table_number);
	while (is_ours(state)) {
		if (!__atomic_load_n((u32 *)&state->ending, __ATOMIC_SEQ_CST))
			return true;
		if (!tw_channel_collector_alive(tw_engine.control))
			return false;
		tw_pause(5000);
	}
	return false;
}

bool tw_table_enter(struct tw_slot *s)
{
	if (!tw_recorder.table)
		return take(s);
	__atomic_store_n((u32 *)&s->table, tw_recorder.table_number, __ATOMIC_SEQ_CST);
	return wait_until_ours();
}

/* ---- descriptors ---- */

bool tw_table_is_there(void)
{
	if (!tw_recorder.table)
		return false;
	const struct tw_table_state *state = state_of(tw_recorder.table_number);
	return is_ours(state) && !__atomic_load_n((const u32 *)&state->ending, __ATOMIC_RELAXED);
}

u64 tw_table_place_for(u32 bytes)
{
	struct tw_control *c = tw_engine.control;
	const u64 at = tw_table_place(end_now(), bytes);
	return at + bytes <= mapped && c->described + bytes <= c->descriptors_most ? at : 0;
}

void tw_table_clear_rest(u64 end)
{
	const u64 used = end_now();
	memset((u8 *)tw_recorder.table + used, 0, end - used);
}

/* Descriptors from `offset` to `end` follow: is so much of a huge page used now that the rest will be too? */
static void use_huge_page(u64 offset, u64 end)
{
	const u64 from = (end & -TW_HUGE_PAGE) + TW_HUGE_FROM;
	if (tw_dear_pages && offset < from && end >= from)
		tw_heap_shared_later((u64)tw_recorder.table + end);
}

void tw_table_publish(u64 offset, u32 bytes)
{
	use_huge_page(offset, offset + bytes);
	__atomic_store_n((u64 *)&tw_recorder.table->used, offset + bytes, __ATOMIC_RELEASE);
	__atomic_fetch_add((u64 *)&tw_engine.control->described, bytes, __ATOMIC_RELAXED);
}

/* ---- numbers ---- */

static bool claim(struct tw_store_entry *e, u32 claimant, u32 upper)
{
	struct tw_store *store = &tw_engine.control->store;
	u16 none = 0;
	if (e->n_claimed == TW_MOST_CLAIMED ||
	    !__atomic_compare_exchange_n((u16 *)&store->claims[upper], &none, (u16)claimant, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	e->claimed[e->n_claimed++] = (u16)upper;
	e->number = upper << 16 | TW_TAG_FIRST;
	return true;
}

/* Claims one more upper half for the entry. Where the search starts depends on the program. */
static bool claim_any(struct tw_store_entry *e, u32 claimant)
{
	enum { TRIES = 32 };
	for (u32 k = 0; k < TRIES; k++) {
		const u64 from = tw_hash(e->key + 0x10001ull * (e->n_claimed * TRIES + k), 32);
		if (claim(e, claimant, TW_FIRST_CLAIMED + (u32)(from % (TW_UPPER_HALVES - TW_FIRST_CLAIMED))))
			return true;
	}
	return false;
}

/* Takes n of the numbers that the program has claimed. 0: none left. */
static u32 claimed_numbers(u32 n)
{
	const u32 claimant = tw_recorder.table->claimant;
	struct tw_store_entry *e = claimant ? &tw_engine.control->store.entry[claimant - 1] : NULL;
	if (!e || ((!e->number || (e->number & 0xffff) + n > 0xffff) && !claim_any(e, claimant)))
		return 0;
	const u32 first = e->number;
	e->number += n;
	return first;
}

bool tw_table_claim(u32 claimant, const u16 *upper, u32 n, u32 number)
{
	struct tw_store_entry *e = &tw_engine.control->store.entry[claimant - 1];
	for (u32 k = 0; k < n; k++)
		if (!claim(e, claimant, upper[k]))
			return false;
	e->number = number;
	return n != 0;
}

u32 tw_table_numbers(u32 n)
{
	struct tw_control *c = tw_engine.control;
	struct tw_descriptor_table *table = tw_recorder.table;
	const u32 claimed = claimed_numbers(n);
	if (claimed)
		return claimed;
	if (table->numbers_end - table->number < n) {
		if (c->next_stretch == ((TW_FIRST_CLAIMED - 1) << 16) / TW_STRETCH)
			return 0;
		table->number = c->next_stretch++ * TW_STRETCH;
		table->numbers_end = table->number + TW_STRETCH;
		if ((table->number & 0xffff) < TW_TAG_FIRST)
			table->number += TW_TAG_FIRST;
	}
	u32 first = table->number;
	table->number += n;
	return first;
}

/* ---- tables that stay ---- */

/* There may be so many. */
static bool one_more_stays(void)
{
	u32 *stays = (u32 *)&tw_engine.control->stays;
	if (__atomic_add_fetch(stays, 1, __ATOMIC_RELAXED) <= tw_sizes()->tables / 2)
		return true;
	__atomic_sub_fetch(stays, 1, __ATOMIC_RELAXED);
	return false;
}

bool tw_table_stay(void)
{
	struct tw_table_state *state = state_of(tw_recorder.table_number);
	if (__atomic_load_n((u32 *)&state->program, __ATOMIC_RELAXED) & TW_TABLE_STAYS)
		return true;
	if (!tw_table_is_there() || !one_more_stays())
		return false;
	__atomic_fetch_or((u32 *)&state->program, TW_TABLE_STAYS, __ATOMIC_SEQ_CST);
	return true;
}

/* A table for a snapshot's descriptors. 0: there is none. */
static u32 take_to_stay(void)
{
	if (!one_more_stays())
		return 0;
	for (u32 table = 1; table <= tw_sizes()->tables; table++) {
		u32 none = 0;
		if (__atomic_compare_exchange_n((u32 *)&state_of(table)->program, &none, TW_TABLE_STAYS | tw_program_serial(), false,
		                                __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return table;
	}
	return 0;
}

/*
 * For a kept table that is copied piece by piece: its descriptors, which belong to no process, are changed to this
 * process as they pass. So the collector only reads the table: writing to shared memory for the first time takes
 * seven times as long on some virtual machines.
 */
struct passing {
	u64 at, next; /* offsets in the table: of the start of `bytes`, and of the next descriptor (none that is valid: past the end) */
	u8 bytes[32 << 10];
};
static struct passing passing;

/* Assigns descriptors in the n bytes to this process. Returns how many bytes are finished: the next descriptor's head may be cut off. */
static u64 give_descriptors(struct passing *p, u64 n)
{
	const u64 end = p->at + n;
	while (p->next + sizeof(struct tw_descriptor) <= end) {
		struct tw_descriptor *d = (struct tw_descriptor *)(p->bytes + (p->next - p->at));
		const u64 left = TW_PART_BYTES - p->next % TW_PART_BYTES;
		const bool is_there = left >= sizeof *d && d->bytes;
		if (is_there && (d->bytes < sizeof *d || d->pid)) {
			p->next = UINT64_MAX - sizeof *d; /* the collector says what is wrong with it */
			break;
		}
		if (is_there)
			d->pid = tw_engine.pid;
		p->next += is_there ? d->bytes : left; /* the rest of the part was too small for the next one */
	}
	return p->next < end && p->next > p->at ? p->next - p->at : n;
}

/* Copies so many bytes of a file to where `to` stands. */
static bool copy_kept(int from, u64 at, u64 bytes, int to)
{
	struct passing *p = &passing;
	p->at = 0;
	p->next = sizeof(struct tw_descriptor_table);
	while (p->at < bytes) {
		const u64 left = bytes - p->at;
		const i64 n = tw_sys4(__NR_pread64, from, p->bytes, left < sizeof p->bytes ? left : sizeof p->bytes, at + p->at);
		const u64 done = n > 0 ? give_descriptors(p, (u64)n) : 0;
		if (!done || tw_sys(__NR_write, to, p->bytes, done) != (i64)done)
			return false;
		p->at += done;
	}
	return true;
}

/*
 * So many bytes of the channel's file are about to be written. A small program does not fill a huge page, and the
 * collector reads its data faster than a huge page is made.
 */
static void make_huge(int fd, u64 start, u64 bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	const u64 room = bytes + 2 * TW_HUGE_PAGE;
	const i64 at = tw_dear_pages && bytes >= TW_HUGE_PAGE ? tw_mmap(0, room, PROT_NONE, flags, -1, 0) : -1;
	if (tw_failed(at))
		return;
	const u64 first = ((u64)at + TW_HUGE_PAGE - 1) & -TW_HUGE_PAGE;
	if (!tw_failed(tw_mmap(first, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, start)))
		tw_heap_shared(first, bytes);
	tw_sys(__NR_munmap, at, room, 0);
}

u32 tw_table_load(int from, u64 at, u64 bytes)
{
	const i64 fd = bytes < tw_sizes()->table_bytes ? tw_channel_open() : -1;
	const u32 table = tw_failed(fd) ? 0 : take_to_stay();
	const u64 start = table ? tw_table_at(tw_sizes(), table) : 0;
	bool whole = table && !tw_failed(tw_sys(__NR_lseek, fd, start, 0));
	if (whole)
		make_huge((int)fd, start, bytes);
	whole = whole && copy_kept(from, at, bytes, (int)fd);
	if (whole) /* the start of the table is the last that is written */
		whole = tw_sys4(__NR_pwrite64, fd, &bytes, sizeof bytes, start) == sizeof bytes;
	if (whole)
		__atomic_fetch_add((u64 *)&tw_engine.control->described, bytes, __ATOMIC_RELAXED);
	if (!tw_failed(fd))
		tw_sys(__NR_close, fd, 0, 0);
	return whole ? table : 0;
}
