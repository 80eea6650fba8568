/* Tables with one row for each occurrence: references, blocks, calls, and contents of events. */
#include "sql/streams.h"
#include "recording/recording.h"

#include <string.h>

/* ---- time ---- */

/* Passes the events before block number `block`. *event: the next one. */
static inline void pass_events(struct tw_taker *t, const struct tw_batch *b, size_t *event, size_t block)
{
	for (; *event < b->n_events && b->events[*event].block <= block; ++*event) {
		const uint64_t tsc = tw_event_time(b->events[*event].type, b->events[*event].payload);
		if (tsc)
			t->now = tw_sql_time(t->sql, tsc);
	}
}

/* ---- refs ---- */

static const struct tw_sql_column ref_columns[] = {
    {"thread", TW_CELL_INTEGER, TW_ROLE_THREAD},
    {"insn", TW_CELL_INTEGER, TW_ROLE_INSN},
    {"pc", TW_CELL_INTEGER, TW_ROLE_PC},
    {"addr", TW_CELL_INTEGER, TW_ROLE_ADDR},
    {"size", TW_CELL_INTEGER, 0},
    {"type", TW_CELL_TYPE, TW_ROLE_TYPE},
    {"time", TW_CELL_OPTIONAL, TW_ROLE_TIME},
    {NULL, 0, 0},
};
enum { REF_INSN = 1, REF_PC, REF_ADDR, REF_SIZE, REF_TYPE, REF_TIME };

/* References [from, end) of one execution of a block that begins after `insn` instructions. */
static int take_refs(struct tw_taker *t, const struct tw_batch *b, const struct tw_block_run *run, size_t end, uint64_t insn)
{
	const struct tw_ref *refs = tw_batch_refs(b);
	const struct tw_block *block = &tw_descriptor_blocks(run->descriptor)[run->block];
	for (size_t i = run->first_ref; i < end; i++) {
		int64_t *row = tw_taker_row(t);
		row[0] = b->thread;
		row[REF_INSN] = (int64_t)(insn + (run->n_insns ? (uint64_t)refs[i].insn - block->first_insn : 0));
		row[REF_PC] = (int64_t)refs[i].pc;
		row[REF_ADDR] = (int64_t)refs[i].addr;
		row[REF_SIZE] = refs[i].size;
		row[REF_TYPE] = refs[i].type;
		row[REF_TIME] = t->now;
		int result = tw_taker_keep(t);
		if (result)
			return result;
	}
	return 0;
}

/* Whether a batch may have wanted references: most batches can be skipped without writing their references out. */
static int has_wanted_refs(const struct tw_taker *t, const struct tw_batch *b)
{
	if ((int64_t)b->first_insn > t->high[REF_INSN] || (int64_t)(b->first_insn + b->n_insns) < t->low[REF_INSN])
		return 0;
	const int64_t low = t->low[REF_ADDR];
	const uint64_t length = (uint64_t)t->high[REF_ADDR] - (uint64_t)low;
	size_t wanted = 0;
	for (size_t i = 0; i < b->n_refs; i++)
		wanted += b->addr[i] - (uint64_t)low <= length;
	return wanted != 0;
}

static int take_all_refs(struct tw_taker *t, const struct tw_batch *b)
{
	size_t event = 0;
	if (!has_wanted_refs(t, b)) {
		pass_events(t, b, &event, b->n_blocks);
		return 0;
	}
	const struct tw_block_run *runs = tw_batch_blocks(b);
	uint64_t insn = b->first_insn;
	int result = 0;
	for (size_t i = 0; i < b->n_blocks && !result; i++) {
		pass_events(t, b, &event, i);
		size_t end = i + 1 < b->n_blocks ? runs[i + 1].first_ref : b->n_refs;
		result = take_refs(t, b, &runs[i], end, insn);
		insn += runs[i].n_insns;
	}
	pass_events(t, b, &event, b->n_blocks);
	return result;
}

static uint64_t count_refs(const struct tw_batch *b)
{
	return b->n_refs;
}

const struct tw_sql_table tw_sql_refs = {"refs", "memory references, one by one", ref_columns, .take = take_all_refs, .count = count_refs};

/* ---- block_runs ---- */

static const struct tw_sql_column run_columns[] = {
    {"thread", TW_CELL_INTEGER, TW_ROLE_THREAD},
    {"insn", TW_CELL_INTEGER, TW_ROLE_INSN},
    {"pc", TW_CELL_INTEGER, TW_ROLE_PC},
    {"insns", TW_CELL_INTEGER, 0},
    {"refs", TW_CELL_INTEGER, 0},
    {"time", TW_CELL_OPTIONAL, TW_ROLE_TIME},
    {NULL, 0, 0},
};
enum { RUN_REFS = 4 };

static size_t refs_of(const struct tw_batch *b, const struct tw_block_run *runs, size_t i)
{
	return (i + 1 < b->n_blocks ? runs[i + 1].first_ref : b->n_refs) - runs[i].first_ref;
}

/* A block cut by the end of a batch waits for its remaining references at the start of the next batch. */
static int end_run(struct tw_taker *t, const struct tw_batch *b, const struct tw_block_run *runs)
{
	const int goes_on = b->n_blocks && !runs[0].n_insns && b->thread == t->thread;
	if (!t->is_pending)
		return 0;
	t->pending[RUN_REFS] += goes_on ? (int64_t)refs_of(b, runs, 0) : 0;
	if (goes_on && b->n_blocks == 1 && b->continues)
		return 0;
	t->is_pending = 0;
	memcpy(tw_taker_row(t), t->pending, t->rows->n_columns * sizeof *t->pending);
	return tw_taker_keep(t);
}

static int begin_run(struct tw_taker *t)
{
	t->is_pending = 1;
	memcpy(t->pending, tw_taker_row(t), t->rows->n_columns * sizeof *t->pending);
	return 0;
}

static int take_runs(struct tw_taker *t, const struct tw_batch *b)
{
	const struct tw_block_run *runs = tw_batch_blocks(b);
	uint64_t insn = b->first_insn;
	size_t event = 0;
	int result = end_run(t, b, runs);
	for (size_t i = 0; i < b->n_blocks && !result; i++) {
		pass_events(t, b, &event, i);
		if (!runs[i].n_insns)
			continue;
		int64_t *row = tw_taker_row(t);
		row[0] = b->thread;
		row[1] = (int64_t)insn;
		row[2] = (int64_t)tw_descriptor_blocks(runs[i].descriptor)[runs[i].block].pc;
		row[3] = runs[i].n_insns;
		row[RUN_REFS] = (int64_t)refs_of(b, runs, i);
		row[5] = t->now;
		insn += runs[i].n_insns;
		result = i + 1 == b->n_blocks && b->continues ? begin_run(t) : tw_taker_keep(t);
	}
	pass_events(t, b, &event, b->n_blocks);
	return result;
}

static uint64_t count_runs(const struct tw_batch *b)
{
	return b->n_blocks - b->n_continued;
}

const struct tw_sql_table tw_sql_block_runs = {"block_runs", "executions of basic blocks, one by one", run_columns, .take = take_runs,
                                               .count = count_runs};

/* ---- calls ---- */

static const struct tw_sql_column call_columns[] = {
    {"thread", TW_CELL_INTEGER, TW_ROLE_THREAD},
    {"insn", TW_CELL_INTEGER, TW_ROLE_INSN},
    {"pc", TW_CELL_INTEGER, TW_ROLE_PC},
    {"target", TW_CELL_OPTIONAL, TW_ROLE_TARGET},
    {"indirect", TW_CELL_INTEGER, 0},
    {"time", TW_CELL_OPTIONAL, TW_ROLE_TIME},
    {NULL, 0, 0},
};

/* The address of the last instruction of a block. */
static uint64_t last_pc(const struct tw_descriptor *d, const struct tw_block *block)
{
	return block->pc + block->bytes - tw_descriptor_insn_bytes(d)[block->first_insn + block->n_insns - 1];
}

/* The pending call gets its target: what ran next, unless that is the return address: then an unrecorded function has returned there. */
static int end_call(struct tw_taker *t, uint64_t next)
{
	t->is_pending = 0;
	memcpy(tw_taker_row(t), t->pending, t->rows->n_columns * sizeof *t->pending);
	tw_taker_row(t)[3] = next == t->pending_back ? TW_NULL : (int64_t)next;
	return tw_taker_keep(t);
}

/* If the block was executed completely and ends with a call, the call becomes pending. */
static void begin_call(struct tw_taker *t, uint32_t thread, const struct tw_block_run *run, uint64_t insn)
{
	const struct tw_block *block = &tw_descriptor_blocks(run->descriptor)[run->block];
	int is_call = block->end == TW_END_CALL || block->end == TW_END_ICALL;
	if (!is_call || run->n_insns != block->n_insns)
		return;
	t->is_pending = 1;
	t->pending[0] = thread;
	t->pending[1] = (int64_t)(insn + run->n_insns - 1u);
	t->pending[2] = (int64_t)last_pc(run->descriptor, block);
	t->pending[4] = block->end == TW_END_ICALL;
	t->pending[5] = t->now;
	t->pending_back = block->pc + block->bytes;
	if (block->target == t->pending_back) /* a call that only reads its own address */
		t->pending_back = 0;
}

/* A call whose target is not in the recording, because a signal came first, gets what ran next as its target. */
static int take_calls(struct tw_taker *t, const struct tw_batch *b)
{
	const struct tw_block_run *runs = tw_batch_blocks(b);
	uint64_t insn = b->first_insn;
	size_t event = 0;
	int result = 0;
	if (t->thread != b->thread || t->next_insn != b->first_insn)
		t->is_pending = 0;
	for (size_t i = 0; i < b->n_blocks && !result; i++) {
		pass_events(t, b, &event, i);
		if (!runs[i].n_insns)
			continue;
		if (t->is_pending)
			result = end_call(t, tw_descriptor_blocks(runs[i].descriptor)[runs[i].block].pc);
		begin_call(t, b->thread, &runs[i], insn);
		insn += runs[i].n_insns;
	}
	pass_events(t, b, &event, b->n_blocks);
	return result;
}

const struct tw_sql_table tw_sql_calls = {"calls", "calls of functions, one by one", call_columns, .take = take_calls, .looks_ahead = 1};

/* ---- events ---- */

/*
 * Calls f for each event of a type, with the number of instructions executed before it, until it returns a value
 * other than 0, which is returned.
 */
static int each_event(struct tw_taker *t, const struct tw_batch *b, uint32_t type, int (*f)(struct tw_taker *, const struct tw_event *))
{
	const struct tw_block_run *runs = NULL;
	uint64_t insn = b->first_insn;
	size_t at = 0;
	for (size_t i = 0; i < b->n_events; i++) {
		const uint64_t tsc = tw_event_time(b->events[i].type, b->events[i].payload);
		t->now = tsc ? tw_sql_time(t->sql, tsc) : t->now;
		if (b->events[i].type != type)
			continue;
		if (!runs)
			runs = tw_batch_blocks(b);
		for (; at < b->events[i].block; at++)
			insn += runs[at].n_insns;
		int64_t *row = tw_taker_row(t);
		row[0] = b->thread;
		row[1] = (int64_t)insn;
		int result = f(t, &b->events[i]);
		if (result)
			return result;
	}
	return 0;
}

static const struct tw_sql_column syscall_columns[] = {
    {"thread", TW_CELL_INTEGER, TW_ROLE_THREAD},
    {"insn", TW_CELL_INTEGER, TW_ROLE_INSN},
    {"time", TW_CELL_OPTIONAL, TW_ROLE_TIME},
    {"duration", TW_CELL_OPTIONAL, 0},
    {"number", TW_CELL_INTEGER, 0},
    {"int80", TW_CELL_INTEGER, 0},
    {"arg1", TW_CELL_INTEGER, 0},
    {"arg2", TW_CELL_INTEGER, 0},
    {"arg3", TW_CELL_INTEGER, 0},
    {"arg4", TW_CELL_INTEGER, 0},
    {"arg5", TW_CELL_INTEGER, 0},
    {"arg6", TW_CELL_INTEGER, 0},
    {"result", TW_CELL_INTEGER, 0},
    {"pc", TW_CELL_INTEGER, 0},
    {NULL, 0, 0},
};

static int take_syscall(struct tw_taker *t, const struct tw_event *e)
{
	const struct tw_syscall *call = e->payload;
	int64_t *row = tw_taker_row(t);
	row[2] = tw_sql_time(t->sql, call->began);
	row[3] = row[2] == TW_NULL ? TW_NULL : tw_sql_time(t->sql, call->tsc) - row[2];
	row[4] = (int64_t)(call->number & ~(uint64_t)TW_SYSCALL_INT80);
	row[5] = (call->number & TW_SYSCALL_INT80) != 0;
	for (int i = 0; i < 6; i++)
		row[6 + i] = (int64_t)call->args[i];
	row[12] = call->result;
	row[13] = (int64_t)call->pc;
	return tw_taker_keep(t);
}

static int take_syscalls(struct tw_taker *t, const struct tw_batch *b)
{
	return each_event(t, b, TW_EVENT_SYSCALL, take_syscall);
}

const struct tw_sql_table tw_sql_syscalls = {"syscalls", "system calls that returned", syscall_columns, .take = take_syscalls};

static const struct tw_sql_column signal_columns[] = {
    {"thread", TW_CELL_INTEGER, TW_ROLE_THREAD},
    {"insn", TW_CELL_INTEGER, TW_ROLE_INSN},
    {"number", TW_CELL_INTEGER, 0},
    {"code", TW_CELL_INTEGER, 0},
    {"pc", TW_CELL_INTEGER, 0},
    {"handler", TW_CELL_INTEGER, 0},
    {"addr", TW_CELL_INTEGER, 0},
    {"time", TW_CELL_OPTIONAL, TW_ROLE_TIME},
    {NULL, 0, 0},
};

static int take_signal(struct tw_taker *t, const struct tw_event *e)
{
	const struct tw_signal *signal = e->payload;
	int64_t *row = tw_taker_row(t);
	row[2] = signal->number;
	row[3] = signal->code;
	row[4] = (int64_t)signal->pc;
	row[5] = (int64_t)signal->handler;
	row[6] = (int64_t)signal->address;
	row[7] = t->now;
	return tw_taker_keep(t);
}

static int take_signals(struct tw_taker *t, const struct tw_batch *b)
{
	return each_event(t, b, TW_EVENT_SIGNAL, take_signal);
}

const struct tw_sql_table tw_sql_signals = {"signals", "signals whose handlers ran", signal_columns, .take = take_signals};

static const struct tw_sql_column window_columns[] = {
    {"thread", TW_CELL_INTEGER, TW_ROLE_THREAD},
    {"insn", TW_CELL_INTEGER, TW_ROLE_INSN},
    {"time", TW_CELL_OPTIONAL, TW_ROLE_TIME},
    {"open", TW_CELL_INTEGER, 0},
    {"pc", TW_CELL_INTEGER, 0},
    {"budget", TW_CELL_INTEGER, 0},
    {NULL, 0, 0},
};

static int take_window(struct tw_taker *t, const struct tw_event *e)
{
	const struct tw_window *window = e->payload;
	int64_t *row = tw_taker_row(t);
	row[2] = tw_sql_time(t->sql, window->tsc);
	row[3] = window->open;
	row[4] = (int64_t)window->pc;
	row[5] = window->reason != TW_LEFT_OUT_WINDOW;
	return tw_taker_keep(t);
}

static int take_windows(struct tw_taker *t, const struct tw_batch *b)
{
	return each_event(t, b, TW_EVENT_WINDOW, take_window);
}

const struct tw_sql_table tw_sql_windows = {"windows", "where recording stopped and went on", window_columns, .take = take_windows};
