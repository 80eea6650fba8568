/* Processes: from the notes in the code file to the processes of a recording. */
#include "recording/recording.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct tw_ordered_note {
	const struct tw_file_note *note;
	size_t place; /* among all notes */
};

static const char *const no_words[] = {NULL};

/* Whether the text holds `n` strings. */
static int holds_strings(const char *text, size_t bytes, uint64_t n)
{
	const char *end = text + bytes;
	for (; n; n--) {
		const char *nul = memchr(text, 0, (size_t)(end - text));
		if (!nul)
			return 0;
		text = nul + 1;
	}
	return 1;
}

static int note_valid(const struct tw_file_note *note, uint64_t avail)
{
	if (avail < sizeof *note || note->text_bytes % 8 || avail - sizeof *note < note->text_bytes)
		return 0;
	uint64_t strings = note->kind == TW_NOTE_PROGRAM ? (uint64_t)note->n_args + 1 : 0;
	return holds_strings((const char *)(note + 1), note->text_bytes, strings);
}

int tw_processes_note(struct tw_processes *p, const struct tw_file_note *note, uint64_t avail)
{
	if (!note_valid(note, avail))
		return TW_ERR_DAMAGED;
	struct tw_ordered_note *more = tw_array_room(p->note, p->n_notes, &p->room, sizeof *more);
	if (!more)
		return tw_fail(TW_ERR_MEMORY, "processes");
	p->note = more;
	p->note[p->n_notes] = (struct tw_ordered_note){note, p->n_notes};
	p->n_notes++;
	return TW_OK;
}

/* ---- building ---- */

static int by_time(const void *a, const void *b)
{
	const struct tw_ordered_note *x = a, *y = b;
	if (x->note->tsc != y->note->tsc)
		return x->note->tsc > y->note->tsc ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

struct tw_process *tw_processes_find(const struct tw_processes *p, uint32_t pid, uint32_t thread)
{
	for (size_t i = p->n; i > 0; i--)
		if (p->process[i - 1].pid == pid && p->process[i - 1].first_thread <= thread)
			return &p->process[i - 1];
	return NULL;
}

/* The program that the process ran when this thread began, if it had executed one of its own. */
static const struct tw_executed *executed_before(const struct tw_processes *p, const struct tw_process *q, uint32_t thread)
{
	for (size_t i = p->n_executed; i-- > 0;) {
		const struct tw_executed *e = &p->executed[i];
		if (e->pid == q->pid && e->thread >= q->first_thread && e->thread <= thread)
			return e;
	}
	return NULL;
}

/* The first later thread with this process number and another program: after an execve, or of another process. */
static uint32_t next_begun(const struct tw_processes *p, uint32_t pid, uint32_t thread)
{
	uint32_t next = UINT32_MAX;
	for (size_t i = 0; i < p->n_executed; i++)
		if (p->executed[i].pid == pid && p->executed[i].thread > thread && p->executed[i].thread < next)
			next = p->executed[i].thread;
	for (size_t i = 0; i < p->n; i++)
		if (p->process[i].pid == pid && p->process[i].first_thread > thread && p->process[i].first_thread < next)
			next = p->process[i].first_thread;
	return next;
}

size_t tw_processes_lineage(const struct tw_processes *p, uint32_t pid, uint32_t thread, struct tw_ancestor out[TW_LINEAGE])
{
	size_t n = 0;
	uint32_t to = next_begun(p, pid, thread);
	const struct tw_process *q = tw_processes_find(p, pid, thread);
	const struct tw_executed *e = NULL;
	while (q && !e && n < TW_LINEAGE) {
		e = executed_before(p, q, thread);
		out[n++] = (struct tw_ancestor){q->pid, e ? e->thread : q->first_thread, to, e ? e->program : ""};
		to = thread = q->first_thread;
		q = q->parent_pid ? tw_processes_find(p, q->parent_pid, thread) : NULL;
	}
	return n;
}

const char *tw_processes_program(const struct tw_processes *p, uint32_t pid, uint32_t thread)
{
	struct tw_ancestor ancestors[TW_LINEAGE];
	size_t n = tw_processes_lineage(p, pid, thread, ancestors);
	return n ? ancestors[n - 1].program : "";
}

/* A process goes on with its parent's program until it executes one. */
static struct tw_process *add_process(struct tw_processes *p, const struct tw_file_note *note)
{
	const struct tw_process *parent = note->parent_pid ? tw_processes_find(p, note->parent_pid, UINT32_MAX) : NULL;
	struct tw_process *q = &p->process[p->n++];
	*q = (struct tw_process){
	    .pid = note->pid,
	    .parent_pid = note->parent_pid,
	    .first_thread = note->thread,
	    .followed = note->kind != TW_NOTE_UNFOLLOWED,
	    .program = parent ? parent->program : "",
	    .argv = parent ? parent->argv : no_words,
	};
	return q;
}

static void take_program(struct tw_processes *p, struct tw_process *q, const struct tw_file_note *note, const char **words)
{
	const char *text = (const char *)(note + 1);
	p->executed[p->n_executed++] = (struct tw_executed){note->pid, note->thread, text};
	q->program = text;
	q->argv = words;
	q->n_programs++;
	for (uint32_t i = 0; i < note->n_args; i++)
		*words++ = text += strlen(text) + 1;
	*words = NULL;
}

static struct tw_process *find_child(struct tw_processes *p, const struct tw_file_note *note, uint32_t thread, int ended)
{
	for (size_t i = p->n; i > 0; i--) {
		struct tw_process *q = &p->process[i - 1];
		if (q->pid == note->pid && q->parent_pid == note->parent_pid && q->first_thread <= thread && q->ended <= ended)
			return q;
	}
	return NULL;
}

/*
 * The process that the note is about: with namespaces several may have one number at a time, distinguished only by
 * their parents and what they have reported. After its parent's death a process has another parent than it started
 * with.
 */
static struct tw_process *find_meant(struct tw_processes *p, const struct tw_file_note *note)
{
	struct tw_process *q = find_child(p, note, note->thread, 0);
	q = q ? q : find_child(p, note, UINT32_MAX, 1);
	return q ? q : tw_processes_find(p, note->pid, UINT32_MAX);
}

/*
 * A note that names a parent can also report the end of a namespace's first process, by a number that only this
 * parent knows. Older recordings name none.
 */
static void apply(struct tw_processes *p, const struct tw_file_note *note, const char ***words)
{
	int starts = note->kind == TW_NOTE_START || note->kind == TW_NOTE_UNFOLLOWED;
	struct tw_process *q = starts ? NULL : find_meant(p, note);
	if (!q && note->kind == TW_NOTE_END && note->parent_pid)
		return;
	if (!q)
		q = add_process(p, note);
	if (note->kind == TW_NOTE_PROGRAM) {
		take_program(p, q, note, *words);
		*words += note->n_args + 1;
	} else if (note->kind == TW_NOTE_END) {
		q->ended = 1;
		q->wait_status = note->status;
	}
}

int tw_processes_build(struct tw_processes *p)
{
	size_t n_words = 0;
	if (!p->n_notes)
		return TW_OK;
	for (size_t i = 0; i < p->n_notes; i++)
		n_words += p->note[i].note->kind == TW_NOTE_PROGRAM ? (size_t)p->note[i].note->n_args + 1 : 0;
	p->words = malloc((n_words + 1) * sizeof *p->words);
	p->process = malloc(p->n_notes * sizeof *p->process);
	p->executed = malloc(p->n_notes * sizeof *p->executed);
	if (!p->words || !p->process || !p->executed)
		return tw_fail(TW_ERR_MEMORY, "processes");
	const char **words = p->words;
	qsort(p->note, p->n_notes, sizeof *p->note, by_time);
	for (size_t i = 0; i < p->n_notes; i++)
		apply(p, p->note[i].note, &words);
	free(p->note);
	p->note = NULL;
	return TW_OK;
}

void tw_processes_free(struct tw_processes *p)
{
	free(p->process);
	free(p->executed);
	free(p->words);
	free(p->note);
}
