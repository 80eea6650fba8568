#include "replay/verify.h"
#include "recording/logged.h"
#include "recording/recording.h"
#include "replay/disassemble.h"
#include "replay/walk.h"

#include <stdlib.h>
#include <string.h>

/* A growing array of references. */
struct refs {
	struct tw_ref *items;
	size_t n, room;
};

/* What a difference is about; `none` while there is none. */
enum difference { DIFF_NONE, DIFF_REFERENCE, DIFF_CODE, DIFF_NO_LOG, DIFF_STRAY_LOG, DIFF_REPLAY };

struct mismatch {
	enum difference what;
	uint32_t thread;
	uint64_t index;                         /* of the reference in the thread; DIFF_CODE, DIFF_NO_LOG: of the next one */
	const struct tw_descriptor *descriptor; /* the fragment replay ran; NULL: none */
	uint64_t logged_pc;                     /* of the fragment the log speaks of */
	unsigned insn;
	struct tw_ref expected, found;          /* size 0: there is none */
	char text[512];                         /* DIFF_REPLAY */
};

struct tw_verify {
	const struct tw_descriptor *(*lookup)(void *ctx, uint32_t number);
	void *ctx;
	struct tw_xstate xstate;
	struct tw_programs *programs;
	struct tw_walk *walk;
	uint64_t blocks, n_refs;
	struct mismatch mismatch;
	/* The fragment that has run last and is not compared yet. */
	const struct tw_descriptor *descriptor; /* NULL: there is none, or nothing of it was replayed */
	struct refs found, expected;
	uint64_t first_ref;     /* index of found[0] in the thread */
	uint64_t logged_pc;
	unsigned n_logs;        /* REFS events seen for it */
	int pending;
	int partial, next_partial; /* it, the next one, stopped early... */
	struct tw_partial how, next_how; /* ...like this */
};

static int add_ref(struct refs *r, const struct tw_ref *ref)
{
	if (r->n == r->room) {
		size_t room = r->room ? r->room * 2 : 256;
		struct tw_ref *items = realloc(r->items, room * sizeof *items);
		if (!items)
			return tw_fail(TW_ERR_MEMORY, "references to verify");
		r->items = items;
		r->room = room;
	}
	r->items[r->n++] = *ref;
	return 0;
}

/* ---- comparing one fragment ---- */

static int differ(struct tw_verify *v, enum difference what, size_t i, const struct tw_ref *expected, const struct tw_ref *found)
{
	struct mismatch *m = &v->mismatch;
	const struct tw_ref none = {0};
	m->what = what;
	m->index = v->first_ref + i;
	m->descriptor = v->descriptor;
	m->logged_pc = v->logged_pc;
	m->expected = expected ? *expected : none;
	m->found = found ? *found : none;
	m->insn = expected ? expected->insn : found ? found->insn : 0;
	return 1;
}

static int same(const struct tw_ref *a, const struct tw_ref *b)
{
	return a->insn == b->insn && a->addr == b->addr && a->size == b->size && a->type == b->type;
}

/* References of an interrupted instruction are in the log as far as it got, in replay only those of whole iterations. */
static void drop_unfinished(const struct tw_verify *v, struct refs *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->items[i].insn < v->how.insns)
			r->items[n++] = r->items[i];
	r->n = n;
}

static int compare(struct tw_verify *v)
{
	const struct refs *f = &v->found, *e = &v->expected;
	if (!v->n_logs)
		return differ(v, DIFF_NO_LOG, 0, NULL, NULL);
	if (v->descriptor && tw_descriptor_blocks(v->descriptor)->pc != v->logged_pc)
		return differ(v, DIFF_CODE, 0, NULL, NULL);
	v->n_refs += f->n;
	if (v->partial) {
		drop_unfinished(v, &v->found);
		drop_unfinished(v, &v->expected);
	}
	for (size_t i = 0; i < f->n || i < e->n; i++) {
		const struct tw_ref *found = i < f->n ? &f->items[i] : NULL, *expected = i < e->n ? &e->items[i] : NULL;
		if (!found || !expected || !same(found, expected))
			return differ(v, DIFF_REFERENCE, i, expected, found);
	}
	return 0;
}

/* ---- taking a batch apart ---- */

/* The fragment before is complete: compares it, and makes room for the next. */
static int finish_fragment(struct tw_verify *v)
{
	int error = v->pending ? compare(v) : 0;
	v->pending = 0;
	v->descriptor = NULL;
	v->n_logs = 0;
	v->found.n = v->expected.n = 0;
	return error;
}

static int start_fragment(struct tw_verify *v)
{
	int error = finish_fragment(v);
	v->pending = 1;
	v->partial = v->next_partial;
	v->how = v->next_how;
	v->next_partial = 0;
	return error;
}

static int take_refs(struct tw_verify *v, const struct tw_refs *log)
{
	struct tw_logged_ref l;
	struct tw_logged it;
	int error = v->next_partial ? start_fragment(v) : 0; /* a fragment of which nothing ran */
	if (!error && !v->pending)
		error = differ(v, DIFF_STRAY_LOG, 0, NULL, NULL);
	v->logged_pc = log->pc;
	v->n_logs++;
	tw_logged_begin(&it, log + 1, log->n * sizeof l);
	while (!error && tw_logged_next(&it, &l) > 0) {
		struct tw_ref ref = {.addr = l.addr, .size = l.size, .insn = l.insn, .type = l.type};
		error = add_ref(&v->expected, &ref);
	}
	return error;
}

static int take_event(struct tw_verify *v, const struct tw_event *e)
{
	if (e->type == TW_EVENT_REFS)
		return take_refs(v, e->payload);
	if (e->type != TW_EVENT_PARTIAL)
		return 0;
	memcpy(&v->next_how, e->payload, sizeof v->next_how);
	v->next_partial = 1;
	return finish_fragment(v);
}

static int take_block(struct tw_verify *v, const struct tw_batch *b, size_t i)
{
	const struct tw_block_run *block = &b->blocks[i];
	size_t end = i + 1 < b->n_blocks ? block[1].first_ref : b->n_refs;
	int error = v->next_partial || (block->n_insns && !block->block) ? start_fragment(v) : 0;
	if (!v->found.n)
		v->first_ref = b->first_ref + block->first_ref;
	v->descriptor = block->descriptor;
	v->blocks += block->n_insns != 0;
	for (size_t r = block->first_ref; r < end && !error; r++)
		error = add_ref(&v->found, &b->refs[r]);
	return error;
}

static int take_batch(void *context, const struct tw_batch *b)
{
	struct tw_verify *v = context;
	size_t event = 0;
	int error = 0;
	for (size_t i = 0; i <= b->n_blocks && !error; i++) {
		for (; event < b->n_events && b->events[event].block == i && !error; event++)
			error = take_event(v, &b->events[event]);
		if (i < b->n_blocks && !error)
			error = take_block(v, b, i);
	}
	return error;
}

static int add_program(void *context, uint32_t number)
{
	struct tw_verify *v = context;
	const struct tw_descriptor *d = v->lookup(v->ctx, number);
	return d ? tw_programs_add(v->programs, d) : 0;
}

/* ---- the face ---- */

struct tw_verify *tw_verify_new(const struct tw_xstate *xstate, const struct tw_descriptor *(*lookup)(void *ctx, uint32_t number), void *ctx)
{
	struct tw_verify *v = calloc(1, sizeof *v);
	if (!v)
		return NULL;
	v->lookup = lookup;
	v->ctx = ctx;
	v->xstate = *xstate;
	v->programs = tw_programs_new();
	struct tw_walk_options options = {
		.programs = v->programs,
		.xstate = &v->xstate,
		.missing = add_program,
		.batch = take_batch,
		.context = v,
	};
	v->walk = v->programs ? tw_walk_new(&options) : NULL;
	if (!v->walk) {
		tw_verify_free(v);
		return NULL;
	}
	return v;
}

void tw_verify_free(struct tw_verify *v)
{
	if (!v)
		return;
	tw_walk_free(v->walk);
	tw_programs_free(v->programs);
	free(v->found.items);
	free(v->expected.items);
	free(v);
}

int tw_verify_chunk(struct tw_verify *v, const struct tw_chunk *chunk)
{
	struct mismatch *m = &v->mismatch;
	if (m->what)
		return 1;
	v->pending = v->next_partial = 0;
	v->found.n = v->expected.n = 0;
	v->descriptor = NULL;
	v->n_logs = 0;
	m->thread = chunk->thread;
	int error = tw_walk_chunk(v->walk, chunk, NULL);
	if (!error)
		error = finish_fragment(v);
	if (error < 0) {
		m->what = DIFF_REPLAY;
		snprintf(m->text, sizeof m->text, "%s (%s)", tw_error_text(error), tw_recording_detail());
	}
	return error != 0;
}

/* ---- the report ---- */

static void print_ref(FILE *out, const char *title, const struct tw_ref *r, const char *none)
{
	static const char *const types[] = {"?", "read", "write", "modify"};
	if (!r->size)
		fprintf(out, "  %-9s %s\n", title, none);
	else
		fprintf(out, "  %-9s %s of %u bytes at %llx by instruction %u of the fragment\n", title, types[r->type & 3], r->size,
		        (unsigned long long)r->addr, r->insn);
}

static void print_place(FILE *out, const struct mismatch *m)
{
	char text[128];
	if (!m->descriptor)
		return;
	uint64_t pc = tw_disassemble(m->descriptor, m->insn, text, sizeof text);
	fprintf(out, "  at        %llx: %s  (fragment %u, first instruction at %llx)\n", (unsigned long long)pc, text, m->descriptor->number,
	        (unsigned long long)tw_descriptor_blocks(m->descriptor)->pc);
}

static void print_mismatch(FILE *out, const struct mismatch *m)
{
	fprintf(out, "verify: mismatch in thread %u at reference %llu\n", m->thread, (unsigned long long)m->index);
	print_place(out, m);
	switch (m->what) {
	case DIFF_REFERENCE:
		print_ref(out, "expected:", &m->expected, "no reference");
		print_ref(out, "found:", &m->found, "no reference");
		break;
	case DIFF_CODE:
		fprintf(out, "  expected: the code at %llx to run\n  found:    that of the fragment above\n", (unsigned long long)m->logged_pc);
		break;
	case DIFF_NO_LOG:
		fprintf(out, "  expected: no execution of this fragment, none was logged\n  found:    an execution\n");
		break;
	case DIFF_STRAY_LOG:
		fprintf(out, "  expected: the code at %llx to run\n  found:    no fragment\n", (unsigned long long)m->logged_pc);
		break;
	default:
		break;
	}
}

void tw_verify_report(struct tw_verify *v, FILE *out)
{
	const struct mismatch *m = &v->mismatch;
	if (m->what == DIFF_NONE)
		fprintf(out, "verify: %llu blocks and %llu references compared, all equal\n", (unsigned long long)v->blocks,
		        (unsigned long long)v->n_refs);
	else if (m->what == DIFF_REPLAY)
		fprintf(out, "verify: thread %u does not replay: %s\n", m->thread, m->text);
	else
		print_mismatch(out, m);
}
