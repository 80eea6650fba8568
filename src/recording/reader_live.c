/* A recording of a running program, in memory only: like what the parts of the reader make from files, but from what has just arrived. */
#include "recording/reader_state.h"
#include "recording/value_map.h"

#include <stdlib.h>
#include <string.h>

int tw_recording_live(const struct tw_recording_info *info, struct tw_recording **out)
{
	struct tw_recording *r = tw_reader_new("recording");
	*out = NULL;
	if (!r)
		return TW_ERR_MEMORY;
	int error = tw_info_copy(&r->info, info);
	if (error) {
		tw_recording_close(r);
		return error;
	}
	*out = r;
	return TW_OK;
}

/* Notes are not in order, so processes are rebuilt from all of them. */
static int build_processes(struct tw_recording *r)
{
	struct tw_processes all = {0};
	const struct tw_reader_list *kept = &r->notes;
	int error = TW_OK;
	for (size_t i = 0; i < kept->n && !error; i++) {
		const struct tw_file_note *note = ((const struct tw_file_note **)kept->items)[i];
		error = tw_processes_note(&all, note, sizeof *note + note->text_bytes);
	}
	if (!error)
		error = tw_processes_build(&all);
	tw_processes_free(&r->processes);
	r->processes = all;
	return error;
}

int tw_recording_live_block(struct tw_recording *r, uint32_t kind, void *bytes, size_t n)
{
	const struct tw_file_block block = {.kind = kind, .raw = n};
	void **keep = tw_reader_add(&r->blocks, sizeof *keep);
	if (!keep) {
		free(bytes);
		return tw_fail(TW_ERR_MEMORY, "block");
	}
	*keep = bytes;
	if (kind != TW_BLOCK_PROCESSES)
		return tw_reader_add_block(r, &block, bytes, 0);
	const void **note = tw_reader_add(&r->notes, sizeof *note);
	if (!note)
		return tw_fail(TW_ERR_MEMORY, "processes");
	*note = bytes;
	return build_processes(r);
}

/* The thread of this serial number, which may be new. They are sorted. */
static struct tw_reader_thread *thread_of(struct tw_recording *r, uint32_t serial)
{
	size_t at = tw_recording_find_thread(r, serial);
	if (at < r->threads.n)
		return tw_reader_thread(r, at);
	if (!tw_reader_add(&r->threads, sizeof(struct tw_reader_thread)))
		return NULL;
	for (at = r->threads.n - 1; at && tw_reader_thread(r, at - 1)->info.serial > serial; at--)
		*tw_reader_thread(r, at) = *tw_reader_thread(r, at - 1);
	*tw_reader_thread(r, at) = (struct tw_reader_thread){.info.serial = serial};
	return tw_reader_thread(r, at);
}

/* The thread, with what is known of it now. NULL: no memory. */
static struct tw_reader_thread *known_thread(struct tw_recording *r, const struct tw_thread_info *thread)
{
	struct tw_reader_thread *t = thread_of(r, thread->serial);
	if (t && !t->info.pid) {
		t->info.pid = thread->pid;
		t->info.tid = thread->tid;
		t->info.parent_pid = thread->parent_pid;
		t->info.parent_tid = thread->parent_tid;
	}
	return t;
}

int tw_recording_live_thread(struct tw_recording *r, const struct tw_thread_info *thread)
{
	if (!known_thread(r, thread))
		return tw_fail(TW_ERR_MEMORY, "threads");
	r->sum.threads = r->threads.n;
	return TW_OK;
}

/* As it would stand in a file, but for where and how large. */
static struct tw_chunk_info info_of(const struct tw_chunk *chunk)
{
	return (struct tw_chunk_info){
	    .sequence = chunk->sequence,
	    .upper = chunk->upper,
	    .flags = chunk->flags,
	    .first_insn = chunk->first_insn,
	    .first_block = chunk->first_block,
	    .first_ref = chunk->first_ref,
	    .insns = chunk->insns,
	    .blocks = chunk->blocks,
	    .refs = chunk->refs,
	    .reads = chunk->reads,
	    .writes = chunk->writes,
	    .raw = {chunk->n_c * sizeof *chunk->c, chunk->n_m * sizeof *chunk->m, chunk->n_e},
	};
}

int tw_recording_live_chunk(struct tw_recording *r, const struct tw_thread_info *thread, const struct tw_chunk *chunk)
{
	struct tw_reader_thread *t = known_thread(r, thread);
	if (!t)
		return tw_fail(TW_ERR_MEMORY, "threads");
	const struct tw_chunk_info counts = info_of(chunk);
	tw_reader_sum(&t->info.totals, &counts);
	tw_reader_sum(&r->sum, &counts);
	r->sum.threads = r->threads.n;
	return TW_OK;
}

int tw_recording_live_keep(struct tw_recording *r, const struct tw_chunk *chunk, uint64_t most)
{
	const size_t i = tw_recording_find_thread(r, chunk->thread);
	r->kept = r->kept ? r->kept : tw_reader_new_kept(most);
	if (!r->kept || i == r->threads.n)
		return tw_fail(TW_ERR_MEMORY, "buffers");
	struct tw_reader_thread *t = tw_reader_thread(r, i);
	struct tw_kept_chunk *kept = tw_reader_add(&t->kept, sizeof *kept);
	struct tw_chunk_info *info = kept ? tw_reader_add(&t->chunks, sizeof *info) : NULL;
	if (!info)
		return tw_fail(TW_ERR_MEMORY, "buffers");
	*info = info_of(chunk);
	t->info.n_chunks = (uint32_t)t->chunks.n;
	return tw_reader_keep(r->kept, chunk, kept);
}

void tw_recording_live_end(struct tw_recording *r, const struct tw_recording_info *end)
{
	r->info.complete = end->complete;
	r->info.wait_status = end->wait_status;
	r->info.duration_ns = end->duration_ns;
	r->info.tsc_hz = end->tsc_hz;
	r->info.totals = end->totals;
}
