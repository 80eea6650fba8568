# Pages of code that a system call fills: it fills all of them, as natively, and loses nothing, also where other threads execute code on them meanwhile.
. "$(dirname "$0")/../lib.sh"
cc_program fill -D_GNU_SOURCE -pthread <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
enum { PAGE = 4096, BYTES = 4 * PAGE, STEPS = 1000, THREADS = 4 };
static uint8_t *p;
static int bad;
static int call(const uint8_t *at)
{
	return ((int (*)(void))(uintptr_t)at)();
}
/* Code runs on two of the four pages, so that they are watched. */
static void arm(void)
{
	for (int k = 1; k < 4; k += 2) {
		memcpy(p + k * PAGE + 64, "\xb8\1\0\0\0\xc3", 6);
		bad |= call(p + k * PAGE + 64) != 1;
	}
}
static void expect(const char *what, long is, long want)
{
	printf("%s: %ld\n", what, is);
	bad |= is != want;
	arm();
}
static void one_thread(void)
{
	static uint8_t b[BYTES];
	int zero = open("/dev/zero", O_RDONLY), ends[2];
	struct iovec v[4], all = {p, BYTES}, from = {b, BYTES};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 4};
	struct mmsghdr mm = {.msg_hdr = m};
	for (int k = 0; k < 4; k++)
		v[k] = (struct iovec){p + k * PAGE + 4000, 50};
	arm();
	expect("read", read(zero, p, BYTES), BYTES);
	expect("pread", pread(zero, p, BYTES, 0), BYTES);
	expect("readv", readv(zero, v, 3), 150);
	expect("preadv", preadv(zero, v, 3, 0), 150);
	v[3].iov_len = 0;
	expect("getrandom", getrandom(p, 256, 0), 256);
	memset(b, 7, BYTES);
	if (pipe(ends) || write(ends[1], b, BYTES) != BYTES)
		_exit(77);
	expect("pipe", read(ends[0], p, BYTES), BYTES);
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends))
		_exit(77);
	for (int k = 0; k < 4; k++)
		if (write(ends[1], b, 6000) != 6000)
			_exit(77);
	expect("recv", recv(ends[0], p, BYTES, 0), 6000);
	expect("recvmsg", recvmsg(ends[0], &m, 0), 150);
	expect("recvmmsg", recvmmsg(ends[0], &mm, 1, 0, NULL), 1);
	expect("bytes of it", mm.msg_len, 150);
	expect("the last", read(ends[0], p, BYTES), 6000);
	expect("process_vm_readv", process_vm_readv(getpid(), &all, 1, &from, 1, 0), BYTES);
	expect("process_vm_writev", process_vm_writev(getpid(), &from, 1, &all, 1, 0), BYTES);
	expect("to nowhere", read(zero, (void *)8, 8), -1);
}
/* Each thread reads its code through a pipe, on pages that the others execute code on. */
static uint8_t *w, *x;
static void *worker(void *arg)
{
	const int t = (int)(intptr_t)arg;
	int ends[2];
	if (pipe(ends))
		_exit(77);
	for (int k = 0; k < STEPS; k++) {
		const size_t at = (size_t)(k % 13) * 1000 + (size_t)t * 16;
		const int value = k * THREADS + t;
		uint8_t code[6] = {0xb8, 0, 0, 0, 0, 0xc3};
		memcpy(code + 1, &value, 4);
		if (write(ends[1], code, sizeof code) != sizeof code)
			_exit(77);
		const ssize_t n = read(ends[0], w + at, sizeof code);
		if (n != sizeof code || call(x + at) != value) {
			printf("thread %d, step %d: read %zd, then %d\n", t, k, n, call(x + at));
			bad = 1;
			break;
		}
	}
	return NULL;
}
static void threads(void)
{
	pthread_t t[THREADS];
	for (intptr_t k = 0; k < THREADS; k++)
		pthread_create(&t[k], NULL, worker, (void *)k);
	for (int k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
}
int main(void)
{
	const int fd = memfd_create("code", 0), rwx = PROT_READ | PROT_WRITE | PROT_EXEC;
	p = mmap(NULL, BYTES, rwx, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || ftruncate(fd, BYTES))
		return 77;
	one_thread();
	w = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (w == MAP_FAILED || x == MAP_FAILED)
		return 77;
	threads();
	w = x = mmap(NULL, BYTES, rwx, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	threads();
	return bad;
}
END
./fill >native
status=$?
[ $status = 77 ] && skip "not possible here"
[ $status = 0 ] || fail "natively: $status"
for f in none dep; do
	timeout 100 "$TW" record -q --sink=count -f "$f" -o "$f.tw" ./fill >out
	status=$?
	[ $status = 0 ] || fail "format $f: status $status: $(diff native out)"
	cmp -s native out || fail "format $f: $(diff native out)"
done
