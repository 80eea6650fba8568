#include "html/story.h"
#include "base/array.h"
#include "export/syscalls.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static void free_story(struct tw_story *s)
{
	for (size_t i = 0; i < s->n_calls; i++)
		free(s->calls[i].text);
	for (size_t i = 0; i < s->n_events; i++)
		free(s->events[i].text);
	free(s->calls);
	free(s->sums);
	free(s->events);
	free(s->marks);
	free(s->heaps);
	tw_heat_free(&s->heat);
	free(s);
}

static void *begin(void *arg)
{
	const struct tw_story_request *asked = arg;
	struct tw_story *s = calloc(1, sizeof *s);
	if (!s || !tw_heat_init(&s->heat)) {
		free(s);
		return NULL;
	}
	s->recording = asked->recording;
	s->out = asked->out;
	return s;
}

/* ---- times ---- */

static uint64_t insns_of(const struct tw_recording *r, uint32_t thread)
{
	size_t i = tw_recording_find_thread(r, thread);
	return i < tw_recording_n_threads(r) ? tw_recording_thread(r, i)->totals.insns : 0;
}

uint32_t tw_story_stretches(const struct tw_recording *r, uint32_t thread)
{
	uint64_t n = insns_of(r, thread) / 4096 + 1;
	return n < TW_STORY_STRETCHES ? (uint32_t)n : TW_STORY_STRETCHES;
}

/* Which stretch an instruction is in. */
static uint32_t stretch_of(const struct tw_story *s, uint32_t thread, uint64_t insn)
{
	uint64_t all = insns_of(s->recording, thread), n = tw_story_stretches(s->recording, thread);
	uint64_t i = (uint64_t)((double)insn * (double)n / (double)(all + 1));
	return (uint32_t)(i < n ? i : n - 1);
}

/* Marks closer together than a tenth of a stretch add nothing. */
static int mark(struct tw_story *s, uint32_t thread, uint64_t insn, uint64_t tsc)
{
	const struct tw_story_mark *last = s->n_marks ? &s->marks[s->n_marks - 1] : NULL;
	uint64_t least = insns_of(s->recording, thread) / (10 * TW_STORY_STRETCHES);
	if (!tsc || (last && last->thread == thread && insn >= last->insn && insn - last->insn < least && tsc - last->tsc < 1000000))
		return 0;
	struct tw_story_mark *marks = tw_array_room(s->marks, s->n_marks, &s->marks_room, sizeof *marks);
	if (!marks)
		return TW_ERR_MEMORY;
	s->marks = marks;
	marks[s->n_marks++] = (struct tw_story_mark){insn, tsc, thread};
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct tw_story_mark *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->insn != y->insn ? (x->insn < y->insn ? -1 : 1) : (x->tsc > y->tsc) - (x->tsc < y->tsc);
}

uint64_t tw_story_time(const struct tw_story *s, uint32_t thread, uint64_t insn)
{
	const struct tw_story_mark key = {.thread = thread, .insn = insn, .tsc = UINT64_MAX};
	size_t at = tw_array_until(&key, s->marks, s->n_marks, sizeof key, by_thread);
	const struct tw_story_mark *before = at && s->marks[at - 1].thread == thread ? &s->marks[at - 1] : NULL;
	const struct tw_story_mark *after = at < s->n_marks && s->marks[at].thread == thread ? &s->marks[at] : NULL;
	if (!before || !after)
		return before ? before->tsc : after ? after->tsc : 0;
	double part = (double)(insn - before->insn) / (double)(after->insn - before->insn);
	return before->tsc + (uint64_t)(part * (double)(after->tsc - before->tsc));
}

/* From when to when. */
static void find_span(struct tw_story *s)
{
	s->first = s->n_marks ? UINT64_MAX : 0;
	for (size_t i = 0; i < s->n_marks; i++) {
		s->first = s->marks[i].tsc < s->first ? s->marks[i].tsc : s->first;
		s->last = s->marks[i].tsc > s->last ? s->marks[i].tsc : s->last;
	}
}

/* ---- stacks ---- */

static void see_stack(struct tw_story *s, uint64_t page)
{
	for (size_t i = s->n_stacks; i-- > 0;)
		if (s->stacks[i] == page)
			return;
	if (s->n_stacks < TW_STORY_STACKS)
		s->stacks[s->n_stacks++] = page;
}

int tw_story_is_stack(const struct tw_story *s, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < s->n_stacks; i++)
		if (s->stacks[i] >= start >> 16 && s->stacks[i] <= (end - 1) >> 16)
			return 1;
	return 0;
}

/* ---- system calls ---- */

static int longest_first(const void *a, const void *b)
{
	const struct tw_story_call *x = a, *y = b;
	uint64_t m = x->ended - x->began, n = y->ended - y->began;
	if (m != n)
		return m > n ? -1 : 1;
	return (x->began > y->began) - (x->began < y->began);
}

static void keep_longest(struct tw_story *s)
{
	if (s->n_calls <= TW_STORY_CALLS)
		return;
	qsort(s->calls, s->n_calls, sizeof *s->calls, longest_first);
	while (s->n_calls > TW_STORY_CALLS)
		free(s->calls[--s->n_calls].text);
}

static struct tw_story_sum *sum_of(struct tw_story *s, uint32_t thread, uint32_t number)
{
	for (size_t i = s->n_sums; i-- > 0;)
		if (s->sums[i].thread == thread && s->sums[i].number == number)
			return &s->sums[i];
	struct tw_story_sum *sums = tw_array_room(s->sums, s->n_sums, &s->sums_room, sizeof *sums);
	if (!sums)
		return NULL;
	s->sums = sums;
	sums[s->n_sums] = (struct tw_story_sum){.thread = thread, .number = number};
	return &sums[s->n_sums++];
}

static char *text_of(const struct tw_syscall *call, uint32_t bytes)
{
	struct tw_text t;
	tw_text_init(&t, -1);
	tw_syscall_print(&t, call, bytes);
	char *text = t.error ? NULL : strndup(t.bytes, t.n);
	tw_text_free(&t);
	return text;
}

static int keep_call(struct tw_story *s, uint32_t thread, const struct tw_syscall *call, uint32_t bytes)
{
	struct tw_story_call *calls = tw_array_room(s->calls, s->n_calls, &s->calls_room, sizeof *calls);
	char *text = calls ? text_of(call, bytes) : NULL;
	s->calls = calls ? calls : s->calls;
	if (!text)
		return TW_ERR_MEMORY;
	calls[s->n_calls++] = (struct tw_story_call){call->began, call->tsc, thread, (uint32_t)call->number, call->result, text};
	if (s->n_calls == 2 * (size_t)TW_STORY_CALLS)
		keep_longest(s);
	return 0;
}

static int take_heap(struct tw_story *s, uint32_t thread, uint64_t low, uint64_t high)
{
	for (size_t i = s->n_heaps; i-- > 0;) {
		struct tw_story_heap *h = &s->heaps[i];
		if (h->thread != thread)
			continue;
		h->low = low < h->low ? low : h->low;
		h->high = high > h->high ? high : h->high;
		return 0;
	}
	struct tw_story_heap *heaps = tw_array_room(s->heaps, s->n_heaps, &s->heaps_room, sizeof *heaps);
	if (!heaps)
		return TW_ERR_MEMORY;
	s->heaps = heaps;
	heaps[s->n_heaps++] = (struct tw_story_heap){low, high, thread};
	return 0;
}

static int take_call(struct tw_story *s, uint32_t thread, const struct tw_event *e)
{
	const struct tw_syscall *call = e->payload;
	struct tw_story_sum *sum = sum_of(s, thread, (uint32_t)call->number);
	if (!sum)
		return TW_ERR_MEMORY;
	sum->calls++;
	sum->cycles += call->tsc > call->began ? call->tsc - call->began : 0;
	s->all_calls++;
	int error = call->number == SYS_brk && call->result > 0 ? take_heap(s, thread, (uint64_t)call->result, (uint64_t)call->result) : 0;
	return error ? error : keep_call(s, thread, call, e->bytes);
}

/* ---- other events ---- */

static int keep_event(struct tw_story *s, uint32_t thread, uint64_t insn, enum tw_story_kind kind, const char *text)
{
	s->all_events++;
	if (s->n_events >= TW_STORY_EVENTS)
		return 0;
	struct tw_story_event *events = tw_array_room(s->events, s->n_events, &s->events_room, sizeof *events);
	char *copy = events ? strdup(text) : NULL;
	s->events = events ? events : s->events;
	if (!copy)
		return TW_ERR_MEMORY;
	events[s->n_events++] = (struct tw_story_event){insn, thread, kind, copy};
	return 0;
}

static int keep_other(struct tw_story *s, uint32_t thread, uint64_t insn, const struct tw_event *e)
{
	char text[80];
	switch (e->type) {
	case TW_EVENT_SIGNAL:
		snprintf(text, sizeof text, "signal %u, handled", ((const struct tw_signal *)e->payload)->number);
		return keep_event(s, thread, insn, TW_STORY_SIGNAL, text);
	case TW_EVENT_FAULT:
		snprintf(text, sizeof text, "fault, signal %u", ((const struct tw_fault *)e->payload)->number);
		return keep_event(s, thread, insn, TW_STORY_FAULT, text);
	case TW_EVENT_GAP:
		return keep_event(s, thread, insn, TW_STORY_GAP, (const char *)((const struct tw_gap *)e->payload + 1));
	case TW_EVENT_PROGRAM:
		return keep_event(s, thread, insn, TW_STORY_PROGRAM, (const char *)((const struct tw_program_start *)e->payload + 1));
	case TW_EVENT_FORK:
		snprintf(text, sizeof text, "made process or thread %u", ((const struct tw_fork *)e->payload)->child_tid);
		return keep_event(s, thread, insn, TW_STORY_FORK, text);
	default:
		return 0;
	}
}

static int take_event(struct tw_story *s, const struct tw_batch *b, const struct tw_event *e)
{
	uint64_t insn = b->first_insn + (b->n_blocks ? b->n_insns * e->block / b->n_blocks : 0);
	const uint64_t began = e->type == TW_EVENT_SYSCALL ? ((const struct tw_syscall *)e->payload)->began : 0;
	int error = mark(s, b->thread, insn, began); /* what ran before a call that waits ran before it waited */
	error = error ? error : mark(s, b->thread, insn, tw_event_time(e->type, e->payload));
	if (error)
		return error;
	if (e->type == TW_EVENT_KEYFRAME)
		see_stack(s, ((const struct tw_keyframe *)e->payload)->regs[TW_RSP] >> 16);
	return e->type == TW_EVENT_SYSCALL ? take_call(s, b->thread, e) : keep_other(s, b->thread, insn, e);
}

/* ---- all of it ---- */

static int take_refs(struct tw_story *s, const struct tw_batch *b)
{
	const uint64_t *addr = b->addr;
	tw_heat_at(&s->heat, b->thread, stretch_of(s, b->thread, b->first_insn));
	for (size_t i = 0; i < b->n_stretches; i++) {
		const struct tw_stretch *t = b->stretches[i];
		for (uint32_t k = 0; k < t->n_refs; k++)
			if (!tw_heat_add(&s->heat, *addr++, t->refs[k].type & TW_READ ? 1 : 0, t->refs[k].type & TW_WRITE ? 1 : 0))
				return TW_ERR_MEMORY;
	}
	return 0;
}

static int batch(void *state, const struct tw_batch *b)
{
	int error = take_refs(state, b);
	for (size_t i = 0; i < b->n_events && !error; i++)
		error = take_event(state, b, &b->events[i]);
	return error;
}

/* Moves the items of one array behind those of another. */
static int append(void **items, size_t *n, size_t *room, const void *more, size_t n_more, size_t size)
{
	if (!n_more)
		return 0;
	void *moved = realloc(*items, (*n + n_more) * size);
	if (!moved)
		return TW_ERR_MEMORY;
	memcpy((char *)moved + *n * size, more, n_more * size);
	*items = moved;
	*n += n_more;
	*room = *n;
	return 0;
}

#define APPEND(list) append((void **)&s->list, &s->n_##list, &s->list##_room, l->list, l->n_##list, sizeof *l->list)

static int merge_sums(struct tw_story *s, const struct tw_story *l)
{
	for (size_t i = 0; i < l->n_sums; i++) {
		struct tw_story_sum *sum = sum_of(s, l->sums[i].thread, l->sums[i].number);
		if (!sum)
			return TW_ERR_MEMORY;
		sum->calls += l->sums[i].calls;
		sum->cycles += l->sums[i].cycles;
	}
	return 0;
}

/* Texts go over from the later one. */
static int merge_lists(struct tw_story *s, struct tw_story *l)
{
	if (APPEND(calls))
		return TW_ERR_MEMORY;
	l->n_calls = 0;
	keep_longest(s);
	if (APPEND(events))
		return TW_ERR_MEMORY;
	l->n_events = 0;
	while (s->n_events > TW_STORY_EVENTS)
		free(s->events[--s->n_events].text);
	return APPEND(marks);
}

static int merge(void *state, void *later)
{
	struct tw_story *s = state, *l = later;
	int error = merge_lists(s, l);
	error = error ? error : merge_sums(s, l);
	if (!error && !tw_heat_merge(&s->heat, &l->heat))
		error = TW_ERR_MEMORY;
	for (size_t i = 0; i < l->n_heaps && !error; i++)
		error = take_heap(s, l->heaps[i].thread, l->heaps[i].low, l->heaps[i].high);
	for (size_t i = 0; i < l->n_stacks; i++)
		see_stack(s, l->stacks[i]);
	s->all_calls += l->all_calls;
	s->all_events += l->all_events;
	free_story(l);
	return error;
}

static int end(void *state, int error)
{
	struct tw_story *s = state;
	if (error) {
		free_story(s);
		return error;
	}
	keep_longest(s);
	qsort(s->marks, s->n_marks, sizeof *s->marks, by_thread);
	find_span(s);
	*s->out = s;
	return 0;
}

const struct tw_analyzer tw_story_analyzer = {.name = "story", .begin = begin, .batch = batch, .merge = merge, .end = end};

int tw_story_run(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_story **out)
{
	struct tw_story_request asked = {r, out};
	*out = NULL;
	return tw_replay(r, options, &tw_story_analyzer, &asked);
}

void tw_story_free(struct tw_story *s)
{
	if (s)
		free_story(s);
}
