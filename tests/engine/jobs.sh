# A terminal, sessions, process groups, job control: as natively, for what is recorded and for who records it.
. "$(dirname "$0")/../lib.sh"
need_command script
cc_program terminal -D_GNU_SOURCE <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
static void show(const char *what)
{
	/* Who leads the first group is whom the shell started: natively the program, else trackway. */
	int leader = !strcmp(what, "child") ? getpgrp() == getpid() : 1;
	printf("%s: tty %d leader %d foreground %d session %d\n", what, isatty(0), leader, tcgetpgrp(0) == getpgrp(), tcgetsid(0) == getsid(0));
	fflush(stdout);
}
int main(int argc, char **argv)
{
	struct winsize w = {.ws_row = 11, .ws_col = 77};
	struct termios t;
	int s;
	signal(SIGTTOU, SIG_IGN);
	if (argc > 1) { /* stops its whole group, as ^Z does */
		kill(0, SIGTSTP);
		printf("goes on\n");
		return 6;
	}
	show("first");
	ioctl(0, TIOCSWINSZ, &w);
	memset(&w, 0, sizeof w);
	ioctl(0, TIOCGWINSZ, &w);
	tcgetattr(0, &t);
	printf("%d %d %d\n", w.ws_row, w.ws_col, (t.c_lflag & ICANON) != 0);
	fflush(stdout);
	int seen[2]; /* the parent has seen it continue: till then it must not end */
	char c;
	s = pipe(seen);
	pid_t group = getpgrp(), p = fork();
	if (!p) {
		setpgid(0, 0);
		tcsetpgrp(0, getpid());
		show("child");
		raise(SIGSTOP);
		s = read(seen[0], &c, 1) == 1;
		printf("goes on\n");
		return 3;
	}
	setpgid(p, p);
	printf("stopped %d", waitpid(p, &s, WUNTRACED) == p && WIFSTOPPED(s));
	printf(" by %d\n", WSTOPSIG(s));
	tcsetpgrp(0, group);
	kill(p, SIGCONT);
	printf("continued %d\n", waitpid(p, &s, WCONTINUED) == p && WIFCONTINUED(s));
	fflush(stdout);
	s = write(seen[1], "", 1) == 1;
	printf("ended %d", waitpid(p, &s, 0) == p && WIFEXITED(s));
	printf(" %d\n", WEXITSTATUS(s));
	show("again");
	return 0;
}
END
cat >jobs.sh <<'END'
set -m
$RUN ./terminal
$RUN bash -c 'set -m; (kill -STOP $BASHPID; echo on) & until [ -n "$(jobs -s)" ]; do sleep 0.05; done; jobs; fg; echo over'
$RUN ./terminal stop
echo $((($? & 127) == SIGTSTP))
fg
echo $?
END
sed -i "s/SIGTSTP/$(kill -l TSTP)/" jobs.sh
in_terminal() {
	RUN=$1 script -qec 'bash jobs.sh' typescript </dev/null | tr -d '\r' | sed 's/^\(.*\)[^ ]*trackway record.* -- /\1/; s/  *$//; /^$/d' | uniq # bash may have told by itself, before `jobs`, that one has stopped
}
in_terminal '' >native.out
in_terminal "$TW record -q -o jobs.tw --" >recorded.out
grep -q 'goes on' native.out || fail "natively: $(cat native.out)"
diff native.out recorded.out || fail "job control is not as natively"
check_good jobs.tw
exit 0
