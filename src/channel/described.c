#include "channel/described.h"
#include "base/array.h"
#include "recording/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
	int fd;
	uint64_t first, room;  /* where it is in the file, and bytes of it */
	struct stretch *added; /* and not written yet */
	size_t n_added, added_room;
	uint64_t at;  /* where the next piece begins, from there on */
	uint64_t end; /* of what is in the file */
};

struct tw_described *tw_described_new(int fd, uint64_t at, uint64_t room)
{
	struct tw_described *d = calloc(1, sizeof *d);
	if (d)
		*d = (struct tw_described){.fd = fd, .first = at, .room = room};
	return d;
}

void tw_described_free(struct tw_described *d)
{
	if (!d)
		return;
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
	struct stretch *all = tw_array_room(d->added, d->n_added, &d->added_room, sizeof *all);
	if (!all)
		return tw_fail(TW_ERR_MEMORY, TW_SPOOL_FILE);
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
	if (d->room - d->at < (uint64_t)wanted)
		return 0;
	while ((got = pwritev(d->fd, iov, 2, (off_t)(d->first + d->at))) < 0 && errno == EINTR)
		;
	if (got != wanted)
		return 0;
	d->at += (uint64_t)wanted;
	d->end = s->end;
	return 1;
}

int tw_described_write(struct tw_described *d, uint64_t coded)
{
	int fits = 1;
	if (coded >= d->end)
		d->at = 0;
	for (size_t i = 0; i < d->n_added && fits; i++)
		if (d->added[i].end > coded)
			fits = write_piece(d, &d->added[i]);
	d->n_added = 0;
	return fits;
}

/* ---- reading ---- */

/* What there is of the part of the file. */
struct reading {
	const uint8_t *bytes;
	size_t n;
	size_t at;    /* of the next piece */
	uint64_t end; /* of the last one */
};

/* The next piece. False: there is none that is whole and continues the last one. */
static int next_piece(struct reading *r, struct piece *p)
{
	if (r->n - r->at < sizeof *p)
		return 0;
	memcpy(p, r->bytes + r->at, sizeof *p);
	const uint8_t *bytes = r->bytes + r->at + sizeof *p;
	if (p->magic != PIECE_MAGIC || p->check != check_of(p) || p->bytes > r->n - r->at - sizeof *p || p->bytes > p->end ||
	    (r->at && p->end - p->bytes != r->end) || XXH64(bytes, p->bytes, 0) != p->bytes_check)
		return 0;
	r->at += sizeof *p + p->bytes;
	r->end = p->end;
	return 1;
}

/* Puts what there is from number `from` on in front of all. Returns its bytes. */
static size_t gather(uint8_t *all, size_t n_all, uint64_t from)
{
	struct reading r = {.bytes = all, .n = n_all};
	struct piece p;
	size_t n = 0;
	while (next_piece(&r, &p) && p.end - p.bytes <= from + n) {
		const uint64_t known = from + n - (p.end - p.bytes);
		if (known >= p.bytes)
			continue;
		memmove(all + n, all + r.at - p.bytes + known, p.bytes - known);
		n += p.bytes - known;
	}
	return n;
}

int tw_described_read(int fd, uint64_t at, uint64_t room, uint64_t from, uint8_t **bytes, size_t *n)
{
	uint8_t *all = malloc(room);
	size_t there = 0;
	*bytes = NULL;
	*n = 0;
	if (!all)
		return tw_fail(TW_ERR_MEMORY, TW_SPOOL_FILE);
	for (ssize_t got;
	     there < room && ((got = pread(fd, all + there, room - there, (off_t)(at + there))) > 0 || (got < 0 && errno == EINTR));)
		there += got > 0 ? (size_t)got : 0;
	*n = gather(all, there, from);
	if (*n)
		*bytes = all;
	else
		free(all);
	return TW_OK;
}
