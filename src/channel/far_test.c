/* Files are copied and cleared piece by piece, whatever the number of bytes; of a buffer what has been used is cleared, and the slack only where something stood in it. */
#include "channel/far.h"
#include "base/channel.h"
#include "channel/demux.h"
#include "recording/recording.h"
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

enum { LONG = 300 * 1000 + 7, AT = TW_PAGE };

static uint8_t bytes[TW_BUFFER_STRIDE], got[TW_BUFFER_STRIDE + AT];

static int file_of(size_t n)
{
	const int fd = memfd_create("far", MFD_CLOEXEC);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251 + 1);
	EQUAL(pwrite(fd, bytes, n, AT), (ssize_t)n);
	return fd;
}

static void copy(const struct tw_far *f, size_t n)
{
	const int from = file_of(LONG), to = memfd_create("to", MFD_CLOEXEC);
	EQUAL(tw_far_copy(f, from, AT, to, 3, n), TW_OK);
	EQUAL(pread(to, got, sizeof got, 0), (ssize_t)(n ? n + 3 : 0));
	CHECK(!memcmp(got + 3, bytes, n));
	EQUAL(tw_far_copy(f, from, AT + LONG - 10, to, 0, 11), TW_ERR_SYSTEM); /* there are not so many */
	close(from);
	close(to);
}

/* Used bytes and slack are where they are in a buffer; what says that it is larger than that is not read. */
static void take(struct tw_far *f, uint32_t used, uint32_t slack_end)
{
	const int fd = file_of(sizeof bytes);
	const struct tw_far_buffer b = {f, fd, AT};
	const uint8_t *copied = tw_far_read(f, &b, used, slack_end);
	CHECK(copied && !memcmp(copied, bytes, used) && !memcmp(copied + TW_SLACK_AT, bytes + TW_SLACK_AT, slack_end));
	CHECK(!tw_far_read(f, &b, TW_BUFFER_BYTES + 1, 0) && !tw_far_read(f, &b, 1, TW_SLACK_BYTES + 1));
	close(fd);
	CHECK(!tw_far_read(f, &b, 1, 0));
}

static size_t count_zeros(size_t from, size_t to)
{
	size_t n = 0;
	for (size_t i = from; i < to; i++)
		n += !got[AT + i];
	return n;
}

/* The same as of a buffer whose slack, or all of whose bytes, are never zero. */
static void clear(const struct tw_far *f, uint32_t used, uint32_t slack_end)
{
	const int fd = file_of(sizeof bytes);
	memset(bytes, 1, sizeof bytes);
	EQUAL(pwrite(fd, bytes, sizeof bytes, AT), (ssize_t)sizeof bytes);
	const struct tw_far_buffer b = {f, fd, AT};
	const size_t slack = TW_BUFFER_BYTES + TW_PAGE,
	             reach = used < TW_BUFFER_BYTES - TW_MAX_RECORD ? used + TW_MAX_RECORD : TW_DEMUX_DATA;
	EQUAL(tw_far_clear(&b, used, slack_end), TW_OK);
	EQUAL(pread(fd, got, sizeof got, 0), (ssize_t)sizeof got);
	EQUAL(count_zeros(0, reach), reach);
	EQUAL(count_zeros(reach, slack), 0);
	EQUAL(count_zeros(slack, slack + TW_SLACK_BYTES), slack_end ? TW_SLACK_BYTES : 0);
	EQUAL(count_zeros(slack + TW_SLACK_BYTES, sizeof bytes), 0);
	close(fd);
}

int main(void)
{
	struct tw_far f;
	tw_far_begin(&f);
	CHECK(f.room);
	copy(&f, 0);
	copy(&f, 1);
	copy(&f, LONG);
	take(&f, 100, 0);
	take(&f, TW_BUFFER_BYTES, TW_SLACK_BYTES);
	clear(&f, 100, 0);
	clear(&f, TW_BUFFER_BYTES / 3, 5);
	clear(&f, TW_BUFFER_BYTES, 0);
	clear(&f, UINT32_MAX, TW_SLACK_BYTES);
	tw_far_end(&f);
	CHECK(!f.room);
	return UNIT_END();
}
