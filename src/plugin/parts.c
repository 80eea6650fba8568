#include "plugin/parts.h"
#include "recording/recording.h"
#include "replay/replayer.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The end of a unit: this chunk of this thread; and sums over everything before it. */
struct unit {
	size_t thread, chunk;
	uint64_t cost, insns, digest;
};

struct tw_parts {
	struct tw_stage *stage;
	const struct tw_recording *recording;
	const struct tw_replay_options *options;
	struct tw_analyzer analyzer;
	struct tw_replayer *replayer;
	struct unit *units; /* one more than there are */
	size_t n;
	/* Of the run that goes on: */
	const struct unit *from, *to;
	uint64_t damaged;
};

const char *tw_parts_refuse(const struct tw_analyzer *analyzer)
{
	if (analyzer->scope == TW_SCOPE_ALL)
		return "it needs all threads in time order, and cannot work in parts";
	return analyzer->pack ? NULL : "it has no pack() and unpack(), and cannot work in parts";
}

/* ---- units ---- */

static int is_selected(const struct tw_parts *p, size_t thread, size_t chunk)
{
	return !p->options->select || p->options->select(p->options->context, thread, chunk);
}

static void add_chunk(const struct tw_parts *p, struct unit *sum, size_t thread, size_t chunk)
{
	const struct tw_chunk_info *c = tw_recording_chunk_info(p->recording, thread, chunk);
	const uint64_t facts[] = {sum->digest,
	                          tw_recording_thread(p->recording, thread)->serial,
	                          c->sequence,
	                          c->first_insn,
	                          c->first_ref,
	                          c->insns,
	                          c->refs,
	                          c->stored[TW_STREAM_C],
	                          c->stored[TW_STREAM_M]};
	sum->digest = XXH64(facts, sizeof facts, 0);
	sum->insns += c->insns;
	sum->cost += c->stored[TW_STREAM_C] + c->stored[TW_STREAM_M] + c->coded[TW_STREAM_M] + c->raw[TW_STREAM_C];
}

static void list_units(struct tw_parts *p)
{
	const struct tw_recording_info *info = tw_recording_info(p->recording);
	const uint64_t facts[] = {(uint64_t)info->start, info->tsc_start, info->format};
	struct unit sum = {.digest = XXH64(facts, sizeof facts, 0)};
	size_t n_threads = tw_recording_n_threads(p->recording);
	for (size_t t = 0; t < n_threads; t++) {
		size_t n_chunks = tw_recording_thread(p->recording, t)->n_chunks, chosen = 0;
		for (size_t c = 0; c < n_chunks; c++) {
			if (!is_selected(p, t, c))
				continue;
			if (!chosen++ || p->analyzer.scope == TW_SCOPE_CHUNKS) {
				sum.thread = t;
				sum.chunk = c;
				p->units[p->n++] = sum;
			}
			add_chunk(p, &sum, t, c);
		}
	}
	sum.thread = n_threads;
	sum.chunk = 0;
	p->units[p->n] = sum;
}

size_t tw_parts_units(const struct tw_parts *p)
{
	return p->n;
}

uint64_t tw_parts_cost_before(const struct tw_parts *p, size_t unit)
{
	return p->units[unit].cost;
}

uint64_t tw_parts_insns(const struct tw_parts *p, size_t first, size_t end)
{
	return p->units[end].insns - p->units[first].insns;
}

uint64_t tw_parts_digest(const struct tw_parts *p, size_t end)
{
	return p->units[end].digest;
}

size_t tw_parts_piece(const struct tw_parts *p, size_t first, size_t end, uint64_t cost)
{
	size_t i = first + 1;
	while (i < end && p->units[i + 1].cost - p->units[first].cost <= cost)
		i++;
	return i;
}

/* ---- the run ---- */

static int is_before(size_t thread, size_t chunk, const struct unit *u)
{
	return thread < u->thread || (thread == u->thread && chunk < u->chunk);
}

static int select_units(void *context, size_t thread, size_t chunk)
{
	const struct tw_parts *p = context;
	return !is_before(thread, chunk, p->from) && is_before(thread, chunk, p->to) && is_selected(p, thread, chunk);
}

static int note_damage(void *context, size_t thread, size_t chunk, int error)
{
	struct tw_parts *p = context;
	p->damaged++;
	return p->options->damage ? p->options->damage(p->options->context, thread, chunk, error) : error;
}

int tw_parts_run(struct tw_parts *p, size_t first, size_t end, struct tw_part *out)
{
	const struct tw_replay_options options = {.jobs = p->options->jobs, .select = select_units, .damage = note_damage, .context = p};
	*out = (struct tw_part){.first = first, .end = end};
	p->from = &p->units[first];
	p->to = &p->units[end];
	p->damaged = 0;
	p->stage->kept = &out->state;
	int error = tw_replayer_run(p->replayer, &options, &p->analyzer, p->stage);
	p->stage->kept = NULL;
	out->damaged = p->damaged;
	return error;
}

int tw_parts_join(struct tw_parts *p, struct tw_part *to, struct tw_part *next)
{
	int error = p->analyzer.merge(to->state, next->state);
	next->state = NULL;
	to->end = next->end;
	to->damaged += next->damaged;
	return error;
}

int tw_parts_end(struct tw_parts *p, struct tw_part *part, int error)
{
	void *state = part->state;
	part->state = NULL;
	return p->analyzer.end(state, error);
}

/* ---- as bytes ---- */

int tw_parts_pack(const struct tw_parts *p, const struct tw_part *part, char **bytes, size_t *n)
{
	FILE *f = open_memstream(bytes, n);
	if (!f)
		return tw_fail(TW_ERR_MEMORY, "packed state");
	int error = p->analyzer.pack(part->state, f);
	if (fclose(f) && !error)
		error = tw_fail(TW_ERR_MEMORY, "packed state");
	if (error) {
		free(*bytes);
		*bytes = NULL;
	}
	return error;
}

int tw_parts_unpack(struct tw_parts *p, struct tw_part *part, const char *bytes, size_t n)
{
	static const char nothing[1];
	FILE *f = fmemopen((void *)(n ? bytes : nothing), n ? n : 1, "r");
	part->state = f ? p->analyzer.begin(p->stage) : NULL;
	int error = part->state ? p->analyzer.unpack(part->state, f) : tw_fail(TW_ERR_MEMORY, "packed state");
	if (part->state && !error && n && fgetc(f) != EOF)
		error = tw_fail(TW_ERR_DAMAGED, "packed state");
	if (f)
		fclose(f);
	if (part->state && error)
		tw_parts_end(p, part, error);
	return error;
}

/* ---- life ---- */

int tw_parts_new(struct tw_stage *stage, const struct tw_recording *r, const struct tw_replay_options *options, struct tw_parts **out)
{
	struct tw_parts *p = calloc(1, sizeof *p);
	size_t n = 1, n_threads = tw_recording_n_threads(r);
	int error = p ? tw_replayer_new(r, &p->replayer) : tw_fail(TW_ERR_MEMORY, "list of chunks");
	*out = NULL;
	if (error) {
		free(p);
		return error;
	}
	for (size_t t = 0; t < n_threads; t++)
		n += tw_recording_thread(r, t)->n_chunks;
	p->stage = stage;
	p->recording = r;
	p->options = options;
	p->analyzer = tw_stage_analyzer(stage->request);
	p->units = calloc(n, sizeof *p->units);
	if (!p->units) {
		tw_parts_free(p);
		return tw_fail(TW_ERR_MEMORY, "list of chunks");
	}
	list_units(p);
	*out = p;
	return 0;
}

void tw_parts_free(struct tw_parts *p)
{
	if (!p)
		return;
	tw_replayer_free(p->replayer);
	free(p->units);
	free(p);
}
