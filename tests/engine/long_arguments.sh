# execve with very many arguments and variables.
. "$(dirname "$0")/../lib.sh"
cc_program long_arguments <<'END2'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char **strings(int n, char *first)
{
	char **s = calloc((size_t)n + 1, sizeof *s);
	for (int i = 0; i < n; i++)
		s[i] = i ? "s=" : first;
	return s;
}
static void try(char *self, int argc, int envc)
{
	int status;
	if (!fork()) {
		execve(self, strings(argc, "again"), strings(envc, "s"));
		_exit(errno);
	}
	wait(&status);
	printf("%d, %d: %x\n", argc, envc, (unsigned)status);
	fflush(stdout);
}
int main(int argc, char **argv)
{
	int n = 0;
	if (argv[0][0] == 'a') {
		while (environ[n])
			n++;
		printf("%d arguments, %d variables\n", argc, n);
		return 0;
	}
	try(argv[0], 10, 10);
	try(argv[0], 100000, 10);
	try(argv[0], 10, 100000);
	try(argv[0], 66000, 66000);
	try(argv[0], 5000000, 1);
	return 0;
}
END2
same_as_native ./long_arguments
check_good
[ "$("$TW" info recording.tw | grep -c 'long_arguments')" -ge 5 ] || fail "a program with many arguments is not recorded"
