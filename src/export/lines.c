#include "export/lines.h"
#include "analyze/crash.h"
#include "analyze/lackey.h"
#include "export/lines_state.h"
#include "recording/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/event.h>

enum { LONGEST = 96 }; /* bytes of a line, or of the lines of one reference */

const char *tw_end_name(unsigned end)
{
	static const char *const names[TW_NENDS] = {
	    [TW_END_FALL] = "fall",       [TW_END_JUMP] = "jump",       [TW_END_COND] = "cond",   [TW_END_CALL] = "call",
	    [TW_END_RETURN] = "return",   [TW_END_IJUMP] = "ijump",     [TW_END_ICALL] = "icall", [TW_END_TRAP] = "trap",
	    [TW_END_SYSCALL] = "syscall", [TW_END_UNKNOWN] = "unknown",
	};
	return end < TW_NENDS ? names[end] : "?";
}

/* ---- one line ---- */

static char *put_ref(char *p, unsigned thread, const struct tw_ref *ref, char type)
{
	p = tw_put_decimal(p, thread);
	*p++ = ' ';
	p = tw_put_hex(p, ref->pc, 1);
	*p++ = ' ';
	*p++ = type;
	*p++ = ' ';
	p = tw_put_hex(p, ref->addr, 1);
	*p++ = ' ';
	p = tw_put_decimal(p, ref->size);
	*p++ = '\n';
	return p;
}

static char *put_block(char *p, unsigned thread, const struct tw_block_run *run)
{
	const struct tw_block *b = tw_descriptor_blocks(run->descriptor) + run->block;
	const char *ending = run->n_insns < b->n_insns ? "stopped" : tw_end_name(b->end);
	size_t n = strlen(ending);
	p = tw_put_decimal(p, thread);
	*p++ = ' ';
	p = tw_put_hex(p, run->pc, 1);
	*p++ = ' ';
	p = tw_put_decimal(p, run->n_insns);
	*p++ = ' ';
	memcpy(p, ending, n);
	p += n;
	*p++ = '\n';
	return p;
}

static char *put_access(char *p, char type, const struct tw_ref *ref)
{
	*p++ = ' ';
	*p++ = type;
	*p++ = ' ';
	p = tw_put_hex(p, ref->addr, 8);
	*p++ = ',';
	p = tw_put_decimal(p, ref->size);
	*p++ = '\n';
	return p;
}

/* ---- batches ---- */

/* Where the wanted items begin and end in an array that starts with item `first`. */
struct span {
	size_t begin, end;
};

static struct span wanted(const struct tw_lines_state *s, uint64_t first, size_t n)
{
	uint64_t from = s->from, end = s->shared->end;
	struct span span = {0, n};
	if (from > first)
		span.begin = from - first < n ? (size_t)(from - first) : n;
	if (end < first + n)
		span.end = end > first ? (size_t)(end - first) : 0;
	return span;
}

static void put_some_refs(struct tw_lines_state *s, const struct tw_batch *b, struct span span)
{
	char *start = span.end > span.begin ? tw_text_room(&s->text, (span.end - span.begin) * LONGEST) : NULL, *p = start;
	const struct tw_ref *refs = start ? tw_batch_refs(b) : NULL;
	for (size_t i = span.begin; start && i < span.end; i++)
		p = put_ref(p, b->thread, &refs[i], "?RWM"[refs[i].type & 3]);
	s->text.n += (size_t)(p - start);
}

static void put_undone(struct tw_lines_state *s, const struct tw_batch *b, const struct tw_event *e)
{
	const struct tw_fault *f = e->payload;
	const struct tw_descriptor *d = e->block ? tw_batch_blocks(b)[e->block - 1].descriptor : NULL;
	const struct tw_undone undone = tw_crash_access(s->shared->recording, d, f);
	struct tw_ref ref = {.pc = f->pc, .addr = undone.address, .size = undone.size, .type = undone.type};
	char *start = tw_crash_is_access(f, &undone) ? tw_text_room(&s->text, LONGEST) : NULL;
	if (!start)
		return;
	char *p = put_ref(start, b->thread, &ref, f->access == TW_ACCESS_EXECUTE ? 'X' : "?RWM"[undone.type & 3]) - 1;
	p = stpcpy(p, " faulted\n");
	s->text.n += (size_t)(p - start);
}

/* Before which of the batch's references an event stands. */
static size_t ref_of(const struct tw_batch *b, const struct tw_event *e)
{
	return e->block < b->n_blocks ? tw_batch_blocks(b)[e->block].first_ref : b->n_refs;
}

static void put_refs(struct tw_lines_state *s, const struct tw_batch *b, uint64_t base)
{
	struct span span = wanted(s, base + b->first_ref, b->n_refs);
	for (size_t i = 0; i < b->n_events; i++) {
		if (b->events[i].type != TW_EVENT_FAULT)
			continue;
		size_t at = ref_of(b, &b->events[i]);
		if (at >= span.begin && at <= span.end) {
			put_some_refs(s, b, (struct span){span.begin, at});
			span.begin = at;
		}
		if (tw_lines_visible(s, base + b->first_ref + at))
			put_undone(s, b, &b->events[i]);
	}
	put_some_refs(s, b, span);
}

static void put_blocks(struct tw_lines_state *s, const struct tw_batch *b, uint64_t base)
{
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	uint64_t position = base + b->first_block;
	char *start = tw_text_room(&s->text, b->n_blocks * LONGEST), *p = start;
	for (size_t i = 0; start && i < b->n_blocks; i++) {
		if (!blocks[i].n_insns)
			continue;
		if (tw_lines_visible(s, position))
			p = put_block(p, b->thread, &blocks[i]);
		position++;
	}
	s->text.n += (size_t)(p - start);
}

static char *put_line(char *p, const struct tw_lackey_insn *insn)
{
	memcpy(p, insn->line, sizeof insn->line);
	return p + insn->length;
}

static char *put_lackey_ref(char *p, const struct tw_lackey_insn *insn, const struct tw_ref *ref)
{
	if (insn->flags & TW_LACKEY_LOCKED && ref->type == TW_MODIFY)
		p = put_access(p, 'L', ref);
	return put_access(p, "?LSM"[ref->type & 3], ref);
}

/* How an instruction comes to make references. */
enum manner {
	FRESH,      /* its I line has just been printed */
	CONTINUED,  /* it has made iterations in an earlier batch */
	INTERRUPTED /* it did not complete, and has no I line yet */
};

/* The references of one instruction from *ref on. */
static char *put_accesses(char *p, const struct tw_lackey_insn *insn, const struct tw_ref **ref, const struct tw_ref *end,
                          enum manner manner)
{
	const struct tw_ref *r = *ref;
	unsigned number = r->insn;
	int until = insn->flags & TW_LACKEY_UNTIL, swapped = (insn->flags & TW_LACKEY_SWAPPED) != 0;
	int after = insn->flags & TW_LACKEY_REPEATED && !until && manner != INTERRUPTED;
	for (int again = manner == CONTINUED; r < end && r->insn == number; r++, again = 1) {
		int pair = insn->flags & TW_LACKEY_PAIRS && r + 1 < end && r[1].insn == number;
		if (manner == INTERRUPTED || (until && again))
			p = put_line(p, insn);
		p = put_lackey_ref(p, insn, r + (pair && swapped));
		if (pair)
			p = put_lackey_ref(p, insn, r + !swapped);
		if (after)
			p = put_line(p, insn);
		r += pair;
	}
	*ref = r;
	return p;
}

/* All references of *ref's instruction, printed only if its position is wanted. */
static char *put_insn_refs(const struct tw_lines_state *s, char *p, const struct tw_lackey_insn *insns, const struct tw_ref **ref,
                           const struct tw_ref *end, enum manner manner, uint64_t position)
{
	unsigned number = (*ref)->insn;
	if (tw_lines_visible(s, position))
		return put_accesses(p, &insns[number], ref, end, manner);
	while (*ref < end && (*ref)->insn == number)
		++*ref;
	return p;
}

/*
 * Instructions with their references: first those that the instruction before the piece still makes, last those of an
 * interrupted instruction.
 */
static char *put_piece(const struct tw_lines_state *s, char *p, const struct tw_lackey_insn *insns, const struct tw_piece *piece,
                       const struct tw_ref *ref, const struct tw_ref *end)
{
	uint64_t position = piece->position;
	while (ref < end && ref->insn < piece->first)
		p = put_insn_refs(s, p, insns, &ref, end, CONTINUED, position - 1);
	for (unsigned i = piece->first; i < piece->end; i++, position++) {
		if (tw_lines_visible(s, position))
			p = put_line(p, &insns[i]);
		if (ref < end && ref->insn == i)
			p = put_insn_refs(s, p, insns, &ref, end, FRESH, position);
	}
	while (ref < end)
		p = put_insn_refs(s, p, insns, &ref, end, INTERRUPTED, position);
	return p;
}

static void put_lackey(struct tw_lines_state *s, const struct tw_batch *b, uint64_t base)
{
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	const struct tw_ref *refs = tw_batch_refs(b);
	uint64_t position = base + b->first_insn;
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct tw_block_run *run = &blocks[i];
		size_t end = i + 1 < b->n_blocks ? run[1].first_ref : b->n_refs;
		struct tw_piece piece = tw_piece_of(&s->pieces, b, i, position);
		char *start = tw_text_room(&s->text, (piece.end - piece.first + end - run->first_ref + 2) * LONGEST);
		if (!start)
			return;
		const struct tw_lackey_insn *insns = tw_lackey_insns(s->shared->lackey, run->descriptor);
		s->text.n += (size_t)(put_piece(s, start, insns, &piece, refs + run->first_ref, refs + end) - start);
		position += run->n_insns;
	}
}

/* ---- the analyzer ---- */

static int result_of(struct tw_lines_state *s)
{
	if (s->text.error)
		__atomic_store_n(&s->shared->write_error, s->text.error, __ATOMIC_RELAXED);
	return s->text.error ? TW_LINES_WRITE : 0;
}

static void *begin(void *arg)
{
	struct tw_lines_shared *shared = arg;
	struct tw_lines_state *s = malloc(sizeof *s);
	if (!s)
		return NULL;
	*s = (struct tw_lines_state){.shared = shared};
	tw_text_init(&s->text, shared->options->jobs > 1 ? -1 : shared->options->fd);
	return s;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct tw_lines_state *s = state;
	size_t thread = tw_recording_find_thread(s->shared->recording, b->thread);
	uint64_t base = s->shared->base[thread];
	s->from = s->shared->from[thread];
	switch (s->shared->options->kind) {
	case TW_LINES_REFS:
		put_refs(s, b, base);
		break;
	case TW_LINES_BLOCKS:
		put_blocks(s, b, base);
		break;
	case TW_LINES_LACKEY:
		put_lackey(s, b, base);
		break;
	case TW_LINES_CHAMPSIM:
		tw_lines_champsim(s, b, base);
		break;
	}
	return result_of(s);
}

static int merge(void *state, void *later)
{
	struct tw_lines_state *s = state, *from = later;
	int fd = s->shared->options->fd;
	tw_lines_champsim_merge(s, from);
	tw_text_flush(&s->text, fd);
	if (!s->text.error)
		tw_text_flush(&from->text, fd);
	if (from->text.error)
		s->text.error = from->text.error;
	tw_text_free(&from->text);
	free(from);
	return result_of(s);
}

static int end(void *state, int error)
{
	struct tw_lines_state *s = state;
	tw_lines_champsim_end(s);
	if (!error)
		tw_text_flush(&s->text, s->shared->options->fd);
	int result = result_of(s);
	tw_text_free(&s->text);
	free(s);
	return result;
}

/* ---- what to replay ---- */

static uint64_t items_of(const struct tw_lines_shared *s, const struct tw_chunk_info *c, uint64_t *first)
{
	switch (s->options->kind) {
	case TW_LINES_REFS:
		*first = c->first_ref;
		return c->refs;
	case TW_LINES_BLOCKS:
		*first = c->first_block;
		return c->blocks;
	default:
		*first = c->first_insn;
		return c->insns;
	}
}

static int select_chunk(void *context, size_t thread, size_t chunk)
{
	const struct tw_lines_shared *s = context;
	const struct tw_thread_info *t = tw_recording_thread(s->recording, thread);
	uint64_t first, n = items_of(s, tw_recording_chunk_info(s->recording, thread, chunk), &first);
	if (s->options->one_thread >= 0 && t->serial != s->options->one_thread)
		return 0;
	if (!s->options->last && !s->options->from && s->end == UINT64_MAX)
		return 1;
	first += s->base[thread];
	const uint64_t more =
	    s->options->kind == TW_LINES_CHAMPSIM && s->end < UINT64_MAX; /* the instruction behind the last one tells where that went */
	return first + n >= s->from[thread] && first < s->end + more;
}

/* Computes the number of items of chosen threads before each thread, and where the wanted items begin. */
static int find_bases(struct tw_lines_shared *s)
{
	size_t n = tw_recording_n_threads(s->recording);
	uint64_t before = 0;
	s->base = calloc(n + 1, sizeof *s->base);
	s->from = calloc(n + 1, sizeof *s->from);
	if (!s->base || !s->from)
		return tw_fail(TW_ERR_MEMORY, "threads");
	for (size_t i = 0; i < n; i++) {
		const struct tw_thread_info *t = tw_recording_thread(s->recording, i);
		uint64_t first = 0, items = 0;
		if (s->options->one_thread >= 0 && t->serial != s->options->one_thread)
			continue;
		if (t->n_chunks)
			items = items_of(s, tw_recording_chunk_info(s->recording, i, t->n_chunks - 1), &first);
		s->base[i] = before;
		before += first + items;
		s->from[i] =
		    s->options->last ? before - (first + items < s->options->last ? first + items : s->options->last) : s->options->from;
	}
	return 0;
}

static int pass_damage(void *context, size_t thread, size_t chunk, int error)
{
	const struct tw_lines_shared *s = context;
	return s->options->damage ? s->options->damage(s->options->context, thread, chunk, error) : error;
}

int tw_lines(const struct tw_recording *r, const struct tw_lines_options *options)
{
	static const struct tw_analyzer analyzer = {.name = "lines", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct tw_lines_shared s = {.recording = r, .options = options};
	struct tw_replay_options replay = {
	    .jobs = options->jobs,
	    .grain = options->jobs > 1,
	    .select = select_chunk,
	    .damage = pass_damage,
	    .context = &s,
	};
	s.end = options->count < UINT64_MAX - options->from ? options->from + options->count : UINT64_MAX;
	int error = find_bases(&s);
	if (!error && options->kind == TW_LINES_LACKEY && !(s.lackey = tw_lackey_new(r, 1)))
		error = tw_fail(TW_ERR_MEMORY, "instructions");
	if (!error && options->kind == TW_LINES_CHAMPSIM && !(s.champsim = tw_champsim_new(r)))
		error = tw_fail(TW_ERR_MEMORY, "instructions");
	if (!error)
		error = tw_replay(r, &replay, &analyzer, &s);
	tw_lackey_free(s.lackey);
	tw_champsim_free(s.champsim);
	free(s.base);
	free(s.from);
	errno = s.write_error;
	return error;
}
