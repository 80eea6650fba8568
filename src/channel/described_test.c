/* Descriptors that the code file lacks: what was written is read again from any number on, anew when all was coded, and up to what is whole. */
#include "channel/described.h"
#include "recording/recording.h"
#include "unit.h"
#include "unit_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 1000 };

static uint8_t numbered[BYTES]; /* byte n has something of n */

static int here(void)
{
	return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void add(struct tw_described *d, uint64_t from, uint64_t to)
{
	EQUAL(tw_described_add(d, numbered + from, to - from, to), TW_OK);
}

/* From number `from` on there are the bytes up to `to`. */
static void check_read(int dir, uint64_t from, uint64_t to)
{
	uint8_t *bytes;
	size_t n;
	EQUAL(tw_described_read(dir, from, &bytes, &n), TW_OK);
	EQUAL(n, to - from);
	CHECK(!n || !memcmp(bytes, numbered + from, n));
	free(bytes);
}

static off_t size(void)
{
	struct stat st;
	return stat(TW_DESCRIBED_FILE, &st) ? 0 : st.st_size;
}

static void test_pieces(void)
{
	const int dir = here();
	struct tw_described *d = tw_described_new(dir);
	check_read(dir, 0, 0);
	tw_described_write(d, 0);
	EQUAL(size(), 0);
	add(d, 0, 100);
	add(d, 100, 160); /* the same stretch */
	tw_described_write(d, 0);
	uint8_t *apart = malloc(40);
	memcpy(apart, numbered + 160, 40);
	EQUAL(tw_described_add(d, apart, 40, 200), TW_OK);
	tw_described_write(d, 150);
	memset(apart, 0, 40);
	free(apart);
	for (uint64_t from = 0; from <= 200; from += 10)
		check_read(dir, from, 200);
	check_read(dir, 300, 300);
	const off_t two = size();
	/* all is coded: anew. What is left behind the first piece is not read */
	add(d, 200, 230);
	tw_described_write(d, 200);
	EQUAL(size(), two);
	check_read(dir, 200, 230);
	check_read(dir, 199, 199); /* what the code file must have, and has not: there is a gap */
	/* nor is what is coded already written */
	add(d, 230, 240);
	tw_described_write(d, 240);
	add(d, 240, 300);
	tw_described_write(d, 240);
	check_read(dir, 240, 300);
	tw_described_free(d);
	EQUAL(unlink(TW_DESCRIBED_FILE), 0);
	close(dir);
}

/* No more files may be open: there is a gap, until all before is coded. */
static void test_gap(void)
{
	const int dir = here();
	struct tw_described *d = tw_described_new(dir);
	struct rlimit before, none;
	EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
	add(d, 0, 100);
	tw_described_write(d, 0);
	EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
	check_read(dir, 0, 0);
	add(d, 100, 150);
	tw_described_write(d, 50);
	check_read(dir, 50, 50);
	check_read(dir, 100, 150);
	tw_described_free(d);
	close(dir);
	EQUAL(unlink(TW_DESCRIBED_FILE), 0);
}

/* Whatever is cut off or changed: whole pieces that go on where the last one ended, and nothing else. */
static void test_damage(void)
{
	const int dir = here();
	struct tw_described *d = tw_described_new(dir);
	uint8_t *bytes, whole[BYTES];
	size_t n;
	for (uint64_t i = 0; i < 5; i++) {
		add(d, 24 * i, 24 * i + 24);
		tw_described_write(d, 0);
	}
	tw_described_free(d);
	const int file = open(TW_DESCRIBED_FILE, O_RDWR | O_CLOEXEC);
	const ssize_t all = pread(file, whole, sizeof whole, 0);
	CHECK(all > 5 * 24 && all < BYTES);
	for (ssize_t i = 0; i < all; i++) {
		const uint8_t wrong = whole[i] ^ 0x40;
		EQUAL(pwrite(file, &wrong, 1, i), 1);
		EQUAL(tw_described_read(dir, 0, &bytes, &n), TW_OK);
		EQUAL(n, (size_t)(i / (all / 5)) * 24);
		CHECK(!n || !memcmp(bytes, numbered, n));
		free(bytes);
		EQUAL(pwrite(file, whole + i, 1, i), 1);
	}
	for (ssize_t i = all; i-- > 0;) {
		EQUAL(ftruncate(file, i), 0);
		check_read(dir, 0, (uint64_t)(i / (all / 5)) * 24);
	}
	close(file);
	close(dir);
}

int main(void)
{
	char name[PATH_MAX];
	unit_enter_directory(name);
	for (int i = 0; i < BYTES; i++)
		numbered[i] = (uint8_t)(i * 7 + i / 251 + 1);
	test_pieces();
	test_gap();
	test_damage();
	unit_leave_directory(name);
	return UNIT_END();
}
