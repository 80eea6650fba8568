/* Block profiles of recordings: the analyzer that feeds a flow. */
#include "analyze/profile.h"
#include "analyze/lackey.h"
#include "recording/recording.h"
#include "replay/piece.h"

#include <stdlib.h>
#include <string.h>

/* What a block of a fragment needs for its instructions to be stepped through. */
enum manner {
	WHOLE,  /* at once: they have been chained */
	SINGLY, /* one by one: elsewhere, another instruction was found behind one of them */
	REPEATS /* one by one, and some repeat themselves */
};

struct block {
	uint16_t known; /* instructions that have nodes so far: those that ran */
	uint8_t manner; /* enum manner */
};

/* A fragment, as far as it has been executed. */
struct code {
	const struct tw_descriptor *descriptor;
	const struct tw_lackey_insn *insns;
	uint32_t *nodes; /* for each instruction */
	struct block blocks[];
};

struct shared {
	const struct tw_recording *recording;
	struct tw_lackey *lackey;
	uint32_t *image; /* for each thread */
	struct tw_profile_image *images;
	uint32_t n_images;
	int count_refs;
	struct tw_profile *out;
};

struct state {
	struct tw_flow flow;
	struct shared *shared;
	int any;  /* a batch has been seen */
	int seen; /* a block has been seen */
	int cut;  /* what came before the first block was not recorded, or belongs to another thread */
	uint32_t first_thread, thread;
	uint64_t first_insn; /* instructions of first_thread before this state */
	uint64_t next_insn;  /* instructions of `thread` up to now */
	uint32_t image;
	struct tw_pieces pieces;
	struct code **row[65536]; /* by a fragment's number, its upper half first */
};

/* ---- images ---- */

/* The newest program of process `pid` when thread number n began, by its number as an image; n if there was none. */
static uint32_t image_before(const struct tw_recording *r, const uint32_t *image, size_t n, uint32_t pid)
{
	for (size_t i = n; i-- > 0;)
		if (tw_recording_thread(r, i)->pid == pid)
			return image[i];
	return TW_NO_INDEX;
}

/* A thread runs in the image of its process, the first of a forked process in that of the process it was forked from. The first thread of
 * a process that was there before is what execve made of it. */
static uint32_t find_image(const struct tw_recording *r, const uint32_t *image, size_t n)
{
	const struct tw_thread_info *t = tw_recording_thread(r, n);
	uint32_t own = image_before(r, image, n, t->pid);
	if (t->tid != t->pid)
		return own;
	return own == TW_NO_INDEX ? image_before(r, image, n, t->parent_pid) : TW_NO_INDEX;
}

/* Finds the image of each thread; returns how many there are, at least 1, or 0 for no memory. The caller frees both arrays in any case. */
static uint32_t find_images(const struct tw_recording *r, uint32_t **image, struct tw_profile_image **images)
{
	uint32_t n_images = 0;
	size_t n = tw_recording_n_threads(r);
	*image = calloc(n + 1, sizeof **image);
	*images = calloc(n + 1, sizeof **images);
	if (!*image || !*images)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct tw_thread_info *t = tw_recording_thread(r, i);
		(*image)[i] = find_image(r, *image, i);
		if ((*image)[i] != TW_NO_INDEX)
			continue;
		(*images)[n_images] = (struct tw_profile_image){t->pid, t->serial};
		(*image)[i] = n_images++;
	}
	return n_images ? n_images : 1;
}

uint32_t tw_profile_image_of_thread(const struct tw_recording *r, size_t thread)
{
	uint32_t *image, result = TW_NO_INDEX;
	struct tw_profile_image *images;
	if (find_images(r, &image, &images))
		result = image[thread];
	free(image);
	free(images);
	return result;
}

/* ---- code ---- */

static uint8_t first_manner(const struct tw_lackey_insn *insns, const struct tw_block *b)
{
	for (unsigned i = b->first_insn; i < (unsigned)b->first_insn + b->n_insns; i++)
		if (insns[i].flags & TW_LACKEY_REPEATED)
			return REPEATS;
	return WHOLE;
}

static struct code *new_code(struct state *s, const struct tw_descriptor *d)
{
	struct code ***row = &s->row[d->number >> 16];
	if (!*row)
		*row = calloc(65536, sizeof **row);
	if (!*row)
		return NULL;
	size_t head = (sizeof(struct code) + d->n_blocks * sizeof(struct block) + 3) & ~(size_t)3;
	struct code *c = calloc(1, head + d->n_insns * sizeof *c->nodes);
	if (!c)
		return NULL;
	c->descriptor = d;
	c->nodes = (uint32_t *)((char *)c + head);
	c->insns = tw_lackey_insns(s->shared->lackey, d);
	for (unsigned k = 0; k < d->n_blocks; k++)
		c->blocks[k].manner = first_manner(c->insns, &tw_descriptor_blocks(d)[k]);
	return (*row)[d->number & 0xffff] = c;
}

static inline struct code *code_of(struct state *s, const struct tw_descriptor *d)
{
	struct code **row = s->row[d->number >> 16];
	struct code *c = row ? row[d->number & 0xffff] : NULL;
	return c ? c : new_code(s, d);
}

/* Makes nodes for instructions `from` to `to` - 1 of the fragment, which are part of one block, and chains them. */
static void learn(struct state *s, struct code *c, unsigned block, unsigned to)
{
	const struct tw_block *b = &tw_descriptor_blocks(c->descriptor)[block];
	const uint8_t *bytes = tw_descriptor_insn_bytes(c->descriptor);
	uint64_t pc = b->pc;
	for (unsigned i = b->first_insn; i < to; pc += bytes[i++]) {
		if (c->nodes[i])
			continue;
		c->nodes[i] = tw_flow_node(&s->flow, s->image, pc, bytes[i]);
		if (!c->nodes[i])
			return;
		int is_last = i + 1u == (unsigned)b->first_insn + b->n_insns;
		s->flow.nodes[c->nodes[i]].end = is_last || b->end == TW_END_UNKNOWN ? b->end : TW_END_FALL;
		if (i > b->first_insn && !tw_flow_chain(&s->flow, c->nodes[i - 1], c->nodes[i]) && c->blocks[block].manner == WHOLE)
			c->blocks[block].manner = SINGLY;
	}
	c->blocks[block].known = (uint16_t)(to - b->first_insn);
}

/* ---- blocks ---- */

static void count_refs(struct state *s, const struct code *c, const struct tw_ref *ref, const struct tw_ref *end)
{
	for (; ref < end; ref++) {
		struct tw_flow_node *n = &s->flow.nodes[c->nodes[ref->insn]];
		n->reads += ref->type & TW_READ;
		n->writes += ref->type >> 1;
	}
}

/* Takes the references of one instruction off *ref; returns how many iterations of it they are. */
static uint64_t take_iterations(const struct tw_lackey_insn *insn, const struct tw_ref **ref, const struct tw_ref *end)
{
	unsigned number = (*ref)->insn;
	uint64_t n = 0;
	for (; *ref < end && (*ref)->insn == number; ++*ref)
		n++;
	return insn->flags & TW_LACKEY_PAIRS ? (n + 1) / 2 : n;
}

/* Executes one instruction, and again as often as its iterations have it (src/analyze/lackey.h). */
static void step_insn(struct state *s, const struct code *c, unsigned insn, uint64_t iterations)
{
	uint8_t flags = c->insns[insn].flags;
	tw_flow_step(&s->flow, c->nodes[insn], c->nodes[insn]);
	if (!(flags & TW_LACKEY_REPEATED) || !iterations)
		return;
	tw_flow_repeat(&s->flow, flags & TW_LACKEY_UNTIL ? iterations - 1 : iterations);
}

/* Executes a piece of block number k one by one: first what the instruction before it still makes, then the instructions, then the iterations of one
 * that did not come to its end. */
static void step_piece(struct state *s, struct code *c, unsigned k, struct tw_piece piece, const struct tw_ref *ref,
                       const struct tw_ref *end)
{
	while (ref < end && ref->insn < piece.first) {
		unsigned insn = ref->insn;
		uint64_t n = take_iterations(&c->insns[insn], &ref, end);
		if (c->insns[insn].flags & TW_LACKEY_REPEATED && s->flow.last)
			tw_flow_repeat(&s->flow, n);
	}
	for (unsigned i = piece.first; i < piece.end; i++) {
		uint64_t n = ref < end && ref->insn == i ? take_iterations(&c->insns[i], &ref, end) : 0;
		step_insn(s, c, i, n);
	}
	while (ref < end) {
		unsigned insn = ref->insn;
		uint64_t n = take_iterations(&c->insns[insn], &ref, end);
		learn(s, c, k, insn + 1);
		tw_flow_step(&s->flow, c->nodes[insn], c->nodes[insn]);
		tw_flow_repeat(&s->flow, n - 1);
	}
}

static void take_block(struct state *s, const struct tw_batch *b, size_t i)
{
	const struct tw_block_run *run = tw_batch_blocks(b) + i;
	const struct tw_block *block = &tw_descriptor_blocks(run->descriptor)[run->block];
	size_t end = i + 1 < b->n_blocks ? run[1].first_ref : b->n_refs;
	struct code *c = code_of(s, run->descriptor);
	if (!c) {
		s->flow.failed = 1;
		return;
	}
	if (run->n_insns > c->blocks[run->block].known)
		learn(s, c, run->block, block->first_insn + run->n_insns);
	if (c->blocks[run->block].manner == WHOLE && run->n_insns == block->n_insns && !(b->continues && i + 1 == b->n_blocks))
		tw_flow_step(&s->flow, c->nodes[block->first_insn], c->nodes[block->first_insn + block->n_insns - 1]);
	else
		step_piece(s, c, run->block, tw_piece_of(&s->pieces, b, i, s->next_insn), tw_batch_refs(b) + run->first_ref,
		           tw_batch_refs(b) + end);
	if (s->shared->count_refs)
		count_refs(s, c, tw_batch_refs(b) + run->first_ref, tw_batch_refs(b) + end);
	s->next_insn += run->n_insns;
}

/* ---- the analyzer ---- */

static void free_state(struct state *s)
{
	for (int i = 0; i < 65536; i++) {
		for (int k = 0; s->row[i] && k < 65536; k++)
			free(s->row[i][k]);
		free(s->row[i]);
	}
	tw_flow_fini(&s->flow);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (s && tw_flow_init(&s->flow)) {
		free_state(s);
		return NULL;
	}
	if (s)
		s->shared = arg;
	return s;
}

/* What comes next does not follow what came before. */
static void cut_stream(struct state *s)
{
	tw_flow_stop(&s->flow);
	s->pieces.has_rest = 0;
	s->cut |= !s->seen;
}

static void enter_thread(struct state *s, const struct tw_batch *b)
{
	if (!s->any) {
		s->first_thread = b->thread;
		s->first_insn = b->first_insn;
	} else if (b->thread != s->thread || b->first_insn != s->next_insn) {
		cut_stream(s);
	}
	s->any = 1;
	s->thread = b->thread;
	s->next_insn = b->first_insn;
	s->image = s->shared->image[tw_recording_find_thread(s->shared->recording, b->thread)];
}

static void take_blocks(struct state *s, const struct tw_batch *b, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		take_block(s, b, i);
	s->seen |= to > from;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	size_t done = 0;
	if (!s->any || b->thread != s->thread || b->first_insn != s->next_insn)
		enter_thread(s, b);
	for (size_t i = 0; i < b->n_events; i++) {
		if (b->events[i].type != TW_EVENT_GAP)
			continue;
		take_blocks(s, b, done, b->events[i].block);
		done = b->events[i].block;
		cut_stream(s);
	}
	take_blocks(s, b, done, b->n_blocks);
	return s->flow.failed ? tw_fail(TW_ERR_MEMORY, "profile") : 0;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int continues = !from->cut && s->any && from->first_thread == s->thread && from->first_insn == s->next_insn;
	tw_flow_merge(&s->flow, &from->flow, continues);
	if (!s->any) {
		s->first_thread = from->first_thread;
		s->first_insn = from->first_insn;
	}
	if (from->any) {
		s->cut |= !s->seen && (from->cut || (s->any && !continues));
		s->seen |= from->seen;
		s->any = 1;
		s->thread = from->thread;
		s->next_insn = from->next_insn;
	}
	free_state(from);
	return s->flow.failed ? tw_fail(TW_ERR_MEMORY, "profile") : 0;
}

static int end(void *state, int error)
{
	struct state *s = state;
	if (!error) {
		error = tw_flow_profile(&s->flow, s->shared->images, s->shared->n_images, s->shared->out);
		s->shared->images = NULL;
	}
	free_state(s);
	return error;
}

/* ---- the face ---- */

static int prepare(struct shared *s)
{
	s->n_images = find_images(s->recording, &s->image, &s->images);
	s->lackey = tw_lackey_new(s->recording);
	return s->n_images && s->lackey ? 0 : tw_fail(TW_ERR_MEMORY, "profile");
}

int tw_profile_recording(const struct tw_recording *r, const struct tw_profile_options *options, struct tw_profile *out)
{
	static const struct tw_analyzer analyzer = {.name = "profile", .begin = begin, .batch = batch, .merge = merge, .end = end};
	static const struct tw_profile_options defaults;
	const struct tw_profile_options *o = options ? options : &defaults;
	struct tw_replay_options replay = o->replay;
	struct shared s = {.recording = r, .count_refs = o->count_refs, .out = out};
	*out = (struct tw_profile){0};
	replay.grain = 0;
	int error = prepare(&s);
	if (!error)
		error = o->run ? o->run(o->run_context, r, &replay, &analyzer, &s) : tw_replay(r, &replay, &analyzer, &s);
	tw_lackey_free(s.lackey);
	free(s.image);
	free(s.images);
	return error;
}
