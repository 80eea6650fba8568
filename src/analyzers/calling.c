#include "analyzers/calling.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- what functions do ---- */

#define KIND_OF(name, kind) TW_CALLED_##kind,
#define NAME_OF(name, kind) name,
static const uint8_t known[] = {TW_CALLED(KIND_OF)};
static const char *const names_known[] = {TW_CALLED(NAME_OF)};

const char *tw_calling_name(const struct tw_open_call *c)
{
	return c->function < TW_NCALLED ? names_known[c->function] : "";
}

/* The number of a function among those that were named when recording; -1: it was not. */
static long number_of(const char *calls, const char *name, size_t bytes)
{
	for (long i = tw_called_named_from(calls); (calls = strchr(calls, ',')); i++) {
		calls++;
		if (strcspn(calls, ",") == bytes && !memcmp(calls, name, bytes))
			return i;
	}
	return -1;
}

static int take_option(struct tw_calling_kinds *k, const struct tw_context *c, const struct tw_calling_option *o)
{
	const char *calls = tw_recording_info(tw_context_recording(c))->calls, *names = tw_context_text(c, o->option);
	while (names && *names) {
		size_t bytes = strcspn(names, ",");
		long number = number_of(calls, names, bytes);
		if (number < 0)
			return tw_context_wrong(c, "calls of %.*s are not in the recording: record with --calls=%.*s", (int)bytes, names,
			                        (int)bytes, names);
		k->kind[number] = o->kind;
		names += bytes + (names[bytes] == ',');
	}
	return 0;
}

int tw_calling_kinds_init(struct tw_calling_kinds *k, const struct tw_context *c, const struct tw_calling_option *options)
{
	const char *calls = tw_recording_info(tw_context_recording(c))->calls;
	int error = 0;
	k->n = tw_called_named_from(calls);
	for (const char *p = calls; (p = strchr(p, ',')); p++)
		k->n++;
	k->kind = calloc(k->n, 1);
	if (!k->kind)
		return TW_ERR_MEMORY;
	memcpy(k->kind, known, tw_called_named_from(calls));
	for (; options->option && !error; options++)
		error = take_option(k, c, options);
	return error;
}

void tw_calling_kinds_free(struct tw_calling_kinds *k)
{
	free(k->kind);
	k->kind = NULL;
}

int tw_called_is_memory(uint8_t kind)
{
	return kind >= TW_CALLED_MALLOC && kind <= TW_CALLED_USABLE;
}

int tw_called_is_closed(uint8_t kind)
{
	return kind != TW_CALLED_OTHER && kind != TW_CALLED_ONCE && kind != TW_CALLED_PARALLEL && kind != TW_CALLED_TEAM_BARRIER &&
	       kind != TW_CALLED_TASK && kind != TW_CALLED_TARGET && kind != TW_CALLED_TASKLOOP && kind != TW_CALLED_TASK_WAIT &&
	       kind != TW_CALLED_TASK_GROUP_END;
}

/* ---- the calls of a thread ---- */

static void count(struct tw_calling *c, const struct tw_open_call *call, size_t by)
{
	c->in_memory += tw_called_is_memory(call->kind) ? by : 0;
	c->in_closed += tw_called_is_closed(call->kind) ? by : 0;
}

static void cut(struct tw_calling *c, size_t n)
{
	while (c->n > n)
		count(c, &c->open[--c->n], (size_t)-1);
}

/* Does the call return there, from there? */
static int is_of_place(const struct tw_open_call *c, uint64_t back, uint64_t sp)
{
	return c->back == back && c->sp == sp;
}

/* Keeps the list after the event, after those of the open calls. */
static int keep_list(struct tw_calling *c, struct tw_open_call *open, const struct tw_event *event)
{
	const struct tw_called *e = event->payload;
	const struct tw_open_call *around = c->n ? open - 1 : NULL;
	open->list = around ? around->list + around->n_list : 0;
	open->n_list = (uint32_t)((event->bytes - sizeof *e) / sizeof *c->lists);
	if (!open->n_list)
		return 0;
	uint64_t *lists = tw_array_room(c->lists, open->list + open->n_list, &c->lists_room, sizeof *lists);
	if (!lists)
		return TW_ERR_MEMORY;
	c->lists = lists;
	memcpy(lists + open->list, e + 1, open->n_list * sizeof *lists);
	return 0;
}

static int enter(struct tw_calling *c, const struct tw_calling_kinds *k, const struct tw_event *event, struct tw_calling_step *step)
{
	const struct tw_called *e = event->payload;
	size_t n = c->n;
	while (n && c->open[n - 1].sp <= e->sp && !is_of_place(&c->open[n - 1], e->back, e->sp))
		n--;
	if (n && n == c->n && c->open[n - 1].function == e->function && is_of_place(&c->open[n - 1], e->back, e->sp))
		return 0; /* told again */
	cut(c, n);
	struct tw_open_call *open = tw_array_room(c->open, c->n, &c->room, sizeof *open);
	if (!open)
		return TW_ERR_MEMORY;
	c->open = open;
	open[c->n] = (struct tw_open_call){.sp = e->sp, .back = e->back, .tsc = e->tsc, .function = e->function};
	memcpy(open[c->n].args, e->args, sizeof e->args);
	open[c->n].kind = e->function < k->n ? k->kind[e->function] : TW_CALLED_OTHER;
	if (keep_list(c, &open[c->n], event))
		return TW_ERR_MEMORY;
	*step = (struct tw_calling_step){
	    .change = TW_CALLING_ENTERED, .call = open[c->n], .list = c->lists + open[c->n].list, .tsc = e->tsc, .within = c->in_closed};
	count(c, &open[c->n++], 1);
	return 0;
}

static void leave(struct tw_calling *c, const struct tw_returned *e, struct tw_calling_step *step)
{
	const uint64_t slot = e->sp - sizeof(uint64_t);
	for (size_t i = c->n; i-- > 0;) {
		if (!is_of_place(&c->open[i], e->pc, slot))
			continue;
		*step = (struct tw_calling_step){.change = TW_CALLING_LEFT,
		                                 .call = c->open[i],
		                                 .list = c->lists + c->open[i].list,
		                                 .tsc = e->tsc,
		                                 .result = e->result,
		                                 .stored = e->stored};
		cut(c, i);
		step->within = c->in_closed;
		step->more = i && is_of_place(&c->open[i - 1], e->pc, slot);
		return;
	}
}

int tw_calling_take(struct tw_calling *c, const struct tw_calling_kinds *k, const struct tw_event *e, struct tw_calling_step *step)
{
	*step = (struct tw_calling_step){.change = TW_CALLING_NOTHING};
	if (e->type == TW_EVENT_CALL)
		return enter(c, k, e, step);
	if (e->type == TW_EVENT_RETURN)
		leave(c, e->payload, step);
	return 0;
}

void tw_calling_free(struct tw_calling *c)
{
	free(c->open);
	free(c->lists);
	memset(c, 0, sizeof *c);
}

/* ---- allocation ---- */

struct tw_asked tw_asked_by(const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	const uint64_t result = step->result;
	const uint64_t *a = c->args;
	switch (c->kind) {
	case TW_CALLED_MALLOC:
	case TW_CALLED_NEW_ALIGNED:
		return (struct tw_asked){a[0], result, 0, 1};
	case TW_CALLED_CALLOC:
		return (struct tw_asked){a[0] * a[1], result, 0, 1};
	case TW_CALLED_MEMALIGN:
		return (struct tw_asked){a[1], result, 0, 1};
	case TW_CALLED_POSIX_MEMALIGN:
		return (struct tw_asked){a[2], result ? 0 : step->stored, 0, 1};
	case TW_CALLED_REALLOC:
		return (struct tw_asked){a[1], result, a[0], 1};
	case TW_CALLED_REALLOCARRAY:
		return (struct tw_asked){a[1] * a[2], result, a[0], 1};
	default:
		return (struct tw_asked){0};
	}
}
