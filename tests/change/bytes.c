#include "change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

void die(const char *what)
{
	fprintf(stderr, "change: %s: %s\n", what, errno ? strerror(errno) : "?");
	exit(2);
}

/* ---- chance ---- */

static uint64_t state;

void seed(uint64_t with)
{
	state = with;
}

/* splitmix64 */
uint64_t random64(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

size_t below(size_t n)
{
	return n ? random64() % n : 0;
}

int once_in(size_t n)
{
	return !below(n);
}

/* ---- bytes ---- */

/* All ones, a power of two, one more or one less. */
static uint64_t edge(void)
{
	uint64_t power = 1ull << below(64);
	switch (below(4)) {
	case 0:
		return UINT64_MAX;
	case 1:
		return power - 1;
	case 2:
		return power + 1;
	default:
		return power;
	}
}

static uint64_t twisted(uint64_t was)
{
	switch (below(6)) {
	case 0:
		return 0;
	case 1:
		return was + 1 + below(16);
	case 2:
		return was - 1 - below(16);
	case 3:
		return was ^ 1ull << below(64);
	case 4:
		return random64();
	default:
		return edge();
	}
}

void twist(void *at, size_t n)
{
	size_t width = (size_t)1 << below(4);
	uint64_t value = 0;
	while (width > n)
		width /= 2;
	if (!width)
		return;
	uint8_t *field = (uint8_t *)at + below(n / width) * width;
	memcpy(&value, field, width);
	value = twisted(value);
	memcpy(field, &value, width);
}

void replace(struct tw_bytes *b, size_t at, size_t n, const void *by, size_t n_by)
{
	struct tw_bytes copy = {0};
	if (tw_bytes_append(&copy, by, n_by) || tw_bytes_reserve(b, n_by + 1))
		die("memory");
	memmove(b->at + at + n_by, b->at + at + n, b->n - at - n);
	if (n_by)
		memcpy(b->at + at, copy.at, n_by);
	b->n += n_by - n;
	free(copy.at);
}

void rearrange(struct tw_bytes *b, size_t from, size_t unit)
{
	size_t n = b->n > from ? (b->n - from) / unit : 0;
	if (!n)
		return;
	size_t first = from + below(n) * unit, most = (b->n - first) / unit;
	size_t bytes = (1 + below(once_in(4) ? most : most < 4 ? most : 4)) * unit;
	switch (below(4)) {
	case 0:
		replace(b, first, bytes, NULL, 0);
		break;
	case 1:
		replace(b, first, 0, b->at + first, bytes);
		break;
	case 2:
		replace(b, from + below(n) * unit, 0, b->at + first, bytes);
		break;
	default:
		twist(b->at + first, bytes);
	}
}

/* ---- files ---- */

void read_file(int dir, const char *name, struct tw_bytes *to)
{
	struct stat st;
	int fd = openat(dir, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) || tw_bytes_reserve(to, (size_t)st.st_size) || tw_read_at(fd, to->at, (size_t)st.st_size, 0, name))
		die(name);
	to->n = (size_t)st.st_size;
	close(fd);
}

void write_file(int dir, const char *name, const struct tw_bytes *b)
{
	struct iovec iov = {b->at, b->n};
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (fd < 0 || (b->n && tw_write_all(fd, &iov, 1, name)))
		die(name);
	close(fd);
}

void compress(const struct tw_bytes *raw, struct tw_bytes *to)
{
	if (!raw->n)
		return;
	if (tw_bytes_reserve(to, ZSTD_compressBound(raw->n)))
		die("memory");
	size_t got = ZSTD_compress(to->at + to->n, to->room - to->n, raw->at, raw->n, 1);
	if (ZSTD_isError(got))
		die("zstd");
	to->n += got;
}

void decompress(const uint8_t *stored, size_t n, size_t n_raw, struct tw_bytes *to)
{
	if (tw_bytes_reserve(to, n_raw))
		die("memory");
	size_t got = n ? ZSTD_decompress(to->at + to->n, n_raw, stored, n) : 0;
	if (ZSTD_isError(got) || got != n_raw)
		die("what is to be changed is damaged already");
	to->n += got;
}
