/* One chunk: read, checked, decompressed, decoded. */
#include "recording/reader.h"
#include "recording/transform.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Decompresses the three sections of a chunk, which follow each other at `stored`. */
static int unpack_sections(const struct tw_reader_thread *t, const struct tw_chunk_info *c, const struct tw_reader_checks *checks,
                           const uint8_t *stored, void **section)
{
	static const char *const names[TW_NSTREAMS] = {"C", "M", "E"};
	for (int i = 0; i < TW_NSTREAMS; i++) {
		int error = tw_reader_unpack(stored, c->stored[i], checks->section[i], c->coded[i], &section[i]);
		if (error)
			return tw_fail(error, "%s: stream %s of chunk %u at offset %llu", t->name, names[i], c->sequence,
			               (unsigned long long)c->offset);
		stored += c->stored[i];
	}
	return TW_OK;
}

static int read_sections(const struct tw_recording *r, const struct tw_reader_thread *t, const struct tw_chunk_info *c,
                         const struct tw_reader_checks *checks, void **section)
{
	uint64_t n = c->stored[0] + c->stored[1] + c->stored[2];
	uint8_t *stored = malloc(n + 1);
	if (!stored)
		return tw_fail(TW_ERR_MEMORY, "%s: chunk %u", t->name, c->sequence);
	int fd, error = tw_reader_open_file(r, t->name, &fd);
	if (!error) {
		error = tw_read_at(fd, stored, n, c->offset + sizeof(struct tw_file_chunk), t->name);
		close(fd);
	}
	if (!error)
		error = unpack_sections(t, c, checks, stored, section);
	free(stored);
	return error;
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

static int decode_tags(const uint8_t *section, size_t n, struct tw_chunk *out)
{
	out->c = malloc(out->n_c * sizeof *out->c + 8);
	return out->c ? tw_decode_tags(section, n, out->c, out->n_c) : TW_ERR_MEMORY;
}

int tw_recording_coded_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out)
{
	memset(out, 0, sizeof *out);
	const struct tw_chunk_info *c = tw_recording_chunk_info(r, thread, chunk);
	if (!c)
		return tw_fail(TW_ERR_RANGE, "thread %zu, chunk %zu", thread, chunk);
	const struct tw_reader_thread *t = tw_reader_thread(r, thread);
	void *section[TW_NSTREAMS] = {NULL};
	int error = read_sections(r, t, c, (const struct tw_reader_checks *)t->checks.items + chunk, section);
	describe_chunk(t, c, &out->chunk);
	out->chunk.e = section[TW_STREAM_E];
	out->values = section[TW_STREAM_M];
	out->n_values = c->coded[TW_STREAM_M];
	if (!error)
		error = about_chunk(decode_tags(section[TW_STREAM_C], c->coded[TW_STREAM_C], &out->chunk), t, c);
	free(section[TW_STREAM_C]);
	if (error)
		tw_coded_chunk_release(out);
	return error;
}

void tw_coded_chunk_release(struct tw_coded_chunk *chunk)
{
	tw_chunk_release(&chunk->chunk);
	free(chunk->values);
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
	struct tw_coded_chunk coded;
	int error = tw_recording_coded_chunk(r, thread, chunk, &coded);
	if (!error)
		error = about_chunk(decode_values(r, &coded), tw_reader_thread(r, thread), tw_recording_chunk_info(r, thread, chunk));
	*out = coded.chunk;
	if (error)
		tw_chunk_release(out);
	free(coded.values);
	return error;
}

void tw_chunk_release(struct tw_chunk *chunk)
{
	free(chunk->c);
	free(chunk->m);
	free(chunk->e);
	memset(chunk, 0, sizeof *chunk);
}
