# Memory: maps of every kind, growing stacks, large allocations, fixed addresses, files mapped privately and shared.
. "$(dirname "$0")/../lib.sh"
cc_program maps -D_GNU_SOURCE <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *try_map(uintptr_t at, size_t n, int prot, int flags)
{
	return mmap((void *)at, n, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}
int main(void)
{
	/* low, high, refused; the engine itself lives from 0x10000000 to 0x80000000 */
	static const uintptr_t at[] = {0x10000, 0x8000000, 0x90000000, 0x100000000, 0x200000000000, 0x7ff000000000};
	for (int i = 0; i < 6; i++) {
		char *p = try_map(at[i], 65536, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE);
		printf("%lx %s\n", (long)at[i], p == MAP_FAILED ? strerror(errno) : p == (void *)at[i] ? "there" : "elsewhere");
		if (p != MAP_FAILED) {
			memset(p, i, 65536);
			munmap(p, 65536);
		}
	}
	char *low = try_map(0, 65536, PROT_READ | PROT_WRITE, MAP_32BIT);
	printf("32 bit %d\n", low != MAP_FAILED && (uintptr_t)low < 0x80000000);
	printf("hint %d\n", try_map(0x300000000000, 4096, PROT_READ, 0) == (void *)0x300000000000);
	char *big = try_map(0, 1ul << 36, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	printf("big %d\n", big != MAP_FAILED && (big[1ul << 35] = 7) == 7);
	printf("zero %s\n", try_map(0, 0, PROT_READ, 0) == MAP_FAILED ? strerror(errno) : "?");
	/* malloc and realloc of every size */
	unsigned long sum = 0;
	char *blocks[64] = {0};
	for (int i = 0; i < 2000; i++) {
		int k = i * 7 % 64;
		size_t n = (size_t)(i * 7919) % 300000 + 1;
		blocks[k] = realloc(blocks[k], n);
		blocks[k][n - 1] = (char)i;
		sum += (unsigned char)blocks[k][0] + n;
		if (i % 5 == 0) {
			free(blocks[k]);
			blocks[k] = NULL;
		}
		sum &= 0xffffff00;
	}
	/* files */
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (ftruncate(fd, 10000))
		return 1;
	char *shared = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *private = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	private[4] = 'p';
	shared[5000] = 's';
	char c[2];
	if (pread(fd, c, 1, 5000) != 1 || pread(fd, c + 1, 1, 4) != 1)
		return 1;
	printf("%c %d\n", c[0], c[1]);
	shared = mremap(shared, 10000, 1 << 20, MREMAP_MAYMOVE);
	printf("%c %d %d\n", shared[5000], madvise(private, 4096, MADV_DONTNEED), private[4]);
	printf("%d %d\n", mlock(c, 1), msync(shared, 4096, MS_SYNC));
	return (int)(sum & 0xff);
}
END
whole ./maps
# Where the engine has its own there is no room, whatever the program does: it is told so and goes on
cc_program place -D_GNU_SOURCE <<'EOF'
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void)
{
	static const unsigned long places[] = {0x5f000000, 0x5ffff000, 0x60000000, 0x6c000000, 0x7ffe0000, 0x560000000000, 0x561000000000, 0x561000400000};
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		void *p = (void *)places[i];
		printf("%d", mmap(p, 4096, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == MAP_FAILED && errno == ENOMEM);
		printf("%d", mmap(p, 4096, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
		printf("%d%d", munmap(p, 4096) != 0, mprotect(p, 4096, PROT_NONE) != 0);
		printf("%d\n", mmap(p, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED);
	}
	return 0;
}
EOF
recorded ./place
[ "$RECORDED_STATUS" = 0 ] || fail "status $RECORDED_STATUS"
[ "$(sort -u recorded.out)" = 11111 ] || {
	cat recorded.out
	fail "the engine's memory can be taken"
}

# Code that goes without a store, as madvise has it: what was translated from it does not run any more. What does not exist here is left out, natively too.
cc_program advice -D_GNU_SOURCE <<'END'
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
enum { PAGE = 4096, GUARD_INSTALL = 102, GUARD_REMOVE = 103, RWX = PROT_READ | PROT_WRITE | PROT_EXEC };
static sigjmp_buf back;
static void handler(int s, siginfo_t *info, void *context)
{
	(void)context;
	siglongjmp(back, s << 8 | info->si_code);
}
static void put(unsigned char *to, int value) /* mov eax, value; ret */
{
	unsigned char b[6] = {0xb8, (unsigned char)value, 0, 0, 0, 0xc3};
	memcpy(to, b, sizeof b);
}
static int call(unsigned char *code)
{
	const int s = sigsetjmp(back, 1);
	return s ? -s : ((int (*)(void))code)();
}
/* A page that returns `file` in the file, and what it is changed to in this process. */
static unsigned char *changed(int file, int to)
{
	unsigned char page[PAGE];
	int fd = open("code", O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(page, 0xcc, PAGE);
	put(page, file);
	if (write(fd, page, PAGE) != PAGE)
		_exit(1);
	unsigned char *code = mmap(NULL, PAGE, RWX, MAP_PRIVATE, fd, 0);
	close(fd);
	put(code, to);
	for (int i = 0; i < 100; i++)
		call(code);
	return code;
}
static void in_child(unsigned char *code)
{
	fflush(stdout);
	if (!fork()) {
		printf("child %d\n", call(code));
		fflush(stdout);
		if (!fork()) {
			printf("its child %d\n", call(code));
			fflush(stdout);
			_exit(0);
		}
		wait(NULL);
		_exit(0);
	}
	wait(NULL);
	printf("parent %d\n", call(code));
}
int main(void)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	unsigned char *code = changed(1, 2), *gone = mmap(NULL, PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct iovec piece = {code, PAGE};
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	long self = syscall(SYS_pidfd_open, getpid(), 0), r = syscall(SYS_process_madvise, self, &piece, 1, MADV_DONTNEED, 0);
	printf("process_madvise %ld: %d\n", r, call(code));
	code = changed(3, 4);
	if (!madvise(code, PAGE, GUARD_INSTALL)) {
		printf("guard %d\n", call(code));
		printf("removed %d: %d\n", madvise(code, PAGE, GUARD_REMOVE), call(code));
	}
	put(gone, 7);
	for (int i = 0; i < 100; i++)
		call(gone);
	printf("not in forks: %d\n", madvise(gone, PAGE, MADV_DONTFORK));
	in_child(gone);
	printf("in forks: %d\n", madvise(gone, PAGE, MADV_DOFORK));
	in_child(gone);
	unsigned char *two = mmap(NULL, 2 * PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static unsigned char scratch[64];
	put(two, 5);
	put(two + PAGE, 9);
	for (int i = 0; i < 100; i++)
		call(two);
	printf("zeros in forks: %d\n", madvise(two, PAGE, MADV_WIPEONFORK));
	fflush(stdout);
	if (!fork()) { /* zeros are add [rax], al; behind them comes the second page */
		void *rax = scratch;
		__asm__ volatile("call *%1" : "+a"(rax) : "r"(two) : "memory", "cc");
		printf("child %d\n", (int)(long)rax);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	printf("parent %d\n", call(two));
	return 0;
}
END
whole ./advice
