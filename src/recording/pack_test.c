/* Parts that hardly become smaller, and repeat themselves megabytes later. */
#include "recording/recording.h"
#include "recording/transform.h"
#include "unit.h"
#include "unit_directory.h"

#include <stdlib.h>

#include <zstd.h>

enum { PIECES = 20, PIECE_BYTES = 1 << 20, PERIOD = 3 << 19, ALL = PIECES * PIECE_BYTES };

static uint8_t bytes[ALL];

/* Nothing in a period can be predicted. */
static void fill(size_t period)
{
	uint64_t x = 1;
	for (size_t i = 0; i < ALL; i++) {
		x = x * 6364136223846793005u + 1;
		bytes[i] = i < period ? (uint8_t)(x >> 40) : bytes[i - period];
	}
}

static const struct tw_packed *pack(struct tw_packer *p)
{
	const struct tw_thread_info t = {.pid = 100, .tid = 100};
	tw_packer_begin(p, TW_NO_THREAD);
	for (size_t i = 0; i < PIECES; i++) {
		const struct tw_chunk piece = {.e = bytes + i * PIECE_BYTES, .n_e = PIECE_BYTES};
		EQUAL(tw_packer_add(p, &t, &piece, &(struct tw_event_sums){0}), TW_OK);
	}
	EQUAL(tw_packer_end(p, 3), TW_OK);
	return tw_packer_packed(p);
}

/* What is stored of them, as one; they come last. */
static uint8_t *stored_of(const struct tw_packed *k, size_t *n)
{
	size_t all = 0;
	for (int i = 0; i < k->n_pieces; i++)
		all += k->piece[i].iov_len;
	uint8_t *stored = malloc(all), *end = stored;
	for (int i = 0; i < k->n_pieces; i++)
		end = (uint8_t *)memcpy(end, k->piece[i].iov_base, k->piece[i].iov_len) + k->piece[i].iov_len;
	*n = k->head.stored[TW_STREAM_E];
	memmove(stored, end - *n, *n);
	return stored;
}

/* What is stored is these bytes. Returns how many are stored. */
static size_t unpacked(const struct tw_packed *k)
{
	size_t n;
	uint8_t *stored = stored_of(k, &n), *to = malloc(ALL);
	EQUAL(ZSTD_decompress(to, ALL, stored, n), ALL);
	CHECK(!memcmp(to, bytes, ALL));
	free(stored);
	free(to);
	return n;
}

/* It takes some until it is looked for. */
static void repeats(struct tw_packer *p)
{
	fill(PERIOD);
	CHECK(unpacked(pack(p)) < ALL);
	CHECK(unpacked(pack(p)) < ALL / 2);
}

/* Nothing is found, and that is no harm. */
static void never_repeats(struct tw_packer *p)
{
	fill(ALL);
	CHECK(unpacked(pack(p)) < ALL + ALL / 100);
	CHECK(unpacked(pack(p)) < ALL + ALL / 100);
}

/* Bytes of four bits each; one part in 40 repeats after a kilobyte, if `some`, otherwise nearly all. */
static void fill_dense(int some)
{
	uint64_t x = 1;
	for (size_t i = 0; i < ALL; i++) {
		x = x * 6364136223846793005u + 1;
		bytes[i] = i >= 1024 && (some ? i % 1024 < 25 : i % 1024 >= 25) ? bytes[i - 1024] : (uint8_t)(x >> 40) & 15;
	}
}

/* What its frames come to at level 1. */
static size_t by_level(void)
{
	const size_t room = ZSTD_compressBound(PIECE_BYTES);
	uint8_t *to = malloc(room);
	size_t n = 0;
	for (size_t i = 0; i < PIECES; i++)
		n += ZSTD_compress(to, room, bytes + i * PIECE_BYTES, PIECE_BYTES, 1);
	free(to);
	return n;
}

/* Data that gains little from repetitions is compressed without searching, until that changes. */
static void dense(struct tw_packer *p)
{
	size_t n;
	fill_dense(1);
	CHECK(unpacked(pack(p)) < ALL / 8 * 5);
	n = unpacked(pack(p));
	CHECK(n > by_level() + by_level() / 100);
	CHECK(n < by_level() + by_level() / 16);
	fill_dense(0);
	unpacked(pack(p));
	CHECK(unpacked(pack(p)) < by_level() + by_level() / 100);
}

int main(void)
{
	char place[PATH_MAX];
	struct tw_writer *w = NULL;
	const struct tw_recording_info info = {.format = TW_FORMAT_DEP};
	unit_enter_directory(place);
	EQUAL(tw_directory_prepare("rec.tw"), TW_OK);
	EQUAL(tw_writer_create("rec.tw", &info, &w), TW_OK);
	struct tw_packer *p = tw_writer_packer(w);
	repeats(p);
	never_repeats(p);
	dense(p);
	tw_packer_free(p);
	EQUAL(tw_writer_close(w, &(struct tw_recording_info){.complete = 1}), TW_OK);
	unit_leave_directory(place);
	return UNIT_END();
}
