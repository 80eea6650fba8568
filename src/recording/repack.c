#include "recording/repack.h"
#include "recording/reader_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

struct coder {
	int level;
	size_t frame; /* of so many bytes before compression, at most */
};
static const struct coder coders[] = {[TW_CODER_FAST] = {1, 1 << 20}, [TW_CODER_SMALL] = {17, 8 << 20}};

struct repacker {
	const struct tw_recording *r;
	struct coder coder;
	int is_small;
	int to_fd, fd; /* the new directory, and the file that is being written */
	const char *name;
	ZSTD_CCtx *packs;
	ZSTD_DCtx *unpacks;
	struct tw_bytes raw, stored[TW_NSTREAMS];
	struct tw_totals totals;
};

/* ---- frames ---- */

static int compress(struct repacker *p, struct tw_bytes *to)
{
	to->n = 0;
	for (size_t at = 0; at < p->raw.n; at += p->coder.frame) {
		const size_t left = p->raw.n - at, n = left < p->coder.frame ? left : p->coder.frame;
		if (tw_bytes_reserve(to, ZSTD_compressBound(n)))
			return TW_ERR_MEMORY;
		const size_t got = ZSTD_compressCCtx(p->packs, to->at + to->n, to->room - to->n, p->raw.at + at, n, p->coder.level);
		if (ZSTD_isError(got))
			return tw_fail(TW_ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(got));
		to->n += got;
	}
	return TW_OK;
}

/*
 * Recompresses `n` stored bytes, with checksum *check. They stay as they are, in *to, if they are damaged, or would
 * grow although they are to be small.
 */
static int repack(struct repacker *p, const uint8_t *stored, uint64_t n, uint64_t *check, uint64_t raw, struct tw_bytes *to)
{
	int error = tw_reader_unpack(p->unpacks, stored, n, *check, raw, &p->raw);
	if (error == TW_ERR_MEMORY)
		return error;
	if (!error)
		error = compress(p, to);
	if (!error && (!p->is_small || to->n < n)) {
		*check = XXH64(to->at, to->n, 0);
		return TW_OK;
	}
	if (error == TW_ERR_MEMORY)
		return error;
	to->n = 0;
	if (tw_bytes_reserve(to, n + 1))
		return TW_ERR_MEMORY;
	memcpy(to->at, stored, n);
	to->n = n;
	return TW_OK;
}

/* ---- what files have ---- */

static int put(struct repacker *p, const void *bytes, size_t n)
{
	struct iovec iov = {(void *)bytes, n};
	return n ? tw_write_all(p->fd, &iov, 1, p->name) : TW_OK;
}

/* Returns the bytes of the chunk at `at`, or 0: it is not whole. */
static uint64_t chunk_bytes(const struct tw_reader_file *f, uint64_t at, struct tw_file_chunk *h)
{
	if (!tw_reader_header_at(f, at, TW_CHUNK_MAGIC, sizeof *h))
		return 0;
	memcpy(h, f->bytes + at, sizeof *h);
	uint64_t left = f->n - at - sizeof *h;
	for (int i = 0; i < TW_NSTREAMS; i++) {
		if (h->stored[i] > left)
			return 0;
		left -= h->stored[i];
	}
	return f->n - at - left;
}

static int repack_chunk(struct repacker *p, struct tw_file_chunk *h, const uint8_t *sections)
{
	int error = TW_OK;
	for (int i = 0; i < TW_NSTREAMS && !error; i++) {
		const uint64_t before = h->stored[i];
		error = repack(p, sections, before, &h->section_check[i], h->coded[i], &p->stored[i]);
		sections += before;
		h->stored[i] = p->stored[i].n;
		p->totals.stored[i] += h->stored[i] - before;
	}
	h->check = XXH64(h, offsetof(struct tw_file_chunk, check), 0);
	error = error ? error : put(p, h, sizeof *h);
	for (int i = 0; i < TW_NSTREAMS && !error; i++)
		error = put(p, p->stored[i].at, p->stored[i].n);
	return error;
}

static int repack_thread(struct repacker *p, const struct tw_reader_file *f)
{
	struct tw_file_chunk h;
	int error = TW_OK;
	for (uint64_t at = 0; at < f->n && !error;) {
		const uint64_t n = chunk_bytes(f, at, &h), next = n ? at + n : tw_reader_next_header(f, at + 1, TW_CHUNK_MAGIC, sizeof h);
		error = n ? repack_chunk(p, &h, f->bytes + at + sizeof h) : put(p, f->bytes + at, next - at);
		at = next;
	}
	return error;
}

static uint64_t block_bytes(const struct tw_reader_file *f, uint64_t at, struct tw_file_block *h)
{
	if (!tw_reader_header_at(f, at, TW_BLOCK_MAGIC, sizeof *h))
		return 0;
	memcpy(h, f->bytes + at, sizeof *h);
	return h->stored <= f->n - at - sizeof *h ? sizeof *h + h->stored : 0;
}

static int repack_block(struct repacker *p, struct tw_file_block *h, const uint8_t *bytes)
{
	int error = repack(p, bytes, h->stored, &h->section_check, h->raw, &p->stored[0]);
	if (error)
		return error;
	h->stored = p->stored[0].n;
	h->check = XXH64(h, offsetof(struct tw_file_block, check), 0);
	error = put(p, h, sizeof *h);
	return error ? error : put(p, p->stored[0].at, p->stored[0].n);
}

static int repack_blocks(struct repacker *p, const struct tw_reader_file *f)
{
	struct tw_file_block h;
	int error = TW_OK;
	for (uint64_t at = 0; at < f->n && !error;) {
		const uint64_t n = block_bytes(f, at, &h), next = n ? at + n : tw_reader_next_header(f, at + 1, TW_BLOCK_MAGIC, sizeof h);
		const uint64_t before = h.stored;
		error = n ? repack_block(p, &h, f->bytes + at + sizeof h) : put(p, f->bytes + at, next - at);
		if (n && !error && !strcmp(p->name, TW_CODE_FILE))
			p->totals.code_stored += h.stored - before;
		at = next;
	}
	return error;
}

/* ---- files ---- */

static int repack_file(struct repacker *p, const char *name, int (*each)(struct repacker *, const struct tw_reader_file *))
{
	struct tw_reader_file f;
	int error = tw_reader_map(p->r, name, &f);
	if (error)
		return error;
	p->name = name;
	p->fd = openat(p->to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	error = p->fd < 0 ? tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno)) : each(p, &f);
	if (p->fd >= 0 && close(p->fd) && !error)
		error = tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno));
	tw_reader_unmap(&f);
	return error;
}

static int repack_threads(struct repacker *p)
{
	uint32_t serial;
	int error = TW_OK, fd = openat(p->r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return tw_fail(TW_ERR_SYSTEM, "%s", strerror(errno));
	for (struct dirent *e; !error && (e = readdir(d));)
		if (tw_thread_file(e->d_name, &serial))
			error = repack_file(p, e->d_name, repack_thread);
	closedir(d);
	return error;
}

static int repack_all(struct repacker *p)
{
	struct tw_recording_info info = *tw_recording_info(p->r);
	const int is_complete = info.complete;
	info.complete = 0;
	int error = tw_header_write(p->to_fd, &info); /* until all is there */
	error = error ? error : repack_file(p, TW_CODE_FILE, repack_blocks);
	if (!error && !faccessat(p->r->dir_fd, TW_NAMES_FILE, F_OK, 0))
		error = repack_file(p, TW_NAMES_FILE, repack_blocks);
	error = error ? error : repack_threads(p);
	info.complete = is_complete;
	if (is_complete)
		info.totals = p->totals;
	return error ? error : tw_header_write(p->to_fd, &info);
}

int tw_repack(const struct tw_recording *r, const char *to, enum tw_coder coder, struct tw_totals *totals)
{
	struct repacker p = {
	    .r = r,
	    .coder = coders[coder],
	    .is_small = coder == TW_CODER_SMALL,
	    .to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    .packs = ZSTD_createCCtx(),
	    .unpacks = ZSTD_createDCtx(),
	    .totals = tw_recording_info(r)->totals,
	};
	int error = p.to_fd < 0            ? tw_fail(TW_ERR_SYSTEM, "%s: %s", to, strerror(errno))
	            : p.packs && p.unpacks ? repack_all(&p)
	                                   : TW_ERR_MEMORY;
	*totals = p.totals;
	if (p.to_fd >= 0)
		close(p.to_fd);
	ZSTD_freeCCtx(p.packs);
	ZSTD_freeDCtx(p.unpacks);
	free(p.raw.at);
	for (int i = 0; i < TW_NSTREAMS; i++)
		free(p.stored[i].at);
	return error;
}
