/* One chunk: read, checked, decompressed, decoded. */
#include "recording/reader.h"
#include "recording/transform.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Memory that chunks are read to. */
struct tw_chunk_room {
	ZSTD_DCtx *zstd;
	struct tw_bytes stored, section[TW_NSTREAMS], tags;
};

static struct tw_chunk_room *new_room(void)
{
	struct tw_chunk_room *room = calloc(1, sizeof *room);
	if (room)
		room->zstd = ZSTD_createDCtx();
	if (room && room->zstd)
		return room;
	free(room);
	return NULL;
}

static void free_room(struct tw_chunk_room *room)
{
	if (!room)
		return;
	for (int i = 0; i < TW_NSTREAMS; i++)
		free(room->section[i].at);
	free(room->stored.at);
	free(room->tags.at);
	ZSTD_freeDCtx(room->zstd);
	free(room);
}

/* Decompresses the three sections of a chunk, which follow each other. */
static int unpack_sections(const struct tw_reader_thread *t, const struct tw_chunk_info *c, const struct tw_reader_checks *checks,
                           struct tw_chunk_room *room)
{
	static const char *const names[TW_NSTREAMS] = {"C", "M", "E"};
	const uint8_t *stored = room->stored.at;
	for (int i = 0; i < TW_NSTREAMS; i++) {
		int error = tw_reader_unpack(room->zstd, stored, c->stored[i], checks->section[i], c->coded[i], &room->section[i]);
		if (error)
			return tw_fail(error, "%s: stream %s of chunk %u at offset %llu", t->name, names[i], c->sequence,
			               (unsigned long long)c->offset);
		stored += c->stored[i];
	}
	return TW_OK;
}

static int read_sections(const struct tw_recording *r, const struct tw_reader_thread *t, const struct tw_chunk_info *c,
                         const struct tw_reader_checks *checks, struct tw_chunk_room *room)
{
	uint64_t n = c->stored[0] + c->stored[1] + c->stored[2];
	if (tw_reader_room(&room->stored, n + 1))
		return tw_fail(TW_ERR_MEMORY, "%s: chunk %u", t->name, c->sequence);
	int fd, error = tw_reader_open_file(r, t->name, &fd);
	if (!error) {
		error = tw_read_at(fd, room->stored.at, n, c->offset + sizeof(struct tw_file_chunk), t->name);
		close(fd);
	}
	return error ? error : unpack_sections(t, c, checks, room);
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

static int decode_tags(struct tw_chunk_room *room, size_t n_c)
{
	if (n_c > SIZE_MAX / sizeof(uint16_t) - 8 || tw_reader_room(&room->tags, n_c * sizeof(uint16_t) + 8))
		return TW_ERR_MEMORY;
	uint16_t *tags = (uint16_t *)(void *)room->tags.at;
	tags[n_c] = 0;
	return tw_decode_tags(room->section[TW_STREAM_C].at, room->section[TW_STREAM_C].n, tags, n_c);
}

/* Reads a chunk that is there into out->room. */
static int read_chunk(const struct tw_recording *r, size_t thread, const struct tw_chunk_info *c, const struct tw_reader_checks *checks,
                      struct tw_coded_chunk *out)
{
	const struct tw_reader_thread *t = tw_reader_thread(r, thread);
	struct tw_chunk_room *room = out->room;
	int error = read_sections(r, t, c, checks, room);
	describe_chunk(t, c, &out->chunk);
	if (!error)
		error = about_chunk(decode_tags(room, out->chunk.n_c), t, c);
	out->chunk.c = (uint16_t *)(void *)room->tags.at;
	out->chunk.e = room->section[TW_STREAM_E].at;
	out->values = room->section[TW_STREAM_M].at;
	out->n_values = room->section[TW_STREAM_M].n;
	return error;
}

int tw_recording_coded_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out)
{
	const struct tw_chunk_info *c = tw_recording_chunk_info(r, thread, chunk);
	if (!c)
		return tw_fail(TW_ERR_RANGE, "thread %zu, chunk %zu", thread, chunk);
	out->room = out->room ? out->room : new_room();
	if (!out->room)
		return tw_fail(TW_ERR_MEMORY, "chunk %zu", chunk);
	return read_chunk(r, thread, c, (const struct tw_reader_checks *)tw_reader_thread(r, thread)->checks.items + chunk, out);
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
		coded.room->tags.at = coded.room->section[TW_STREAM_E].at = NULL; /* they are the caller's */
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
