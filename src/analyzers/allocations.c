#include "analyzers/allocations.h"
#include "analyzers/callpath.h"
#include "base/array.h"

#include <stdlib.h>

int tw_allocations_init(struct tw_allocations *a, const struct tw_context *context)
{
	static const struct tw_calling_option options[] = {{NULL, 0}};
	*a = (struct tw_allocations){.context = context};
	a->is_known = tw_recording_info(tw_context_recording(context))->calls[0] != 0;
	return a->is_known && tw_calling_kinds_init(&a->kinds, context, options) ? TW_ERR_MEMORY : 0;
}

void tw_allocations_free(struct tw_allocations *a)
{
	for (size_t i = 0; i < a->room; i++)
		tw_calling_free(&a->threads[i]);
	free(a->threads);
	tw_calling_kinds_free(&a->kinds);
	tw_heap_blocks_free(&a->blocks);
	tw_rows_free(&a->callers);
}

static struct tw_calling *calling_of(struct tw_allocations *a, uint32_t thread)
{
	struct tw_calling *threads = tw_array_zeros(a->threads, thread, &a->room, sizeof *threads);
	if (!threads)
		return NULL;
	a->threads = threads;
	return &threads[thread];
}

/* The block there, if there is one, is freed: it is known until its memory is allocated anew. */
static void end_block(struct tw_allocations *a, uint32_t program, uint64_t addr)
{
	const uint32_t number = addr ? tw_heap_blocks_at(&a->blocks, program, addr) : 0;
	if (number)
		a->blocks.items[number].live = 0;
}

/* The outermost call counts: what it asks for in its turn is the allocator's own. */
static int take_step(struct tw_allocations *a, const struct tw_calling *c, uint32_t program, const struct tw_calling_step *step)
{
	if (step->change != TW_CALLING_LEFT || !tw_called_is_memory(step->call.kind) || c->in_memory)
		return 0;
	const struct tw_asked asked = tw_asked_by(step);
	end_block(a, program, step->call.kind == TW_CALLED_FREE ? step->call.args[0] : asked.old);
	if (!asked.allocates || !asked.addr)
		return 0;
	end_block(a, program, asked.addr);
	const uint32_t number = tw_heap_blocks_add(&a->blocks, program, asked.addr, asked.bytes);
	const uint32_t caller = tw_rows_number(&a->callers, step->call.back, program);
	if (!number || caller == TW_ROWS_NONE)
		return TW_ERR_MEMORY;
	a->blocks.items[number].site = caller;
	return 0;
}

int tw_allocations_event(struct tw_allocations *a, uint32_t thread, uint32_t program, const struct tw_event *e)
{
	struct tw_calling_step step;
	int error = 0;
	if (!a->is_known)
		return 0;
	if (e->type == TW_EVENT_SYSCALL)
		return tw_heap_blocks_syscall(&a->blocks, program, e->payload);
	struct tw_calling *c = calling_of(a, thread);
	if (!c)
		return TW_ERR_MEMORY;
	do {
		error = tw_calling_take(c, &a->kinds, e, &step);
		error = error ? error : take_step(a, c, program, &step);
	} while (!error && step.more);
	return error;
}

void tw_allocations_place(const struct tw_allocations *a, uint32_t caller, char *to, size_t size)
{
	const uint64_t *key = tw_rows_key(&a->callers, caller);
	struct tw_names *names = tw_context_names(a->context);
	if (names)
		tw_callpath_place(names, tw_names_image(names, (uint32_t)key[1]), key[0], 1, to, size);
	else
		to[0] = 0;
}
