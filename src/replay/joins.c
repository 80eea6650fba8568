#include "replay/joins.h"

#include <stdlib.h>
#include <string.h>

/* In glibc's thread descriptor, to which fs points: offset of the thread's id (since 2.10). */
enum { NUMBER_AT = 0x2d0 };

void tw_joins_free(struct tw_joins *j)
{
	free(j->ends);
	memset(j, 0, sizeof *j);
}

/* ---- from the recording ---- */

/* What the events of a chunk say of its thread. */
static void take_chunk(struct tw_join_end *end, const struct tw_chunk *c)
{
	size_t at = 0;
	for (const struct tw_event_header *h; (h = tw_event_next(c->e, c->n_e, &at));) {
		if (h->type == TW_EVENT_KEYFRAME && !end->word)
			end->word = ((const struct tw_keyframe *)(h + 1))->seg_base[TW_SEG_FS];
		if (h->type == TW_EVENT_THREAD_END && ((const struct tw_thread_end *)(h + 1))->what == TW_ENDED_THREAD)
			end->time = ((const struct tw_thread_end *)(h + 1))->tsc;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct tw_join_end *x = a, *y = b;
	return x->time != y->time ? (x->time > y->time ? 1 : -1) : (x->thread > y->thread) - (x->thread < y->thread);
}

/* Was it made by another thread of its process? */
static int is_made(const struct tw_thread_info *t)
{
	return t->pid != t->tid && t->n_chunks;
}

int tw_joins_read(struct tw_joins *j, const struct tw_recording *r)
{
	const size_t n = tw_recording_n_threads(r);
	struct tw_coded_chunk coded = {0};
	memset(j, 0, sizeof *j);
	for (size_t i = 0; i < n; i++)
		j->n += is_made(tw_recording_thread(r, i));
	j->ends = calloc(j->n + 1, sizeof *j->ends);
	if (!j->ends)
		return TW_ERR_MEMORY;
	j->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct tw_thread_info *t = tw_recording_thread(r, i);
		struct tw_join_end end = {.pid = t->pid, .thread = i};
		if (is_made(t) && !tw_recording_coded_chunk(r, i, t->n_chunks - 1, &coded))
			take_chunk(&end, &coded.chunk);
		end.word += NUMBER_AT;
		if (end.time)
			j->ends[j->n++] = end;
	}
	tw_coded_chunk_release(&coded);
	qsort(j->ends, j->n, sizeof *j->ends, by_time);
	return 0;
}

/* ---- batches ---- */

/* The number, and 1, of the last reference at an address; 0: there is none. */
static size_t last_at(const struct tw_batch *b, uint64_t addr)
{
	uint64_t any = 0;
	for (size_t i = 0; i < b->n_refs; i++)
		any |= b->addr[i] == addr;
	size_t i = any ? b->n_refs : 0;
	while (i && b->addr[i - 1] != addr)
		i--;
	return i;
}

static size_t block_of(const struct tw_batch *b, size_t ref)
{
	const struct tw_block_run *run = tw_batch_blocks(b);
	size_t k = b->n_blocks - 1;
	while (k && run[k].first_ref > ref)
		k--;
	return k;
}

const struct tw_join_end *tw_joins_find(const struct tw_joins *j, uint32_t pid, size_t thread, uint64_t from, uint64_t to,
                                        const struct tw_batch *b, size_t *block)
{
	const struct tw_join_end *found = NULL;
	size_t low = 0, first = SIZE_MAX;
	for (size_t high = j->n; low < high;) {
		const size_t middle = (low + high) / 2;
		if (j->ends[middle].time > from)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < j->n && j->ends[low].time < to; low++) {
		const struct tw_join_end *e = &j->ends[low];
		const size_t last = e->pid == pid && e->thread != thread ? last_at(b, e->word) : 0;
		if (last && last < first) {
			first = last;
			found = e;
		}
	}
	if (found)
		*block = block_of(b, first - 1);
	return found;
}
