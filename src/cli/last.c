#include "cli/last.h"
#include "analyze/crash.h"
#include "cli/died.h"
#include "report/printable.h"
#include "names/names.h"
#include "report/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct last {
	FILE *f;
	const struct tw_recording *recording;
	struct tw_names *names;
	struct tw_sources sources;
	struct tw_backtrace trace;
	uint32_t image, thread;
};

/* The thread meant; the number of threads if there is none. */
static size_t find_thread(const struct tw_recording *r, int64_t serial)
{
	struct tw_crash crash;
	size_t n;
	if (serial >= 0)
		return tw_recording_find_thread(r, (uint32_t)serial);
	return !tw_crashes(r, &crash, 1, &n) && n ? crash.thread : 0;
}

static const char *text_of(struct last *l, const struct tw_name_frame *frame)
{
	const char *text = frame->line ? tw_source_line(&l->sources, frame->file, frame->line) : NULL;
	return text ? text + strspn(text, " \t") : "";
}

static void print_block(struct last *l, const struct tw_back_block *b)
{
	struct tw_code_name name;
	const struct tw_block *block = &tw_descriptor_blocks(b->descriptor)[b->block];
	tw_names_code(l->names, l->image, b->pc, &name);
	fprintf(l->f, "%16" PRIx64 " %4u%s  ", b->pc, b->n_insns, b->n_insns < block->n_insns ? "*" : " ");
	tw_print_safe(l->f, name.frame[0].function);
	if (name.line) {
		putc(' ', l->f);
		tw_print_safe(l->f, tw_base_name(name.file));
		fprintf(l->f, ":%" PRIu32 "  ", name.line);
		tw_print_safe(l->f, text_of(l, &name.frame[0]));
	}
	putc('\n', l->f);
}

static void print_text(struct last *l)
{
	fprintf(l->f, "the last %zu blocks of thread %u, the earliest first; * stopped early\n%16s %s   %s\n", l->trace.n_blocks, l->thread,
	        "address", "insns", "function, line");
	for (size_t i = 0; i < l->trace.n_blocks; i++)
		print_block(l, tw_backtrace_block(&l->trace, i));
	tw_died_print(l->f, l->recording, l->names);
}

static void json_block(struct tw_json *j, struct last *l, const struct tw_back_block *b)
{
	struct tw_code_name name;
	tw_names_code(l->names, l->image, b->pc, &name);
	tw_json_open(j, NULL, '{');
	tw_json_number(j, "address", b->pc);
	tw_json_number(j, "instructions", b->n_insns);
	tw_json_text(j, "function", name.frame[0].function);
	tw_json_text(j, "module", name.module);
	if (name.line) {
		tw_json_text(j, "file", name.file);
		tw_json_number(j, "line", name.line);
	}
	tw_json_close(j, '}');
}

static void print_json(struct last *l)
{
	struct tw_json j = {.f = l->f};
	tw_json_begin(&j, "last");
	tw_json_number(&j, "thread", l->thread);
	tw_json_open(&j, "blocks", '[');
	for (size_t i = 0; i < l->trace.n_blocks; i++)
		json_block(&j, l, tw_backtrace_block(&l->trace, i));
	tw_json_close(&j, ']');
	tw_died_json(&j, l->recording, l->names);
	tw_json_close(&j, '}');
}

int tw_last_print(const struct tw_recording *r, struct tw_names *names, const struct tw_last_options *options)
{
	struct last l = {.f = options->f, .recording = r, .names = names};
	size_t thread = find_thread(r, options->thread);
	const struct tw_backtrace_options back = {.blocks = options->blocks, .replay = options->replay};
	if (thread >= tw_recording_n_threads(r))
		return TW_ERR_RANGE;
	l.thread = tw_recording_thread(r, thread)->serial;
	l.image = tw_names_image(names, l.thread);
	tw_sources_init(&l.sources, r);
	int error = tw_backtrace(r, thread, &back, &l.trace);
	if (!error && options->json)
		print_json(&l);
	else if (!error)
		print_text(&l);
	tw_backtrace_free(&l.trace);
	tw_sources_free(&l.sources);
	return error;
}
