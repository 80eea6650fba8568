# A server that forks for each request: what its children translate is described once, and the recording is replayed all the same. What the recorder keeps
# does not grow with the number of children that have ended.
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

/* Kilobytes that the parent, which is the recorder, has. */
static long parents_memory(void)
{
	char name[64], line[256];
	long kb = 0;
	snprintf(name, sizeof name, "/proc/%d/status", (int)getppid());
	FILE *f = fopen(name, "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "VmRSS: %ld", &kb);
	fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, status, sum = 0;
	long before = 0;
	for (int i = 0; i < n; i++) {
		if (i == n / 4)
			before = parents_memory();
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
	if (argc > 2 && parents_memory() - before > 3000)
		printf("%ld kB, then %ld\n", before, parents_memory());
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
RECORD_OPTIONS+=(--sink=count)
asan || same_as_native ./server 400 flat
unset "RECORD_OPTIONS[-1]"
verify_clean ./server 10

# Children each of which goes other ways through the same code: their superblocks begin alike, and are described once.
cc_program ways <<'END'
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned sum;
static void turn(unsigned bits)
{
	for (unsigned k = 0; k < 10; k++) {
		if (bits >> k & 1)
			sum += k;
		else
			sum ^= k;
	}
	sum = bits & 1 ? sum + 3 : sum ^ 5;
	sum = bits & 2 ? sum + 7 : sum ^ 9;
	sum = bits & 4 ? sum * 11 : sum ^ 13;
	sum = bits & 8 ? sum / 15 : sum ^ 17;
	sum = bits & 16 ? sum * 19 : sum ^ 21;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[argc - 1]); i++) {
		uint64_t x = (uint64_t)i * 977;
		if (!fork()) {
			for (int k = 0; k < 40000; k++)
				turn((unsigned)((x = x * 6364136223846793005u + 1442695040888963407u) >> 40));
			_exit(0);
		}
		wait(NULL);
	}
	return 0;
}
END
RECORD_OPTIONS+=(--sink=count)
same_as_native ./ways 4
few=$(info_value fragments)
same_as_native ./ways 40
many=$(info_value fragments)
[ "$many" -lt $((few + few / 10)) ] || fail "$few fragments with 4 children that go different ways, $many with 40"
