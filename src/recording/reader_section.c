/* Sections of chunks: read, checked and decompressed frame by frame. */
#include "recording/reader_state.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* Size of a read, with room for one frame as the recorder makes them. A larger frame makes the window grow. */
enum { WINDOW = 1 << 20 };

int tw_reader_window_init(struct tw_reader_window *w)
{
	w->zstd = ZSTD_createDCtx();
	w->check = XXH64_createState();
	w->bytes = (struct tw_bytes){.at = malloc(WINDOW), .room = WINDOW};
	if (w->zstd && w->check && w->bytes.at)
		return TW_OK;
	tw_reader_window_fini(w);
	return TW_ERR_MEMORY;
}

void tw_reader_window_fini(struct tw_reader_window *w)
{
	ZSTD_freeDCtx(w->zstd);
	XXH64_freeState(w->check);
	free(w->bytes.at);
	memset(w, 0, sizeof *w);
}

/* A section on its way. */
struct unpacking {
	const struct tw_reader_section *section;
	struct tw_reader_window *w;
	uint64_t read; /* of what is stored */
	size_t used;   /* of the window's bytes */
	struct tw_bytes *to;
};

/* Reads more of the section into the window, which grows if nothing in it has been used. There must be more. */
static int read_more(struct unpacking *u)
{
	struct tw_bytes *b = &u->w->bytes;
	const struct tw_reader_section *s = u->section;
	b->n -= u->used;
	memmove(b->at, b->at + u->used, b->n);
	u->used = 0;
	if (b->n == b->room && tw_bytes_reserve(b, b->room))
		return TW_ERR_MEMORY;
	uint64_t n = s->stored - u->read < b->room - b->n ? s->stored - u->read : b->room - b->n;
	int error = tw_read_at(s->fd, b->at + b->n, n, s->offset + u->read, s->name);
	if (error)
		return error;
	XXH64_update(u->w->check, b->at + b->n, n);
	u->read += n;
	b->n += n;
	return TW_OK;
}

/* Decompresses the frames that are whole in the window. */
static int unpack_frames(struct unpacking *u)
{
	struct tw_bytes *b = &u->w->bytes, *to = u->to;
	while (u->used < b->n) {
		const uint8_t *frame = b->at + u->used;
		size_t n = ZSTD_findFrameCompressedSize(frame, b->n - u->used);
		if (ZSTD_isError(n))
			return TW_OK;
		size_t got = ZSTD_decompressDCtx(u->w->zstd, to->at + to->n, u->section->raw - to->n, frame, n);
		if (ZSTD_isError(got))
			return TW_ERR_DAMAGED;
		to->n += got;
		u->used += n;
	}
	return TW_OK;
}

/* An error in a section is first of all an error of its checksum, so all of it is read. */
static int check_rest(struct unpacking *u, int error)
{
	int failed = TW_OK;
	while (!failed && u->read < u->section->stored) {
		u->used = u->w->bytes.n;
		failed = read_more(u);
	}
	if (failed)
		return failed;
	return XXH64_digest(u->w->check) == u->section->check ? error : TW_ERR_CHECKSUM;
}

static int unpack(struct unpacking *u)
{
	int error = TW_OK;
	while (!error && u->read < u->section->stored) {
		int failed = read_more(u);
		if (failed)
			return failed;
		error = unpack_frames(u);
	}
	if (!error && (u->used != u->w->bytes.n || u->to->n != u->section->raw))
		error = TW_ERR_DAMAGED;
	return check_rest(u, error);
}

int tw_reader_section(struct tw_reader_window *w, const struct tw_reader_section *s, struct tw_bytes *to, uint64_t most)
{
	struct unpacking u = {.section = s, .w = w, .to = to};
	to->n = w->bytes.n = 0;
	if (s->raw > UINT64_MAX - 8 || tw_reader_room(to, s->raw + 8, most))
		return TW_ERR_MEMORY;
	XXH64_reset(w->check, 0);
	int error = unpack(&u);
	if (error)
		to->n = 0;
	return error;
}
