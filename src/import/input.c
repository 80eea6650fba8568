#include "import/input.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { STORED_ROOM = 1 << 17, MAGIC = 6, PIPE_BYTES = 1 << 20 };

enum form { PLAIN, GZIP, XZ, ZSTD };

struct tw_input {
	int fd;
	enum form form;
	int cut_off;
	int within; /* 1: in the middle of compressed data */
	z_stream gzip;
	lzma_stream xz;
	ZSTD_DStream *zstd;
	size_t at, n; /* of `stored`: what is still to be used */
	int ended;    /* the file is at its end */
	unsigned char stored[STORED_ROOM];
};

/* What a decoder made of `stored`. */
struct step {
	size_t used, made;
	int error;
};

/* ---- the file ---- */

/* Reads more behind what is stored. */
static int fill(struct tw_input *in)
{
	ssize_t n;
	do
		n = read(in->fd, in->stored + in->n, sizeof in->stored - in->n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return tw_fail(TW_ERR_SYSTEM, "%s", strerror(errno));
	in->ended = n == 0;
	in->n += (size_t)n;
	return 0;
}

/* ---- decoders ---- */

static struct step damaged(const char *what)
{
	return (struct step){.error = tw_fail(TW_ERR_SYSTEM, "%s", what)};
}

static struct step read_gzip(struct tw_input *in, void *to, size_t n)
{
	z_stream *z = &in->gzip;
	z->next_in = in->stored + in->at;
	z->avail_in = (uInt)(in->n - in->at);
	z->next_out = to;
	z->avail_out = (uInt)n;
	int result = inflate(z, Z_NO_FLUSH);
	struct step s = {.used = in->n - in->at - z->avail_in, .made = n - z->avail_out};
	in->within = result != Z_STREAM_END;
	if (result == Z_STREAM_END)
		inflateReset(z); /* another member may follow */
	else if (result != Z_OK && result != Z_BUF_ERROR)
		return damaged("this is no longer gzip data");
	return s;
}

static struct step read_xz(struct tw_input *in, void *to, size_t n)
{
	lzma_stream *z = &in->xz;
	z->next_in = in->stored + in->at;
	z->avail_in = in->n - in->at;
	z->next_out = to;
	z->avail_out = n;
	lzma_ret result = lzma_code(z, in->ended ? LZMA_FINISH : LZMA_RUN);
	struct step s = {.used = in->n - in->at - z->avail_in, .made = n - z->avail_out};
	in->within = result != LZMA_STREAM_END;
	if (result != LZMA_OK && result != LZMA_STREAM_END && result != LZMA_BUF_ERROR)
		return damaged("this is no longer xz data");
	return s;
}

static struct step read_zstd(struct tw_input *in, void *to, size_t n)
{
	ZSTD_inBuffer from = {in->stored + in->at, in->n - in->at, 0};
	ZSTD_outBuffer out = {to, n, 0};
	size_t result = ZSTD_decompressStream(in->zstd, &out, &from);
	struct step s = {.used = from.pos, .made = out.pos};
	if (ZSTD_isError(result))
		return damaged("this is no longer zstd data");
	in->within = result != 0;
	return s;
}

static struct step read_plain(struct tw_input *in, void *to, size_t n)
{
	size_t left = in->n - in->at;
	struct step s = {.used = left < n ? left : n};
	s.made = s.used;
	memcpy(to, in->stored + in->at, s.used);
	return s;
}

static int init_decoder(struct tw_input *in)
{
	enum { GZIP_HEADER = 16 };
	switch (in->form) {
	case GZIP:
		return inflateInit2(&in->gzip, MAX_WBITS + GZIP_HEADER) == Z_OK;
	case XZ:
		return lzma_stream_decoder(&in->xz, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK;
	case ZSTD:
		in->zstd = ZSTD_createDStream();
		return in->zstd != NULL;
	default:
		return 1;
	}
}

/* ---- the face ---- */

static enum form form_of(const struct tw_input *in)
{
	if (in->n >= 2 && !memcmp(in->stored, "\x1f\x8b", 2))
		return GZIP;
	if (in->n >= 6 && !memcmp(in->stored,
	                          "\xfd"
	                          "7zXZ",
	                          6))
		return XZ;
	if (in->n >= 4 && !memcmp(in->stored, "\x28\xb5\x2f\xfd", 4))
		return ZSTD;
	return PLAIN;
}

static int open_file(struct tw_input *in, const char *path)
{
	int is_stdin = !strcmp(path, "-");
	in->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0)
		return tw_fail(TW_ERR_SYSTEM, "%s", strerror(errno));
	fcntl(in->fd, F_SETPIPE_SZ, PIPE_BYTES); /* so that the writer waits less; fails if it is not a pipe */
	int error = 0;
	while (!error && !in->ended && in->n < MAGIC)
		error = fill(in);
	in->form = form_of(in);
	if (!error && !init_decoder(in))
		error = tw_fail(TW_ERR_MEMORY, "input");
	return error;
}

int tw_input_open(const char *path, struct tw_input **out)
{
	struct tw_input *in = calloc(1, sizeof *in);
	if (!in)
		return tw_fail(TW_ERR_MEMORY, "input");
	in->xz = (lzma_stream)LZMA_STREAM_INIT;
	int error = open_file(in, path);
	if (error) {
		tw_input_close(in);
		return error;
	}
	*out = in;
	return 0;
}

void tw_input_close(struct tw_input *in)
{
	if (!in)
		return;
	if (in->form == GZIP)
		inflateEnd(&in->gzip);
	lzma_end(&in->xz);
	ZSTD_freeDStream(in->zstd);
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	free(in);
}

int tw_input_cut_off(const struct tw_input *in)
{
	return in->cut_off;
}

static struct step decode(struct tw_input *in, void *to, size_t n)
{
	switch (in->form) {
	case GZIP:
		return read_gzip(in, to, n);
	case XZ:
		return read_xz(in, to, n);
	case ZSTD:
		return read_zstd(in, to, n);
	default:
		return read_plain(in, to, n);
	}
}

ssize_t tw_input_read(struct tw_input *in, void *to, size_t n)
{
	for (;;) {
		int error = 0;
		if (in->at == in->n && !in->ended) {
			in->at = in->n = 0;
			error = fill(in);
		}
		if (error)
			return error;
		struct step s = {0};
		if (in->at < in->n || in->within)
			s = decode(in, to, n);
		in->at += s.used;
		if (s.error)
			return s.error;
		if (s.made)
			return (ssize_t)s.made;
		if (in->at == in->n && in->ended) {
			in->cut_off = in->within;
			return 0;
		}
	}
}
