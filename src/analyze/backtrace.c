#include "analyze/backtrace.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* The analyzer's only state. */
struct state {
	const struct tw_recording *recording;
	struct tw_backtrace *out;
	int has_refs;
	int returned; /* a return with an unknown stack slot was executed: the next block tells where it led */
	int error;
};

/* What to replay. */
struct range {
	const struct tw_backtrace_options *options;
	size_t thread, first_chunk;
};

/* ---- frames ---- */

static struct tw_back_frame *top(struct tw_backtrace *b)
{
	return b->n_frames && !b->frames[b->n_frames - 1].signal ? &b->frames[b->n_frames - 1] : NULL;
}

/* Removes frames whose return address is at or below `slot`, up to the last signal. */
static void pop_until(struct tw_backtrace *b, uint64_t slot)
{
	while (top(b) && top(b)->slot && top(b)->slot <= slot)
		b->n_frames--;
}

/* A return led to `pc`: ends the innermost call that returns there, with all it called. */
static void pop_back(struct tw_backtrace *b, uint64_t pc)
{
	for (size_t i = b->n_frames; i-- > 0 && !b->frames[i].signal;)
		if (b->frames[i].back == pc) {
			b->n_frames = i;
			return;
		}
}

static void pop_signal(struct tw_backtrace *b)
{
	while (b->n_frames && !b->frames[--b->n_frames].signal)
		;
}

static void push(struct state *s, struct tw_back_frame frame)
{
	struct tw_backtrace *b = s->out;
	struct tw_back_frame *frames = tw_array_room(b->frames, b->n_frames, &b->frames_room, sizeof *frames);
	if (!frames) {
		s->error = TW_ERR_MEMORY;
		return;
	}
	b->frames = frames;
	b->frames[b->n_frames++] = frame;
}

/* ---- blocks ---- */

static void keep_block(struct tw_backtrace *b, const struct tw_block_run *run)
{
	if (!b->most_blocks)
		return;
	b->blocks[b->next_block] = (struct tw_back_block){run->pc, run->descriptor, run->block, run->n_insns};
	b->next_block = (b->next_block + 1) % b->most_blocks;
	b->n_blocks += b->n_blocks < b->most_blocks;
}

/* The address of the last reference: a call's write, or a return's read; 0: the block has none. */
static uint64_t last_address(const struct tw_batch *b, size_t first, size_t end)
{
	return end > first ? b->addr[end - 1] : 0;
}

static void take_end(struct state *s, const struct tw_block_run *run, uint64_t slot)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	uint64_t back = b->pc + b->bytes;
	if (run->n_insns < b->n_insns)
		return;
	if (b->end == TW_END_CALL || b->end == TW_END_ICALL) {
		const uint8_t *bytes = tw_descriptor_insn_bytes(run->descriptor);
		if (slot)
			pop_until(s->out, slot);
		push(s, (struct tw_back_frame){.pc = back - bytes[b->first_insn + b->n_insns - 1], .slot = slot, .back = back});
	} else if (b->end == TW_END_RETURN) {
		s->returned = !slot;
		if (slot)
			pop_until(s->out, slot);
	}
}

static void take_block(struct state *s, const struct tw_batch *b, const struct tw_block_run *run, size_t end)
{
	if (!run->n_insns)
		return;
	if (s->returned)
		pop_back(s->out, run->pc);
	s->returned = 0;
	keep_block(s->out, run);
	take_end(s, run, s->has_refs ? last_address(b, run->first_ref, end) : 0);
}

static void take_event(struct state *s, const struct tw_event *e)
{
	const struct tw_signal *signal = e->payload;
	const struct tw_keyframe *k = e->payload;
	if (tw_event_breaks_calls(e->type, e->payload)) {
		s->out->n_frames = 0;
		s->out->whole = 0;
	}
	switch (e->type) {
	case TW_EVENT_SIGNAL:
		push(s, (struct tw_back_frame){.pc = signal->pc, .signal = signal->number});
		break;
	case TW_EVENT_SIGRETURN:
		pop_signal(s->out);
		break;
	case TW_EVENT_KEYFRAME:
		if (k->regs[TW_RSP])
			pop_until(s->out, k->regs[TW_RSP] - 1);
		break;
	case TW_EVENT_FAULT:
		memcpy(&s->out->fault, e->payload, sizeof s->out->fault);
		break;
	}
}

/* ---- the analyzer ---- */

static void *begin(void *arg)
{
	return arg;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	size_t event = 0;
	for (size_t i = 0; i < b->n_blocks; i++) {
		for (; event < b->n_events && b->events[event].block <= i; event++)
			take_event(s, &b->events[event]);
		take_block(s, b, &blocks[i], i + 1 < b->n_blocks ? blocks[i + 1].first_ref : b->n_refs);
	}
	for (; event < b->n_events; event++)
		take_event(s, &b->events[event]);
	return s->error;
}

static int merge(void *state, void *later)
{
	(void)state;
	(void)later;
	return 0; /* there is one state only */
}

static int end(void *state, int error)
{
	(void)state;
	return error;
}

/* ---- what to replay ---- */

static int select_chunk(void *context, size_t thread, size_t chunk)
{
	const struct range *range = context;
	return thread == range->thread && chunk >= range->first_chunk;
}

static int pass_damage(void *context, size_t thread, size_t chunk, int error)
{
	const struct tw_replay_options *replay = &((const struct range *)context)->options->replay;
	return replay->damage ? replay->damage(replay->context, thread, chunk, error) : error;
}

/* The first chunk from which on there are as many blocks and instructions as wanted. */
static size_t first_chunk(const struct tw_recording *r, size_t thread, const struct tw_backtrace_options *options)
{
	size_t i = tw_recording_thread(r, thread)->n_chunks;
	uint64_t blocks = 0, insns = 0;
	while (i && (blocks < options->blocks || insns < options->insns || !blocks)) {
		const struct tw_chunk_info *c = tw_recording_chunk_info(r, thread, --i);
		blocks += c->blocks;
		insns += c->insns;
	}
	return i;
}

int tw_backtrace(const struct tw_recording *r, size_t thread, const struct tw_backtrace_options *options, struct tw_backtrace *out)
{
	static const struct tw_analyzer analyzer = {.name = "backtrace", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct range range = {options, thread, first_chunk(r, thread, options)};
	struct state s = {.recording = r, .out = out, .has_refs = tw_format_has_refs(tw_recording_info(r)->format)};
	const struct tw_replay_options replay = {.select = select_chunk, .damage = pass_damage, .context = &range};
	*out = (struct tw_backtrace){.whole = !range.first_chunk, .most_blocks = options->blocks};
	out->blocks = calloc(options->blocks + 1, sizeof *out->blocks);
	return out->blocks ? tw_replay(r, &replay, &analyzer, &s) : TW_ERR_MEMORY;
}

void tw_backtrace_free(struct tw_backtrace *b)
{
	free(b->frames);
	free(b->blocks);
	memset(b, 0, sizeof *b);
}

const struct tw_back_block *tw_backtrace_block(const struct tw_backtrace *b, size_t i)
{
	return &b->blocks[(b->next_block + b->most_blocks - b->n_blocks + i) % b->most_blocks];
}
