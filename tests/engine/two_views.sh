# Code that is executed through one shared mapping of a file and written through another, as JITs do that never have memory writable and executable at a time.
. "$(dirname "$0")/../lib.sh"
cc_program views -D_GNU_SOURCE -pthread <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
enum { PAGE = 4096, PAGES = 4, BYTES = PAGES * PAGE, R = PROT_READ, RW = R | PROT_WRITE, RX = R | PROT_EXEC };
static int fd;
static uint8_t *view(int prot, int first, int pages)
{
	uint8_t *p = mmap(NULL, (size_t)pages * PAGE, prot, MAP_SHARED, fd, (off_t)first * PAGE);
	if (p == MAP_FAILED)
		_exit(77);
	return p;
}
static void code(uint8_t *to, int value) /* mov eax, value; ret */
{
	memcpy(to + 1, &value, 4);
	to[0] = 0xb8;
	to[5] = 0xc3;
}
static int call(const uint8_t *at)
{
	return ((int (*)(void))(uintptr_t)at)();
}
static int bad;
static void expect(const char *what, int is, int want)
{
	if (is != want) {
		printf("%s: %d, not %d\n", what, is, want);
		bad = 1;
	}
}
static uint8_t *shared_w;
static int turn; /* odd: the writer's */
static void *writer(void *unused)
{
	for (int i = 0; i < 50; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 2 * i + 1)
			usleep(10);
		code(shared_w + 64, 9000 + i);
		__atomic_store_n(&turn, 2 * i + 2, __ATOMIC_RELEASE);
	}
	return unused;
}
int main(void)
{
	fd = memfd_create("code", 0);
	if (ftruncate(fd, BYTES))
		return 77;
	uint8_t *x = view(RX, 0, PAGES), *w = view(RW, 0, PAGES), *x2 = view(RX, 1, 1), *w2 = view(RW, 0, PAGES);
	for (int i = 0; i < 50; i++) {
		uint8_t *at = (i & 1 ? w : w2) + PAGE + i % 7;
		code(at, i);
		expect("two writers", call(x + PAGE + i % 7), i);
		expect("two readers", call(x2 + i % 7), i);
	}
	munmap(w2, BYTES);
	for (int i = 0; i < 20; i++) { /* a view for each store */
		uint8_t *once = view(RW, 2, 1);
		code(once, i + 100);
		munmap(once, PAGE);
		expect("mapped to write", call(x + 2 * PAGE), i + 100);
	}
	for (int i = 0; i < 20; i++) { /* writable for each store, a part of the view only */
		mprotect(w + 2 * PAGE, PAGE, R);
		expect("before", call(x + 2 * PAGE), i ? i + 199 : 119);
		mprotect(w + 2 * PAGE, PAGE, RW);
		code(w + 2 * PAGE, i + 200);
		expect("protected", call(x + 2 * PAGE), i + 200);
	}
	for (int i = 0; i < 20; i++) { /* written by the kernel */
		uint8_t bytes[6];
		int pipe_fd[2];
		code(bytes, i + 300);
		if (pipe(pipe_fd) || write(pipe_fd[1], bytes, 6) != 6 || read(pipe_fd[0], w + 3 * PAGE, 6) != 6)
			return 1;
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		expect("read", call(x + 3 * PAGE), i + 300);
	}
	for (int i = 0; i < 10; i++) { /* views that move */
		uint8_t *place = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		w = mremap(w, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place);
		code(w + 3 * PAGE, i + 400);
		expect("writer moved", call(x + 3 * PAGE), i + 400);
		place = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		x = mremap(x, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place);
		expect("code moved", call(x + 3 * PAGE), i + 400);
		code(w + 3 * PAGE, i + 500);
		expect("code moved and written", call(x + 3 * PAGE), i + 500);
	}
	for (int i = 0; i < 20; i++) { /* the file, by calls */
		uint8_t bytes[6];
		code(bytes, i + 600);
		const struct iovec v = {bytes, 6};
		if ((i & 1 ? pwrite(fd, bytes, 6, 3 * PAGE) : pwritev(fd, &v, 1, 3 * PAGE)) != 6)
			return 1;
		expect("written to the file", call(x + 3 * PAGE), i + 600);
		off_t from = 3 * PAGE, to = 2 * PAGE + 512;
		if (copy_file_range(fd, &from, fd, &to, 6, 0) == 6)
			expect("copied within the file", call(x + 2 * PAGE + 512), i + 600);
	}
	pthread_t thread;
	shared_w = w;
	code(w + 64, 8999);
	pthread_create(&thread, NULL, writer, NULL);
	for (int i = 0; i < 50; i++) {
		expect("before the other thread", call(x + 64), 8999 + i);
		__atomic_store_n(&turn, 2 * i + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 2 * i + 2)
			usleep(10);
		expect("other thread", call(x + 64), 9000 + i);
	}
	pthread_join(thread, NULL);
	/* what takes the place of a view is none */
	uint8_t *plain = mmap(w, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	code(plain + 64, 1);
	expect("mapped over", call(x + 64), 9049);
	puts(bad ? "differs" : "all as written");
	return bad;
}
END
whole ./views
RECORD_OPTIONS=(-f none)
same_as_native ./views
