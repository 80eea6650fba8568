#include "channel/feed.h"
#include "channel/demux.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { C_BYTES = TW_DEMUX_C * sizeof(uint16_t), M_BYTES = TW_DEMUX_M * sizeof(uint64_t) };
enum { JOB_BYTES = (C_BYTES + M_BYTES + TW_DEMUX_E + 4095) & ~4095 };

struct tw_feed {
	uint8_t *memory; /* of TW_FEED_JOBS buffers */
	int fd, other;
	pthread_mutex_t lock; /* of what is sent */
	_Atomic int gone, all_returned;
};

int tw_feed_new(struct tw_feed **out)
{
	struct tw_feed *f = calloc(1, sizeof *f);
	int pair[2];
	if (!f)
		return tw_fail(TW_ERR_MEMORY, "feed");
	f->memory = mmap(NULL, (size_t)TW_FEED_JOBS * JOB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		int error = tw_fail(TW_ERR_SYSTEM, "memory for analyzers: %s", strerror(errno));
		free(f);
		return error;
	}
	f->fd = pair[0];
	f->other = pair[1];
	pthread_mutex_init(&f->lock, NULL);
	*out = f;
	return TW_OK;
}

void tw_feed_free(struct tw_feed *f)
{
	if (!f)
		return;
	munmap(f->memory, (size_t)TW_FEED_JOBS * JOB_BYTES);
	if (f->fd >= 0)
		close(f->fd);
	if (f->other >= 0)
		close(f->other);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int tw_feed_other(struct tw_feed *f)
{
	close(f->fd);
	f->fd = -1;
	return f->other;
}

void tw_feed_own(struct tw_feed *f)
{
	close(f->other);
	f->other = -1;
}

void tw_feed_room(const struct tw_feed *f, unsigned job, struct tw_chunk *chunk)
{
	uint8_t *at = f->memory + (size_t)job * JOB_BYTES;
	chunk->m = (uint64_t *)(void *)at;
	chunk->e = at + M_BYTES;
	chunk->c = (uint16_t *)(void *)(at + M_BYTES + TW_DEMUX_E);
}

/* ---- the collector's side ---- */

static int send_all(int fd, const void *bytes, size_t n)
{
	for (const char *p = bytes; n;) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return 0;
		p += sent;
		n -= (size_t)sent;
	}
	return 1;
}

static int send_message(struct tw_feed *f, uint32_t kind, uint32_t what, const void *bytes, size_t n)
{
	const struct tw_feed_message m = {kind, what, n};
	pthread_mutex_lock(&f->lock);
	if (!f->gone && (!send_all(f->fd, &m, sizeof m) || !send_all(f->fd, bytes, n)))
		f->gone = 1;
	pthread_mutex_unlock(&f->lock);
	return !f->gone;
}

void tw_feed_block(struct tw_feed *f, uint32_t kind, const void *bytes, size_t n)
{
	send_message(f, TW_FEED_BLOCK, kind, bytes, n);
}

void tw_feed_thread(struct tw_feed *f, const struct tw_thread_info *thread)
{
	send_message(f, TW_FEED_THREAD, 0, thread, sizeof *thread);
}

int tw_feed_chunk(struct tw_feed *f, unsigned job, const struct tw_chunk *chunk, const struct tw_thread_info *thread)
{
	const struct tw_feed_chunk c = {*chunk, *thread};
	return send_message(f, TW_FEED_CHUNK, job, &c, sizeof c);
}

void tw_feed_end(struct tw_feed *f, const struct tw_feed_end *end)
{
	send_message(f, TW_FEED_END, 0, end, sizeof *end);
	shutdown(f->fd, SHUT_WR);
}

int tw_feed_returned(struct tw_feed *f)
{
	uint32_t job;
	if (tw_feed_read(f->fd, &job, sizeof job) && job < TW_FEED_JOBS)
		return (int)job;
	if (!f->all_returned)
		f->gone = 1;
	return -1;
}

void tw_feed_all_returned(struct tw_feed *f)
{
	f->all_returned = 1;
	shutdown(f->fd, SHUT_RD);
}

/* ---- the other side ---- */

int tw_feed_read(int fd, void *to, size_t n)
{
	for (char *p = to; n;) {
		ssize_t got = read(fd, p, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		p += got;
		n -= (size_t)got;
	}
	return 1;
}

void tw_feed_return(int fd, uint32_t job)
{
	send_all(fd, &job, sizeof job); /* so short a message goes as a whole */
}
