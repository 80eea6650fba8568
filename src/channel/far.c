#include "channel/far.h"
#include "channel/clear.h"
#include "recording/recording.h"
#include "base/array.h"
#include "base/channel.h"
#include "base/dear.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Copies through this much at a time, which fits the second-level cache; zeros are written from one page many times. */
enum { ROOM = 128 << 10, AT_ONCE = 64 };

void tw_far_begin(struct tw_far *f)
{
	void *at = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*f = (struct tw_far){.room = at == MAP_FAILED ? NULL : at};
	f->pays = f->room && tw_dear_pages();
}

void tw_far_end(struct tw_far *f)
{
	if (f->room)
		munmap(f->room, ROOM);
	free(f->copy);
	*f = (struct tw_far){0};
}

uint8_t *tw_far_read(struct tw_far *f, const struct tw_far_buffer *b, uint32_t bytes, uint32_t slack_end)
{
	size_t most = TW_BUFFER_STRIDE;
	if (bytes > TW_BUFFER_BYTES || slack_end > TW_SLACK_BYTES)
		return NULL;
	f->copy = f->copy ? f->copy : tw_array_huge(&most);
	const int whole = f->copy && !tw_read_at(b->fd, f->copy, bytes, b->at, "a buffer") &&
	                  !tw_read_at(b->fd, f->copy + TW_SLACK_AT, slack_end, b->at + TW_SLACK_AT, "a buffer");
	return whole ? f->copy : NULL;
}

static int failed(ssize_t got)
{
	return tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(got < 0 ? errno : ENOSPC));
}

int tw_far_copy(const struct tw_far *f, int from, uint64_t from_at, int to, uint64_t to_at, uint64_t bytes)
{
	while (bytes) {
		ssize_t n = pread(from, f->room, bytes < ROOM ? bytes : ROOM, (off_t)from_at), put = 0;
		while (n > 0 && put < n) {
			const ssize_t w = pwrite(to, f->room + put, (size_t)(n - put), (off_t)to_at + put);
			if (w <= 0 && errno != EINTR)
				return failed(w);
			put += w > 0 ? w : 0;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return failed(n);
		from_at += (uint64_t)n;
		to_at += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return TW_OK;
}

static int put_zeros(const struct tw_far *f, int fd, uint64_t at, uint64_t bytes)
{
	struct iovec zeros[AT_ONCE];
	memset(f->room, 0, TW_PAGE);
	for (int k = 0; k < AT_ONCE; k++)
		zeros[k] = (struct iovec){f->room, TW_PAGE};
	while (bytes) {
		const uint64_t pages = bytes / TW_PAGE;
		const int n = pages < AT_ONCE ? (int)pages : AT_ONCE;
		const ssize_t got = n ? pwritev(fd, zeros, n, (off_t)at) : pwrite(fd, f->room, bytes, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return failed(got);
		at += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return TW_OK;
}

int tw_far_clear(const struct tw_far_buffer *b, uint32_t bytes, uint32_t slack_end)
{
	int error = put_zeros(b->far, b->fd, b->at, tw_clear_reach(bytes));
	if (!error && slack_end)
		error = put_zeros(b->far, b->fd, b->at + TW_SLACK_AT, TW_SLACK_BYTES);
	return error;
}
