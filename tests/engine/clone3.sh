# clone3 with arguments of another size than this engine knows: what is more must be zero, as the kernel has it.
. "$(dirname "$0")/../lib.sh"
cc_program clone3 -D_GNU_SOURCE <<'END2'
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void try(const void *args, size_t size)
{
	int status = 0;
	errno = 0;
	long p = syscall(SYS_clone3, args, size);
	if (!p)
		_exit(3);
	int error = errno;
	if (p > 0)
		waitpid((pid_t)p, &status, 0);
	printf("%zu: %s, %s, %x\n", size, p > 0 ? "made" : "not", strerror(error), (unsigned)status);
	fflush(stdout);
}
int main(void)
{
	char *page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct clone_args a = {.exit_signal = SIGCHLD};
	munmap(page + 8192, 4096);
	memcpy(page, &a, sizeof a);
	const size_t size[] = {0, 63, 64, 80, 88, 89, 128, 200, 4096, 4097};
	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		try(page, size[i]);
	page[199] = 1;
	try(page, 199);
	try(page, 200);
	memcpy(page + 8192 - 128, &a, sizeof a);
	try(page + 8192 - 128, 128);
	try(page + 8192 - 128, 256);
	try(page + 8192, 64);
	return 0;
}
END2
native ./clone3
! grep -q 'Function not implemented' native.out || skip "clone3 is forbidden here"
whole ./clone3
