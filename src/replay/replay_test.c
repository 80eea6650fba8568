/* Replay of a whole recording: order, workers, ranges, selection, damage, errors. */
#include "made_recording.h"

#include <trackway/replay.h>
#include <unistd.h>

enum { ALL = MADE_THREADS * MADE_CHUNKS * MADE_RUNS };

/* A state that notes the address of every read, in order. */
struct seen {
	uint64_t addr[ALL];
	size_t n;
	int stop_at; /* chunk at which to fail */
};

static struct seen result;
static int n_states, n_begun, ended_with, stop_at, stop_with = 42;
static int64_t slow = -1; /* a thread that is not analyzed further until somebody takes part of it, by its serial number; -1: none is */

static void *begin(void *arg)
{
	struct seen *s = arg == &result ? calloc(1, sizeof *s) : NULL;
	s->stop_at = stop_at;
	__atomic_fetch_add(&n_states, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&n_begun, 1, __ATOMIC_RELAXED);
	return s;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct seen *s = state;
	for (int ms = 0; b->thread == slow && __atomic_load_n(&n_begun, __ATOMIC_RELAXED) <= MADE_THREADS && ms < 5000; ms++)
		usleep(1000);
	for (size_t i = 0; i < b->n_refs && s->n < ALL; i++)
		if (tw_batch_refs(b)[i].type == TW_READ)
			s->addr[s->n++] = tw_batch_refs(b)[i].addr;
	return s->stop_at && b->sequence == (uint32_t)s->stop_at ? stop_with : 0;
}

static int merge(void *state, void *later)
{
	struct seen *s = state, *from = later;
	if (s->n + from->n <= ALL)
		memcpy(s->addr + s->n, from->addr, from->n * sizeof *s->addr);
	s->n += from->n;
	free(from);
	__atomic_fetch_sub(&n_states, 1, __ATOMIC_RELAXED);
	return 0;
}

static int end(void *state, int error)
{
	result = *(struct seen *)state;
	free(state);
	ended_with = error;
	n_states--;
	return error;
}

static const struct tw_analyzer analyzer = {.name = "seen", .begin = begin, .batch = batch, .merge = merge, .end = end};

static int replay(const struct tw_recording *r, struct tw_replay_options options)
{
	memset(&result, 0, sizeof result);
	int error = tw_replay(r, &options, &analyzer, &result);
	EQUAL(n_states, 0);
	return error;
}

static int in_order(void)
{
	int sorted = 1;
	for (size_t i = 0; i < ALL; i++)
		sorted &= result.addr[i] == 0x10000 * (i / (ALL / 2) + 1) + i % (ALL / 2);
	return sorted;
}

static void test_order(const struct tw_recording *r)
{
	for (unsigned jobs = 0; jobs < 6; jobs++) {
		for (unsigned grain = 0; grain < 8; grain++) {
			EQUAL(replay(r, (struct tw_replay_options){.jobs = jobs, .grain = grain / 2, .longest_first = grain % 2}), 0);
			EQUAL(result.n, ALL);
			CHECK(in_order());
		}
	}
}

/* A worker that has finished its range takes part of another's, and everything is in order. */
static void test_split(const struct tw_recording *r)
{
	for (size_t thread = 0; thread < MADE_THREADS; thread++) {
		slow = tw_recording_thread(r, thread)->serial;
		n_begun = 0;
		EQUAL(replay(r, (struct tw_replay_options){.jobs = MADE_THREADS}), 0);
		CHECK(n_begun > MADE_THREADS);
		EQUAL(result.n, ALL);
		CHECK(in_order());
	}
	slow = -1;
}

static int second_thread(void *context, size_t thread, size_t chunk)
{
	return context && thread == 1 && chunk >= 2;
}

static int nothing(void *context, size_t thread, size_t chunk)
{
	(void)context;
	return thread > 100 && chunk;
}

static void test_select(const struct tw_recording *r)
{
	int context;
	EQUAL(replay(r, (struct tw_replay_options){.jobs = 2, .select = second_thread, .context = &context}), 0);
	EQUAL(result.n, (MADE_CHUNKS - 2) * MADE_RUNS);
	EQUAL(result.addr[0], 0x20000 + 2 * MADE_RUNS);
	EQUAL(replay(r, (struct tw_replay_options){.jobs = 2, .select = nothing}), 0);
	EQUAL(result.n, 0);
}

static int n_damaged;

static int count_damage(void *context, size_t thread, size_t chunk, int error)
{
	(void)context;
	n_damaged += thread || chunk || error;
	return 0;
}

/* An analyzer's error is not damage, though it be one of ours. */
static void test_stop_with_error(const struct tw_recording *r)
{
	stop_at = 3;
	stop_with = TW_ERR_RANGE;
	EQUAL(replay(r, (struct tw_replay_options){.damage = count_damage}), TW_ERR_RANGE);
	EQUAL(ended_with, TW_ERR_RANGE);
	EQUAL(n_damaged, 0);
	stop_at = 0;
	stop_with = 42;
}

static void test_stop(const struct tw_recording *r)
{
	for (unsigned jobs = 1; jobs < 4; jobs++) {
		stop_at = 3;
		EQUAL(replay(r, (struct tw_replay_options){.jobs = jobs, .grain = 1}), 42);
		EQUAL(ended_with, 42);
		EQUAL(replay(r, (struct tw_replay_options){.jobs = jobs, .grain = 1, .longest_first = 1}), 42);
		EQUAL(ended_with, 42);
		stop_at = 0;
	}
}

static int note_damage(void *context, size_t thread, size_t chunk, int error)
{
	EQUAL(thread, 0);
	EQUAL(chunk, 4);
	EQUAL(error, TW_ERR_CHECKSUM);
	CHECK(tw_recording_detail()[0]);
	n_damaged++;
	return context ? 7 : 0;
}

static void test_damage(const char *dir, struct tw_recording *r)
{
	char path[PATH_MAX];
	uint64_t at = tw_recording_chunk_info(r, 0, 5)->offset - 3; /* in the last section of the chunk before */
	snprintf(path, sizeof path, "%s/thread-0000", dir);
	FILE *f = fopen(path, "r+");
	fseek(f, (long)at, SEEK_SET);
	fputs("?", f);
	fclose(f);
	EQUAL(replay(r, (struct tw_replay_options){.jobs = 1}), TW_ERR_CHECKSUM);
	EQUAL(replay(r, (struct tw_replay_options){.jobs = 3, .damage = note_damage}), 0);
	EQUAL(n_damaged, 1);
	EQUAL(result.n, ALL - MADE_RUNS);
	EQUAL(replay(r, (struct tw_replay_options){.jobs = 3, .damage = note_damage, .context = path}), 7);
}

int main(void)
{
	char dir[PATH_MAX];
	unit_enter_directory(dir);
	struct tw_recording *r = make_recording("r.tw");
	test_order(r);
	test_split(r);
	test_select(r);
	test_stop(r);
	test_stop_with_error(r);
	test_damage("r.tw", r);
	tw_recording_close(r);
	unit_leave_directory(dir);
	return UNIT_END();
}
