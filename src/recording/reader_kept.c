/*
 * Chunks of a recording that is in memory only: their streams as they came, one after another in large blocks of
 * memory; and when that is used up, compressed, in an unnamed file.
 */
#include "base/array.h"
#include "recording/reader_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Layout of a chunk's bytes; some bytes after them can be read, too. */
enum { MARGIN = 64 };

static size_t bytes_of(const struct tw_chunk *c)
{
	return c->n_m * sizeof *c->m + c->n_e + c->n_c * sizeof *c->c + MARGIN;
}

/* Values first, so that they are aligned where `at` is; events are of whole 8 bytes. */
static void lay(struct tw_chunk *c, uint8_t *at)
{
	c->m = (uint64_t *)(void *)at;
	c->e = at + c->n_m * sizeof *c->m;
	c->c = (uint16_t *)(void *)(c->e + c->n_e);
}

static void copy(struct tw_chunk *to, const struct tw_chunk *from, uint8_t *at)
{
	*to = *from;
	lay(to, at);
	memcpy(to->m, from->m, from->n_m * sizeof *from->m);
	memcpy(to->e, from->e, from->n_e);
	memcpy(to->c, from->c, from->n_c * sizeof *from->c);
	memset(to->c + to->n_c, 0, MARGIN);
}

/* ---- in memory ---- */

static uint8_t *room_for(struct tw_reader_kept *k, size_t n)
{
	enum { PIECE = 32 << 20, ALIGNMENT = 64 };
	n = (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (n > k->left) {
		size_t bytes = n < PIECE ? PIECE : n;
		void **piece = bytes <= k->most ? tw_reader_add(&k->pieces, sizeof *piece) : NULL;
		uint8_t *at = piece ? tw_array_huge(&bytes) : NULL;
		if (!at) {
			k->pieces.n -= piece != NULL;
			k->most = 0;
			return NULL;
		}
		*piece = at;
		k->most -= bytes < k->most ? bytes : k->most;
		k->at = at;
		k->left = bytes;
	}
	uint8_t *at = k->at;
	k->at += n;
	k->left -= n;
	return at;
}

/* ---- in the file ---- */

static int begin_file(struct tw_reader_kept *k)
{
	const char *parent = getenv("TMPDIR");
	char path[4096];
	if (k->fd >= 0)
		return TW_OK;
	const int n = snprintf(path, sizeof path, "%s/trackway.XXXXXX", parent && *parent ? parent : "/tmp");
	k->fd = n > 0 && (size_t)n < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
	if (k->fd < 0)
		return tw_fail(TW_ERR_SYSTEM, "%s: %s", path, strerror(errno));
	unlink(path);
	k->packs = ZSTD_createCCtx();
	return k->packs ? TW_OK : tw_fail(TW_ERR_MEMORY, "zstd");
}

static int append(struct tw_reader_kept *k, const void *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		const ssize_t got = pwrite(k->fd, (const char *)bytes + at, n - at, (off_t)(k->end + at));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return tw_fail(TW_ERR_SYSTEM, "what is kept of buffers: %s", strerror(got ? errno : ENOSPC));
		at += (size_t)got;
	}
	return TW_OK;
}

static int keep_in_file(struct tw_reader_kept *k, const struct tw_chunk *chunk, struct tw_kept_chunk *kept)
{
	enum { LEVEL = 1 };
	const size_t n = bytes_of(chunk);
	int error = begin_file(k);
	k->raw.n = k->stored.n = 0;
	if (!error)
		error = tw_bytes_reserve(&k->raw, n);
	if (!error)
		error = tw_bytes_reserve(&k->stored, ZSTD_compressBound(n));
	if (error)
		return error;
	copy(&kept->chunk, chunk, k->raw.at);
	kept->stored = ZSTD_compressCCtx(k->packs, k->stored.at, k->stored.room, k->raw.at, n, LEVEL);
	if (ZSTD_isError(kept->stored))
		return tw_fail(TW_ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(kept->stored));
	kept->offset = k->end;
	error = append(k, k->stored.at, kept->stored);
	k->end += error ? 0 : kept->stored;
	return error;
}

int tw_reader_read_kept(const struct tw_recording *r, const struct tw_kept_chunk *kept, struct tw_reader_window *w, struct tw_bytes *to,
                        struct tw_chunk *out)
{
	*out = kept->chunk;
	if (!kept->stored)
		return TW_OK;
	const size_t n = bytes_of(out);
	w->bytes.n = 0;
	int error = tw_bytes_reserve(&w->bytes, kept->stored);
	if (!error)
		error = tw_reader_room(to, n, n);
	if (!error)
		error = tw_read_at(r->kept->fd, w->bytes.at, kept->stored, kept->offset, "what is kept of buffers");
	if (!error && ZSTD_decompressDCtx(w->zstd, to->at, n, w->bytes.at, kept->stored) != n)
		error = tw_fail(TW_ERR_DAMAGED, "what is kept of buffers");
	lay(out, to->at);
	return error;
}

/* ---- all of them ---- */

struct tw_reader_kept *tw_reader_new_kept(uint64_t most)
{
	struct tw_reader_kept *k = calloc(1, sizeof *k);
	if (k) {
		k->most = most;
		k->fd = -1;
	}
	return k;
}

void tw_reader_free_kept(struct tw_reader_kept *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->pieces.n; i++)
		free(((void **)k->pieces.items)[i]);
	free(k->pieces.items);
	free(k->raw.at);
	free(k->stored.at);
	ZSTD_freeCCtx(k->packs);
	if (k->fd >= 0)
		close(k->fd);
	free(k);
}

int tw_reader_keep(struct tw_reader_kept *k, const struct tw_chunk *chunk, struct tw_kept_chunk *kept)
{
	uint8_t *at = room_for(k, bytes_of(chunk));
	if (!at)
		return keep_in_file(k, chunk, kept);
	copy(&kept->chunk, chunk, at);
	return TW_OK;
}
