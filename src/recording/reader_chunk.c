/* One chunk: read, checked, decompressed, decoded. */
#include "recording/predictor.h"
#include "recording/reader_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Memory that chunks are read to. */
struct tw_chunk_room {
	struct tw_reader_window window;
	struct tw_tag_predictor tag_predictor;
	struct tw_bytes section; /* C, and when its tags are decoded M */
	struct tw_bytes tags, events;
};

static struct tw_chunk_room *new_room(void)
{
	struct tw_chunk_room *room = calloc(1, sizeof *room);
	if (room && !tw_reader_window_init(&room->window))
		return room;
	free(room);
	return NULL;
}

static void free_room(struct tw_chunk_room *room)
{
	if (!room)
		return;
	tw_reader_window_fini(&room->window);
	free(room->section.at);
	free(room->tags.at);
	free(room->events.at);
	free(room);
}

/* A chunk that is being read. */
struct reading {
	const struct tw_recording *r;
	const struct tw_reader_thread *t;
	const struct tw_chunk_info *c;
	const struct tw_reader_checks *checks;
	struct tw_chunk_room *room;
	int fd;
};

/* Reads the section of a stream; they follow each other. */
static int read_section(const struct reading *g, int stream, struct tw_bytes *to, uint64_t most)
{
	static const char *const names[TW_NSTREAMS] = {"C", "M", "E"};
	const struct tw_chunk_info *c = g->c;
	struct tw_reader_section s = {
	    .fd = g->fd,
	    .name = g->t->name,
	    .offset = c->offset + sizeof(struct tw_file_chunk),
	    .stored = c->stored[stream],
	    .check = g->checks->section[stream],
	    .raw = c->coded[stream],
	};
	for (int i = 0; i < stream; i++)
		s.offset += c->stored[i];
	int error = tw_reader_section(&g->room->window, &s, to, most);
	if (error == TW_ERR_CHECKSUM || error == TW_ERR_DAMAGED || error == TW_ERR_MEMORY)
		return tw_fail(error, "%s: stream %s of chunk %u at offset %llu", g->t->name, names[stream], c->sequence,
		               (unsigned long long)c->offset);
	return error;
}

/* A chunk of a recording in memory. */
static int find_kept(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out)
{
	const struct tw_kept_chunk *kept = (const struct tw_kept_chunk *)tw_reader_thread(r, thread)->kept.items + chunk;
	out->values = NULL;
	out->n_values = 0;
	return tw_reader_read_kept(r, kept, &out->room->window, &out->room->section, &out->chunk);
}

static void describe_chunk(const struct tw_reader_thread *t, const struct tw_chunk_info *c, struct tw_chunk *out)
{
	*out = (struct tw_chunk){
	    .thread = t->info.serial,
	    .sequence = c->sequence,
	    .upper = c->upper,
	    .flags = c->flags,
	    .first_insn = c->first_insn,
	    .first_block = c->first_block,
	    .first_ref = c->first_ref,
	    .insns = c->insns,
	    .blocks = c->blocks,
	    .refs = c->refs,
	    .reads = c->reads,
	    .writes = c->writes,
	    .n_c = c->raw[TW_STREAM_C] / 2,
	    .n_m = c->raw[TW_STREAM_M] / 8,
	    .n_e = c->raw[TW_STREAM_E],
	};
}

/* An error in the streams of a chunk. */
static int about_chunk(int error, const struct tw_reader_thread *t, const struct tw_chunk_info *c)
{
	return error ? tw_fail(error, "%s: chunk %u at offset %llu", t->name, c->sequence, (unsigned long long)c->offset) : TW_OK;
}

static int decode_tags(const struct tw_recording *r, struct tw_chunk_room *room, size_t n_c)
{
	uint64_t most = r->most.tags * sizeof(uint16_t) + 8;
	if (n_c > SIZE_MAX / sizeof(uint16_t) - 8 || tw_reader_room(&room->tags, n_c * sizeof(uint16_t) + 8, most))
		return TW_ERR_MEMORY;
	uint16_t *tags = (uint16_t *)(void *)room->tags.at;
	tags[n_c] = 0;
	return tw_decode_tags(&room->tag_predictor, room->section.at, room->section.n, tags, n_c);
}

/* Tags are decoded before values are read, to the same memory. */
static int read_sections(const struct reading *g, size_t n_c)
{
	struct tw_chunk_room *room = g->room;
	uint64_t most = g->r->most.section + 8;
	int error = read_section(g, TW_STREAM_C, &room->section, most);
	if (!error)
		error = about_chunk(decode_tags(g->r, room, n_c), g->t, g->c);
	if (!error)
		error = read_section(g, TW_STREAM_M, &room->section, most);
	return error ? error : read_section(g, TW_STREAM_E, &room->events, 0);
}

/* Describes a chunk, and opens its file; g->fd is -1 if there is none: then the chunk is in memory, and is there as a whole. */
static int begin_reading(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out, struct reading *g)
{
	const struct tw_chunk_info *c = tw_recording_chunk_info(r, thread, chunk);
	if (!c)
		return tw_fail(TW_ERR_RANGE, "thread %zu, chunk %zu", thread, chunk);
	out->room = out->room ? out->room : new_room();
	if (!out->room)
		return tw_fail(TW_ERR_MEMORY, "chunk %zu", chunk);
	const struct tw_reader_thread *t = tw_reader_thread(r, thread);
	*g = (struct reading){r, t, c, (const struct tw_reader_checks *)t->checks.items + chunk, out->room, -1};
	if (r->kept)
		return find_kept(r, thread, chunk, out);
	describe_chunk(t, c, &out->chunk);
	return tw_reader_open_file(r, t->name, &g->fd);
}

int tw_recording_coded_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out)
{
	struct reading g;
	int error = begin_reading(r, thread, chunk, out, &g);
	if (error || g.fd < 0)
		return error;
	error = read_sections(&g, out->chunk.n_c);
	close(g.fd);
	out->chunk.c = (uint16_t *)(void *)g.room->tags.at;
	out->chunk.e = g.room->events.at;
	out->values = g.room->section.at;
	out->n_values = g.room->section.n;
	return error;
}

int tw_recording_events(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out)
{
	struct reading g;
	int error = begin_reading(r, thread, chunk, out, &g);
	if (error || g.fd < 0)
		return error;
	error = read_section(&g, TW_STREAM_E, &g.room->events, 0);
	close(g.fd);
	out->chunk.e = g.room->events.at;
	return error;
}

void tw_coded_chunk_release(struct tw_coded_chunk *chunk)
{
	free_room(chunk->room);
	memset(chunk, 0, sizeof *chunk);
}

static int decode_values(const struct tw_recording *r, struct tw_coded_chunk *coded)
{
	struct tw_chunk *chunk = &coded->chunk;
	chunk->m = malloc(chunk->n_m * sizeof *chunk->m + 8);
	return chunk->m ? tw_decode_values(r->values, coded->values, coded->n_values, chunk) : TW_ERR_MEMORY;
}

int tw_recording_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_chunk *out)
{
	struct tw_coded_chunk coded = {0};
	memset(out, 0, sizeof *out);
	int error = tw_recording_coded_chunk(r, thread, chunk, &coded);
	if (!error)
		error = about_chunk(decode_values(r, &coded), tw_reader_thread(r, thread), tw_recording_chunk_info(r, thread, chunk));
	if (error) {
		free(coded.chunk.m);
	} else {
		*out = coded.chunk;
		coded.room->tags.at = coded.room->events.at = NULL; /* they are the caller's */
	}
	tw_coded_chunk_release(&coded);
	return error;
}

void tw_chunk_release(struct tw_chunk *chunk)
{
	free(chunk->c);
	free(chunk->m);
	free(chunk->e);
	memset(chunk, 0, sizeof *chunk);
}
