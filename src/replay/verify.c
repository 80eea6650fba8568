#include "replay/verify.h"
#include "recording/logged.h"
#include "recording/recording.h"
#include "replay/disassemble.h"
#include "replay/walk.h"

#include <stdlib.h>
#include <string.h>

/*
 * Maximum number of kept programs; beyond that all of them are discarded and remade on demand: in a recording of many
 * programs, most have ended.
 */
enum { MOST_PROGRAMS = 1 << 18 };

/* What a difference is about; `none` while there is none. */
enum difference { DIFF_NONE, DIFF_REFERENCE, DIFF_CODE, DIFF_NO_LOG, DIFF_STRAY_LOG, DIFF_REPLAY };

struct mismatch {
	enum difference what;
	uint32_t thread;
	uint64_t index;                   /* of the reference in the thread; DIFF_CODE, DIFF_NO_LOG: of the next one */
	struct tw_descriptor *descriptor; /* a copy of that of the fragment replay ran; NULL: none */
	uint64_t logged_pc;               /* of the fragment the log speaks of */
	unsigned insn;
	struct tw_ref expected, found; /* size 0: there is none */
	char text[512];                /* DIFF_REPLAY */
};

struct tw_verify {
	const struct tw_descriptor *(*lookup)(void *ctx, uint32_t number);
	void *ctx;
	struct tw_xstate xstate;
	struct tw_programs *programs;
	uint32_t n_programs;
	struct tw_walk *walk;
	uint64_t blocks, n_refs;
	struct mismatch mismatch;
	/* The chunk, and how far its REFS events have been taken. */
	const struct tw_chunk *chunk;
	size_t at;
	/* The fragment being compared. */
	int open;
	const struct tw_descriptor *descriptor; /* NULL: nothing of it was replayed so far */
	const struct tw_refs *log;
	struct tw_logged logged;         /* what is left of the log */
	uint64_t index;                  /* of the next reference in the thread */
	int partial, next_partial;       /* it, the next one, stopped early... */
	struct tw_partial how, next_how; /* ...like this */
};

/* The recorder's descriptors do not stay. NULL also if there is no memory. */
static struct tw_descriptor *copy_descriptor(const struct tw_descriptor *d)
{
	struct tw_descriptor *copy = d ? malloc(d->bytes) : NULL;
	return copy ? memcpy(copy, d, d->bytes) : NULL;
}

static int differ(struct tw_verify *v, enum difference what, const struct tw_ref *expected, const struct tw_ref *found)
{
	struct mismatch *m = &v->mismatch;
	const struct tw_ref none = {0};
	m->what = what;
	m->index = v->index;
	m->descriptor = copy_descriptor(v->descriptor);
	m->logged_pc = v->log ? v->log->pc : 0;
	m->expected = expected ? *expected : none;
	m->found = found ? *found : none;
	m->insn = expected ? expected->insn : found ? found->insn : 0;
	return 1;
}

/* ---- the log ---- */

/* The chunk's next REFS event, or NULL. */
static const struct tw_refs *next_log(struct tw_verify *v)
{
	const struct tw_chunk *c = v->chunk;
	for (const struct tw_event_header *h; (h = tw_event_next(c->e, c->n_e, &v->at));)
		if (h->type == TW_EVENT_REFS)
			return (const struct tw_refs *)(h + 1);
	return NULL;
}

/* For an interrupted instruction the log has what it did before it stopped, replay only whole iterations: neither counts. */
static int counts(const struct tw_verify *v, unsigned insn)
{
	return !v->partial || insn < v->how.insns;
}

/* The log's next reference that counts; 0 at its end. */
static int next_expected(struct tw_verify *v, struct tw_ref *ref)
{
	struct tw_logged_ref l;
	while (tw_logged_next(&v->logged, &l) > 0) {
		*ref = (struct tw_ref){.addr = l.addr, .size = l.size, .insn = l.insn, .type = l.type};
		if (counts(v, l.insn))
			return 1;
	}
	return 0;
}

/* ---- fragments ---- */

static int finish_fragment(struct tw_verify *v)
{
	struct tw_ref expected;
	int more = v->open && next_expected(v, &expected);
	v->open = 0;
	return more ? differ(v, DIFF_REFERENCE, &expected, NULL) : 0;
}

/* A fragment begins to run; `d` is NULL if nothing of it ran. */
static int start_fragment(struct tw_verify *v, const struct tw_descriptor *d)
{
	int error = finish_fragment(v);
	if (error)
		return error;
	v->open = 1;
	v->descriptor = d;
	v->partial = v->next_partial;
	v->how = v->next_how;
	v->next_partial = 0;
	v->log = next_log(v);
	if (!v->log)
		return differ(v, DIFF_NO_LOG, NULL, NULL);
	tw_logged_begin(&v->logged, v->log + 1, v->log->n * sizeof(struct tw_logged_ref));
	return d && tw_descriptor_blocks(d)->pc != v->log->pc ? differ(v, DIFF_CODE, NULL, NULL) : 0;
}

static int compare(struct tw_verify *v, const struct tw_ref *found)
{
	struct tw_ref expected;
	if (!counts(v, found->insn))
		return 0;
	if (!next_expected(v, &expected))
		return differ(v, DIFF_REFERENCE, NULL, found);
	int same =
	    found->insn == expected.insn && found->addr == expected.addr && found->size == expected.size && found->type == expected.type;
	v->n_refs++;
	return same ? 0 : differ(v, DIFF_REFERENCE, &expected, found);
}

/* Most references: compares as many of the n as are simply equal to the next ones in the log, and returns how many. */
static size_t pass_equal(struct tw_verify *v, const struct tw_ref *found, size_t n)
{
	struct tw_logged *l = &v->logged;
	size_t logged = (size_t)(l->end - l->at) / sizeof(struct tw_logged_ref), k = 0;
	if (l->left || v->partial)
		return 0;
	for (n = n < logged ? n : logged; k < n; k++) {
		struct tw_logged_ref e;
		memcpy(&e, l->at + k * sizeof e, sizeof e);
		if (e.count != 1 || e.addr != found[k].addr || e.size != found[k].size || e.type != found[k].type ||
		    e.insn != found[k].insn)
			break;
	}
	l->at += k * sizeof(struct tw_logged_ref);
	v->n_refs += k;
	return k;
}

/* ---- taking a batch apart ---- */

/* The log of the fragment that ran last stands here. */
static int take_log(struct tw_verify *v, const struct tw_refs *log)
{
	int error = v->next_partial ? start_fragment(v, NULL) : 0;
	if (error || (v->open && v->log == log))
		return error;
	v->log = log;
	return differ(v, DIFF_STRAY_LOG, NULL, NULL);
}

static int take_event(struct tw_verify *v, const struct tw_event *e)
{
	if (e->type == TW_EVENT_REFS)
		return take_log(v, e->payload);
	if (e->type != TW_EVENT_PARTIAL)
		return 0;
	memcpy(&v->next_how, e->payload, sizeof v->next_how);
	v->next_partial = 1;
	return finish_fragment(v);
}

static int take_block(struct tw_verify *v, const struct tw_batch *b, size_t i)
{
	const struct tw_block_run *block = tw_batch_blocks(b) + i;
	const struct tw_ref *refs = tw_batch_refs(b);
	size_t end = i + 1 < b->n_blocks ? block[1].first_ref : b->n_refs;
	v->index = b->first_ref + block->first_ref;
	int error = v->next_partial || (block->n_insns && !block->block) ? start_fragment(v, block->descriptor) : 0;
	v->blocks += block->n_insns != 0;
	size_t r = block->first_ref;
	r += error ? 0 : pass_equal(v, &refs[r], end - r);
	for (v->index += r - block->first_ref; r < end && !error; r++, v->index++)
		error = compare(v, &refs[r]);
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
	v->n_programs++;
	return d ? tw_programs_add(v->programs, d) : 0;
}

static int start_walk(struct tw_verify *v)
{
	v->programs = tw_programs_new(TW_PROGRAMS_HOT, NULL);
	v->n_programs = 0;
	struct tw_walk_options options = {
	    .programs = v->programs,
	    .xstate = &v->xstate,
	    .missing = add_program,
	    .batch = take_batch,
	    .context = v,
	};
	v->walk = v->programs ? tw_walk_new(&options) : NULL;
	return v->walk ? TW_OK : tw_fail(TW_ERR_MEMORY, "replay");
}

static void end_walk(struct tw_verify *v)
{
	tw_walk_free(v->walk);
	tw_programs_free(v->programs);
	v->walk = NULL;
	v->programs = NULL;
}

/* Between chunks. */
static int drop_programs(struct tw_verify *v)
{
	if (v->n_programs < MOST_PROGRAMS)
		return v->walk ? TW_OK : TW_ERR_MEMORY;
	end_walk(v);
	return start_walk(v);
}

/* ---- the face ---- */

struct tw_verify *tw_verify_new(const struct tw_xstate *xstate, const struct tw_descriptor *(*lookup)(void *ctx, uint32_t number),
                                void *ctx)
{
	struct tw_verify *v = calloc(1, sizeof *v);
	if (!v)
		return NULL;
	v->lookup = lookup;
	v->ctx = ctx;
	v->xstate = *xstate;
	if (start_walk(v)) {
		tw_verify_free(v);
		return NULL;
	}
	return v;
}

void tw_verify_free(struct tw_verify *v)
{
	if (!v)
		return;
	end_walk(v);
	free(v->mismatch.descriptor);
	free(v);
}

int tw_verify_chunk(struct tw_verify *v, const struct tw_chunk *chunk)
{
	struct mismatch *m = &v->mismatch;
	if (m->what)
		return 1;
	v->open = v->next_partial = 0;
	v->descriptor = NULL;
	v->log = NULL;
	v->chunk = chunk;
	v->at = 0;
	v->index = chunk->first_ref;
	m->thread = chunk->thread;
	int error = drop_programs(v);
	if (!error)
		error = tw_walk_chunk(v->walk, chunk, NULL);
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
	fprintf(out, "  at        %llx: %s  (fragment %u, first instruction at %llx)\n", (unsigned long long)pc, text,
	        m->descriptor->number, (unsigned long long)tw_descriptor_blocks(m->descriptor)->pc);
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
		fprintf(out, "  expected: the code at %llx to run\n  found:    that of the fragment above\n",
		        (unsigned long long)m->logged_pc);
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
