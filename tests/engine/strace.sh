# strace and gdb, recorded with what they trace, print what they print natively.
. "$(dirname "$0")/../lib.sh"
need_command strace
masked() { sed -E 's/getrandom\("[^"]*"/getrandom(R/; s/0x[0-9a-f]+/X/g; s/\b[0-9]{2,}\b/N/g; s/ +=/ =/' "$1"; }
strace -o probe true 2>/dev/null || skip "strace cannot trace here"

# A program that it starts.
cat >three <<'END'
/bin/true
(exit 3)
kill -TERM $$
END
mkdir native.traces recorded.traces
strace -ff -o native.traces/of sh three
native_status=$?
"$TW" record -q -o recording.tw strace -ff -o recorded.traces/of sh three
[ $? = $native_status ] || fail "strace ends differently"
# One file for each process, children in the order in which they were made: numbers may begin anew in between. When a child ends is chance.
in_order() {
	local first child
	first=$(grep -l '^execve(.*"three"' "$1"/of.*)
	for child in "${first##*.}" $(sed -nE 's/^(clone3?|v?fork)\(.* = ([0-9]+)$/\2/p' "$first"); do
		masked "$1/of.$child" | grep -vE "SIGCHLD|rt_sigreturn|wait4"
	done
}
diff <(in_order native.traces) <(in_order recorded.traces) || fail "strace -ff prints something else than natively"
[ "$(ls recorded.traces | wc -l)" = 3 ] || fail "strace -ff follows $(ls recorded.traces | wc -l) processes, not 3"

# One that runs, recorded.
cc_program server -D_GNU_SOURCE <<'END'
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char c;
	int fd = open("fifo", O_RDONLY), status;
	if (read(fd, &c, 1) != 1)
		return 9;
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p, 4096, PROT_READ | PROT_WRITE);
	munmap(p, 4096);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD); /* when it comes is chance */
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, SIG_IGN);
	if (!fork())
		_exit(5);
	wait(&status);
	raise(SIGUSR1);
	access("/nowhere", R_OK);
	return WEXITSTATUS(status);
}
END
mkfifo fifo
cat >attach <<'END'
rm -f attached
./server & p=$!
exec 5<>fifo
until grep -q '^0 0x' /proc/$p/syscall; do :; done
strace -o $1 -p $p 2>attached & s=$!
until grep -qs attached attached; do :; done
until grep -qs 'read(' $1 || ! kill -0 $p; do :; done
echo >&5
wait $p
echo server $?
wait $s
echo strace $?
END
cat /proc/self/syscall >/dev/null 2>&1 || skip "/proc/PID/syscall is not there"
native timeout 30 bash attach native.trace
recorded timeout 90 bash attach recorded.trace
compare_runs "strace -p"
diff <(masked native.trace) <(masked recorded.trace) || fail "strace -p prints something else than natively"

command -v gdb >/dev/null || exit 0
cat >debugged.c <<'END'
#include <stdio.h>
int twice(int x)
{
	return x * 2;
}
int main(void)
{
	printf("%d\n", twice(4));
	return 4;
}
END
$CC -g -O0 -o debugged debugged.c || fail "debugged.c does not compile"
gdb -q -nx -batch -ex 'break twice' -ex run -ex bt -ex stepi -ex 'info registers rip' -ex c ./debugged >native.gdb 2>&1
"$TW" record -q -f none gdb -q -nx -batch -ex 'break twice' -ex run -ex bt -ex stepi -ex 'info registers rip' -ex c ./debugged >recorded.gdb 2>&1
diff <(masked native.gdb) <(masked recorded.gdb) || fail "gdb prints something else than natively"
