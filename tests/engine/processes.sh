# Processes: fork, vfork, posix_spawn, exec, pipes between them, orphans; each recorded.
. "$(dirname "$0")/../lib.sh"
cc_program family -D_GNU_SOURCE <<'END'
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static int status_of(pid_t p)
{
	int s = 0;
	if (p < 0 || waitpid(p, &s, 0) != p)
		exit(1);
	return WIFEXITED(s) ? WEXITSTATUS(s) : 1000 + WTERMSIG(s);
}
int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1) {
		printf("again: %s %s\n", argv[0], argv[1]);
		return atoi(argv[1]);
	}
	for (int i = 0; i < 5; i++) {
		pid_t p = fork();
		if (!p)
			_exit(i * 10);
		printf("%d\n", status_of(p));
	}
	pid_t p = fork();
	if (!p) {
		if (!fork())
			_exit(3); /* a grandchild */
		int s;
		wait(&s);
		abort();
	}
	printf("%d\n", status_of(p));
	p = vfork();
	if (!p)
		_exit(21);
	printf("%d\n", status_of(p));
	p = vfork();
	if (!p) {
		execl("/proc/self/exe", "myself", "22", (char *)NULL);
		_exit(1);
	}
	printf("%d\n", status_of(p));
	p = vfork();
	if (!p) {
		execl("/no/such/program", "x", (char *)NULL);
		_exit(23);
	}
	printf("%d\n", status_of(p));
	char *args[] = {"sh", "-c", "echo spawned; exit 24", NULL};
	int failed = posix_spawn(&p, "/bin/sh", NULL, NULL, args, environ), status = status_of(p); /* both may be printing till then */
	printf("%d %d\n", failed, status);
	printf("%d\n", system("exit 25") >> 8);
	char line[100] = "";
	FILE *f = popen("echo through | tr a-z A-Z", "r");
	if (fgets(line, sizeof line, f))
		printf("%s", line);
	pclose(f);
	fflush(stdout);
	execl("/bin/sh", "sh", "-c", "echo last; exit 26", (char *)NULL);
	return 1;
}
END
whole ./family
whole sh -c 'for i in 1 2 3; do echo $i; done | sort -r | (read x; echo $x; cat) | wc -c; (exit 5); echo $?'
whole env -i /bin/sh -c '/usr/bin/env; exec /bin/echo done'
# A daemon outlives its parent; nobody waits for ever.
cat >daemon.sh <<'END'
(sleep 0.3; echo late >late) >/dev/null 2>&1 &
echo early
END
# orphan: recorded it runs to its end, too
orphan() {
	native sh daemon.sh
	await late late
	rm late
	recorded sh daemon.sh
	compare_runs "record ${RECORD_OPTIONS[*]} daemon.sh"
	await late late
	rm late
}
orphan
# With nothing recorded the engine goes on for it as well, and for what it executes.
RECORD_OPTIONS=(-f none)
orphan
RECORD_OPTIONS=()
# What processes read of each other: the program, not the engine.
cat >exe.sh <<'END'
me=$$
readlink /proc/$me/exe /proc/self/exe /proc/$me/task/$me/exe
cat /proc/$me/exe | cmp - /bin/bash && stat -L -c %s /proc/$me/exe
test -x /proc/$me/exe && /proc/$me/exe -c 'readlink /proc/$PPID/exe; echo run'
END
whole bash exe.sh
