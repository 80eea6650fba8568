# record --wait=first ends with the first process, in the same way; what that leaves behind is recorded on, into a recording that can be read meanwhile.
. "$(dirname "$0")/../lib.sh"
cc_program leave -D_GNU_SOURCE <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void say(int fd)
{
	char c;
	if (fd < 0 || read(fd, &c, 1) != 1)
		_exit(9);
}
/* leave HOW: its child goes on until somebody writes to the fifo `on`. */
int main(int argc, char **argv)
{
	int ready[2];
	if (pipe(ready))
		return 9;
	printf("%d\n", argc);
	fflush(stdout);
	if (!fork()) {
		close(0), close(1), close(2);
		if (write(ready[1], "", 1) != 1)
			_exit(9);
		say(open("on", O_RDONLY));
		rename("running", "ended");
		_exit(6);
	}
	say(ready[0]);
	if (atoi(argv[1]) > 100)
		kill(getpid(), atoi(argv[1]) - 100);
	return atoi(argv[1]);
}
END
mkfifo on
goes_on() { # goes_on HOW: starts, and looks at what is there while the child runs
	: >running
	rm -rf ended live.tw
	"$TW" record --wait=first -o live.tw ./leave "$1" >out 2>err </dev/null
	local status=$?
	[ $status = "$2" ] || fail "leave $1: record ends with $status"
	[ "$(cat out)" = 2 ] || fail "leave $1: output: $(cat out)"
	[ -e running ] || fail "leave $1: the child had ended"
	recorder=$(sed -n 's/.* 1 process it left behind goes on .* by process \([0-9]*\), or until that gets SIGTERM$/\1/p' err)
	[ -n "$recorder" ] || fail "leave $1: record does not say who goes on: $(cat err)"
	"$TW" info live.tw >live.out || fail "info of a recording that is being written"
	grep -q '^state  *incomplete: still being written$' live.out || fail "info does not say that it is being written: $(grep state live.out)"
	"$TW" report live.tw >live.out || fail "report of a recording that is being written"
	grep -q '^incomplete: still being written$' live.out || fail "report does not say that it is being written"
	for _ in $(seq 600); do # what the first process ran may wait in the spool
		[ "$(info_value chunks live.tw)" -gt 0 ] && break
		sleep 0.05
	done
	"$TW" check live.tw >live.out || fail "check of a recording that is being written: $(cat live.out)"
	grep -q '^incomplete: still being written$' live.out || fail "check does not say that it is being written"
	"$TW" dump live.tw 2>live.err | grep -q . || fail "dump of a recording that is being written"
	grep -q 'incomplete: still being written$' live.err || fail "dump does not say that it is being written"
}
go_on() { # the child ends
	echo >on
	for _ in $(seq 600); do
		[ -e ended ] && return 0
		sleep 0.05
	done
	fail "the child does not end"
}
gone() { # gone PID: waits until it has ended
	for _ in $(seq 600); do
		[ -e "/proc/$1" ] || return 0
		sleep 0.05
	done
	fail "process $1 does not end"
}
for how in '3 3' '115 143'; do
	goes_on $how
	go_on
	gone "$recorder"
	"$TW" info live.tw | grep -q '^state  *complete$' || fail "the recording is not complete"
	check_good live.tw
	"$TW" info --json live.tw | python3 -c '
import json, sys
p = json.load(sys.stdin)["processes"]
assert len(p) == 2 and p[1]["exit_status"] == 6, p' || fail "how the child ended is not known"
done

# The recorder is told to stop: what runs goes on.
goes_on 4 4
kill -TERM "$recorder"
gone "$recorder"
[ -e running ] || fail "the child did not go on"
"$TW" info live.tw | grep -q 'incomplete: stopped by a signal' || fail "the recording does not say why it is incomplete"
go_on
# The recorder is killed.
goes_on 5 5
kill -KILL "$recorder"
gone "$recorder"
"$TW" info live.tw | grep -q 'incomplete: the recorder was killed' || fail "the recording does not say that the recorder was killed"
go_on

# Nobody is left behind: all is as without.
"$TW" record --wait=first -o alone.tw sh -c 'exit 7' >out 2>err
[ $? = 7 ] || fail "record does not end as the program"
grep -q 'instructions, .* in alone.tw' err || fail "no summary: $(cat err)"
check_good alone.tw
"$TW" record --wait=first -o /proc/none true 2>err
[ $? = 125 ] || fail "a recording that cannot be made"
one_sentence "$TW" record --wait=last true
says 'all or first'
one_sentence "$TW" record --wait=first --verify true
says 'verify'
