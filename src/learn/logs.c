#include "learn/logs.h"
#include "recording/recording.h"

#include <stdlib.h>

struct tried {
	struct tw_log *log;
	struct tw_log *covered;  /* what has been instrumented by it, exactly */
	struct tw_log *mistaken; /* blocks that have been counted as its negatives, by address */
	struct tw_log_figures *figures;
};

struct state {
	struct tried of[TW_LOGS];
	struct tw_log *ran;
	const struct tw_recording *recording;
	uint64_t asked;
	uint32_t pid;
	uint8_t *seen[65536]; /* bits of fragments, by upper half and lower */
};

/* One log is asked about a block that runs. */
static int ask(struct tried *t, uint64_t pc, uint64_t bytes)
{
	const int covered = tw_log_knows(t->covered, pc, bytes);
	int error = TW_OK;
	if (!tw_log_knows(t->log, pc, bytes)) {
		t->figures->instrumented++;
		t->figures->positives += (unsigned)covered;
		error = tw_log_add(t->log, pc, bytes);
		return error ? error : tw_log_add(t->covered, pc, bytes);
	}
	if (covered || tw_log_knows(t->mistaken, pc, bytes))
		return TW_OK;
	t->figures->negatives++;
	return tw_log_add(t->mistaken, pc, bytes);
}

static int take_block(struct state *s, const struct tw_block *b)
{
	int error = TW_OK;
	s->asked++;
	for (unsigned k = 0; k < TW_LOGS && !error; k++)
		error = ask(&s->of[k], b->pc, b->bytes);
	return error || tw_log_knows(s->ran, b->pc, b->bytes) ? error : tw_log_add(s->ran, b->pc, b->bytes);
}

/* Is the fragment new? A log is asked when code is translated, so each fragment counts once. TW_ERR_MEMORY. */
static int is_new(struct state *s, uint32_t number)
{
	uint8_t **row = &s->seen[number >> 16];
	if (!*row && !(*row = calloc(65536 / 8, 1)))
		return tw_fail(TW_ERR_MEMORY, "logs");
	uint8_t *byte = &(*row)[(number & 0xffff) / 8], bit = (uint8_t)(1 << number % 8);
	const int new = !(*byte & bit);
	*byte |= bit;
	return new;
}

static int take_fragment(struct state *s, const struct tw_descriptor *d)
{
	int error = is_new(s, d->number);
	for (unsigned k = 0; error > 0 && k < d->n_blocks; k++) {
		const int failed = take_block(s, &tw_descriptor_blocks(d)[k]);
		error = failed ? failed : error;
	}
	return error < 0 ? error : TW_OK;
}

static uint32_t pid_of(const struct tw_recording *r, uint32_t serial)
{
	for (size_t i = 0; i < tw_recording_n_threads(r); i++)
		if (tw_recording_thread(r, i)->serial == serial)
			return tw_recording_thread(r, i)->pid;
	return 0;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const struct tw_block_run *run = tw_batch_blocks(b);
	int error = TW_OK;
	if (pid_of(s->recording, b->thread) != s->pid)
		return TW_OK;
	for (size_t i = 0; i < b->n_blocks && !error; i++)
		error = run[i].n_insns ? take_fragment(s, run[i].descriptor) : TW_OK;
	return error;
}

static void *begin(void *arg)
{
	return arg;
}

static int merge(void *state, void *later)
{
	(void)state;
	(void)later;
	return TW_ERR_RANGE; /* there is one state: one worker, threads in order */
}

static int end(void *state, int error)
{
	struct state *s = state;
	for (unsigned k = 0; k < TW_LOGS && !error; k++) {
		s->of[k].figures->entries = tw_log_entries(s->of[k].log);
		s->of[k].figures->missed = tw_log_bytes(s->ran) - tw_log_bytes(s->of[k].covered);
	}
	return error;
}

static int make(struct tried *t, const char *name, struct tw_log_figures *figures)
{
	*figures = (struct tw_log_figures){.name = name};
	*t = (struct tried){tw_log_new(name), tw_log_new("exact"), tw_log_new("hash"), figures};
	return t->log && t->covered && t->mistaken ? TW_OK : tw_fail(TW_ERR_MEMORY, "logs");
}

static void free_state(struct state *s)
{
	for (unsigned k = 0; k < TW_LOGS; k++) {
		tw_log_free(s->of[k].log);
		tw_log_free(s->of[k].covered);
		tw_log_free(s->of[k].mistaken);
	}
	tw_log_free(s->ran);
	for (size_t i = 0; i < 65536; i++)
		free(s->seen[i]);
	free(s);
}

int tw_logs_compare(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_log_figures of[TW_LOGS],
                    uint64_t *asked)
{
	static const struct tw_analyzer analyzer = {
	    .name = "logs", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = TW_NEEDS_FLOW, .scope = TW_SCOPE_ALL};
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return tw_fail(TW_ERR_MEMORY, "logs");
	s->recording = r;
	s->ran = tw_log_new("exact");
	int error = s->ran ? TW_OK : tw_fail(TW_ERR_MEMORY, "logs");
	s->pid = tw_recording_n_threads(r) ? tw_recording_thread(r, 0)->pid : 0;
	for (unsigned k = 0; k < TW_LOGS && !error; k++)
		error = make(&s->of[k], tw_log_name(k), &of[k]);
	if (!error)
		error = tw_replay(r, options, &analyzer, s);
	*asked = s->asked;
	free_state(s);
	return error;
}
