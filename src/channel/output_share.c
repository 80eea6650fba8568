#include "channel/output_share.h"
#include "channel/output_jobs.h"
#include "channel/output_state.h"
#include "channel/output_write.h"

#include <stdatomic.h>

/* The rest of a chunk is divided if it has at least this many buffers: each part is encoded as if nothing preceded it. */
enum { LEAST = 4 };

/* Jobs at the end of a queue. */
struct rest {
	struct tw_lane *of;
	struct tw_job **first;
	unsigned n;
	int is_whole; /* they are all there are of a chunk */
};

void tw_output_begin_sharing(struct tw_output *o)
{
	o->is_sharing = o->spool && !o->options.check;
}

/* Those of the chunk that was begun last. */
static struct rest last_chunk(struct tw_lane *l)
{
	struct rest r = {.of = l, .first = &l->first};
	for (struct tw_job **job = &l->first; *job; job = &(*job)->next) {
		if ((*job)->id != (*r.first)->id)
			r = (struct rest){.of = l, .first = job};
		r.n++;
	}
	r.is_whole = *r.first && l->begun && l->begun != (*r.first)->id;
	return r;
}

/* Is there no chunk behind that of this job? */
static int is_last(const struct tw_output *o, const struct tw_job *job)
{
	return o->order[job->chunk.thread].begun == job->chunk.sequence + 1;
}

/* The part for another lane; n is 0: nothing. A lane that has not started keeps some. */
static struct rest to_give(const struct tw_output *o, struct tw_lane *l)
{
	struct rest r = last_chunk(l);
	if (r.is_whole)
		return r;
	const unsigned stay = r.n < LEAST || !is_last(o, *r.first) ? r.n : r.n / 2;
	for (unsigned k = 0; k < stay; k++)
		r.first = &(*r.first)->next;
	r.n -= stay;
	return r;
}

/*
 * They become the chunk after the one to which they belonged. Slots are updated from the last to the first, so that
 * whenever the collector is killed those of a chunk are consecutive.
 */
static void renumber(struct tw_output *o, const struct rest *r)
{
	struct tw_job *job[TW_CHUNK_BUFFERS];
	unsigned n = 0;
	for (struct tw_job *j = *r->first; j && n < TW_CHUNK_BUFFERS; j = j->next)
		job[n++] = j;
	const uint32_t id = ++o->last_id ? o->last_id : ++o->last_id;
	o->order[(*r->first)->chunk.thread].begun++;
	while (n-- > 0) {
		job[n]->id = id;
		job[n]->chunk.sequence++;
		int error = tw_output_write_head(o, job[n]);
		if (error)
			tw_output_fail(o, error);
	}
}

static void move(const struct rest *r, struct tw_lane *to)
{
	to->first = *r->first;
	to->last = r->of->last;
	to->busy += r->n;
	*r->first = NULL;
	r->of->last = r->first;
	r->of->busy -= r->n;
}

int tw_output_share(struct tw_output *o, struct tw_lane *l)
{
	struct rest best = {0};
	if (!o->is_sharing || l->open || atomic_load(&o->full) || o->n_running >= o->most_running)
		return 0;
	for (struct tw_lane *of = o->lane; of < o->lane + o->n_lanes; of++) {
		const struct rest r = of == l ? (struct rest){0} : to_give(o, of);
		best = r.n > best.n ? r : best;
	}
	if (!best.n)
		return 0;
	if (!best.is_whole)
		renumber(o, &best);
	move(&best, l);
	return 1;
}
