#include "channel/output_told.h"
#include "channel/demux.h"
#include "channel/output_jobs.h"
#include "channel/output_state.h"
#include "channel/output_write.h"
#include "channel/spool.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Whether anybody wants blocks. */
static int is_wanted(const struct tw_output *o)
{
	return tw_output_stores(o) || o->options.feed;
}

/* For a buffer in the spool this waits until what was put before has been looked at: modules and processes are written in order. */
static void tell(struct tw_output *o, struct tw_job *job, uint32_t kind, void *bytes, size_t n)
{
	struct tw_told *told = job->spooled && bytes ? malloc(sizeof *told) : NULL, **end = &job->told;
	if (job->is_told) {
		free(bytes);
		return;
	}
	if (!told) {
		tw_output_block(o, kind, bytes, n);
		return;
	}
	*told = (struct tw_told){NULL, kind, bytes, n};
	while (*end)
		end = &(*end)->next;
	*end = told;
}

static void write_module(struct tw_output *o, struct tw_job *job, const void *payload)
{
	struct tw_map map;
	memcpy(&map, payload, sizeof map);
	struct tw_module module = {
	    .address = map.address,
	    .length = map.length,
	    .offset = map.offset,
	    .pid = job->thread.pid,
	    .prot = map.prot,
	    .thread = job->chunk.thread,
	    .sequence = job->chunk.sequence,
	    .path = (const char *)payload + sizeof map,
	};
	size_t n;
	if (module.path[0] && is_wanted(o)) {
		void *bytes = tw_module_bytes(&module, &n);
		tell(o, job, TW_BLOCK_MODULES, bytes, n);
	}
}

static void write_note(struct tw_output *o, struct tw_job *job, struct tw_file_note note, const char *text)
{
	size_t n;
	note.thread = job->chunk.thread;
	if (is_wanted(o)) {
		void *bytes = tw_note_bytes(&note, text, &n);
		tell(o, job, TW_BLOCK_PROCESSES, bytes, n);
	}
}

/* If this thread is a process's first, and not the same process with another program. */
static void note_start(struct tw_output *o, struct tw_job *job, const struct tw_thread_start *e)
{
	job->thread.parent_tid = e->parent_tid;
	if (e->pid == e->tid && e->parent_tid && e->parent_pid != e->pid)
		write_note(o, job, (struct tw_file_note){.kind = TW_NOTE_START, .pid = e->pid, .parent_pid = e->parent_pid, .tsc = e->tsc},
		           NULL);
}

static void note_program(struct tw_output *o, struct tw_job *job, const struct tw_program_start *e, uint32_t bytes)
{
	struct tw_file_note note = {
	    .kind = TW_NOTE_PROGRAM,
	    .pid = e->pid,
	    .parent_pid = job->thread.parent_pid,
	    .n_args = e->n_args,
	    .tsc = e->tsc,
	    .text_bytes = bytes - (uint32_t)sizeof *e,
	};
	write_note(o, job, note, (const char *)(e + 1));
}

/* For a process, with the parent that distinguishes it from others with its number: by itself, or by the process that waited for it. */
static void note_end(struct tw_output *o, struct tw_job *job, uint32_t pid, uint32_t parent_pid, int32_t status, uint64_t tsc)
{
	const struct tw_file_note note = {.kind = TW_NOTE_END, .pid = pid, .parent_pid = parent_pid, .status = status, .tsc = tsc};
	write_note(o, job, note, NULL);
}

static void note_fork(struct tw_output *o, struct tw_job *job, const struct tw_fork *e)
{
	struct tw_file_note note = {.kind = TW_NOTE_UNFOLLOWED, .pid = e->child_pid, .parent_pid = job->thread.pid, .tsc = e->tsc};
	if (!e->followed)
		write_note(o, job, note, NULL);
}

static void look_at_event(struct tw_output *o, struct tw_job *job, const struct tw_event_header *h)
{
	const void *payload = h + 1;
	const struct tw_thread_end *end = payload;
	const struct tw_child_end *child = payload;
	switch (h->type) {
	case TW_EVENT_MAP:
		if (((const struct tw_map *)payload)->prot & PROT_EXEC)
			write_module(o, job, payload);
		break;
	case TW_EVENT_THREAD_START:
		note_start(o, job, payload);
		break;
	case TW_EVENT_PROGRAM:
		note_program(o, job, payload, h->bytes);
		break;
	case TW_EVENT_FORK:
		note_fork(o, job, payload);
		break;
	case TW_EVENT_THREAD_END:
		if (end->what == TW_ENDED_PROCESS)
			note_end(o, job, job->thread.pid, job->thread.parent_pid, end->status, end->tsc);
		break;
	case TW_EVENT_CHILD_END:
		note_end(o, job, child->pid, job->thread.pid, child->status, child->tsc);
		break;
	}
}

void tw_output_look_at_events(struct tw_output *o, struct tw_job *job)
{
	size_t at = 0;
	job->events = (struct tw_event_sums){0};
	for (const struct tw_event_header *h; (h = tw_demux_next_event(&job->chunk, &at));) {
		look_at_event(o, job, h);
		job->events.gaps += h->type == TW_EVENT_GAP;
		job->events.stamps += h->type == TW_EVENT_STAMP;
	}
	if (job->dead && (job->chunk.flags & TW_CHUNK_LAST))
		note_end(o, job, job->thread.pid, job->thread.parent_pid, job->wait_status, __builtin_ia32_rdtsc());
}

/*
 * The earliest job, if it has been looked at, taken off the list; NULL: it has not. `quiet`: only if it has nothing
 * to report. Called under the lock.
 */
static struct tw_job *next_looked(struct tw_output *o, int quiet)
{
	struct tw_job *job = o->earliest;
	if (!job || !job->looked || (quiet && job->told))
		return NULL;
	o->earliest = job->later;
	return job;
}

/* Writes what jobs report, as far as all that were put before have been looked at. */
static void tell_all(struct tw_output *o)
{
	uint64_t told = 0;
	pthread_mutex_lock(&o->writing);
	for (;;) {
		pthread_mutex_lock(&o->lock);
		struct tw_job *job = next_looked(o, 0);
		pthread_mutex_unlock(&o->lock);
		if (!job)
			break;
		for (struct tw_told *t; (t = job->told); free(t)) {
			job->told = t->next;
			tw_output_write_block(o, t->kind, t->bytes, t->n);
			told = job->put;
		}
		tw_output_drop(o, job);
	}
	if (told && tw_output_stores(o))
		tw_spool_told(o->spool, told);
	pthread_mutex_unlock(&o->writing);
}

void tw_output_has_looked(struct tw_output *o, struct tw_job *job)
{
	pthread_mutex_lock(&o->lock);
	job->looked = 1;
	for (struct tw_job *quiet; (quiet = next_looked(o, 1));)
		tw_output_give_up(o, quiet);
	const int more = o->earliest && o->earliest->looked;
	pthread_mutex_unlock(&o->lock);
	if (more)
		tell_all(o);
}
