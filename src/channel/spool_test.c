/* The spool: buffers come back unchanged, an incomplete slot does not count, and existing contents are found again. */
#include "channel/spool.h"
#include "recording/recording.h"
#include "unit.h"
#include "unit_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 3, SMALL = 1000 };

static uint8_t data[TW_DEMUX_DATA], slack[TW_SLACK_BYTES];
static struct tw_spool_room room;

static void fill(unsigned seed)
{
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 7 + seed + i / 251);
	for (size_t i = 0; i < sizeof slack; i++)
		slack[i] = (uint8_t)(i * 3 + seed);
}

static void put(struct tw_spool *s, unsigned slot, uint32_t bytes, uint32_t slack_end)
{
	struct tw_spooled head = {.put = slot + 10, .serial = slot, .sequence = 5, .bytes = bytes, .slack_end = slack_end};
	const struct tw_demux_input in = {.data = data, .slack = slack, .bytes = bytes, .slack_end = slack_end};
	fill(slot);
	EQUAL(tw_spool_write(s, slot, &in, NULL), TW_OK);
	EQUAL(tw_spool_write_head(s, slot, &head), TW_OK);
}

/* The same, but the buffer is in a file. */
static void put_far(struct tw_spool *s, unsigned slot, uint32_t bytes, uint32_t slack_end)
{
	struct tw_spooled head = {.put = slot + 10, .serial = slot, .sequence = 5, .bytes = bytes, .slack_end = slack_end};
	const struct tw_demux_input in = {.bytes = bytes, .slack_end = slack_end};
	const int fd = memfd_create("buffer", MFD_CLOEXEC);
	struct tw_far far;
	fill(slot);
	EQUAL(pwrite(fd, data, sizeof data, TW_PAGE), (ssize_t)sizeof data);
	EQUAL(pwrite(fd, slack, sizeof slack, 2 * TW_PAGE + TW_BUFFER_BYTES), (ssize_t)sizeof slack);
	tw_far_begin(&far);
	EQUAL(tw_spool_write(s, slot, &in, &(struct tw_far_buffer){&far, fd, TW_PAGE}), TW_OK);
	EQUAL(tw_spool_write_head(s, slot, &head), TW_OK);
	tw_far_end(&far);
	close(fd);
}

static void check(const struct tw_spool *s, unsigned slot, uint32_t bytes, uint32_t slack_end)
{
	struct tw_spooled head;
	struct tw_demux_input in;
	EQUAL(tw_spool_head(s, slot, &head), TW_OK);
	EQUAL(head.put, slot + 10);
	EQUAL(head.serial, slot);
	EQUAL(head.bytes, bytes);
	memset(&room, 0xff, sizeof room);
	EQUAL(tw_spool_read(s, slot, head.bytes, head.slack_end, &room, &in), TW_OK);
	fill(slot);
	EQUAL(in.bytes, bytes);
	EQUAL(in.slack_end, slack_end);
	CHECK(!memcmp(in.data, data, bytes < TW_DEMUX_DATA ? bytes : TW_DEMUX_DATA));
	CHECK(!memcmp(in.slack, slack, slack_end));
}

int main(void)
{
	struct tw_spool *s;
	struct tw_spooled head;
	char name[PATH_MAX];
	unit_enter_directory(name);
	const int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EQUAL(tw_spool_open(dir, &s), TW_ERR_MISSING);
	EQUAL(tw_spool_new(dir, SLOTS * (TW_DEMUX_DATA + TW_SLACK_BYTES + 4 * TW_PAGE), &s), TW_OK);
	EQUAL(tw_spool_slots(s), SLOTS);
	put(s, 0, SMALL, 0);
	put(s, 2, TW_DEMUX_DATA, TW_SLACK_BYTES);
	check(s, 0, SMALL, 0);
	check(s, 2, TW_DEMUX_DATA, TW_SLACK_BYTES);
	EQUAL(tw_spool_head(s, 1, &head), TW_ERR_DAMAGED);
	put_far(s, 1, TW_DEMUX_DATA, 100);
	check(s, 1, TW_DEMUX_DATA, 100);
	put_far(s, 1, SMALL, 0);
	check(s, 1, SMALL, 0);
	EQUAL(tw_spool_told(s, 12), TW_OK);
	tw_spool_free(s);

	EQUAL(tw_spool_open(dir, &s), TW_OK);
	EQUAL(tw_spool_slots(s), SLOTS);
	EQUAL(tw_spool_last_told(s), 12);
	check(s, 2, TW_DEMUX_DATA, TW_SLACK_BYTES);
	tw_spool_remove(s);
	EQUAL(tw_spool_open(dir, &s), TW_ERR_MISSING);
	CHECK(!tw_spool_is_dear(0, 0));
	CHECK(!tw_spool_is_dear(100 << 20, 10000000));
	CHECK(tw_spool_is_dear(100 << 20, 100000000));

	const int other = openat(dir, TW_SPOOL_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(write(other, "what is this?", 13) == 13);
	close(other);
	EQUAL(tw_spool_open(dir, &s), TW_ERR_DAMAGED);
	close(dir);
	unit_leave_directory(name);
	return UNIT_END();
}
