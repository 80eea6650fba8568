#include "export/callgrind.h"
#include "analyze/calls.h"
#include "base/array.h"
#include "base/text.h"
#include "recording/recording.h"
#include "names/functions.h"
#include "report/printable.h"
#include "report/owners.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What the profile says of a function besides its name. */
struct function {
	uint32_t source;    /* number of the source file of its first instruction */
	uint8_t known;      /* `source` is */
	uint8_t written[2]; /* its name is in the profile already, by level */
};

struct profile {
	FILE *f;
	struct tw_names *names;
	struct tw_owners owners;
	struct tw_texts sources;    /* source files */
	struct function *functions; /* by the owner's number */
	size_t n_functions;
	uint8_t *source_written, *object_written; /* by number: the name is in the profile already */
	size_t n_source_written, n_object_written;
	uint32_t source;  /* of the cost line written last */
	const char *file; /* of the previous place, as returned by names; NULL: none so far */
	uint32_t file_source;
	int error; /* TW_ERR_MEMORY, once there is none */
};

/* Where an instruction stands. */
struct position {
	uint64_t vaddr;
	uint32_t source;
	uint32_t line;
};

static int find_function(void *context, uint32_t image, uint64_t pc, int called, struct tw_call_place *out)
{
	struct profile *p = context;
	struct tw_owned owned;
	int error = tw_owners_find(&p->owners, image, pc, called, &owned);
	out->function = owned.owner;
	out->kind = owned.plt ? TW_CALL_STUB : TW_CALL_FUNCTION;
	out->lazy = owned.plt == TW_PLT_COMMON;
	out->entry = owned.entry != 0;
	return error;
}

static int find_again(void *context)
{
	return tw_owners_again(&((struct profile *)context)->owners);
}

/* ---- positions ---- */

static struct position position_of(struct profile *p, uint32_t image, uint64_t pc)
{
	static const char unknown[] = "\?\?\?";
	struct tw_code_name name;
	tw_names_code(p->names, image, pc, &name);
	if (!name.file)
		name.file = unknown;
	if (p->file != name.file)
		p->file_source = tw_texts_number(&p->sources, name.file);
	p->file = name.file;
	if (p->file_source == TW_NO_TEXT)
		p->error = TW_ERR_MEMORY;
	return (struct position){name.vaddr, p->file_source, name.line};
}

/* ---- names ---- */

/* An array with room for item n; it grows, filled with zeros. Sets p->error on failure. */
static void *grown(struct profile *p, void *items, size_t *room, uint32_t n, size_t bytes)
{
	void *bigger = n == TW_NO_TEXT ? NULL : tw_array_zeros(items, n, room, bytes);
	if (!bigger)
		p->error = TW_ERR_MEMORY;
	return bigger ? bigger : items;
}

static struct function *function_of(struct profile *p, uint32_t number)
{
	p->functions = grown(p, p->functions, &p->n_functions, number, sizeof *p->functions);
	struct function *f = p->error ? NULL : &p->functions[number];
	if (f && !f->known) {
		const struct tw_owner *owner = &p->owners.items[number];
		f->source = position_of(p, owner->image, owner->pc).source;
		f->known = 1;
	}
	return f;
}

/* "KEY=(number) text and suffix" the first time, later without the text. Numbers begin at 1. */
static void put_name(FILE *f, const char *key, uint32_t number, const char *text, const char *suffix, uint8_t *written)
{
	fprintf(f, "%s=(%u)", key, number + 1);
	if (!*written) {
		fputc(' ', f);
		tw_print_safe(f, text);
		fputs(suffix, f);
	}
	fputc('\n', f);
	*written = 1;
}

static void put_source(struct profile *p, const char *key, uint32_t number)
{
	p->source_written = grown(p, p->source_written, &p->n_source_written, number, 1);
	if (!p->error)
		put_name(p->f, key, number, p->sources.items[number], "", &p->source_written[number]);
}

static void put_object(struct profile *p, const char *key, uint32_t number)
{
	p->object_written = grown(p, p->object_written, &p->n_object_written, number, 1);
	if (!p->error)
		put_name(p->f, key, number, p->owners.objects.items[number], "", &p->object_written[number]);
}

/* The keys of a caller (ob, fl, fn) or a callee (cob, cfi, cfn). */
static void put_function(struct profile *p, const char *const keys[3], struct tw_context context)
{
	struct function *f = function_of(p, context.function);
	const struct tw_owner *owner = &p->owners.items[context.function];
	if (!f)
		return;
	put_object(p, keys[0], owner->object);
	put_source(p, keys[1], f->source);
	put_name(p->f, keys[2], 2 * context.function + context.level, owner->name, context.level ? "'2" : "", &f->written[context.level]);
}

/* ---- lines ---- */

/* Size of a line's buffer: a position and costs, or two positions and a jump. */
enum { LINE = 256 };

static char *text_of_cost(char *at, const struct tw_cost *c)
{
	const uint64_t values[] = {c->insns, c->reads, c->writes, c->conditional, c->indirect};
	int n = sizeof values / sizeof values[0];
	while (n > 1 && !values[n - 1])
		n--;
	for (int i = 0; i < n; i++) {
		*at++ = ' ';
		at = tw_put_decimal(at, values[i]);
	}
	*at++ = '\n';
	return at;
}

static void put_cost(FILE *f, const struct tw_cost *c)
{
	char line[LINE];
	const char *end = text_of_cost(line, c);
	fwrite(line, 1, (size_t)(end - line), f);
}

static char *text_of_position(char *at, const struct position *p)
{
	*at++ = '0';
	*at++ = 'x';
	at = tw_put_hex(at, p->vaddr, 1);
	*at++ = ' ';
	return tw_put_decimal(at, p->line);
}

static void put_position_and_cost(FILE *f, const struct position *p, const struct tw_cost *c)
{
	char line[LINE];
	const char *end = text_of_cost(text_of_position(line, p), c);
	fwrite(line, 1, (size_t)(end - line), f);
}

static void put_two_positions(FILE *f, const struct position *first, const struct position *second)
{
	char line[LINE], *at = text_of_position(line, first);
	*at++ = '\n';
	at = text_of_position(at, second);
	fwrite(line, 1, (size_t)(at - line), f);
}

/* Code from another source file than that of its function: inlined. */
static void set_source(struct profile *p, const struct position *at, uint32_t function)
{
	const struct function *f = function_of(p, function);
	if (at->source == p->source || !f)
		return;
	put_source(p, at->source == f->source ? "fe" : "fi", at->source);
	p->source = at->source;
}

/* A branch within its function. */
static void put_jump(struct profile *p, const struct tw_call_insn *insn, const struct position *from)
{
	struct tw_call_place place = {0};
	if ((insn->end != TW_END_COND && insn->end != TW_END_JUMP) || !insn->ran)
		return;
	if (find_function(p, insn->image, insn->target, 0, &place))
		p->error = TW_ERR_MEMORY;
	if (p->error || place.function != insn->in.function)
		return;
	struct position to = position_of(p, insn->image, insn->target);
	if (insn->end == TW_END_COND)
		fprintf(p->f, "jcnd=%llu/%llu ", (unsigned long long)insn->taken, (unsigned long long)insn->ran);
	else
		fprintf(p->f, "jump=%llu ", (unsigned long long)insn->ran);
	put_two_positions(p->f, &to, from);
	fputc('\n', p->f);
}

static void put_insn(struct profile *p, const struct tw_call_insn *insn)
{
	struct position at = position_of(p, insn->image, insn->pc);
	set_source(p, &at, insn->in.function);
	put_position_and_cost(p->f, &at, &insn->cost);
	put_jump(p, insn, &at);
}

static void put_call(struct profile *p, const struct tw_call *c)
{
	static const char *const keys[3] = {"cob", "cfi", "cfn"};
	struct position from = position_of(p, c->image, c->pc), to = position_of(p, c->to_image, c->to_pc);
	set_source(p, &from, c->in.function);
	put_function(p, keys, c->to);
	fprintf(p->f, "calls=%llu ", (unsigned long long)c->calls);
	put_two_positions(p->f, &to, &from);
	put_cost(p->f, &c->cost);
}

static int same(struct tw_context a, struct tw_context b)
{
	return a.function == b.function && a.level == b.level;
}

static int call_comes_first(const struct tw_call *c, const struct tw_call_insn *insn)
{
	if (c->in.function != insn->in.function || c->in.level != insn->in.level)
		return c->in.function < insn->in.function || (c->in.function == insn->in.function && c->in.level < insn->in.level);
	return c->image != insn->image ? c->image < insn->image : c->pc < insn->pc;
}

static void set_context(struct profile *p, struct tw_context *now, struct tw_context next)
{
	static const char *const keys[3] = {"ob", "fl", "fn"};
	if (same(*now, next))
		return;
	fputc('\n', p->f);
	put_function(p, keys, next);
	const struct function *f = function_of(p, next.function);
	p->source = f ? f->source : 0;
	*now = next;
}

/* Instructions and calls, both sorted by context and address. */
static void put_body(struct profile *p, const struct tw_calls *calls)
{
	struct tw_context now = {TW_NO_TEXT, 0};
	for (size_t i = 0, k = 0; (i < calls->n_insns || k < calls->n_calls) && !p->error;) {
		const struct tw_call_insn *insn = &calls->insns[i];
		const struct tw_call *c = &calls->calls[k];
		if (i == calls->n_insns || (k < calls->n_calls && call_comes_first(c, insn))) {
			set_context(p, &now, c->in);
			put_call(p, c);
			k++;
		} else {
			set_context(p, &now, insn->in);
			put_insn(p, insn);
			i++;
		}
	}
}

/* ---- the whole ---- */

/* One line, whatever the arguments hold. */
static void put_command(FILE *f, const struct tw_recording_info *info)
{
	fputs("cmd:", f);
	for (int i = 0; i < info->argc; i++) {
		fputc(' ', f);
		for (const char *s = info->argv[i]; *s; s++)
			fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
	}
	fputc('\n', f);
}

static void put_header(FILE *f, const struct tw_recording *r, const struct tw_cost *totals)
{
	fputs("# callgrind format\nversion: 1\ncreator: trackway " TW_VERSION "\n", f);
	if (tw_recording_n_threads(r))
		fprintf(f, "pid: %u\n", tw_recording_thread(r, 0)->pid);
	put_command(f, tw_recording_info(r));
	fputs("part: 1\npositions: instr line\nevents: Ir Dr Dw Bc Bi\nsummary:", f);
	put_cost(f, totals);
}

static void free_profile(struct profile *p)
{
	free(p->functions);
	free(p->source_written);
	free(p->object_written);
	tw_texts_free(&p->sources);
	tw_owners_free(&p->owners);
}

int tw_callgrind(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_names *names,
                 const struct tw_callgrind_replay *by, FILE *f)
{
	struct profile p = {.f = f, .names = names};
	struct tw_calls_options how = {
	    .replay = *options, .place = find_function, .again = find_again, .context = &p, .run = by->run, .run_context = by->run_context};
	struct tw_calls calls = {0};
	int error = tw_owners_init(&p.owners, names, r);
	if (!error)
		error = tw_calls_run(r, &how, &calls);
	if (!error) {
		put_header(f, r, &calls.totals);
		put_body(&p, &calls);
		fputs("\ntotals:", f);
		put_cost(f, &calls.totals);
		error = p.error;
	}
	tw_calls_free(&calls);
	free_profile(&p);
	return error;
}
