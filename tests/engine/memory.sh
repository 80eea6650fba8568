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
