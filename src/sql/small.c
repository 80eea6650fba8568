#include "sql/small.h"
#include "analyze/hot.h"
#include "analyze/profile.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a recording says of itself ---- */

static const struct tw_sql_column thread_columns[] = {
    {"thread", TW_CELL_INTEGER, 0}, {"process", TW_CELL_OPTIONAL, 0}, {"pid", TW_CELL_INTEGER, 0},    {"tid", TW_CELL_INTEGER, 0},
    {"chunks", TW_CELL_INTEGER, 0}, {"insns", TW_CELL_INTEGER, 0},    {"blocks", TW_CELL_INTEGER, 0}, {"refs", TW_CELL_INTEGER, 0},
    {"reads", TW_CELL_INTEGER, 0},  {"writes", TW_CELL_INTEGER, 0},   {"gaps", TW_CELL_INTEGER, 0},   {NULL, 0, 0},
};

static int fill_threads(struct tw_sql *sql, struct tw_rows *rows)
{
	const struct tw_recording *r = sql->recording;
	for (size_t i = 0; i < tw_recording_n_threads(r); i++) {
		const struct tw_thread_info *t = tw_recording_thread(r, i);
		size_t process = tw_recording_process_of(r, i);
		int64_t *row = tw_rows_next(rows);
		if (!row)
			return TW_ERR_MEMORY;
		const int64_t cells[] = {
		    t->serial,
		    process < tw_recording_n_processes(r) ? (int64_t)process : TW_NULL,
		    t->pid,
		    t->tid,
		    t->n_chunks,
		    (int64_t)t->totals.insns,
		    (int64_t)t->totals.blocks,
		    (int64_t)t->totals.refs,
		    (int64_t)t->totals.reads,
		    (int64_t)t->totals.writes,
		    (int64_t)t->totals.gaps,
		};
		memcpy(row, cells, sizeof cells);
		rows->n++;
	}
	return 0;
}

const struct tw_sql_table tw_sql_threads = {"threads", "threads, and what each did", thread_columns, .fill = fill_threads};

static const struct tw_sql_column process_columns[] = {
    {"process", TW_CELL_INTEGER, 0}, {"pid", TW_CELL_INTEGER, 0},      {"parent_pid", TW_CELL_INTEGER, 0}, {"program", TW_CELL_TEXT, 0},
    {"command", TW_CELL_TEXT, 0},    {"followed", TW_CELL_INTEGER, 0}, {"status", TW_CELL_OPTIONAL, 0},    {NULL, 0, 0},
};

/* All arguments, with spaces in between. */
static const char *command_of(struct tw_sql *sql, const struct tw_process *p)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	for (size_t i = 0; f && p->argv && p->argv[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", p->argv[i]);
	if (f)
		fclose(f);
	const char *kept = text ? tw_sql_text(sql, text) : NULL;
	free(text);
	return kept;
}

static int fill_processes(struct tw_sql *sql, struct tw_rows *rows)
{
	for (size_t i = 0; i < tw_recording_n_processes(sql->recording); i++) {
		const struct tw_process *p = tw_recording_process(sql->recording, i);
		const char *command = command_of(sql, p);
		int64_t *row = tw_rows_next(rows);
		if (!row || !command)
			return TW_ERR_MEMORY;
		const int64_t cells[] = {
		    (int64_t)i,
		    p->pid,
		    p->parent_pid,
		    tw_cell_text(p->program),
		    tw_cell_text(command),
		    p->followed,
		    p->ended ? p->wait_status : TW_NULL,
		};
		memcpy(row, cells, sizeof cells);
		rows->n++;
	}
	return 0;
}

const struct tw_sql_table tw_sql_processes = {"processes", "processes, and how they ended", process_columns, .fill = fill_processes};

static const struct tw_sql_column module_columns[] = {
    {"pid", TW_CELL_INTEGER, 0},    {"thread", TW_CELL_INTEGER, 0}, {"address", TW_CELL_INTEGER, 0}, {"length", TW_CELL_INTEGER, 0},
    {"offset", TW_CELL_INTEGER, 0}, {"prot", TW_CELL_INTEGER, 0},   {"path", TW_CELL_TEXT, 0},       {NULL, 0, 0},
};

static int fill_modules(struct tw_sql *sql, struct tw_rows *rows)
{
	for (size_t i = 0; i < tw_recording_n_modules(sql->recording); i++) {
		const struct tw_module *m = tw_recording_module(sql->recording, i);
		int64_t *row = tw_rows_next(rows);
		if (!row)
			return TW_ERR_MEMORY;
		const int64_t cells[] = {
		    m->pid, m->thread, (int64_t)m->address, (int64_t)m->length, (int64_t)m->offset, m->prot, tw_cell_text(m->path),
		};
		memcpy(row, cells, sizeof cells);
		rows->n++;
	}
	return 0;
}

const struct tw_sql_table tw_sql_modules = {"modules", "files that were mapped", module_columns, .fill = fill_modules};

/* ---- what is summed up ---- */

/* Cells of where code is: function, module, file, line. */
static void put_place(int64_t *cells, const struct tw_code_name *name)
{
	cells[0] = tw_cell_text(name->function);
	cells[1] = tw_cell_text(name->module);
	cells[2] = tw_cell_text(name->file);
	cells[3] = name->line ? (int64_t)name->line : TW_NULL;
}

static void put_counts(int64_t *cells, const struct tw_hot_counts *c)
{
	const int64_t counts[] = {(int64_t)c->executions, (int64_t)c->insns, (int64_t)c->refs, (int64_t)c->reads, (int64_t)c->writes};
	memcpy(cells, counts, sizeof counts);
}

static int count_all(struct tw_sql *sql, struct tw_hot *hot)
{
	const struct tw_replay_options options = {.jobs = sql->jobs, .damage = sql->damage, .context = sql->context};
	return tw_hot_run(sql->recording, &options, hot);
}

static const struct tw_sql_column block_columns[] = {
    {"image", TW_CELL_INTEGER, 0},  {"address", TW_CELL_INTEGER, 0},
    {"bytes", TW_CELL_INTEGER, 0},  {"n_insns", TW_CELL_INTEGER, 0},
    {"function", TW_CELL_TEXT, 0},  {"module", TW_CELL_TEXT, 0},
    {"file", TW_CELL_TEXT, 0},      {"line", TW_CELL_OPTIONAL, 0},
    {"runs", TW_CELL_INTEGER, 0},   {"insns", TW_CELL_INTEGER, 0},
    {"refs", TW_CELL_INTEGER, 0},   {"reads", TW_CELL_INTEGER, 0},
    {"writes", TW_CELL_INTEGER, 0}, {NULL, 0, 0},
};

static int fill_blocks(struct tw_sql *sql, struct tw_rows *rows)
{
	struct tw_hot hot;
	int error = count_all(sql, &hot);
	for (size_t i = 0; i < hot.n_blocks && !error; i++) {
		const struct tw_hot_block *b = &hot.blocks[i];
		const struct tw_block *block = &tw_descriptor_blocks(b->descriptor)[b->block];
		struct tw_code_name name;
		int64_t *row = tw_rows_next(rows);
		if (!row) {
			error = TW_ERR_MEMORY;
			break;
		}
		tw_names_code(sql->names, b->image, b->pc, &name);
		row[0] = b->image;
		row[1] = (int64_t)b->pc;
		row[2] = block->bytes;
		row[3] = block->n_insns;
		put_place(row + 4, &name);
		put_counts(row + 8, &b->counts);
		rows->n++;
	}
	tw_hot_free(&hot);
	return error;
}

const struct tw_sql_table tw_sql_blocks = {"blocks", "basic blocks, and how often each ran", block_columns, .fill = fill_blocks};

static const struct tw_sql_column function_columns[] = {
    {"image", TW_CELL_INTEGER, 0}, {"address", TW_CELL_INTEGER, 0}, {"function", TW_CELL_TEXT, 0},  {"module", TW_CELL_TEXT, 0},
    {"file", TW_CELL_TEXT, 0},     {"line", TW_CELL_OPTIONAL, 0},   {"calls", TW_CELL_INTEGER, 0},  {"insns", TW_CELL_INTEGER, 0},
    {"refs", TW_CELL_INTEGER, 0},  {"reads", TW_CELL_INTEGER, 0},   {"writes", TW_CELL_INTEGER, 0}, {NULL, 0, 0},
};

/* Blocks come by image and address, so the blocks of a function in one piece are adjacent. */
static int is_same_function(const int64_t *row, const struct tw_hot_block *b, const struct tw_code_name *name)
{
	return row && row[0] == b->image && row[1] == (int64_t)name->start && !strcmp((const char *)(uintptr_t)row[2], name->function);
}

static int fill_functions(struct tw_sql *sql, struct tw_rows *rows)
{
	struct tw_hot hot;
	struct tw_hot_counts sum = {0};
	int64_t *row = NULL;
	int error = count_all(sql, &hot);
	for (size_t i = 0; i < hot.n_blocks && !error; i++) {
		const struct tw_hot_block *b = &hot.blocks[i];
		struct tw_hot_counts counts = b->counts;
		struct tw_code_name name;
		tw_names_code(sql->names, b->image, b->pc, &name);
		counts.executions = tw_names_begins(sql->names, b->pc, &name) ? counts.executions : 0;
		if (!is_same_function(row, b, &name)) {
			row = tw_rows_next(rows);
			if (!row) {
				error = TW_ERR_MEMORY;
				break;
			}
			rows->n++;
			row[0] = b->image;
			row[1] = (int64_t)name.start;
			put_place(row + 2, &name);
			sum = (struct tw_hot_counts){0};
		}
		tw_hot_add(&sum, &counts);
		put_counts(row + 6, &sum);
	}
	tw_hot_free(&hot);
	return error;
}

const struct tw_sql_table tw_sql_functions = {"functions", "functions, and what each did itself", function_columns, .fill = fill_functions};

static const struct tw_sql_column branch_columns[] = {
    {"image", TW_CELL_INTEGER, 0},
    {"address", TW_CELL_INTEGER, 0},
    {"kind", TW_CELL_TEXT, 0},
    {"function", TW_CELL_TEXT, 0},
    {"module", TW_CELL_TEXT, 0},
    {"file", TW_CELL_TEXT, 0},
    {"line", TW_CELL_OPTIONAL, 0},
    {"target", TW_CELL_INTEGER, 0},
    {"taken", TW_CELL_INTEGER, 0},
    {"count", TW_CELL_INTEGER, 0},
    {NULL, 0, 0},
};

static const char *const end_names[TW_NENDS] = {
    [TW_END_FALL] = "fall",   [TW_END_JUMP] = "jump",   [TW_END_COND] = "cond",       [TW_END_CALL] = "call", [TW_END_RETURN] = "return",
    [TW_END_IJUMP] = "ijump", [TW_END_ICALL] = "icall", [TW_END_SYSCALL] = "syscall", [TW_END_TRAP] = "trap", [TW_END_UNKNOWN] = "unknown",
};

static int fill_branches_of(struct tw_sql *sql, struct tw_rows *rows, const struct tw_profile_blocks *p,
                            const struct tw_profile_block *from)
{
	struct tw_code_name name;
	tw_names_code(sql->names, from->image, from->last_pc, &name);
	for (uint32_t i = 0; i < from->n_edges; i++) {
		const struct tw_profile_edge *edge = &p->edges[from->first_edge + i];
		int64_t *row = tw_rows_next(rows);
		if (!row)
			return TW_ERR_MEMORY;
		row[0] = from->image;
		row[1] = (int64_t)from->last_pc;
		row[2] = tw_cell_text(end_names[from->end]);
		put_place(row + 3, &name);
		row[7] = (int64_t)p->blocks[edge->to].pc;
		row[8] = !edge->fall;
		row[9] = (int64_t)edge->count;
		rows->n++;
	}
	return 0;
}

/* One row for each way that a block was left by. */
static int fill_branches(struct tw_sql *sql, struct tw_rows *rows)
{
	const struct tw_profile_options options = {.replay = {.jobs = sql->jobs, .damage = sql->damage, .context = sql->context}};
	struct tw_profile profile;
	int error = tw_profile_recording(sql->recording, &options, &profile);
	for (uint32_t i = 0; i < profile.fixed.n_blocks && !error; i++)
		if (profile.fixed.blocks[i].end != TW_END_FALL)
			error = fill_branches_of(sql, rows, &profile.fixed, &profile.fixed.blocks[i]);
	tw_profile_free(&profile);
	return error;
}

const struct tw_sql_table tw_sql_branches = {"branches", "branches, calls and returns: where each led, how often", branch_columns,
                                             .fill = fill_branches};
