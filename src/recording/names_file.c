/* The file `names` of a recording: blocks framed as in the code file. */
#include "recording/reader_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

enum { LEVEL = 9 };

static const char new_file[] = TW_NAMES_FILE ".new";

/* ---- reading ---- */

static int add_names(struct tw_recording *r, const struct tw_file_block *head, const uint8_t *bytes, uint64_t offset)
{
	(void)offset;
	if (head->kind != TW_BLOCK_NAMES)
		return TW_OK;
	struct tw_names_block *b = tw_reader_add(&r->names, sizeof *b);
	if (!b)
		return tw_fail(TW_ERR_MEMORY, TW_NAMES_FILE);
	*b = (struct tw_names_block){bytes, head->raw};
	return TW_OK;
}

int tw_reader_names(struct tw_recording *r)
{
	int error = tw_reader_blocks(r, TW_NAMES_FILE, add_names);
	return error == TW_ERR_NOT_FOUND ? TW_OK : error;
}

size_t tw_recording_n_names(const struct tw_recording *r)
{
	return r->names.n;
}

const struct tw_names_block *tw_recording_names(const struct tw_recording *r, size_t i)
{
	return (const struct tw_names_block *)r->names.items + i;
}

int tw_recording_source(const struct tw_recording *r, const char *path)
{
	char name[PATH_MAX];
	int n = snprintf(name, sizeof name, TW_SOURCES_DIRECTORY "/%s", path + strspn(path, "/"));
	return n < (int)sizeof name && !strstr(name, "/../") ? openat(r->dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
}

/* ---- writing ---- */

struct tw_names_file {
	int dir_fd, fd;
	ZSTD_CCtx *zstd;
	struct tw_bytes block;
};

static int fail(const char *what)
{
	return tw_fail(TW_ERR_SYSTEM, "%s: %s", what, strerror(errno));
}

static void free_file(struct tw_names_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	ZSTD_freeCCtx(f->zstd);
	free(f->block.at);
	free(f);
}

int tw_names_file_create(const struct tw_recording *r, struct tw_names_file **out)
{
	struct tw_names_file *f = calloc(1, sizeof *f);
	if (!f)
		return tw_fail(TW_ERR_MEMORY, TW_NAMES_FILE);
	f->dir_fd = fcntl(r->dir_fd, F_DUPFD_CLOEXEC, 0);
	f->fd = openat(r->dir_fd, new_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	f->zstd = ZSTD_createCCtx();
	int error = f->dir_fd < 0 || f->fd < 0 ? fail(new_file) : f->zstd ? TW_OK : tw_fail(TW_ERR_MEMORY, TW_NAMES_FILE);
	if (error)
		free_file(f);
	else
		*out = f;
	return error;
}

int tw_names_file_add(struct tw_names_file *f, const void *bytes, size_t n)
{
	int error = tw_compress(f->zstd, &f->block, bytes, n, LEVEL);
	if (error)
		return error;
	struct tw_file_block head = tw_block_head(TW_BLOCK_NAMES, n, f->block.at, f->block.n);
	struct iovec iov[2] = {{&head, sizeof head}, {f->block.at, f->block.n}};
	return tw_write_all(f->fd, iov, 2, TW_NAMES_FILE);
}

int tw_names_file_close(struct tw_names_file *f, int error)
{
	if (!error && renameat(f->dir_fd, new_file, f->dir_fd, TW_NAMES_FILE))
		error = fail(TW_NAMES_FILE);
	if (error)
		unlinkat(f->dir_fd, new_file, 0);
	free_file(f);
	return error;
}
