# record --pid of a process that has locked all memory that it will have (mlockall): the engine's, which is more than the machine has, is not locked; what the program maps is, before, meanwhile and
# when it has been let go.
. "$(dirname "$0")/../lib.sh"
need_ptrace
cc_program locks -D_GNU_SOURCE <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
enum { BYTES = 1 << 20 };
static long locked(void)
{
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "VmLck: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}
int main(int argc, char **argv)
{
	(void)argv;
	int wrong = mlockall(argc > 1 ? MCL_FUTURE | MCL_ONFAULT : MCL_CURRENT | MCL_FUTURE) ? 77 : 0;
	printf("ready\n");
	fflush(stdout);
	while (!wrong && access("stop", F_OK)) {
		const long before = locked();
		char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		unsigned char in[BYTES / 4096] = {0};
		const long more = locked() - before;
		mincore(p, BYTES, in);
		if (p == MAP_FAILED || more != BYTES / 1024 || before > 100000)
			wrong = 1;
		if ((in[100] & 1) != (argc == 1)) /* is there memory for it at once? */
			wrong = 2;
		munmap(p, BYTES);
		usleep(1000);
	}
	printf("%d\n", wrong);
	return wrong;
}
END
for how in "" onfault; do
	for format in dep none; do
		start ./locks $how
		attach -f $format
		sleep 0.3
		"$TW" stop $PID >stop.out 2>&1 || fail "it was not let go: $(cat stop.out)"
		wait $RECORDER || fail "the recorder ended with status $?"
		sleep 0.3
		touch stop
		wait $PID || fail "$format $how: the program ended with status $?"
		rm stop
		rm -rf recording.tw
	done
done
# one that record has started, and that is let go
"$TW" record -f none -o recording.tw ./locks >native.out 2>errors &
RECORDER=$!
await ready native.out
PID=$(pgrep -P $RECORDER -x locks || pgrep -n -x locks)
sleep 0.3
"$TW" stop $PID >stop.out 2>&1 || fail "it was not let go: $(cat stop.out)"
sleep 0.3
touch stop
await '^[0-9]' native.out
[ "$(tail -n 1 native.out)" = 0 ] || fail "what it maps when it has been let go is not locked: $(tail -n 1 native.out)"
wait $RECORDER
