# --follow=none: children run, and what they execute runs natively; the recording holds the first process alone, and says who the others were.
# --follow=all: one recording of them all, and `info` shows the tree.
. "$(dirname "$0")/../lib.sh"
cc_program family -D_GNU_SOURCE <<'END'
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(99);
}
static void show(const char *what, pid_t p)
{
	int s;
	char line[100];
	if (p < 0 || waitpid(p, &s, 0) != p)
		exit(1);
	sprintf(line, "%s %x\n", what, s);
	say(line);
}
/* Something to do for every process: else a child would have nothing to record. */
static int work(int n)
{
	volatile int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	return sum & 7;
}
int main(int argc, char **argv)
{
	pid_t p;
	char *again[] = {argv[0], "again", NULL}, link[200];
	if (argc > 1) {
		link[readlink("/proc/self/exe", link, sizeof link - 1)] = 0;
		say(strrchr(link, '/'));
		return 30 + work(1000) * 0;
	}
	work(5000);
	if (!(p = fork()))
		_exit(11 + work(3000) * 0);
	show(" fork", p);
	if (!(p = fork())) {
		execv("/proc/self/exe", again);
		_exit(99);
	}
	show(" exec", p);
	if (!(p = vfork())) {
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		syscall(SYS_execveat, fd, "", again, environ, AT_EMPTY_PATH);
		_exit(99);
	}
	show(" vfork", p);
	if (posix_spawn(&p, argv[0], NULL, NULL, again, environ))
		return 1;
	show(" spawn", p);
	if (!(p = fork()))
		abort();
	show("abort", p);
	if (!(p = fork())) {
		char *args[] = {"sh", "-c", "kill -9 $$", NULL};
		execv("/bin/sh", args);
	}
	wait(NULL); /* who does not ask how it ended */
	say("end\n");
	return 7;
}
END
ulimit -c 0
native ./family
for format in dep call none; do
	RECORD_OPTIONS=(-f $format --follow=none)
	recorded ./family
	compare_runs "record ${RECORD_OPTIONS[*]}"
done
RECORD_OPTIONS=(--follow=none)
whole ./family
"$TW" info --json recording.tw >none.json
RECORD_OPTIONS=()
whole ./family
"$TW" info --json recording.tw >all.json
"$TW" info recording.tw | sed -n '/^processes/,/^$/p' >tree
cat >look.py <<'END'
import json
none, every = (json.load(open(n)) for n in ("none.json", "all.json"))
assert none["follow"] == "none" and every["follow"] == "all"
assert none["threads"] == 1, none["threads"]
for r, recorded in (none, 0), (every, 1):
    p = r["processes"]
    assert len(p) == 7, p
    first = p[0]
    assert first["command"] == ["./family"] and first["exit_status"] == 7 and first["recorded"] == 1 and first["instructions"] > 15000
    assert all(q["parent_pid"] == first["pid"] and q["recorded"] == recorded for q in p[1:])
    assert [q.get("exit_status", -q.get("signal", 0)) for q in p[1:]] == [11, 30, 30, 30, -6, -9], p
assert sum(q["instructions"] for q in every["processes"]) == every["instructions"]
assert [q["command"] for q in every["processes"][1:]] == [["./family"]] + 3 * [["./family", "again"]] + [["./family"], ["sh", "-c", "kill -9 $$"]]
assert [q["threads"] for q in every["processes"]] == 7 * [1]
END
sed -i 's/"\.\/family", "again"/F, "again"/; s/^assert \[q\["command"\]/F = ".\/family"\n&/' look.py
python3 look.py || fail "info --json does not show the processes as they were"
[ "$(wc -l <tree)" = 10 ] || fail "info does not show 7 processes: $(cat tree)"
grep -q "signal 9 .*  sh -c 'kill -9 \$\$'" tree || fail "the tree lacks the shell: $(cat tree)"
one_sentence "$TW" record --follow=some true
says 'all or none'
