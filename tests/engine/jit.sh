# Code that changes: written, run, rewritten and run again; mapped away and replaced; through a second mapping; loaded and unloaded.
. "$(dirname "$0")/../lib.sh"
cc_program jit -D_GNU_SOURCE <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*function)(void);
enum { PAGE = 4096, RWX = PROT_READ | PROT_WRITE | PROT_EXEC };

static uint8_t *map(void *at, int prot)
{
	uint8_t *p = mmap(at, 4 * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	return p;
}

/* mov eax, value; ret */
static void put(uint8_t *p, int value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

static int call(uint8_t *p)
{
	return ((function)(uintptr_t)p)();
}

int main(void)
{
	long sum = 0;
	/* written and run in place, many times, at changing places of a page */
	uint8_t *p = map(NULL, RWX);
	for (int i = 0; i < 300; i++) {
		put(p + i % 7 * 32, i);
		sum = sum * 31 + call(p + i % 7 * 32);
		sum += call(p + i % 3 * 32 % (i + 1) / 32 * 32);
	}
	printf("in place %ld\n", sum);
	/* W^X */
	uint8_t *q = map(NULL, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 50; i++) {
		mprotect(q, PAGE, PROT_READ | PROT_WRITE);
		put(q, i * 3);
		mprotect(q, PAGE, PROT_READ | PROT_EXEC);
		sum += call(q) * (i + 1);
	}
	printf("turned %ld\n", sum);
	/* unmapped, and other code at the same place */
	for (int i = 0; i < 50; i++) {
		munmap(q, 4 * PAGE);
		map(q, RWX);
		put(q, i * 5);
		sum += call(q);
	}
	printf("replaced %ld\n", sum);
	/* replaced without munmap, and by mremap */
	for (int i = 0; i < 20; i++) {
		map(q, RWX);
		put(q, i * 7);
		sum += call(q);
		uint8_t *other = map(NULL, RWX);
		put(other, i * 11);
		sum += call(other);
		mremap(other, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q);
		sum += call(q);
	}
	printf("moved %ld\n", sum);
	/* grown and moved when a page has run, written at its new place, and left behind */
	for (int i = 0; i < 20; i++) {
		uint8_t *place = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint8_t *old = map(NULL, RWX);
		for (int k = 0; k < 4; k += 1 + i % 2) {
			put(old + k * PAGE, i + k);
			sum += call(old + k * PAGE);
		}
		uint8_t *new = mremap(old, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | (i % 3 == 0 ? MREMAP_FIXED : 0), place);
		if (new == MAP_FAILED) {
			puts("mremap fails");
			return 1;
		}
		for (int k = 0; k < 8; k += 2) {
			sum = sum * 3 + (k < 4 ? call(new + k * PAGE) : 0);
			put(new + k * PAGE, i * k);
			sum = sum * 5 + call(new + k * PAGE);
			put(new + k * PAGE, i * k + 1);
			sum = sum * 7 + call(new + k * PAGE);
		}
		munmap(new, 8 * PAGE);
	}
	printf("grown %ld\n", sum);
	/* code that changes the code right behind it: the next instruction's immediate */
	uint8_t *s = map(NULL, RWX);
	static const uint8_t self[] = {
		0x89, 0x3d, 0x01, 0, 0, 0,    /* mov [rip + 1], edi: the immediate below */
		0xb8, 0, 0, 0, 0,             /* mov eax, imm32 */
		0xc3,
	};
	memcpy(s, self, sizeof self);
	for (int i = 0; i < 50; i++)
		sum += ((int (*)(int))(uintptr_t)s)(i);
	printf("self-modified %ld\n", sum);
	/* a jump and nothing else, rewritten, while where it leads stays; seen under -f none, which makes nothing of such a block */
	uint8_t *jump = map(NULL, RWX);
	put(jump + PAGE, 17);
	for (int i = 0; i < 50; i++) {
		static const uint8_t ahead[] = {0xe9, 0xfb, 0x0f, 0, 0}; /* jmp jump + PAGE */
		memcpy(jump, ahead, sizeof ahead);
		sum = sum * 3 + call(jump);
		put(jump, i);
		sum = sum * 5 + call(jump + PAGE) + call(jump);
	}
	printf("jumped %ld\n", sum);
	/* written through another mapping */
	int fd = memfd_create("code", 0);
	if (ftruncate(fd, PAGE))
		return 1;
	uint8_t *w = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint8_t *x = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	put(w, 1234);
	printf("shared %d\n", call(x));
	/* code read from a file by read(2) */
	int pipe_fd[2];
	if (pipe(pipe_fd))
		return 1;
	for (int i = 0; i < 20; i++) {
		uint8_t code[6];
		put(code, i * 13);
		if (write(pipe_fd[1], code, 6) != 6 || read(pipe_fd[0], p, 6) != 6)
			return 1;
		sum += call(p);
	}
	printf("read %ld\n", sum);
	return 0;
}
END
whole ./jit
RECORD_OPTIONS=(-f none)
same_as_native ./jit
# mprotect that meets a hole fails, but what is before the hole has its new protection
cc_program hole -D_GNU_SOURCE <<'EOF'
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	static const unsigned char code[] = {0xb8, 43, 0, 0, 0, 0xc3};
	unsigned char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, code, sizeof code);
	munmap(p + 4096, 4096);
	int r = mprotect(p, 3 * 4096, PROT_READ | PROT_EXEC);
	printf("%d %d %d\n", r, errno == ENOMEM, ((int (*)(void))p)());
	return 0;
}
EOF
same_as_native ./hole
