# Signals sent to `trackway record`: passed on to the program, which may go on after them; one that ends the program ends both.
. "$(dirname "$0")/../lib.sh"
cc_program waits <<'END2'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void note(int signo)
{
	dprintf(1, "%d\n", signo); /* stdout's buffer is not for a handler that the next signal interrupts */
}
int main(void)
{
	signal(SIGUSR1, note);
	signal(SIGUSR2, note);
	signal(SIGHUP, note);
	signal(SIGINT, note);
	signal(SIGQUIT, note);
	signal(SIGWINCH, note);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
END2
# until_lines N: so many lines in out.txt
until_lines() {
	local i
	for i in $(seq 300); do
		[ "$(wc -l <out.txt)" -ge "$1" ] && return
		sleep 0.1
	done
	fail "found $(tr '\n' ' ' <out.txt), and no line $1"
}
"$TW" record -q -o recording.tw ./waits >out.txt & # the shell has it ignore SIGINT and SIGQUIT; the program has handlers
recorder=$!
until_lines 1
line=1
for s in USR1 USR2 HUP USR1 INT QUIT WINCH; do
	kill -$s $recorder
	until_lines $((++line))
done
kill -TERM $recorder
wait $recorder
status=$?
[ $status = 143 ] || fail "exit status $status after SIGTERM"
[ "$(tr '\n' ' ' <out.txt)" = "ready 10 12 1 10 2 3 28 " ] || fail "found $(cat out.txt)"
check_good
