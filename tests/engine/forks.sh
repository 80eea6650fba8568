# A server that forks for each request: what its children translate is described once, and the recording is replayed all the same.
. "$(dirname "$0")/../lib.sh"
cc_program server <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, status, sum = 0;
	for (int i = 0; i < n; i++) {
		pid_t p = fork();
		if (p == 0) {
			char text[64];
			int a[50];
			for (int k = 0; k < 50; k++)
				a[k] = k * 7919 % 101;
			qsort(a, 50, sizeof *a, compare);
			snprintf(text, sizeof text, "%d %g %s", a[3], i / 3.0, strstr("abcdef", "de"));
			_exit((int)(strlen(text) + (size_t)a[i % 50]) & 127);
		}
		waitpid(p, &status, 0);
		sum += WEXITSTATUS(status);
	}
	printf("%d\n", sum);
	return 0;
}
END
same_as_native ./server 2
check_good
few=$(info_value fragments)
same_as_native ./server 40
check_good
many=$(info_value fragments)
[ "$many" -lt $((few + few / 10)) ] || fail "$few fragments with 2 children, $many with 40"
verify_clean ./server 10
