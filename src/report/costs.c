#include "report/costs.h"
#include "base/array.h"
#include "names/functions.h"

#include <stdlib.h>
#include <string.h>

/* ---- running ---- */

static int find_place(void *context, uint32_t image, uint64_t pc, int called, struct tw_call_place *out)
{
	struct tw_owned owned;
	int error = tw_owners_find(context, image, pc, called, &owned);
	*out = (struct tw_call_place){
	    .function = owned.owner,
	    .kind = owned.plt ? TW_CALL_STUB : TW_CALL_FUNCTION,
	    .lazy = owned.plt == TW_PLT_COMMON,
	    .entry = owned.entry != 0,
	};
	return error;
}

static int find_again(void *context)
{
	return tw_owners_again(context);
}

/* Whether the recording was made of bare addresses (trackway import). */
static int has_no_code(const struct tw_recording *r)
{
	return tw_recording_n_descriptors(r) && tw_descriptor_blocks(tw_recording_descriptor_at(r, 0))->end == TW_END_UNKNOWN;
}

static int run_calls(const struct tw_recording *r, const struct tw_costs_options *o, struct tw_costs *out)
{
	const struct tw_calls_options options = {.replay = o->replay,
	                                         .place = find_place,
	                                         .again = find_again,
	                                         .context = &out->owners,
	                                         .run = o->run,
	                                         .run_context = o->run_context};
	return tw_calls_run(r, &options, &out->calls);
}

/* ---- functions ---- */

static void name_function(struct tw_names *names, const struct tw_owners *owners, struct tw_cost_function *f)
{
	const struct tw_owner *owner = &owners->items[f->owner];
	struct tw_code_name name;
	tw_names_code(names, owner->image, owner->pc, &name);
	f->name = owner->name;
	f->module = tw_base_name(owners->objects.items[owner->object]);
	f->module = *name.module == '[' ? name.module : f->module;
	f->file = name.file;
	f->line = name.line;
	f->address = owner->pc;
	f->why = name.why;
	f->known = name.known;
}

static int make_functions(struct tw_names *names, struct tw_costs *c)
{
	c->n_functions = c->owners.n;
	c->functions = calloc(c->n_functions + 1, sizeof *c->functions);
	if (!c->functions)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < c->n_functions; i++) {
		c->functions[i].owner = i;
		name_function(names, &c->owners, &c->functions[i]);
	}
	return 0;
}

/*
 * A function's inclusive cost is exactly the sum over its calls. But the first function of a thread or signal
 * handler, and what ran when recording began, have no call. So the cost of a function that never called itself is its
 * self cost plus that of its calls.
 */
static void add_inclusive(struct tw_costs *c)
{
	struct tw_cost_function *f = c->functions;
	struct tw_cost *out = calloc(c->n_functions + 1, sizeof *out);
	uint8_t *recursive = calloc(c->n_functions + 1, sizeof *recursive);
	for (size_t i = 0; i < c->calls.n_calls; i++) {
		const struct tw_call *call = &c->calls.calls[i];
		f[call->to.function].calls += call->calls;
		if (recursive)
			recursive[call->to.function] |= call->to.level;
		if (!call->to.level)
			tw_cost_add(&f[call->to.function].inclusive, &call->cost);
		if (out && !call->in.level)
			tw_cost_add(&out[call->in.function], &call->cost);
	}
	for (size_t i = 0; out && recursive && i < c->n_functions; i++) {
		tw_cost_add(&out[i], &f[i].self);
		if (out[i].insns > f[i].inclusive.insns && !recursive[i])
			f[i].inclusive = out[i];
	}
	free(out);
	free(recursive);
}

static int take_calls(struct tw_names *names, struct tw_costs *c)
{
	int error = make_functions(names, c);
	for (size_t i = 0; !error && i < c->calls.n_insns; i++)
		tw_cost_add(&c->functions[c->calls.insns[i].in.function].self, &c->calls.insns[i].cost);
	if (!error)
		add_inclusive(c);
	c->totals = c->calls.totals;
	return error;
}

static struct tw_cost cost_of(const struct tw_hot_counts *h)
{
	return (struct tw_cost){.insns = h->insns, .refs = h->refs, .reads = h->reads, .writes = h->writes};
}

static int take_hot(struct tw_names *names, struct tw_costs *c)
{
	struct tw_owned *owned = calloc(c->hot.n_blocks + 1, sizeof *owned);
	int error = owned ? 0 : TW_ERR_MEMORY;
	for (size_t i = 0; !error && i < c->hot.n_blocks; i++)
		error = tw_owners_find(&c->owners, c->hot.blocks[i].image, c->hot.blocks[i].pc, 0, &owned[i]);
	if (!error)
		error = make_functions(names, c);
	for (size_t i = 0; !error && i < c->hot.n_blocks; i++) {
		struct tw_cost cost = cost_of(&c->hot.blocks[i].counts);
		struct tw_cost_function *f = &c->functions[owned[i].owner];
		tw_cost_add(&f->self, &cost);
		f->calls += owned[i].entry ? c->hot.blocks[i].counts.executions : 0;
	}
	c->totals = cost_of(&c->hot.totals);
	c->blocks = c->hot.totals.executions;
	free(owned);
	return error;
}

/* ---- lines ---- */

static int by_line(const void *a, const void *b)
{
	const struct tw_cost_line *x = a, *y = b;
	int order = strcmp(x->module, y->module);
	if (!order)
		order = strcmp(x->function, y->function);
	if (!order)
		order = strcmp(x->file ? x->file : "", y->file ? y->file : "");
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void join_line(struct tw_cost_line *to, const struct tw_cost_line *more)
{
	tw_cost_add(&to->self, &more->self);
	if (more->pc_refs > to->pc_refs) {
		to->pc = more->pc;
		to->image = more->image;
		to->pc_refs = more->pc_refs;
	}
}

static int make_lines(struct tw_names *names, struct tw_costs *c)
{
	struct tw_cost_line *lines = calloc(c->calls.n_insns + 1, sizeof *lines);
	size_t n = 0;
	if (!lines)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < c->calls.n_insns; i++) {
		const struct tw_call_insn *insn = &c->calls.insns[i];
		struct tw_code_name name;
		tw_names_code(names, insn->image, insn->pc, &name);
		const char *function = name.n_frames > 1 || name.known ? name.frame[0].function : c->owners.items[insn->in.function].name;
		lines[i] =
		    (struct tw_cost_line){function, name.module, name.file, name.line, insn->cost, insn->pc, insn->image, insn->cost.refs};
	}
	if (c->calls.n_insns)
		qsort(lines, c->calls.n_insns, sizeof *lines, by_line);
	for (size_t i = 0; i < c->calls.n_insns; i++) {
		if (n && !by_line(&lines[n - 1], &lines[i]))
			join_line(&lines[n - 1], &lines[i]);
		else
			lines[n++] = lines[i];
	}
	c->lines = lines;
	c->n_lines = n;
	return 0;
}

/* ---- the face ---- */

int tw_costs_run(const struct tw_recording *r, struct tw_names *names, const struct tw_costs_options *o, struct tw_costs *out)
{
	memset(out, 0, sizeof *out);
	out->has_code = !has_no_code(r);
	out->has_calls = !o->self_only && out->has_code;
	int error = tw_owners_init(&out->owners, names, r);
	if (!error && out->has_calls)
		error = run_calls(r, o, out);
	else if (!error)
		error = tw_hot_run_by(o->run, o->run_context, r, &o->replay, &out->hot);
	if (error)
		return error;
	error = out->has_calls ? take_calls(names, out) : take_hot(names, out);
	return error || !out->has_calls || o->no_lines ? error : make_lines(names, out);
}

void tw_costs_free(struct tw_costs *c)
{
	tw_owners_free(&c->owners);
	tw_calls_free(&c->calls);
	tw_hot_free(&c->hot);
	free(c->functions);
	free(c->lines);
	memset(c, 0, sizeof *c);
}
