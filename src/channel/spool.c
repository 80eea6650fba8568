#include "channel/spool.h"
#include "channel/described.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define HEAD_MAGIC 0x4c4f4f50534b5254ull
#define SLOT_MAGIC 0x544f4c53534b5254ull

enum { VERSION = 2, DESCRIBED_AT = 4096, DESCRIBED_BYTES = 4 << 20, HEAD_BYTES = DESCRIBED_AT + DESCRIBED_BYTES };

struct head {
	uint64_t magic;
	uint32_t version, slot_bytes;
	uint64_t told;
};

/*
 * A slot: its head, in a page of its own, so that the next write is page-aligned; then the parts of the buffer, the
 * second directly after the used part of the first. Readers may look a little further.
 */
enum { MARGIN = 64, DATA_AT = TW_PAGE, SLOT_BYTES = DATA_AT + (TW_DEMUX_DATA + TW_SLACK_BYTES + MARGIN + TW_PAGE - 1) / TW_PAGE * TW_PAGE };

struct tw_spool {
	int fd, dir_fd;
	struct tw_described *described; /* of one that is written */
	unsigned slots;
	struct head head;
	const uint8_t *map; /* mapping of all of it, so that buffers are read in place; NULL: none */
	size_t mapped;
	uint32_t *ready;          /* of each slot: bytes of the data that have been mapped to be read */
	uint64_t size;            /* of the file: what is mapped can be read up to there */
	uint64_t grown, grown_ns; /* bytes of slots written for the first time, and the processor time that took */
};

static uint64_t slot_at(unsigned slot)
{
	return HEAD_BYTES + (uint64_t)slot * SLOT_BYTES;
}

static int write_at(const struct tw_spool *s, const struct iovec *iov, int n, uint64_t at)
{
	ssize_t wanted = 0, got;
	for (int i = 0; i < n; i++)
		wanted += (ssize_t)iov[i].iov_len;
	while ((got = pwritev(s->fd, iov, n, (off_t)at)) < 0 && errno == EINTR)
		;
	if (got == wanted)
		return TW_OK;
	return tw_fail(TW_ERR_SYSTEM, TW_SPOOL_FILE ": %s", strerror(got < 0 ? errno : ENOSPC));
}

static int begin(int dir_fd, int flags, struct tw_spool **out)
{
	struct tw_spool *s = calloc(1, sizeof *s);
	*out = NULL;
	if (!s)
		return tw_fail(TW_ERR_MEMORY, TW_SPOOL_FILE);
	s->fd = openat(dir_fd, TW_SPOOL_FILE, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
	s->dir_fd = s->fd < 0 ? -1 : fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	if (s->fd >= 0 && s->dir_fd >= 0) {
		*out = s;
		return TW_OK;
	}
	const int why = errno;
	tw_spool_free(s);
	return tw_fail(why == ENOENT ? TW_ERR_MISSING : TW_ERR_SYSTEM, TW_SPOOL_FILE ": %s", strerror(why));
}

/* Where memory is limited by addresses buffers are copied. */
static void map(struct tw_spool *s)
{
	struct rlimit space;
	const size_t n = slot_at(s->slots);
	if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur != RLIM_INFINITY)
		return;
	void *at = mmap(NULL, n, PROT_READ, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
	if (at == MAP_FAILED)
		return;
	s->map = at;
	s->mapped = n;
	s->ready = calloc(s->slots, sizeof *s->ready);
}

int tw_spool_new(int dir_fd, uint64_t bytes, struct tw_spool **out)
{
	int error = begin(dir_fd, O_RDWR | O_CREAT | O_TRUNC, out);
	if (error)
		return error;
	struct tw_spool *s = *out;
	s->slots = (unsigned)(bytes / SLOT_BYTES);
	s->head = (struct head){HEAD_MAGIC, VERSION, SLOT_BYTES, 0};
	s->described = tw_described_new(s->fd, DESCRIBED_AT, DESCRIBED_BYTES);
	error = s->described ? write_at(s, &(struct iovec){&s->head, sizeof s->head}, 1, 0) : tw_fail(TW_ERR_MEMORY, TW_SPOOL_FILE);
	if (error) {
		tw_spool_remove(s);
		*out = NULL;
		return error;
	}
	map(s);
	return TW_OK;
}

int tw_spool_open(int dir_fd, struct tw_spool **out)
{
	struct stat st;
	int error = begin(dir_fd, O_RDWR, out);
	if (error)
		return error;
	struct tw_spool *s = *out;
	if (!fstat(s->fd, &st) && S_ISREG(st.st_mode) && pread(s->fd, &s->head, sizeof s->head, 0) == (ssize_t)sizeof s->head &&
	    s->head.magic == HEAD_MAGIC && s->head.version == VERSION && s->head.slot_bytes == SLOT_BYTES) {
		s->slots = st.st_size > HEAD_BYTES ? (unsigned)(((uint64_t)st.st_size - HEAD_BYTES + SLOT_BYTES - 1) / SLOT_BYTES) : 0;
		return TW_OK;
	}
	tw_spool_free(s);
	*out = NULL;
	return tw_fail(TW_ERR_DAMAGED, TW_SPOOL_FILE);
}

void tw_spool_free(struct tw_spool *s)
{
	if (!s)
		return;
	if (s->map)
		munmap((void *)s->map, s->mapped);
	free(s->ready);
	tw_described_free(s->described);
	if (s->fd >= 0)
		close(s->fd);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	free(s);
}

void tw_spool_unlink(struct tw_spool *s)
{
	if (s)
		unlinkat(s->dir_fd, TW_SPOOL_FILE, 0);
}

void tw_spool_remove(struct tw_spool *s)
{
	tw_spool_unlink(s);
	tw_spool_free(s);
}

unsigned tw_spool_slots(const struct tw_spool *s)
{
	return s->slots;
}

static uint32_t data_bytes(uint32_t bytes)
{
	return bytes < TW_DEMUX_DATA ? bytes : TW_DEMUX_DATA;
}

static uint32_t slack_bytes(uint32_t slack_end)
{
	return slack_end < TW_SLACK_BYTES ? slack_end : TW_SLACK_BYTES;
}

uint64_t tw_spool_growth(uint64_t bytes)
{
	return DATA_AT + bytes + TW_PAGE; /* the last page is seldom full */
}

int tw_spool_is_dear(uint64_t bytes, uint64_t ns)
{
	enum { NS_PER_KB = 150 }; /* encoding takes some 3,000, a copy to memory that there is 90 */
	return ns > bytes / 1024 * NS_PER_KB;
}

int tw_spool_grows_dearly(const struct tw_spool *s)
{
	return tw_spool_is_dear(s->grown, s->grown_ns);
}

static uint64_t processor_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A slot that has never been written. */
static int make_room(struct tw_spool *s, unsigned slot)
{
	if (ftruncate(s->fd, (off_t)slot_at(slot + 1)))
		return tw_fail(TW_ERR_SYSTEM, TW_SPOOL_FILE ": %s", strerror(errno));
	s->size = slot_at(slot + 1);
	return TW_OK;
}

/* What is in the buffer, from memory. */
static int write_parts(const struct tw_spool *s, uint64_t to, const struct tw_demux_input *in)
{
	const struct iovec iov[2] = {{(void *)in->data, data_bytes(in->bytes)}, {(void *)in->slack, slack_bytes(in->slack_end)}};
	return write_at(s, iov, iov[1].iov_len ? 2 : 1, to);
}

/* And from where it is in a file. */
static int copy_parts(const struct tw_spool *s, uint64_t to, const struct tw_demux_input *in, const struct tw_far_buffer *from)
{
	const uint32_t n = data_bytes(in->bytes), n_slack = slack_bytes(in->slack_end);
	const int error = tw_far_copy(from->far, from->fd, from->at, s->fd, to, n);
	return error || !n_slack ? error : tw_far_copy(from->far, from->fd, from->at + TW_SLACK_AT, s->fd, to + n, n_slack);
}

int tw_spool_write(struct tw_spool *s, unsigned slot, const struct tw_demux_input *in, const struct tw_far_buffer *far)
{
	const uint64_t to = slot_at(slot) + DATA_AT;
	const int first = s->size < slot_at(slot + 1);
	const uint64_t before = first ? processor_ns() : 0;
	int error = first ? make_room(s, slot) : TW_OK;
	if (!error)
		error = far ? copy_parts(s, to, in, far) : write_parts(s, to, in);
	if (first) {
		s->grown += data_bytes(in->bytes);
		s->grown_ns += processor_ns() - before;
	}
	return error;
}

int tw_spool_describe(struct tw_spool *s, const uint8_t *bytes, size_t n, uint64_t end)
{
	return tw_described_add(s->described, bytes, n, end);
}

int tw_spool_write_described(struct tw_spool *s, uint64_t coded)
{
	return tw_described_write(s->described, coded);
}

int tw_spool_read_described(const struct tw_spool *s, uint64_t from, uint8_t **bytes, size_t *n)
{
	return tw_described_read(s->fd, DESCRIBED_AT, DESCRIBED_BYTES, from, bytes, n);
}

static uint64_t check_of(const struct tw_spooled *head)
{
	return XXH64(head, offsetof(struct tw_spooled, check), 0);
}

int tw_spool_write_head(struct tw_spool *s, unsigned slot, struct tw_spooled *head)
{
	head->magic = SLOT_MAGIC;
	head->check = check_of(head);
	return write_at(s, &(struct iovec){head, sizeof *head}, 1, slot_at(slot));
}

int tw_spool_head(const struct tw_spool *s, unsigned slot, struct tw_spooled *head)
{
	const int whole = pread(s->fd, head, sizeof *head, (off_t)slot_at(slot)) == (ssize_t)sizeof *head;
	return whole && head->magic == SLOT_MAGIC && head->check == check_of(head) ? TW_OK : tw_fail(TW_ERR_DAMAGED, TW_SPOOL_FILE);
}

/*
 * This many bytes of a slot's data are about to be read in place: maps them in one call, instead of by a fault for
 * every few pages. Slots keep their pages.
 */
static void make_ready(const struct tw_spool *s, unsigned slot, uint32_t bytes)
{
	if (!s->ready || s->ready[slot] >= bytes)
		return;
	madvise((void *)(s->map + slot_at(slot) + DATA_AT), bytes, MADV_POPULATE_READ); /* since Linux 5.14 */
	s->ready[slot] = bytes;
}

int tw_spool_read(const struct tw_spool *s, unsigned slot, uint32_t bytes, uint32_t slack_end, struct tw_spool_room *room,
                  struct tw_demux_input *in)
{
	const uint32_t n = data_bytes(bytes), n_slack = slack_bytes(slack_end);
	const uint8_t *at = s->map ? s->map + slot_at(slot) + DATA_AT : NULL;
	*in = (struct tw_demux_input){.data = at, .slack = at ? at + n : NULL, .bytes = bytes, .slack_end = n_slack};
	if (at) {
		make_ready(s, slot, n + n_slack);
		return TW_OK;
	}
	const struct iovec iov[2] = {{room->data, n}, {room->slack, n_slack}};
	ssize_t got;
	while ((got = preadv(s->fd, iov, n_slack ? 2 : 1, (off_t)(slot_at(slot) + DATA_AT))) < 0 && errno == EINTR)
		;
	if (got != (ssize_t)n + n_slack)
		return tw_fail(got < 0 ? TW_ERR_SYSTEM : TW_ERR_TRUNCATED, TW_SPOOL_FILE "%s%s", got < 0 ? ": " : "",
		               got < 0 ? strerror(errno) : "");
	memset(room->data + n, 0, sizeof room->data - n < 64 ? sizeof room->data - n : 64);
	memset(room->slack + n_slack, 0, 64);
	*in = (struct tw_demux_input){.data = room->data, .slack = room->slack, .bytes = bytes, .slack_end = n_slack};
	return TW_OK;
}

int tw_spool_told(struct tw_spool *s, uint64_t put)
{
	s->head.told = put;
	return write_at(s, &(struct iovec){&s->head, sizeof s->head}, 1, 0);
}

uint64_t tw_spool_last_told(const struct tw_spool *s)
{
	return s->head.told;
}
