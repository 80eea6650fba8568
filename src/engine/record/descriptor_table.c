#include "engine/record/descriptor_table.h"
#include "engine/record/known.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

static u64 mapped; /* bytes of the table */

static struct tw_table_state *state_of(u32 table)
{
	return &tw_engine.control->table[table - 1];
}

/* Takes a free table, which the slot names before. 0: there is none. */
static u32 take_free(struct tw_slot *s)
{
	for (u32 table = 1; table <= tw_sizes()->tables; table++) {
		u32 *program = (u32 *)&state_of(table)->program, none = 0;
		if (__atomic_load_n(program, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n((u32 *)&s->table, table, __ATOMIC_SEQ_CST);
		if (__atomic_compare_exchange_n(program, &none, tw_known_program(), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return table;
	}
	return 0;
}

/* Puts it behind the rest of the channel, where there is place for it. */
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

bool tw_table_reaches(u64 end)
{
	while (end > mapped) {
		const u64 more = mapped + tw_sizes()->table_at_once;
		if (more > tw_sizes()->table_bytes || tw_failed(tw_sys4(__NR_mremap, tw_recorder.table, mapped, more, 0)))
			return false;
		mapped = more;
	}
	return true;
}

/* Tables of programs that have ended come free as soon as the collector gets round to it; but where files are limited there may be too few. */
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
	return map(table);
}

/* The slot names the table: nobody gives it up from now on, unless that has happened already. */
static bool wait_until_ours(void)
{
	struct tw_table_state *state = state_of(tw_recorder.table_number);
	while (__atomic_load_n((u32 *)&state->program, __ATOMIC_SEQ_CST) == tw_known_program()) {
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
	return __atomic_load_n((const u32 *)&state->program, __ATOMIC_RELAXED) == tw_known_program() &&
	       !__atomic_load_n((const u32 *)&state->ending, __ATOMIC_RELAXED);
}

u64 tw_table_place_for(u32 bytes)
{
	struct tw_control *c = tw_engine.control;
	struct tw_descriptor_table *table = tw_recorder.table;
	u64 at = tw_table_place(table->used ? table->used : sizeof *table, bytes);
	return at + bytes <= tw_sizes()->table_bytes && tw_table_reaches(at + bytes) && c->described + bytes <= c->descriptors_most ? at
	                                                                                                                            : 0;
}

void tw_table_publish(u64 offset, u32 bytes)
{
	__atomic_fetch_add((u64 *)&tw_engine.control->described, bytes, __ATOMIC_RELAXED);
	__atomic_store_n((u64 *)&tw_recorder.table->used, offset + bytes, __ATOMIC_RELEASE);
}

u32 tw_table_numbers(u32 n)
{
	struct tw_control *c = tw_engine.control;
	struct tw_descriptor_table *table = tw_recorder.table;
	if (table->numbers_end - table->number < n) {
		if (c->next_stretch == (1ull << 32) / TW_STRETCH - 1)
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
