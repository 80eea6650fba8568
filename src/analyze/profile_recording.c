/* Block profiles of recordings: the analyzer that feeds a flow. */
#include "analyze/batch_walk.h"
#include "analyze/by_fragment.h"
#include "analyze/flow_passes.h"
#include "analyze/lackey.h"
#include "analyze/profile.h"
#include "base/array.h"
#include "recording/recording.h"
#include "recording/slab.h"
#include "replay/kept.h"
#include "replay/piece.h"

#include <stdlib.h>
#include <string.h>

/* How a block of a fragment must be stepped through. */
enum manner {
	WHOLE,  /* at once: they have been chained */
	SINGLY, /* one by one: elsewhere, another instruction was found after one of them */
	REPEATS /* one by one, and some repeat themselves */
};

struct block {
	uint16_t known; /* instructions that have nodes so far: those that ran */
	uint8_t manner; /* enum manner */
};

/* The part of a fragment executed in the newest thread's image: processes that execute different programs may share a fragment. */
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
	size_t n_insns; /* of all code: some may have run in several fragments */
	int count_refs;
	struct tw_profile *out;
};

struct state {
	struct tw_flow flow;
	struct shared *shared;
	int any;  /* a batch has been seen */
	int seen; /* a block has been seen */
	int cut;  /* the code before the first block was not recorded, or belongs to another thread */
	uint32_t first_thread, thread;
	uint64_t first_insn; /* instructions of first_thread before this state */
	uint64_t next_insn;  /* instructions of `thread` up to now */
	uint32_t image;
	struct tw_pieces pieces;
	struct tw_flow_passes passes;
	uint32_t run; /* the flow's open run, if passes have moved it without telling the flow; 0: the flow is up to date */
	struct tw_ref_shape *gathered; /* references of one block that stand in several stretches */
	size_t gathered_room;
	struct tw_by_fragment fragments; /* struct code, in `slabs` */
	struct tw_slab *slabs;
};

/* ---- images ---- */

/* The newest program of process `pid` when thread number n began, as an image number; n if there was none. */
static uint32_t image_before(const struct tw_recording *r, const uint32_t *image, size_t n, uint32_t pid)
{
	for (size_t i = n; i-- > 0;)
		if (tw_recording_thread(r, i)->pid == pid)
			return image[i];
	return TW_NO_INDEX;
}

/*
 * A thread runs in the image of its process; the first thread of a forked process runs in its parent's. If the
 * process existed before, its first thread is the result of execve, unless its parent is the process itself: then it
 * is the work of signal handlers (trackway cc).
 */
static uint32_t find_image(const struct tw_recording *r, const uint32_t *image, size_t n)
{
	const struct tw_thread_info *t = tw_recording_thread(r, n);
	uint32_t own = image_before(r, image, n, t->pid);
	if (t->tid != t->pid || t->parent_pid == t->pid)
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
	size_t head = (sizeof(struct code) + d->n_blocks * sizeof(struct block) + 3) & ~(size_t)3;
	const size_t bytes = head + d->n_insns * sizeof(uint32_t);
	struct code *c = tw_slab_take(&s->slabs, bytes);
	if (!c || !tw_by_fragment_set(&s->fragments, d->number, c))
		return NULL;
	memset(c, 0, bytes);
	c->descriptor = d;
	c->nodes = (uint32_t *)((char *)c + head);
	c->insns = tw_lackey_insns(s->shared->lackey, d);
	for (unsigned k = 0; k < d->n_blocks; k++)
		c->blocks[k].manner = first_manner(c->insns, &tw_descriptor_blocks(d)[k]);
	return c;
}

static inline struct code *code_of(struct state *s, const struct tw_descriptor *d)
{
	struct code *c = tw_by_fragment_get(&s->fragments, d->number);
	return c ? c : new_code(s, d);
}

/* Makes nodes for instructions `from` to `to` - 1 of the fragment, which belong to one block, and chains them. */
static void learn(struct state *s, struct code *c, unsigned block, unsigned to)
{
	const struct tw_block *b = &tw_descriptor_blocks(c->descriptor)[block];
	const uint8_t *bytes = tw_descriptor_insn_bytes(c->descriptor);
	uint64_t pc = b->pc;
	for (unsigned i = b->first_insn; i < to; pc += bytes[i++]) {
		if (c->nodes[i])
			continue;
		c->nodes[i] = tw_flow_node_behind(&s->flow, i > b->first_insn ? c->nodes[i - 1] : 0, s->image, pc, bytes[i]);
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

static void count_refs(struct state *s, const struct code *c, const struct tw_ref_shape *ref, const struct tw_ref_shape *end,
                       uint64_t times)
{
	for (; ref < end; ref++) {
		struct tw_flow_node *n = &s->flow.nodes[c->nodes[ref->insn]];
		n->reads += times * (ref->type & TW_READ);
		n->writes += times * (ref->type >> 1);
	}
}

/* Removes the references of one instruction from *ref; returns its number of iterations. */
static uint64_t take_iterations(const struct tw_lackey_insn *insn, const struct tw_ref_shape **ref, const struct tw_ref_shape *end)
{
	unsigned number = (*ref)->insn;
	uint64_t n = 0;
	for (; *ref < end && (*ref)->insn == number; ++*ref)
		n++;
	return insn->flags & TW_LACKEY_PAIRS ? (n + 1) / 2 : n;
}

/* Executes one instruction, repeated according to its iterations (src/analyze/lackey.h). */
static void step_insn(struct state *s, const struct code *c, unsigned insn, uint64_t iterations)
{
	uint8_t flags = c->insns[insn].flags;
	tw_flow_step(&s->flow, c->nodes[insn], c->nodes[insn]);
	if (!(flags & TW_LACKEY_REPEATED) || !iterations)
		return;
	tw_flow_repeat(&s->flow, flags & TW_LACKEY_UNTIL ? iterations - 1 : iterations);
}

/*
 * Executes a piece of block k one by one: first what the instruction before it still does, then the instructions,
 * then the iterations of an unfinished one.
 */
static void step_piece(struct state *s, struct code *c, unsigned k, struct tw_piece piece, const struct tw_ref_shape *ref,
                       const struct tw_ref_shape *end)
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

/* A block of a batch: it is run[i], and has n references. */
struct place {
	const struct tw_block_run *run;
	const struct tw_ref_shape *refs;
	size_t n;
	size_t i;      /* of the batch's blocks */
	int continues; /* it goes on in the next batch */
};

/* The piece's references may begin before it, if it continues a block of the previous batch. */
static struct tw_piece piece_of(struct state *s, const struct tw_batch *b, const struct place *p)
{
	const unsigned first = tw_descriptor_blocks(p->run->descriptor)[p->run->block].first_insn;
	if (p->continues || (p->i == 0 && !p->run->n_insns))
		return tw_piece_of(&s->pieces, b, p->i, s->next_insn);
	return (struct tw_piece){first, first + p->run->n_insns, s->next_insn};
}

/* Returns whether it was executed at once. */
static int take_block(struct state *s, const struct tw_batch *b, const struct place *p)
{
	const struct tw_block_run *run = p->run;
	const struct tw_block *block = &tw_descriptor_blocks(run->descriptor)[run->block];
	const struct tw_ref_shape *end = p->refs + p->n;
	struct code *c = code_of(s, run->descriptor);
	if (!c) {
		s->flow.failed = 1;
		return 0;
	}
	if (run->n_insns > c->blocks[run->block].known)
		learn(s, c, run->block, block->first_insn + run->n_insns);
	int whole = c->blocks[run->block].manner == WHOLE && run->n_insns == block->n_insns && !p->continues;
	if (whole)
		tw_flow_step(&s->flow, c->nodes[block->first_insn], c->nodes[block->first_insn + block->n_insns - 1]);
	else
		step_piece(s, c, run->block, piece_of(s, b, p), p->refs, end);
	if (s->shared->count_refs)
		count_refs(s, c, p->refs, end, 1);
	s->next_insn += run->n_insns;
	return whole;
}

/* ---- stretches ---- */

/* Where a batch has come to. */
struct walk {
	struct tw_batch_walk at;
	size_t limit; /* blocks that are to run before something else happens */
};

/* The flow stands where the passes have led. */
static void tell_flow(struct state *s)
{
	if (s->run)
		tw_flow_reopen(&s->flow, s->run);
	s->run = 0;
}

/* What comes next does not follow what came before. */
static void cut_stream(struct state *s)
{
	tell_flow(s);
	tw_flow_stop(&s->flow);
	s->pieces.has_rest = 0;
	s->cut |= !s->seen;
}

/* Gaps before the next block. Returns whether there was one. */
static int cut_here(struct state *s, struct walk *w)
{
	const struct tw_event *event;
	int cut = 0;
	while ((event = tw_batch_walk_event(&w->at))) {
		if (!tw_event_breaks(event->type))
			continue;
		s->seen |= w->at.block > 0;
		cut_stream(s);
		cut = 1;
	}
	return cut;
}

/* Number of references at the start of a stretch that belong to the block before it. */
static uint32_t leading(const struct tw_stretch *t)
{
	return t->n_blocks ? t->blocks[0].first_ref : t->n_refs;
}

static int goes_on(const struct tw_batch *b, size_t stretch)
{
	return stretch + 1 < b->n_stretches && leading(b->stretches[stretch + 1]);
}

/* The references of a stretch's last block, including those in the following stretches. */
static int gather(struct state *s, const struct tw_batch *b, size_t stretch, struct place *p)
{
	const struct tw_ref_shape *from = p->refs;
	size_t n = p->n, done = 0;
	for (;;) {
		for (size_t k = 0; k < n; k++) {
			struct tw_ref_shape *gathered = tw_array_room(s->gathered, done, &s->gathered_room, sizeof *gathered);
			if (!gathered)
				return 0;
			s->gathered = gathered;
			gathered[done++] = from[k];
		}
		if (!goes_on(b, stretch))
			break;
		from = b->stretches[++stretch]->refs;
		n = leading(b->stretches[stretch]);
		if (b->stretches[stretch]->n_blocks)
			stretch = b->n_stretches; /* the last one */
	}
	p->refs = s->gathered;
	p->n = done;
	return 1;
}

/* Block by block. Returns whether all were executed at once, and nothing else happened. */
static int walk_blocks(struct state *s, struct walk *w, size_t stretch)
{
	const struct tw_batch *b = w->at.b;
	const struct tw_stretch *t = b->stretches[stretch];
	int whole = 1;
	for (uint32_t k = 0; k < t->n_blocks; k++, w->at.block++) {
		const int is_last = k + 1 == t->n_blocks;
		const uint32_t end = is_last ? t->n_refs : t->blocks[k + 1].first_ref;
		struct place p = {&t->blocks[k], t->refs + t->blocks[k].first_ref, end - t->blocks[k].first_ref, w->at.block,
		                  b->continues && w->at.block + 1 == b->n_blocks};
		whole &= !cut_here(s, w);
		if (is_last && goes_on(b, stretch) && !gather(s, b, stretch, &p))
			s->flow.failed = 1;
		s->flow.turned = 0;
		whole &= take_block(s, b, &p);
		if (s->flow.turned && !tw_flow_pass_edge(&s->passes, s->flow.turned))
			s->flow.failed = 1;
	}
	return whole;
}

/* Up to which block nothing happens but that stretches run. */
static void set_limit(struct walk *w)
{
	const struct tw_batch *b = w->at.b;
	w->limit = b->continues ? b->n_blocks - 1 : SIZE_MAX;
	if (w->at.event < b->n_events && b->events[w->at.event].block < w->limit)
		w->limit = b->events[w->at.event].block;
}

/* A stretch that has no pass for the open run yet. */
static void make_pass(struct state *s, struct walk *w, size_t stretch, struct tw_flow_passed *passed)
{
	const uint32_t run = s->run;
	tell_flow(s);
	tw_flow_pass_begin(&s->passes);
	if (!walk_blocks(s, w, stretch))
		passed->never = 1;
	else if (run && !s->flow.failed && !tw_flow_pass_add(&s->passes, passed, run, tw_flow_open_run(&s->flow)))
		s->flow.failed = 1;
}

/* By the pass in way 0. */
static inline void take_pass(struct state *s, struct walk *w, struct tw_flow_passed *passed)
{
	passed->times[0]++;
	s->run = passed->out[0];
	w->at.block += passed->n_blocks;
}

/* A stretch that was not counted at once. */
static void take_stretch(struct state *s, struct walk *w, size_t stretch)
{
	const struct tw_batch *b = w->at.b;
	const struct tw_stretch *t = b->stretches[stretch];
	cut_here(s, w);
	set_limit(w);
	struct tw_flow_passed *passed = t->number ? tw_flow_passed_know(&s->passes, t) : NULL;
	s->flow.failed |= t->number && !passed;
	if (!passed || passed->never || !t->n_blocks || w->at.block + t->n_blocks > w->limit || goes_on(b, stretch)) {
		tell_flow(s);
		tw_flow_pass_begin(&s->passes);
		walk_blocks(s, w, stretch);
	} else {
		s->run = s->run ? s->run : tw_flow_open_run(&s->flow);
		if (s->run && tw_flow_pass_find(&s->passes, passed, s->run))
			take_pass(s, w, passed);
		else
			make_pass(s, w, stretch, passed);
	}
	set_limit(w);
}

/* Counts the stretch if it is entered in a run for which it has a pass, and nothing else happens. */
static inline int take_at_once(struct state *s, struct walk *w, struct tw_flow_passed *passed, int goes_on)
{
	if (!passed || !s->run || passed->never || goes_on || w->at.block + passed->n_blocks > w->limit ||
	    !tw_flow_pass_find(&s->passes, passed, s->run))
		return 0;
	take_pass(s, w, passed);
	return 1;
}

static inline struct tw_flow_passed *passed_of(const struct state *s, const struct tw_kept_stretches *kept, const struct tw_stretch *t)
{
	const uint32_t number = tw_kept_number(kept, t);
	return number ? tw_flow_passed(&s->passes, number) : NULL;
}

static void take_stretches(struct state *s, struct walk *w)
{
	const struct tw_batch *b = w->at.b;
	enum { AHEAD = 16 };
	const struct tw_kept_stretches kept = tw_kept_stretches(b);
	struct tw_flow_passed *next = b->n_stretches ? passed_of(s, &kept, b->stretches[0]) : NULL;
	set_limit(w);
	for (size_t i = 0; i < b->n_stretches && !s->flow.failed; i++) {
		const struct tw_stretch *behind = i + 1 < b->n_stretches ? b->stretches[i + 1] : NULL;
		struct tw_flow_passed *passed = next;
		if (i + AHEAD < b->n_stretches) /* inline here: gcc omits calls of functions that do nothing else */
			__builtin_prefetch(passed_of(s, &kept, b->stretches[i + AHEAD]), 1);
		next = behind ? passed_of(s, &kept, behind) : NULL;
		const int goes_on = next && next->stretch ? next->leads : behind && leading(behind);
		if (!take_at_once(s, w, passed, goes_on))
			take_stretch(s, w, i);
	}
}

/* How often passes were taken, into the flow. */
static void settle(struct state *s)
{
	tell_flow(s);
	tw_flow_passes_collect(&s->passes);
	for (size_t i = 1; i < s->passes.n && s->shared->count_refs && !s->flow.failed; i++) {
		const struct tw_flow_pass *pass = &s->passes.items[i];
		const struct tw_stretch *t = pass->stretch;
		for (uint32_t k = 0; pass->times && k < t->n_blocks; k++) {
			const uint32_t end = k + 1 < t->n_blocks ? t->blocks[k + 1].first_ref : t->n_refs;
			count_refs(s, code_of(s, t->blocks[k].descriptor), t->refs + t->blocks[k].first_ref, t->refs + end, pass->times);
		}
	}
	tw_flow_passes_settle(&s->passes, &s->flow);
}

/* ---- the analyzer ---- */

static void free_code(struct state *s)
{
	tw_by_fragment_free(&s->fragments, NULL);
	tw_slab_free(s->slabs);
	s->slabs = NULL;
	tw_flow_passes_free(&s->passes);
}

static void free_state(struct state *s)
{
	free_code(s);
	tw_flow_fini(&s->flow);
	free(s->gathered);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (s && tw_flow_init(&s->flow, ((const struct shared *)arg)->n_insns)) {
		free_state(s);
		return NULL;
	}
	if (s)
		s->shared = arg;
	return s;
}

/* What follows runs in this image: fragments' nodes and passes belong to the previous one. */
static void enter_image(struct state *s, uint32_t image)
{
	if (s->any && image != s->image) {
		settle(s);
		free_code(s);
	}
	s->image = image;
}

static void enter_thread(struct state *s, const struct tw_batch *b)
{
	const uint32_t image = s->shared->image[tw_recording_find_thread(s->shared->recording, b->thread)];
	if (!s->any) {
		s->first_thread = b->thread;
		s->first_insn = b->first_insn;
	} else if (b->thread != s->thread || b->first_insn != s->next_insn) {
		cut_stream(s);
	}
	enter_image(s, image);
	s->any = 1;
	s->thread = b->thread;
	s->next_insn = b->first_insn;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	struct walk w = {.at = {.b = b}};
	if (!s->any || b->thread != s->thread || b->first_insn != s->next_insn)
		enter_thread(s, b);
	tw_flow_passes_expect(&s->passes, b->n_stretches);
	take_stretches(s, &w);
	cut_here(s, &w);
	s->seen |= b->n_blocks > 0;
	s->next_insn = b->first_insn + b->n_insns;
	return s->flow.failed ? tw_fail(TW_ERR_MEMORY, "profile") : 0;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int continues = !from->cut && s->any && from->first_thread == s->thread && from->first_insn == s->next_insn;
	settle(s);
	settle(from);
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
		settle(s);
		error = tw_flow_profile(&s->flow, s->shared->images, s->shared->n_images, s->shared->out);
		s->shared->images = NULL;
	}
	free_state(s);
	return error;
}

/* ---- the face ---- */

static size_t count_insns(const struct tw_recording *r)
{
	enum { MOST = 1 << 23 }; /* it grows if need be */
	size_t n = 0;
	for (size_t i = 0; i < tw_recording_n_descriptors(r); i++)
		n += tw_recording_descriptor_at(r, i)->n_insns;
	return n < MOST ? n : MOST;
}

static int prepare(struct shared *s)
{
	s->n_insns = count_insns(s->recording);
	s->n_images = find_images(s->recording, &s->image, &s->images);
	s->lackey = tw_lackey_new(s->recording, 0);
	return s->n_images && s->lackey ? 0 : tw_fail(TW_ERR_MEMORY, "profile");
}

int tw_profile_recording(const struct tw_recording *r, const struct tw_profile_options *options, struct tw_profile *out)
{
	static const struct tw_analyzer analyzer = {
	    .name = "profile", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = TW_WANTS_NO_ADDRESSES};
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
