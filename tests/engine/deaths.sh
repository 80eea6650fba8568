# Deaths by signal: sent, or by what the program did. The exit status is the native one.
. "$(dirname "$0")/../lib.sh"
ulimit -c 0
cc_program die <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile int zero = argc - 2;
	const char *how = argv[1];
	printf("%s\n", how);
	fflush(stdout);
	if (!strcmp(how, "null"))
		*(volatile int *)0 = 1;
	if (!strcmp(how, "divide"))
		return 1 / zero;
	if (!strcmp(how, "illegal"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	if (!strcmp(how, "privileged"))
		__asm__ volatile("hlt");
	if (!strcmp(how, "jump"))
		((void (*)(void))0x123456)();
	if (!strcmp(how, "noexec"))
		((void (*)(void))mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))();
	if (!strcmp(how, "noncanonical"))
		((void (*)(void))0x8000000000000000)();
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "blocked")) {
		sigset_t set;
		sigfillset(&set);
		sigprocmask(SIG_BLOCK, &set, NULL);
		*(volatile int *)0 = 1; /* a fault that is blocked kills */
	}
	if (!strcmp(how, "ignored")) {
		signal(SIGSEGV, SIG_IGN);
		*(volatile int *)0 = 1;
	}
	if (!strcmp(how, "exit"))
		_exit(300);
	if (!strcmp(how, "bus")) {
		FILE *f = tmpfile();
		char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
		return p[0];
	}
	kill(getpid(), atoi(how));
	return 77;
}
END
for how in null divide illegal trap privileged jump noexec noncanonical abort blocked ignored exit bus 1 2 3 6 8 9 10 11 13 14 15 17 18 28 34; do
	same_as_native ./die $how
done
same_as_native sh -c 'kill -TERM $$'
