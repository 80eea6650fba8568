#include "learn/gather.h"
#include "base/array.h"
#include "learn/module.h"
#include "names/names.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A fact by addresses of an image. */
struct seen {
	uint32_t kind, image;
	uint64_t from, to;
};

enum { LAST = 1 << 13 };

struct state {
	const struct gather *g;
	struct seen *seen;
	size_t n, room;
	uint32_t *slots;
	size_t n_slots;
	struct seen last[LAST]; /* some of what was seen of late: most comes again and again */
	/* of the thread that is replayed */
	int has_thread;
	uint32_t thread, image;
	uint64_t end;   /* behind the block that ran last; 0: what comes does not follow it */
	uint8_t end_is; /* enum tw_end */
};

struct gather {
	const struct tw_recording *recording;
	struct tw_places places;
	struct tw_names *names; /* at the end: of all that was seen */
	unsigned what;
	struct tw_facts *facts;
	/* of modules, by the number of their path among the facts' texts */
	uint32_t *module_of;
	size_t n_modules_of;
};

/* ---- what was seen ---- */

static size_t slot_of(const struct state *s, const struct seen *seen)
{
	size_t at = XXH64(seen, sizeof *seen, 0) & (s->n_slots - 1);
	while (s->slots[at] && memcmp(&s->seen[s->slots[at] - 1], seen, sizeof *seen))
		at = (at + 1) & (s->n_slots - 1);
	return at;
}

static int grow(struct state *s)
{
	enum { FIRST = 4096 };
	const size_t n = s->n_slots ? 2 * s->n_slots : FIRST;
	uint32_t *slots = calloc(n, sizeof *slots);
	if (!slots)
		return TW_ERR_MEMORY;
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	for (size_t i = 0; i < s->n; i++)
		slots[slot_of(s, &s->seen[i])] = (uint32_t)i + 1;
	return TW_OK;
}

static int see(struct state *s, const struct seen *seen)
{
	struct seen *last = &s->last[(seen->from * 0x9e3779b97f4a7c15u ^ seen->to * 0xc2b2ae3d27d4eb4fu ^ seen->kind) >> 13 & (LAST - 1)];
	if (!(s->g->what >> seen->kind & 1) || !memcmp(last, seen, sizeof *seen))
		return TW_OK;
	*last = *seen;
	if (2 * s->n >= s->n_slots && grow(s))
		return TW_ERR_MEMORY;
	const size_t at = slot_of(s, seen);
	if (s->slots[at])
		return TW_OK;
	struct seen *more = tw_array_room(s->seen, s->n, &s->room, sizeof *more);
	if (!more)
		return TW_ERR_MEMORY;
	s->seen = more;
	more[s->n] = *seen;
	s->slots[at] = (uint32_t)++s->n;
	return TW_OK;
}

/* ---- replay ---- */

static int is_branch(uint8_t end)
{
	return end == TW_END_JUMP || end == TW_END_COND || end == TW_END_CALL || end == TW_END_RETURN || end == TW_END_IJUMP ||
	       end == TW_END_ICALL;
}

/* Code went on at `to` behind a block that ended there and so. */
static int see_edge(struct state *s, uint64_t end, uint8_t end_is, uint64_t to)
{
	const int is_call = end_is == TW_END_CALL || end_is == TW_END_ICALL;
	int error = is_branch(end_is) ? see(s, &(struct seen){TW_FACT_EDGE, s->image, end, to}) : TW_OK;
	if (!error && is_call)
		error = see(s, &(struct seen){TW_FACT_CALL, s->image, end, to});
	return error;
}

static int take_block(struct state *s, const struct tw_block_run *run)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	if (!run->n_insns)
		return TW_OK;
	int error = s->end ? see_edge(s, s->end, s->end_is, run->pc) : TW_OK;
	const int whole = run->n_insns == b->n_insns;
	s->end = whole ? b->pc + b->bytes : 0;
	s->end_is = b->end;
	if (!error && whole)
		error = see(s, &(struct seen){TW_FACT_BLOCK, s->image, b->pc, s->end});
	return error;
}

/* What the bare engine told. */
static int take_learned(struct state *s, const struct tw_learned *l)
{
	int error = see(s, &(struct seen){TW_FACT_BLOCK, s->image, l->pc, l->pc + l->bytes});
	return error || !l->from ? error : see_edge(s, l->from, (uint8_t)l->from_end, l->pc);
}

static int take_event(struct state *s, const struct tw_event *e)
{
	switch (e->type) {
	case TW_EVENT_LEARNED:
		return take_learned(s, e->payload);
	case TW_EVENT_SIGNAL:
	case TW_EVENT_SIGRETURN:
	case TW_EVENT_GAP:
	case TW_EVENT_WINDOW:
	case TW_EVENT_FAULT:
		s->end = 0;
		return TW_OK;
	default:
		return TW_OK;
	}
}

static void begin_thread(struct state *s, uint32_t thread)
{
	s->has_thread = 1;
	s->thread = thread;
	const size_t i = tw_recording_find_thread(s->g->recording, thread);
	s->image = i < tw_recording_n_threads(s->g->recording) ? s->g->places.image_of[i] : UINT32_MAX;
	s->end = 0;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const struct tw_block_run *run = tw_batch_blocks(b);
	size_t event = 0;
	int error = 0;
	if (!s->has_thread || s->thread != b->thread)
		begin_thread(s, b->thread);
	for (size_t i = 0; i < b->n_blocks && !error; i++) {
		for (; event < b->n_events && b->events[event].block <= i && !error; event++)
			error = take_event(s, &b->events[event]);
		error = error ? error : take_block(s, &run[i]);
	}
	for (; event < b->n_events && !error; event++)
		error = take_event(s, &b->events[event]);
	return error;
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (s)
		s->g = arg;
	return s;
}

static void free_state(struct state *s)
{
	free(s->seen);
	free(s->slots);
	free(s);
}

static int merge(void *state, void *later)
{
	struct state *from = later;
	int error = 0;
	for (size_t i = 0; i < from->n && !error; i++)
		error = see(state, &from->seen[i]);
	free_state(from);
	return error;
}

/* ---- by name ---- */

/* The module of this path. Its file is read once. */
static uint32_t module_of(struct gather *g, const char *path)
{
	struct tw_module_file file;
	const uint32_t text = tw_facts_text(g->facts, path);
	if (text == TW_NO_TEXT)
		return TW_NO_NUMBER;
	if (text >= g->n_modules_of) {
		const size_t n = 2 * (size_t)text + 16;
		uint32_t *more = realloc(g->module_of, n * sizeof *more);
		if (!more)
			return TW_NO_NUMBER;
		memset(more + g->n_modules_of, 0, (n - g->n_modules_of) * sizeof *more);
		g->module_of = more;
		g->n_modules_of = n;
	}
	if (!g->module_of[text]) {
		tw_module_read(path, &file);
		g->module_of[text] = tw_facts_module(g->facts, file.build_id, path) + 1;
	}
	return g->module_of[text] - 1;
}

/* Code that is in no file has no name in another run. */
static int name_one(struct gather *g, const struct seen *seen)
{
	struct tw_code_name from, to;
	const int is_block = seen->kind == TW_FACT_BLOCK;
	tw_names_code(g->names, seen->image, is_block ? seen->from : seen->from - 1, &from);
	if (!is_block)
		tw_names_code(g->names, seen->image, seen->to, &to);
	if (!from.path[0] || from.path[0] == '[' || (!is_block && (!to.path[0] || to.path[0] == '[')))
		return TW_OK;
	struct tw_fact fact = {
	    .kind = seen->kind,
	    .module = module_of(g, from.path),
	    .function = tw_facts_text(g->facts, from.function),
	    .file = tw_facts_text(g->facts, from.file ? from.file : ""),
	    .line = from.line,
	    .from = is_block ? from.vaddr : from.vaddr + 1,
	};
	fact.to_module = is_block ? fact.module : module_of(g, to.path);
	fact.to = is_block ? fact.from + (seen->to - seen->from) : to.vaddr;
	if (fact.module == TW_NO_NUMBER || fact.to_module == TW_NO_NUMBER || fact.function == TW_NO_TEXT || fact.file == TW_NO_TEXT)
		return tw_fail(TW_ERR_MEMORY, "facts");
	const int new = tw_facts_add(g->facts, &fact);
	return new < 0 ? new : TW_OK;
}

/* Where each of what was seen is, for names. */
static struct tw_names *open_names(const struct state *s)
{
	struct tw_ran_block *ran = malloc((s->n + 1) * sizeof *ran);
	if (!ran)
		return NULL;
	for (size_t i = 0; i < s->n; i++) {
		const struct seen *seen = &s->seen[i];
		const int is_block = seen->kind == TW_FACT_BLOCK;
		ran[i] = (struct tw_ran_block){tw_places_pid(&s->g->places, TW_SYMBOLS_IMAGE(seen->image)),
		                               is_block ? (uint32_t)(seen->to - seen->from) : 1, is_block ? seen->from : seen->from - 1};
	}
	struct tw_names *names = tw_names_open_with(s->g->recording, ran, s->n);
	free(ran);
	return names;
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct gather *g = (struct gather *)(uintptr_t)s->g;
	if (!error && s->n && !(g->names = open_names(s)))
		error = tw_fail(TW_ERR_MEMORY, "names");
	for (size_t i = 0; i < s->n && !error; i++)
		error = name_one(g, &s->seen[i]);
	free_state(s);
	return error;
}

int tw_learn_gather(const struct tw_recording *r, const struct tw_replay_options *options, unsigned what, struct tw_facts *f)
{
	static const struct tw_analyzer analyzer = {
	    .name = "learn", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = TW_NEEDS_FLOW, .scope = TW_SCOPE_THREADS};
	struct gather g = {.recording = r, .what = what, .facts = f};
	const int ok = tw_places_init(&g.places, r) && module_of(&g, tw_recording_info(r)->program) != TW_NO_NUMBER;
	int error = ok ? TW_OK : tw_fail(TW_ERR_MEMORY, "facts");
	if (!error)
		error = tw_replay(r, options, &analyzer, &g);
	f->runs = 1;
	free(g.module_of);
	tw_names_close(g.names);
	tw_places_free(&g.places);
	return error;
}
