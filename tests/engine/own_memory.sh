# Code that a program writes through /proc/self/mem, which goes past all protection: memory that may be executed only, that may be written, too, and that is shared; by every call that writes.
. "$(dirname "$0")/../lib.sh"
cc_program own_memory -D_GNU_SOURCE <<'END2'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
static int fd;
static int call(const uint8_t *at)
{
	return ((int (*)(void))(uintptr_t)at)();
}
static ssize_t put(int how, uint8_t *to, const int *value)
{
	struct iovec v[2] = {{(void *)value, 1}, {(char *)value + 1, 3}};
	switch (how) {
	case 0: return pwrite(fd, value, 4, (off_t)(uintptr_t)to);
	case 1: lseek(fd, (off_t)(uintptr_t)to, SEEK_SET); return write(fd, value, 4);
	case 2: lseek(fd, (off_t)(uintptr_t)to, SEEK_SET); return writev(fd, v, 2);
	case 3: return pwritev(fd, v, 2, (off_t)(uintptr_t)to);
	case 4: return pwritev2(fd, v, 2, (off_t)(uintptr_t)to, 0);
	default: lseek(fd, (off_t)(uintptr_t)to, SEEK_SET); return pwritev2(fd, v, 2, -1, 0);
	}
}
static void all(const char *what, int flags, int prot)
{
	uint8_t *c = mmap(NULL, 8192, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	/* across the end of a page: mov eax, value; ret */
	uint8_t *at = c + 4096 - 3;
	memcpy(at, "\xb8\1\0\0\0\xc3", 6);
	mprotect(c, 8192, prot);
	printf("%s: %d", what, call(at));
	for (int how = 0, value = 0x12345; how < 6; how++, value += 0x1010101) {
		ssize_t n = put(how, at + 1, &value);
		printf(" %zd %x", n, (unsigned)call(at));
	}
	puts("");
}
int main(int argc, char **argv)
{
	fd = argc > 1 ? openat(open("/proc/thread-self", O_PATH), "mem", O_RDWR) : open("/proc/self/mem", O_RDWR);
	if (fd < 0)
		return 77 + (argv == NULL);
	all("may not be written", MAP_PRIVATE, PROT_READ | PROT_EXEC);
	all("may be written", MAP_PRIVATE, PROT_READ | PROT_WRITE | PROT_EXEC);
	all("shared", MAP_SHARED, PROT_READ | PROT_WRITE | PROT_EXEC);
	all("shared, may not be written", MAP_SHARED, PROT_READ | PROT_EXEC);
	/* code of a function of its own */
	static const uint8_t gives_7[] = {0xb8, 7, 0, 0, 0, 0xc3};
	printf("%d", getpagesize());
	if (pwrite(fd, gives_7, sizeof gives_7, (off_t)(uintptr_t)&getpagesize) == sizeof gives_7)
		printf(" %d", getpagesize());
	puts("");
	return 0;
}
END2
whole ./own_memory
whole ./own_memory again
