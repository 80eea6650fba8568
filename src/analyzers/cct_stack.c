#include "analyzers/cct_stack.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void tw_cct_stack_forget(struct tw_cct_stack *s)
{
	s->n = 0;
	for (size_t i = 0; i < TW_CCT_STACKS_ASIDE; i++) {
		free(s->aside[i].frames);
		s->aside[i] = (struct tw_cct_aside){0};
	}
	s->root = TW_CONTEXT_NONE;
	s->first = UINT64_MAX;
	s->is_resumed = 0;
}

void tw_cct_stack_free(struct tw_cct_stack *s)
{
	tw_cct_stack_forget(s);
	free(s->frames);
	free(s->starts);
}

void tw_cct_stack_renumber(struct tw_cct_stack *s, const uint32_t *node)
{
	for (size_t i = 0; i < s->n; i++)
		s->frames[i].node = node[s->frames[i].node];
	for (size_t k = 0; k < TW_CCT_STACKS_ASIDE; k++)
		for (size_t i = 0; i < s->aside[k].n; i++)
			s->aside[k].frames[i].node = node[s->aside[k].frames[i].node];
}

int tw_cct_stack_inherit(struct tw_cct_stack *s, const struct tw_context_root *root)
{
	s->root = tw_contexts_root(s->tree, root);
	return s->root == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
}

static struct tw_context_frame *make_room(struct tw_cct_stack *s)
{
	struct tw_context_frame *frames = tw_array_room(s->frames, s->n, &s->room, sizeof *frames);
	s->frames = frames ? frames : s->frames;
	return frames;
}

int tw_cct_stack_push(struct tw_cct_stack *s, uint32_t node, uint64_t slot, uint64_t back)
{
	struct tw_context_frame *frames = make_room(s);
	if (!frames || node == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	frames[s->n++] = (struct tw_context_frame){node, TW_CONTEXT_NONE, slot, back};
	return 0;
}

int tw_cct_stack_push_lowest(struct tw_cct_stack *s, uint32_t block)
{
	uint32_t node = tw_contexts_node(s->tree, TW_CONTEXT_NONE, s->root, block);
	if (node != TW_CONTEXT_NONE)
		s->tree->nodes[node].calls += !s->is_resumed && s->root == TW_CONTEXT_NONE;
	s->is_resumed = 0;
	return tw_cct_stack_push(s, node, UINT64_MAX, 0);
}

/* ---- stacks that were left ---- */

/* Takes off the frames from number i on, and keeps them for when control comes back to them. */
static int put_aside(struct tw_cct_stack *s, size_t i)
{
	if (i >= s->n)
		return 0;
	struct tw_cct_aside *a = &s->aside[s->next_aside++ % TW_CCT_STACKS_ASIDE];
	free(a->frames);
	a->n = s->n - i;
	a->frames = malloc(a->n * sizeof *a->frames);
	if (!a->frames)
		return TW_ERR_MEMORY;
	memcpy(a->frames, s->frames + i, a->n * sizeof *a->frames);
	s->n = i;
	return 0;
}

/* Puts frames back, but the last one and those above it, up to number `end`, which returned. */
static int take_back(struct tw_cct_stack *s, struct tw_cct_aside *a, size_t end)
{
	int error = 0;
	for (size_t i = 0; i < end && !error; i++) {
		struct tw_context_frame *frames = make_room(s);
		if (frames)
			frames[s->n++] = a->frames[i];
		error = frames ? 0 : TW_ERR_MEMORY;
	}
	free(a->frames);
	*a = (struct tw_cct_aside){0};
	return error;
}

/* ---- the lowest frame ---- */

/* Its function returns to its caller, which was called before that was recorded, or is the parent's. */
static int leave_lowest(struct tw_cct_stack *s, uint64_t slot)
{
	struct tw_context_root root;
	if (s->n != 1)
		return 0;
	if (s->root != TW_CONTEXT_NONE) {
		root = s->tree->roots[s->root];
		if (slot <= root.slot)
			return 0;
		root.slot = slot;
	}
	s->n = 0;
	s->is_resumed = 1;
	return s->root == TW_CONTEXT_NONE ? 0 : tw_cct_stack_inherit(s, &root);
}

/* The same without references: it has returned to pc. */
static int leave_lowest_to(struct tw_cct_stack *s, uint64_t pc)
{
	if (s->n != 1)
		return 0;
	s->n = 0;
	s->is_resumed = 1;
	if (s->root == TW_CONTEXT_NONE || s->tree->roots[s->root].depth == TW_CONTEXT_DEEPEST)
		return 0;
	struct tw_context_root root = s->tree->roots[s->root];
	root.before = s->root;
	root.back = pc;
	root.depth++;
	return tw_cct_stack_inherit(s, &root);
}

/* ---- calls and returns ---- */

/* The stack that was put aside last of those with a frame whose return address stands there, and that frame's number; NULL: none. */
static struct tw_cct_aside *find_aside(struct tw_cct_stack *s, uint64_t slot, size_t *frame)
{
	for (size_t k = 0; k < TW_CCT_STACKS_ASIDE; k++) {
		struct tw_cct_aside *a = &s->aside[(s->next_aside + TW_CCT_STACKS_ASIDE - 1 - k) % TW_CCT_STACKS_ASIDE];
		for (size_t i = a->n; i-- > 0;) {
			if (a->frames[i].slot == slot) {
				*frame = i;
				return a;
			}
		}
	}
	return NULL;
}

/* A return from a place where no frame of this stack has its address: one of a stack that was put aside? */
static int return_aside(struct tw_cct_stack *s, uint64_t slot)
{
	size_t frame;
	struct tw_cct_aside *a = find_aside(s, slot, &frame);
	return a ? take_back(s, a, frame) : leave_lowest(s, slot);
}

/* The frame whose return address stands there; 0: none. */
static size_t find_frame(const struct tw_cct_stack *s, uint64_t slot)
{
	size_t i = s->n;
	while (i > 1 && s->frames[i - 1].slot != slot)
		i--;
	return i > 1 ? i - 1 : 0;
}

int tw_cct_stack_knows(struct tw_cct_stack *s, uint64_t slot)
{
	size_t frame;
	return find_frame(s, slot) || find_aside(s, slot, &frame);
}

int tw_cct_stack_return(struct tw_cct_stack *s, uint64_t slot)
{
	size_t i = find_frame(s, slot);
	if (!i)
		return return_aside(s, slot);
	int error = put_aside(s, i + 1);
	s->n = i;
	return error;
}

int tw_cct_stack_return_to(struct tw_cct_stack *s, uint64_t pc)
{
	for (size_t i = s->n, k = 0; i-- > 1 && k < TW_CONTEXT_DEEPEST; k++) {
		if (s->frames[i].back == pc) {
			s->n = i;
			return 0;
		}
	}
	return leave_lowest_to(s, pc);
}

int tw_cct_stack_call(struct tw_cct_stack *s, uint64_t slot, uint32_t block)
{
	size_t i = s->n;
	while (i > 1 && s->frames[i - 1].slot && s->frames[i - 1].slot <= slot)
		i--;
	int error = put_aside(s, i);
	if (error || s->n > 1 || s->root == TW_CONTEXT_NONE || slot <= s->first || slot <= s->tree->roots[s->root].slot)
		return error;
	error = leave_lowest(s, slot);
	return error ? error : tw_cct_stack_push_lowest(s, block);
}

/* ---- code that is not seen ---- */

int tw_cct_stack_call_out(struct tw_cct_stack *s, uint32_t block, uint64_t slot, uint64_t back)
{
	int error = slot ? tw_cct_stack_call(s, slot, block) : 0;
	error = error ? error : tw_cct_stack_push(s, tw_cct_stack_node(s), slot, back);
	tw_cct_stack_jump_out(s, block);
	return error;
}

void tw_cct_stack_jump_out(struct tw_cct_stack *s, uint32_t block)
{
	s->frames[s->n - 1].site = block;
}

/* From the frame on top, or from one below it that those above have left without a return. */
int tw_cct_stack_return_out(struct tw_cct_stack *s, uint64_t slot)
{
	size_t i = s->n;
	if (s->has_refs && find_frame(s, slot))
		return tw_cct_stack_return(s, slot);
	while (s->has_refs && i > 1 && s->frames[i - 1].slot && s->frames[i - 1].slot < slot)
		i--;
	if (i == 1 || s->frames[i - 1].slot || s->frames[i - 1].back)
		return s->has_refs ? return_aside(s, slot) : leave_lowest_to(s, 0);
	int error = put_aside(s, i);
	s->n = i - 1;
	return error;
}

/* Where the function begins whose part that was split off this is: "f [clone .cold]"; 0: it is none. */
static uint64_t start_of_whole(struct tw_names *names, uint32_t image, const struct tw_code_name *name)
{
	const char *end = strstr(name->function, " [clone .cold");
	char whole[1024];
	struct tw_named_place place;
	end = end ? end : strstr(name->function, ".cold");
	if (!end || (size_t)(end - name->function) >= sizeof whole)
		return 0;
	memcpy(whole, name->function, (size_t)(end - name->function));
	whole[end - name->function] = 0;
	return tw_names_find(names, name->path, whole, image, &place, 1) ? place.start : 0;
}

/* Where the function of a block begins; the block itself, if that is not known. */
static uint64_t look_up_start(struct tw_names *names, const struct tw_context_block *b)
{
	const uint32_t image = tw_names_image(names, b->thread);
	struct tw_code_name name;
	tw_names_code(names, image, b->pc, &name);
	const uint64_t whole = start_of_whole(names, image, &name);
	return whole ? whole : name.start;
}

/* The same, remembered. 0: no memory. */
static uint64_t start_of(struct tw_cct_stack *s, struct tw_names *names, uint32_t block)
{
	uint64_t *starts = tw_array_zeros(s->starts, block, &s->starts_room, sizeof *starts);
	if (!starts)
		return 0;
	s->starts = starts;
	if (!starts[block])
		starts[block] = look_up_start(names, &s->tree->blocks[block]);
	return starts[block];
}

/* A call whose return address is pc, of a stack that was put aside: puts it back. Returns 1, 0: there is none, or an error. */
static int come_in_aside(struct tw_cct_stack *s, uint64_t pc)
{
	for (size_t k = 0; k < TW_CCT_STACKS_ASIDE; k++) {
		struct tw_cct_aside *a = &s->aside[(s->next_aside + TW_CCT_STACKS_ASIDE - 1 - k) % TW_CCT_STACKS_ASIDE];
		for (size_t i = a->n; i-- > 0;) {
			if (a->frames[i].back == pc) {
				int error = take_back(s, a, i);
				return error ? error : 1;
			}
		}
	}
	return 0;
}

/* To the middle of a function: to where it is open, without the calls out that it has made. Returns 1, 0: it is not, or an error. */
static int come_in_midst(struct tw_cct_stack *s, struct tw_names *names, uint64_t start)
{
	for (size_t i = s->n; i-- > 0;) {
		const uint64_t other = start_of(s, names, s->tree->nodes[s->frames[i].node].entry);
		if (!other)
			return TW_ERR_MEMORY;
		if (other != start)
			continue;
		while (i > 0 && s->frames[i - 1].node == s->frames[i].node)
			i--;
		int error = put_aside(s, i + 1);
		return error ? error : 1;
	}
	return 0;
}

/*
 * By a call, which makes a frame. If the frame on top was called from unseen code, too, it has jumped out: that was a
 * tail call. Its target has either returned to the caller of the frame, or is calling now. The two cases cannot be
 * distinguished; the former is far more frequent.
 */
static int come_in_by_call(struct tw_cct_stack *s, uint32_t block)
{
	while (s->n > 1 && !s->frames[s->n - 1].slot && !s->frames[s->n - 1].back)
		s->n--;
	const struct tw_context_frame *top = &s->frames[s->n - 1];
	const uint32_t site = top->site == TW_CONTEXT_NONE ? s->tree->nodes[top->node].entry : top->site;
	const uint32_t node = tw_contexts_node(s->tree, top->node, site, block);
	if (node != TW_CONTEXT_NONE)
		s->tree->nodes[node].calls++;
	return tw_cct_stack_push(s, node, 0, 0);
}

int tw_cct_stack_come_in(struct tw_cct_stack *s, struct tw_names *names, uint32_t block, uint64_t pc, int is_called)
{
	for (size_t i = s->n; i-- > 1;) {
		if (s->frames[i].back == pc) {
			int error = put_aside(s, i + 1);
			s->n = i;
			return error;
		}
	}
	const uint64_t start = start_of(s, names, block);
	int result = start ? 0 : TW_ERR_MEMORY;
	if (!result && start != pc)
		result = come_in_aside(s, pc);
	if (!result && !s->n)
		return tw_cct_stack_push_lowest(s, block);
	if (!result && start != pc)
		result = come_in_midst(s, names, start);
	if (result)
		return result < 0 ? result : 0;
	return is_called ? come_in_by_call(s, block) : 0;
}
