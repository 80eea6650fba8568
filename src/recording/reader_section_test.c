/* Sections of chunks as they stand in a file: frames of any size, and what may be wrong with them. */
#include "recording/reader_state.h"
#include "unit.h"
#include "unit_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum { RAW = 6 << 20, BEFORE = 100 };

static uint8_t raw[RAW], stored[2 * RAW];
static struct tw_reader_window window;
static struct tw_bytes to;

/* The first `squeezable` of each 256 bytes are zeros, so that much of it takes more than a window and little takes less. */
static void fill(unsigned squeezable)
{
	uint64_t x = 1;
	for (size_t i = 0; i < RAW; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		raw[i] = i % 256 < squeezable ? 0 : (uint8_t)(x >> 56);
	}
}

/* A file with the first n bytes of `raw` in frames of `frame` bytes; the last byte is left out if `cut`. */
static struct tw_reader_section put(size_t n, size_t frame, int cut)
{
	struct tw_reader_section s = {
	    .fd = open("section", O_RDWR | O_CREAT | O_TRUNC, 0600), .name = "section", .offset = BEFORE, .raw = n};
	size_t at = 0;
	for (size_t i = 0; i < n; i += frame) {
		size_t here = n - i < frame ? n - i : frame;
		at += ZSTD_compress(stored + at, sizeof stored - at, raw + i, here, 1);
	}
	s.stored = at;
	s.check = XXH64(stored, at, 0);
	CHECK(pwrite(s.fd, stored, at - (size_t)cut, BEFORE) == (ssize_t)at - cut);
	return s;
}

static int get(const struct tw_reader_section *s)
{
	int error = tw_reader_section(&window, s, &to, 0);
	close(s->fd);
	return error;
}

static void test_frames(void)
{
	static const size_t sizes[] = {1, 1000, 1 << 20, (1 << 20) + 7, RAW};
	for (unsigned squeezable = 0; squeezable <= 250; squeezable += 125) {
		fill(squeezable);
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			size_t n = sizes[i] == 1 ? 3000 : RAW - 11 * i;
			struct tw_reader_section s = put(n, sizes[i], 0);
			EQUAL(get(&s), TW_OK);
			EQUAL(to.n, n);
			CHECK(!memcmp(to.at, raw, n));
		}
	}
	struct tw_reader_section none = put(0, 1, 0);
	EQUAL(get(&none), TW_OK);
	EQUAL(to.n, 0);
}

static void test_damage(void)
{
	struct tw_reader_section s = put(RAW, 1 << 20, 1);
	EQUAL(get(&s), TW_ERR_TRUNCATED);
	s = put(RAW, 1 << 20, 0);
	s.raw--;
	EQUAL(get(&s), TW_ERR_DAMAGED);
	s = put(RAW, 1 << 20, 0);
	s.raw++;
	EQUAL(get(&s), TW_ERR_DAMAGED);
	/* Whatever else is wrong, it is the checksum. */
	for (uint64_t at = 0; at < s.stored; at += s.stored / 7) {
		s = put(RAW, 1 << 20, 0);
		CHECK(pwrite(s.fd, stored[at] ? "\0" : "?", 1, (off_t)(BEFORE + at)) == 1);
		EQUAL(get(&s), TW_ERR_CHECKSUM);
		EQUAL(to.n, 0);
	}
	/* Bytes with a checksum that are no frames. */
	s = put(RAW, 1 << 20, 0);
	s.check = XXH64(stored + 1, s.stored - 1, 0);
	s.offset++;
	s.stored--;
	EQUAL(get(&s), TW_ERR_DAMAGED);
}

int main(void)
{
	char dir[PATH_MAX];
	unit_enter_directory(dir);
	EQUAL(tw_reader_window_init(&window), TW_OK);
	test_frames();
	test_damage();
	tw_reader_window_fini(&window);
	free(to.at);
	unit_leave_directory(dir);
	return UNIT_END();
}
