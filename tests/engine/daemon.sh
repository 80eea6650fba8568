# Daemons: two forks, a session of their own, everything closed. `record` waits for them and records them to their end, or until it is told to stop.
. "$(dirname "$0")/../lib.sh"
cc_program daemonize -D_GNU_SOURCE <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile int work;
int main(int argc, char **argv)
{
	if (argc > 2 && daemon(1, 0))
		return 1;
	if (fork())
		return 4;
	setsid();
	if (fork())
		_exit(0);
	for (int fd = 0; fd < 100; fd++)
		close(fd);
	for (int i = 0; i < 100 && getppid() != 1; i++)
		usleep(10000); /* the parent may not have ended yet */
	FILE *f = fopen("daemon.new", "w");
	fprintf(f, "%d %d %d\n", getppid(), getsid(0) == getpid(), fileno(f));
	fclose(f);
	for (int i = 0; !strcmp(argv[1], "works") && access("go", F_OK); i++) {
		for (int k = 0; k < 100000; k++)
			work += k;
		if (i == 0)
			close(creat("worked", 0600));
		usleep(10000);
	}
	return rename("daemon.new", "daemon") ? 1 : 5;
}
END
./daemonize once
await . daemon
mv daemon native.daemon
recorded ./daemonize once
[ $RECORDED_STATUS = 4 ] || fail "record ends with $RECORDED_STATUS, not with the first process's status"
[ -e daemon ] || fail "record did not wait for the daemon"
cmp daemon native.daemon || fail "the daemon saw $(cat daemon) instead of $(cat native.daemon)"
check_good
"$TW" info --json recording.tw | python3 -c '
import json, sys
p = json.load(sys.stdin)["processes"]
assert [q["exit_status"] for q in p] == [4, 0, 5], p
assert p[1]["parent_pid"] == p[0]["pid"] and p[2]["parent_pid"] == p[1]["pid"], p' || fail "info does not tell of the daemon"

# Told to stop: the recording is closed and replays, the daemon goes on to its end.
rm -f daemon
"$TW" record -o stopped.tw -- ./daemonize works >out 2>err </dev/null &
collector=$!
until [ -e worked ]; do sleep 0.05; done
await 'has ended; 1 process it left behind' err
kill -TERM $collector
wait $collector
status=$?
[ $status = 4 ] || fail "record ends with $status"
[ ! -e daemon ] || fail "the daemon had ended already"
grep -q 'incomplete: stopped by a signal while 1 process ran' err || fail "record does not say that it stopped: $(cat err)"
"$TW" check stopped.tw >check.out || fail "check: $(cat check.out)"
grep -q 'stopped by a signal' check.out || fail "check does not say that it was stopped"
"$TW" info --json stopped.tw | python3 -c '
import json, sys
p = json.load(sys.stdin)["processes"]
assert len(p) == 3 and "exit_status" not in p[2] and p[2]["instructions"] > 100000, p' || fail "info of the stopped recording"
touch go
await . daemon
exit 0
