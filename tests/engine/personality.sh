# The personality in which all memory that can be read can be executed (GNU Common Lisp): what is mapped, protected, or brk from then on.
. "$(dirname "$0")/../lib.sh"
cc_program readable -D_GNU_SOURCE <<'END'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>
static int call(uint8_t *at, int value) /* mov eax, value; ret */
{
	memcpy(at + 1, &value, 4);
	at[0] = 0xb8;
	at[5] = 0xc3;
	return ((int (*)(void))(uintptr_t)at)();
}
static void *map(int prot)
{
	return mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static int dies(uint8_t *at)
{
	int status;
	if (!fork())
		_exit(call(at, 1));
	wait(&status);
	return WIFSIGNALED(status);
}
int main(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	uint8_t *before = map(rw), *later = map(PROT_NONE);
	printf("before: dies %d\n", dies(before));
	if (personality(READ_IMPLIES_EXEC) < 0)
		return 77;
	uint8_t *at = map(rw), *heap = sbrk(8192);
	for (int i = 0; i < 20; i++)
		printf("%d %d\n", call(at, i), call(heap + i * 100, i + 100));
	mprotect(later, 4096, rw);
	printf("%d, before: dies %d\n", call(later, 7), dies(before));
	personality(0);
	printf("after: %d, dies %d\n", call(at, 8), dies(map(rw)));
	return 0;
}
END
whole ./readable
