/*
 * Descriptors that the code file lacks: what was written is read back from any number on, restarts when all is in the
 * code file, and up to what is whole.
 */
#include "channel/described.h"
#include "recording/recording.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1000, AT = 100, ROOM = 2000 };

static uint8_t numbered[BYTES]; /* byte n has something of n */

static void add(struct tw_described *d, uint64_t from, uint64_t to)
{
	EQUAL(tw_described_add(d, numbered + from, to - from, to), TW_OK);
}

/* From number `from` on there are the bytes up to `to`. */
static void check_read(int file, uint64_t from, uint64_t to)
{
	uint8_t *bytes;
	size_t n;
	EQUAL(tw_described_read(file, AT, ROOM, from, &bytes, &n), TW_OK);
	EQUAL(n, to - from);
	CHECK(!n || !memcmp(bytes, numbered + from, n));
	free(bytes);
}

static void test_pieces(void)
{
	const int file = memfd_create("described", MFD_CLOEXEC);
	struct tw_described *d = tw_described_new(file, AT, ROOM);
	check_read(file, 0, 0);
	CHECK(tw_described_write(d, 0));
	EQUAL(lseek(file, 0, SEEK_END), 0);
	add(d, 0, 100);
	add(d, 100, 160); /* the same stretch */
	CHECK(tw_described_write(d, 0));
	uint8_t *apart = malloc(40);
	memcpy(apart, numbered + 160, 40);
	EQUAL(tw_described_add(d, apart, 40, 200), TW_OK);
	CHECK(tw_described_write(d, 150));
	free(apart);
	for (uint64_t from = 0; from <= 200; from += 10)
		check_read(file, from, 200);
	check_read(file, 300, 300);
	/* everything is in the code file: restart. What is left after the first piece is not read */
	const off_t two = lseek(file, 0, SEEK_END);
	add(d, 200, 230);
	CHECK(tw_described_write(d, 200));
	EQUAL(lseek(file, 0, SEEK_END), two);
	check_read(file, 200, 230);
	check_read(file, 199, 199); /* what the code file must have, and has not: there is a gap */
	/* what is coded already is not written */
	add(d, 230, 240);
	CHECK(tw_described_write(d, 240));
	add(d, 240, 300);
	CHECK(tw_described_write(d, 240));
	check_read(file, 240, 300);
	tw_described_free(d);
	close(file);
}

/* There is no room: a gap, until all before is coded. */
static void test_full(void)
{
	const int file = memfd_create("described", MFD_CLOEXEC);
	struct tw_described *d = tw_described_new(file, AT, 500);
	add(d, 0, 200);
	CHECK(tw_described_write(d, 0));
	add(d, 200, 600);
	CHECK(!tw_described_write(d, 0));
	add(d, 600, 650);
	CHECK(tw_described_write(d, 0));
	check_read(file, 0, 200);
	add(d, 650, 900);
	CHECK(tw_described_write(d, 650));
	check_read(file, 650, 900);
	tw_described_free(d);
	/* nor on the disk */
	d = tw_described_new(open("/dev/full", O_WRONLY | O_CLOEXEC), 0, ROOM);
	add(d, 0, 100);
	CHECK(!tw_described_write(d, 0));
	tw_described_free(d);
	close(file);
}

/* Whatever is cut off or changed: only whole consecutive pieces are read. */
static void test_damage(void)
{
	enum { PIECES = 5, PIECE = 24 };
	const int file = memfd_create("described", MFD_CLOEXEC);
	struct tw_described *d = tw_described_new(file, AT, ROOM);
	uint8_t whole[BYTES];
	for (uint64_t i = 0; i < PIECES; i++) {
		add(d, PIECE * i, PIECE * (i + 1));
		CHECK(tw_described_write(d, 0));
	}
	tw_described_free(d);
	const ssize_t all = pread(file, whole, sizeof whole, AT), each = all / PIECES;
	CHECK(each > PIECE && all < BYTES && all % PIECES == 0);
	for (ssize_t i = 0; i < all; i++) {
		const uint8_t wrong = whole[i] ^ 0x40;
		EQUAL(pwrite(file, &wrong, 1, AT + i), 1);
		check_read(file, 0, (uint64_t)(i / each * PIECE));
		EQUAL(pwrite(file, whole + i, 1, AT + i), 1);
	}
	for (ssize_t i = all; i-- > 0;) {
		EQUAL(ftruncate(file, AT + i), 0);
		check_read(file, 0, (uint64_t)(i / each * PIECE));
	}
	close(file);
}

int main(void)
{
	for (int i = 0; i < BYTES; i++)
		numbered[i] = (uint8_t)(i * 7 + i / 251 + 1);
	test_pieces();
	test_full();
	test_damage();
	return UNIT_END();
}
