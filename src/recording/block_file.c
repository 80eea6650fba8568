/* Files of blocks, framed as in the code file, that are replaced in one step. */
#include "recording/reader_state.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

struct tw_block_file {
	int dir_fd, fd;
	char name[16], new_name[24];
	ZSTD_CCtx *zstd;
	struct tw_bytes block;
};

static int fail(const char *what)
{
	return tw_fail(TW_ERR_SYSTEM, "%s: %s", what, strerror(errno));
}

static void free_file(struct tw_block_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	ZSTD_freeCCtx(f->zstd);
	free(f->block.at);
	free(f);
}

int tw_block_file_create(const struct tw_recording *r, const char *name, struct tw_block_file **out)
{
	struct tw_block_file *f = calloc(1, sizeof *f);
	if (!f)
		return tw_fail(TW_ERR_MEMORY, "%s", name);
	snprintf(f->name, sizeof f->name, "%s", name);
	snprintf(f->new_name, sizeof f->new_name, "%s.new", f->name);
	f->dir_fd = fcntl(r->dir_fd, F_DUPFD_CLOEXEC, 0);
	f->fd = openat(r->dir_fd, f->new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	f->zstd = ZSTD_createCCtx();
	int error = f->dir_fd < 0 || f->fd < 0 ? fail(f->new_name) : f->zstd ? TW_OK : tw_fail(TW_ERR_MEMORY, "%s", name);
	if (error)
		free_file(f);
	else
		*out = f;
	return error;
}

int tw_block_file_add(struct tw_block_file *f, uint32_t kind, int level, const void *bytes, size_t n)
{
	int error = tw_compress(f->zstd, &f->block, bytes, n, level);
	if (error)
		return error;
	struct tw_file_block head = tw_block_head(kind, n, f->block.at, f->block.n);
	struct iovec iov[2] = {{&head, sizeof head}, {f->block.at, f->block.n}};
	return tw_write_all(f->fd, iov, 2, f->name);
}

int tw_block_file_close(struct tw_block_file *f, int error)
{
	if (!error && renameat(f->dir_fd, f->new_name, f->dir_fd, f->name))
		error = fail(f->name);
	if (error)
		unlinkat(f->dir_fd, f->new_name, 0);
	free_file(f);
	return error;
}
