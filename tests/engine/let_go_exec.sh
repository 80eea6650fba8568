# trackway stop of a program that executes another one all the time, so that hardly ever a process runs just then: it is waited for that is about to begin.
. "$(dirname "$0")/../lib.sh"
need_ptrace
cc_program again <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char left[16];
	const int n = atoi(argv[argc - 1]);
	if (access("stop", F_OK)) {
		snprintf(left, sizeof left, "%d", n + 1);
		execl(argv[0], argv[0], left, (char *)NULL);
		return 1;
	}
	printf("%s\n", n > 0 ? "executed itself" : "never");
	return 7;
}
END
for n in 1 2 3; do
	rm -f stop
	"$TW" record -f none -- ./again 0 >out 2>err &
	RECORDER=$!
	CLEANUP+=("kill -9 $RECORDER 2>/dev/null; touch stop")
	until PID=$(pgrep -P $RECORDER); do sleep 0.05; done
	sleep 0.$n
	"$TW" stop "$PID" >stopped.out 2>&1 || fail "stop: $(cat stopped.out)"
	grep -q trackway /proc/"$PID"/maps && fail "the engine is still there"
	touch stop
	wait $RECORDER
	status=$?
	[ $status = 7 ] && [ "$(cat out)" = "executed itself" ] || fail "status $status: $(cat out err)"
done
