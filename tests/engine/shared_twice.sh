# Code in shared memory that is no file's, or whose file is cut short: doubled by mremap, attached twice by shmat, truncated by a path or by an open.
. "$(dirname "$0")/../lib.sh"
cc_program twice -D_GNU_SOURCE <<'END'
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
enum { PAGE = 4096, RW = PROT_READ | PROT_WRITE, RX = PROT_READ | PROT_EXEC };
static sigjmp_buf back;
static void fault(int s)
{
	siglongjmp(back, s);
}
static int call(const uint8_t *at)
{
	int s = sigsetjmp(back, 1);
	return s ? -s : ((int (*)(void))(uintptr_t)at)();
}
static void code(uint8_t *to, int value) /* mov eax, value; ret */
{
	memcpy(to + 1, &value, 4);
	to[0] = 0xb8;
	to[5] = 0xc3;
}
static uint8_t *map(int prot, int flags, int fd)
{
	uint8_t *p = mmap(NULL, PAGE, prot, flags, fd, 0);
	if (p == MAP_FAILED)
		exit(77);
	return p;
}
int main(void)
{
	struct sigaction a = {.sa_handler = fault};
	sigaction(SIGBUS, &a, NULL);
	sigaction(SIGSEGV, &a, NULL);

	uint8_t *x = map(RW | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1), *w;
	for (int i = 0; i < 4; i++) {
		code(x, i);
		printf("anonymous %d\n", call(x));
		w = mremap(x, 0, PAGE, MREMAP_MAYMOVE);
		if (w == MAP_FAILED)
			return 77;
		mprotect(w, PAGE, RW);
		code(w, 10 + i);
		printf("doubled %d\n", call(x));
		code(w, 20 + i);
		printf("again %d\n", call(x));
		munmap(w, PAGE);
	}

	int segment = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	w = shmat(segment, NULL, 0);
	x = shmat(segment, NULL, SHM_EXEC | SHM_RDONLY);
	shmctl(segment, IPC_RMID, NULL);
	for (int i = 0; i < 4; i++) {
		code(w, 30 + i);
		printf("segment %d\n", call(x));
	}
	shmdt(w);
	printf("writer gone %d\n", call(x));
	shmdt(x);
	printf("both gone %d\n", call(x));

	char name[] = "codeXXXXXX";
	uint8_t bytes[PAGE] = {0};
	int fd = mkstemp(name);
	for (int i = 0; i < 4; i++) {
		code(bytes, 40 + i);
		if (pwrite(fd, bytes, PAGE, 0) != PAGE)
			return 77;
		x = map(RX, MAP_SHARED, fd);
		printf("file %d\n", call(x));
		if (i == 0 && truncate(name, 0))
			return 77;
		if (i == 1)
			close(open(name, O_RDWR | O_TRUNC));
		if (i == 2)
			close(creat(name, 0600));
		if (i == 3 && ftruncate(fd, 0))
			return 77;
		printf("cut %d\n", call(x));
		munmap(x, PAGE);
	}
	unlink(name);
	return 0;
}
END
whole ./twice
same_as_native ./twice
RECORD_OPTIONS=(-f none)
same_as_native ./twice
