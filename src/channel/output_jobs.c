#include "channel/output_jobs.h"
#include "base/zeros.h"
#include "channel/demux.h"
#include "channel/feed.h"
#include "channel/machine.h"
#include "channel/output_state.h"
#include "channel/spool.h"

#include <stdlib.h>

/* Jobs at least when chunks are stored, and when they are not. */
enum { JOBS = 48, FEW_JOBS = 8 };

unsigned tw_output_most_jobs(const struct tw_output *o, int dear)
{
	unsigned chunks = 0;
	if (!dear || !o->options.grows_if_cheap || o->yields)
		return o->most_jobs;
	for (const struct tw_lane *l = o->lane; l < o->lane + o->n_lanes; l++)
		chunks += l->feeding != 0;
	const unsigned enough = (chunks > o->processors ? chunks : o->processors) * TW_CHUNK_BUFFERS;
	return enough < o->most_jobs ? enough : o->most_jobs;
}

int tw_output_add_job(struct tw_output *o)
{
	struct tw_job *job = &o->job[o->n_jobs];
	if (o->n_jobs >= tw_output_most_jobs(o, o->spool && tw_spool_grows_dearly(o->spool)))
		return 0;
	if (o->options.feed || o->spool) {
		if (o->options.feed)
			tw_feed_room(o->options.feed, o->n_jobs, &job->chunk);
		job->next = o->unused;
		o->unused = job;
		o->n_jobs++;
		return 1;
	}
	job->chunk.c = malloc(TW_DEMUX_C * sizeof *job->chunk.c);
	job->chunk.m = malloc(TW_DEMUX_M * sizeof *job->chunk.m);
	job->chunk.e = malloc(TW_DEMUX_E);
	if (!job->chunk.c || !job->chunk.m || !job->chunk.e) {
		tw_chunk_release(&job->chunk);
		o->most_jobs = o->n_jobs; /* it goes on with those there are */
		return 0;
	}
	job->next = o->unused;
	o->unused = job;
	o->n_jobs++;
	return 1;
}

void tw_output_give_up(struct tw_output *o, struct tw_job *job)
{
	if (--job->holders)
		return;
	job->put = 0;
	job->next = o->unused;
	o->unused = job;
	pthread_cond_signal(&o->freed);
}

void tw_output_drop(struct tw_output *o, struct tw_job *job)
{
	pthread_mutex_lock(&o->lock);
	tw_output_give_up(o, job);
	pthread_mutex_unlock(&o->lock);
}

int tw_output_write_head(struct tw_output *o, const struct tw_job *job)
{
	struct tw_spooled head = {
	    .put = job->put,
	    .descriptors = job->descriptors,
	    .serial = job->thread.serial,
	    .pid = job->thread.pid,
	    .tid = job->thread.tid,
	    .parent_pid = job->thread.parent_pid,
	    .sequence = job->chunk.sequence,
	    .flags = job->chunk.flags,
	    .dead = (uint32_t)job->dead,
	    .wait_status = job->wait_status,
	    .bytes = job->bytes,
	    .slack_end = job->slack_end,
	};
	return tw_spool_write_head(o->spool, (unsigned)(job - o->job), &head);
}

/*
 * Enough that the chunks of one thread keep all processors busy except the program's: several are encoded at once
 * only if each has more jobs waiting than its lane can do while the next one arrives. A job holds the streams of one
 * buffer. At most a sixteenth of the memory.
 */
static unsigned count_jobs(const struct tw_output_options *opt)
{
	const uint64_t room = tw_machine_memory() / 16 / TW_BUFFER_BYTES;
	uint64_t lanes = tw_machine_processors() - 1, n;
	if (opt->feed)
		return TW_FEED_JOBS;
	if (opt->discard)
		return FEW_JOBS;
	if (opt->check || !opt->writer)
		return JOBS;
	lanes = lanes < 1 ? 1 : lanes > TW_OUTPUT_LANES / 2 ? TW_OUTPUT_LANES / 2 : lanes;
	n = lanes * TW_CHUNK_BUFFERS + JOBS / 2;
	n = n < room ? n : room;
	return (unsigned)(n > JOBS ? n : JOBS);
}

/* If memory is limited, all jobs together may have a sixth of it: they usually have room for more than they contain. */
static unsigned limit_jobs(unsigned n)
{
	const uint64_t job = TW_DEMUX_C * sizeof(uint16_t) + TW_DEMUX_M * sizeof(uint64_t) + TW_DEMUX_E,
	               most = tw_machine_memory() / 6 / job;
	return most >= n ? n : most > FEW_JOBS ? (unsigned)most : FEW_JOBS;
}

int tw_output_make_jobs(struct tw_output *o)
{
	o->most_jobs = o->spool ? tw_spool_slots(o->spool) : limit_jobs(count_jobs(&o->options));
	o->job_bytes = o->most_jobs * sizeof *o->job;
	o->job = tw_zeros_new(o->job_bytes);
	return o->job && tw_output_add_job(o)
	           ? TW_OK
	           : tw_fail(TW_ERR_MEMORY, "chunks"); /* the others when they are wanted: a short program wants none */
}
