/*
 * cct: the calling-context tree: which call led to which, and what each context executed, by itself and including its
 * callees. contexts.h has the rules.
 */
#include "analyzers/cct.h"
#include "analyzers/cct_print.h"
#include "analyzers/cct_state.h"
#include "analyzers/contexts_join.h"

#include <stdlib.h>

/* ---- states ---- */

static void *begin(void *arg)
{
	struct tw_cct_state *s = tw_cct_new(arg);
	if (s)
		s->most_nodes = tw_cct_least_many_nodes(s);
	return s;
}

static int merge(void *state, void *later)
{
	struct tw_cct_state *s = state, *from = later;
	int error = tw_cct_settle(from);
	error = error ? error : tw_contexts_merge(&s->tree, &from->tree);
	if (!error && tw_cct_has_many_roots(s)) {
		tw_cct_forget(s);
		error = tw_cct_settle(s);
	}
	if (!error && s->tree.n_nodes > s->most_nodes)
		error = tw_cct_shrink(s);
	tw_cct_free(from);
	return error;
}

/* ---- as bytes ---- */

static int pack(const void *state, FILE *to)
{
	struct tw_cct_state *s = (struct tw_cct_state *)state; /* what is counted moves within it */
	int error = tw_cct_settle(s);
	error = error ? error : tw_contexts_pack(&s->tree, to);
	return error ? error : tw_forks_pack(s->forks, to);
}

static int unpack(void *state, FILE *from)
{
	struct tw_cct_state *s = state;
	int error = tw_contexts_unpack(&s->tree, from);
	return error ? error : tw_forks_unpack(s->forks, from);
}

/* ---- the answer ---- */

/* By functions if there is much: only the tree by names is needed from here on. */
static int settle_last(struct tw_cct_state *s)
{
	struct tw_names *names = s->tree.n_nodes > tw_cct_least_many_nodes(s) ? tw_cct_names(s) : NULL;
	const int error = names ? tw_contexts_unite(&s->tree, names) : 0;
	return error ? error : tw_cct_settle(s);
}

static int end(void *state, int error)
{
	struct tw_cct_state *s = state;
	error = error ? error : settle_last(s);
	struct tw_names *names = error || !s->out ? NULL : tw_cct_names(s);
	if (names)
		error = tw_context_tree(&s->tree, names, s->out);
	else if (!error)
		error = s->out ? TW_ERR_MEMORY : tw_cct_print(s->context, &s->tree);
	tw_cct_free(state);
	return error;
}

static const struct tw_option options[] = {
    {"least", TW_OPTION_NUMBER, "PERCENT", "1", "show only contexts with this share of all instructions, inclusive; 0: all"},
    {"folded", TW_OPTION_FORM, NULL, NULL, "print all contexts as folded stacks for flame graph tools"},
    {"speedscope", TW_OPTION_FORM, NULL, NULL, "write all contexts as JSON for speedscope.app"},
    {"svg", TW_OPTION_FORM, NULL, NULL, "draw a flame graph as SVG"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_cct = {
    .name = "cct",
    .begin = begin,
    .batch = tw_cct_batch,
    .merge = merge,
    .end = end,
    .what = "calling-context tree: instructions and references; flame graphs",
    .help = "Inclusive instructions are those of a function in this context and of all that\n"
            "it called from there; exclusive ones are its own. Threads, signal handlers and\n"
            "code after a gap in the recording are roots; a forked process continues in its\n"
            "parent's calls. A jump from one function into another counts as a call. PLT\n"
            "stubs belong to their callers, inlined functions to the functions they are part\n"
            "of.\n",
    .options = options,
    .needs = TW_NEEDS_FLOW | TW_WANTS_CALL_ADDRESSES,
    .scope = TW_SCOPE_THREADS,
    .pack_version = 3,
    .pack = pack,
    .unpack = unpack,
};

/* ---- the tree alone ---- */

struct asked {
	const struct tw_context *context;
	struct tw_names *names;
	struct tw_context_tree *out;
};

static void *begin_asked(void *arg)
{
	const struct asked *asked = arg;
	struct tw_cct_state *s = begin((void *)asked->context);
	if (!s)
		return NULL;
	s->names = asked->names;
	s->out = asked->out;
	return s;
}

int tw_cct_run(const struct tw_context *context, const struct tw_replay_options *replay, struct tw_names *names, tw_hot_replay *run,
               void *run_context, struct tw_context_tree *out)
{
	struct tw_analyzer analyzer = tw_analyzer_cct;
	struct asked asked = {context, names, out};
	analyzer.begin = begin_asked;
	*out = (struct tw_context_tree){0};
	return run ? run(run_context, tw_context_recording(context), replay, &analyzer, &asked)
	           : tw_replay(tw_context_recording(context), replay, &analyzer, &asked);
}
