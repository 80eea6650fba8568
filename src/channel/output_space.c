#include "channel/output_space.h"
#include "channel/output_lane.h"
#include "channel/output_state.h"
#include "channel/output_write.h"
#include "channel/spool.h"
#include "recording/recording.h"

#include <stdatomic.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Reserve for the end of a recording: names, the header, how processes ended. A nearly full disk keeps less of it. */
#define SPARE_BYTES (1ull << 20)
enum { SPARE_PART = 16 };

/* Bytes that can be written. 0: not known. */
static uint64_t room(const struct tw_output *o)
{
	struct statvfs disk;
	if (fstatvfs(tw_writer_directory(o->options.writer), &disk) || !disk.f_blocks)
		return 0;
	return (uint64_t)(geteuid() ? disk.f_bavail : disk.f_bfree) * disk.f_frsize;
}

void tw_output_space_begin(struct tw_output *o)
{
	if (!o->options.writer || o->options.discard || o->ring)
		return;
	const uint64_t part = room(o) / SPARE_PART;
	o->spare = part < SPARE_BYTES ? part : SPARE_BYTES;
}

/* What this many bytes of buffers will take in chunks, judged by those written, `dealt` bytes, plus half. */
static uint64_t expected(const struct tw_output *o, uint64_t bytes, uint64_t dealt)
{
	enum { AT_FIRST = 4, AT_BEST = 32 };
	if (!dealt)
		return bytes / AT_FIRST;
	const double ratio = (double)atomic_load(&o->taken) / (double)dealt;
	return (uint64_t)((double)bytes * 1.5 * (ratio > 1.0 / AT_BEST ? ratio : 1.0 / AT_BEST));
}

uint64_t tw_output_space_growth(const struct tw_output *o, uint64_t bytes)
{
	uint64_t least = !o->unused && o->n_jobs < o->most_jobs ? 0 : UINT64_MAX;
	for (unsigned i = 0; least && i < o->n_jobs; i++)
		if (!o->job[i].unused_for_good && o->job[i].slot_bytes < least)
			least = o->job[i].slot_bytes;
	return bytes <= least ? 0 : tw_spool_growth(bytes) - (least ? tw_spool_growth(least) : 0);
}

/* What is still to be written, plus a buffer of this size, and what it takes in the spool. */
static uint64_t wanted(struct tw_output *o, uint64_t bytes)
{
	pthread_mutex_lock(&o->lock);
	const uint64_t unwritten = o->unwritten, dealt = o->dealt, grows = o->spool ? tw_output_space_growth(o, bytes) : 0;
	pthread_mutex_unlock(&o->lock);
	return expected(o, unwritten + bytes, dealt) + grows;
}

/*
 * The estimate for what waits is too high, and a slot of the spool is reused when its chunk is written: waits until a
 * chunk is finished. 0: there is none.
 */
static int wait_for_chunk(struct tw_output *o)
{
	pthread_mutex_lock(&o->lock);
	const uint64_t dealt = o->dealt;
	const int is_some = o->unwritten != 0;
	tw_output_end_feeding(o);
	tw_output_run_all(o);
	while (o->unwritten && o->dealt == dealt)
		pthread_cond_wait(&o->written, &o->lock);
	pthread_mutex_unlock(&o->lock);
	return is_some;
}

/* Chunks that have begun are the last, and get no more. */
static void end_at_full(struct tw_output *o)
{
	pthread_mutex_lock(&o->lock);
	tw_output_end_feeding(o);
	o->last_kept = o->last_id;
	o->most_jobs = o->n_jobs; /* the spool does not grow */
	pthread_mutex_unlock(&o->lock);
	atomic_store(&o->full, 1);
}

void tw_output_space_look(struct tw_output *o, uint64_t bytes)
{
	if (!o->spare || atomic_load(&o->full) || !tw_output_stores(o))
		return;
	int waits = 1;
	while (room(o) < o->spare + wanted(o, bytes) && waits)
		waits = wait_for_chunk(o);
	if (waits)
		return;
	end_at_full(o);
	tw_output_say(o, tw_fail(TW_ERR_SYSTEM, "no space is left on the disk but for what has run until now"));
}
