#include "channel/described.h"
#include "base/array.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#define PIECE_MAGIC 0x4543454950445754ull

/* Of the file: this, then the bytes. */
struct piece {
	uint64_t magic;
	uint64_t end; /* the number behind its last byte */
	uint64_t bytes;
	uint64_t bytes_check; /* xxh64 of the bytes */
	uint64_t check;       /* and of what stands before */
};

struct stretch {
	const uint8_t *bytes;
	size_t n;
	uint64_t end;
};

struct tw_described {
	int dir_fd, fd;
	struct stretch *added; /* and not written yet */
	size_t n_added, room;
	uint64_t at;  /* where the next piece begins in the file */
	uint64_t end; /* of what is in the file */
};

struct tw_described *tw_described_new(int dir_fd)
{
	struct tw_described *d = calloc(1, sizeof *d);
	if (d)
		*d = (struct tw_described){.dir_fd = dir_fd, .fd = -1};
	return d;
}

void tw_described_free(struct tw_described *d)
{
	if (!d)
		return;
	if (d->fd >= 0)
		close(d->fd);
	free(d->added);
	free(d);
}

int tw_described_add(struct tw_described *d, const uint8_t *bytes, size_t n, uint64_t end)
{
	struct stretch *last = d->n_added ? &d->added[d->n_added - 1] : NULL;
	if (last && last->bytes + last->n == bytes) {
		last->n += n;
		last->end = end;
		return TW_OK;
	}
	struct stretch *all = tw_array_room(d->added, d->n_added, &d->room, sizeof *all);
	if (!all)
		return tw_fail(TW_ERR_MEMORY, TW_DESCRIBED_FILE);
	d->added = all;
	all[d->n_added++] = (struct stretch){bytes, n, end};
	return TW_OK;
}

static uint64_t check_of(const struct piece *p)
{
	return XXH64(p, offsetof(struct piece, check), 0);
}

/* False: it cannot be written. */
static int write_piece(struct tw_described *d, const struct stretch *s)
{
	struct piece p = {PIECE_MAGIC, s->end, s->n, XXH64(s->bytes, s->n, 0), 0};
	const struct iovec iov[2] = {{&p, sizeof p}, {(void *)s->bytes, s->n}};
	const ssize_t wanted = (ssize_t)(sizeof p + s->n);
	ssize_t got;
	p.check = check_of(&p);
	if (d->fd < 0)
		d->fd = openat(d->dir_fd, TW_DESCRIBED_FILE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (d->fd < 0)
		return 0;
	while ((got = pwritev(d->fd, iov, 2, (off_t)d->at)) < 0 && errno == EINTR)
		;
	if (got != wanted)
		return 0;
	d->at += (uint64_t)wanted;
	d->end = s->end;
	return 1;
}

void tw_described_write(struct tw_described *d, uint64_t coded)
{
	int goes_on = 1;
	if (coded >= d->end)
		d->at = 0;
	for (size_t i = 0; i < d->n_added && goes_on; i++)
		if (d->added[i].end > coded)
			goes_on = write_piece(d, &d->added[i]);
	d->n_added = 0;
}

/* ---- reading ---- */

/* The next piece, and what of it comes from `*next` on, appended. False: there is none. */
static int read_piece(int fd, uint64_t *at, uint64_t *end, uint8_t *bytes, size_t *n, uint64_t next)
{
	struct piece p;
	if (pread(fd, &p, sizeof p, (off_t)*at) != (ssize_t)sizeof p || p.magic != PIECE_MAGIC || p.check != check_of(&p))
		return 0;
	const uint64_t begin = p.end - p.bytes;
	if (*at ? begin != *end : begin > next)
		return 0;
	uint8_t *to = bytes + *n;
	if (pread(fd, to, p.bytes, (off_t)(*at + sizeof p)) != (ssize_t)p.bytes || XXH64(to, p.bytes, 0) != p.bytes_check)
		return 0;
	const uint64_t there = next + *n, known = there > begin ? there - begin : 0;
	*at += sizeof p + p.bytes;
	*end = p.end;
	if (known >= p.bytes)
		return 1;
	memmove(to, to + known, p.bytes - known);
	*n += p.bytes - known;
	return 1;
}

int tw_described_read(int dir_fd, uint64_t from, uint8_t **bytes, size_t *n)
{
	const int fd = openat(dir_fd, TW_DESCRIBED_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	uint64_t at = 0, end = 0;
	*bytes = NULL;
	*n = 0;
	if (fd < 0)
		return TW_OK;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size && !(*bytes = malloc((size_t)st.st_size))) {
		close(fd);
		return tw_fail(TW_ERR_MEMORY, TW_DESCRIBED_FILE);
	}
	while (*bytes && read_piece(fd, &at, &end, *bytes, n, from))
		;
	close(fd);
	return TW_OK;
}
