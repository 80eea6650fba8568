#include "export/times.h"
#include "export/syscalls.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/called.h>
#include <trackway/event.h>
#include <trackway/names.h>

/* Where a thread is. */
struct cursor {
	size_t thread, chunk; /* chunk: the next to be read */
	uint8_t *events;      /* E stream of the one before it */
	size_t n, at;         /* at: behind `event` */
	const struct tw_event_header *event;
	uint64_t time; /* of it */
};

/* A heap of cursors, the earliest first. */
struct times {
	struct tw_text *text;
	const struct tw_recording *recording;
	const struct tw_times_options *options;
	uint64_t start, line;
	struct tw_coded_chunk coded; /* memory that chunks are read to */
	struct cursor *heap;
	size_t n;
};

static int is_before(const struct cursor *a, const struct cursor *b)
{
	return a->time != b->time ? a->time < b->time : a->thread < b->thread;
}

static void sift_down(struct times *w, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < w->n; i = child) {
		if (child + 1 < w->n && is_before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!is_before(&w->heap[child], &w->heap[i]))
			return;
		struct cursor c = w->heap[i];
		w->heap[i] = w->heap[child];
		w->heap[child] = c;
	}
}

/* ---- reading ---- */

/* The next event of the chunk that has a time; 0: none. Negative: damage. */
static int next_in_chunk(struct cursor *c)
{
	for (const struct tw_event_header *h; (h = tw_event_next(c->events, c->n, &c->at));) {
		c->event = h;
		uint64_t time = tw_event_time(h->type, h + 1);
		c->time = time ? time : c->time; /* STAMP: with the counter disabled, where it stands */
		if (time || h->type == TW_EVENT_STAMP)
			return 1;
	}
	return c->n - c->at >= sizeof(struct tw_event_header) ? TW_ERR_STREAM : 0;
}

static int read_chunk(struct times *w, struct cursor *c)
{
	const struct tw_chunk *chunk = &w->coded.chunk;
	int error = tw_recording_events(w->recording, c->thread, c->chunk++, &w->coded);
	free(c->events);
	c->events = error ? NULL : malloc(chunk->n_e + 1);
	c->n = c->at = 0;
	if (error || !c->events)
		return error ? error : TW_ERR_MEMORY;
	memcpy(c->events, chunk->e, chunk->n_e);
	c->n = chunk->n_e;
	return TW_OK;
}

/* Moves to the thread's next event. 1: there is one, 0: no more; negative, or the caller's: an error. */
static int next_event(struct times *w, struct cursor *c)
{
	size_t n_chunks = tw_recording_thread(w->recording, c->thread)->n_chunks;
	for (;;) {
		int found = next_in_chunk(c);
		if (found > 0)
			return 1;
		if (!found && c->chunk == n_chunks)
			return 0;
		int error = found ? found : read_chunk(w, c);
		if (!error)
			continue;
		c->n = c->at = 0;
		error = w->options->damage(w->options->context, c->thread, c->chunk - 1, error);
		if (error)
			return error < 0 ? error : -error;
	}
}

/* ---- printing ---- */

static void print_pc(struct tw_text *t, uint64_t pc)
{
	tw_text_printf(t, " %llx", (unsigned long long)pc);
}

static void print_stamp(struct tw_text *t, const struct tw_stamp *e)
{
	static const char *const kinds[TW_STAMP_KINDS] = {
	    [TW_STAMP_LOCK] = "lock", [TW_STAMP_MFENCE] = "mfence", [TW_STAMP_LFENCE] = "lfence", [TW_STAMP_SFENCE] = "sfence"};
	const char *kind = e->kind < TW_STAMP_KINDS ? kinds[e->kind] : NULL;
	print_pc(t, e->pc);
	tw_text_printf(t, " %s-%s", kind ? kind : "?", e->after ? "after" : "before");
}

/* The name of the function with this number, `n` characters long. */
static const char *called_name(const struct tw_recording *r, uint32_t function, int *n)
{
#define NAME_OF(name, kind) name,
	static const char *const known[] = {TW_CALLED(NAME_OF)};
#undef NAME_OF
	const char *name = tw_recording_info(r)->calls;
	const uint32_t named = name ? tw_called_named_from(name) : TW_NCALLED;
	if (function < named) {
		*n = (int)strlen(known[function]);
		return known[function];
	}
	for (uint32_t i = named; name && (name = strchr(name, ',')); i++) {
		name++;
		*n = (int)strcspn(name, ",");
		if (i == function)
			return name;
	}
	*n = 1;
	return "?";
}

static void print_called(const struct times *w, const struct tw_called *e)
{
	int n;
	const char *name = called_name(w->recording, e->function, &n);
	print_pc(w->text, e->pc);
	tw_text_printf(w->text, " call %.*s", n, name);
	for (unsigned i = 0; i < 6; i++)
		print_pc(w->text, e->args[i]);
}

static void print_returned(struct tw_text *t, const struct tw_returned *e)
{
	print_pc(t, e->pc);
	tw_text_printf(t, " return %llx", (unsigned long long)e->result);
}

static void print_syscall(const struct times *w, const struct tw_syscall *e)
{
	print_pc(w->text, e->pc);
	const char *name = tw_syscall_name(e->number);
	tw_text_printf(w->text, " syscall %lld %lld %s", (long long)e->number, (long long)(e->began - w->start), name ? name : "-");
}

/* A time in seconds, or in cycles if their rate is unknown. */
static void print_time(const struct times *w, int64_t cycles)
{
	uint64_t hz = tw_recording_info(w->recording)->tsc_hz;
	if (hz)
		tw_text_printf(w->text, "%.6f", (double)cycles / (double)hz);
	else
		tw_text_printf(w->text, "%lld", (long long)cycles);
}

static void print_call(struct times *w, const struct cursor *c)
{
	const struct tw_syscall *e = (const void *)(c->event + 1);
	const struct tw_thread_info *thread = tw_recording_thread(w->recording, c->thread);
	struct tw_code_name name;
	tw_names_code(w->options->syscalls, tw_names_image(w->options->syscalls, thread->serial), e->pc, &name);
	print_time(w, (int64_t)(e->began - w->start));
	tw_text_printf(w->text, " %u %u/%u ", thread->serial, thread->pid, thread->tid);
	tw_syscall_print(w->text, e, c->event->bytes);
	tw_text_printf(w->text, " <");
	print_time(w, (int64_t)(e->tsc - e->began));
	tw_text_printf(w->text, "> ");
	tw_text_safe(w->text, name.function);
	tw_text_printf(w->text, " (");
	tw_text_safe(w->text, name.module);
	tw_text_printf(w->text, ")\n");
}

static void print_event(struct times *w, const struct cursor *c)
{
	struct tw_text *t = w->text;
	const void *payload = c->event + 1;
	const struct tw_thread_start *start = payload;
	const struct tw_fork *fork = payload;
	const struct tw_child_end *child = payload;
	const struct tw_window *window = payload;
	tw_text_printf(t, "%lld %u", (long long)(c->time - w->start), tw_recording_thread(w->recording, c->thread)->serial);
	switch (c->event->type) {
	case TW_EVENT_STAMP:
		print_stamp(t, payload);
		break;
	case TW_EVENT_SYSCALL:
		print_syscall(w, payload);
		break;
	case TW_EVENT_CALL:
		print_called(w, payload);
		break;
	case TW_EVENT_RETURN:
		print_returned(t, payload);
		break;
	case TW_EVENT_WINDOW:
		print_pc(t, window->pc);
		tw_text_printf(t, " window-%s%s", window->open ? "open" : "closed", tw_left_out_text(window->reason));
		break;
	case TW_EVENT_THREAD_START:
		tw_text_printf(t, " - thread-start %u %u", start->pid, start->tid);
		break;
	case TW_EVENT_FORK:
		tw_text_printf(t, " - fork %u %u", fork->child_pid, fork->child_tid);
		break;
	case TW_EVENT_CHILD_END:
		tw_text_printf(t, " - child-end %u %d", child->pid, child->status);
		break;
	case TW_EVENT_PROGRAM:
		tw_text_printf(t, " - program ");
		tw_text_safe(t, (const char *)payload + sizeof(struct tw_program_start));
		break;
	default:
		tw_text_printf(t, " - %s", c->event->type == TW_EVENT_KEYFRAME ? "keyframe" : "thread-end");
	}
	tw_text_printf(t, "\n");
}

/* ---- all of it ---- */

/* A cursor for each thread that has an event. */
static int fill_heap(struct times *w)
{
	size_t n_threads = tw_recording_n_threads(w->recording);
	w->heap = calloc(n_threads + 1, sizeof *w->heap);
	if (!w->heap)
		return tw_fail(TW_ERR_MEMORY, "%zu threads", n_threads);
	for (size_t i = 0; i < n_threads; i++) {
		if (w->options->one_thread >= 0 && w->options->one_thread != tw_recording_thread(w->recording, i)->serial)
			continue;
		struct cursor *c = &w->heap[w->n];
		*c = (struct cursor){.thread = i};
		int found = next_event(w, c);
		if (found < 0)
			return found;
		if (found)
			w->n++;
		else
			free(c->events);
		c->events = found ? c->events : NULL;
	}
	for (size_t i = w->n / 2; i-- > 0;)
		sift_down(w, i);
	return 0;
}

static int print_all(struct times *w)
{
	while (w->n && !w->text->error && (w->line < w->options->from || w->line - w->options->from < w->options->count)) {
		struct cursor *c = &w->heap[0];
		int shown = !w->options->syscalls || c->event->type == TW_EVENT_SYSCALL;
		if (shown && w->line++ >= w->options->from)
			w->options->syscalls ? print_call(w, c) : print_event(w, c);
		int found = next_event(w, c);
		if (found < 0)
			return found;
		if (!found) {
			free(c->events);
			*c = w->heap[--w->n];
			w->heap[w->n].events = NULL;
		}
		sift_down(w, 0);
	}
	return 0;
}

int tw_times_print(struct tw_text *t, const struct tw_recording *r, const struct tw_times_options *options)
{
	struct times w = {.text = t, .recording = r, .options = options, .start = tw_recording_info(r)->tsc_start};
	int error = tw_recording_replayable(r);
	if (error)
		return error;
	error = fill_heap(&w);
	if (!error)
		error = print_all(&w);
	for (size_t i = 0; w.heap && i <= w.n; i++)
		free(w.heap[i].events);
	free(w.heap);
	tw_coded_chunk_release(&w.coded);
	return error;
}
