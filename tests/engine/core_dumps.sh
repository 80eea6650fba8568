# Core dumps are the program's: its registers and stack, what killed it, its auxiliary vector, by which debuggers find its code; and not the engine's gigabytes.
. "$(dirname "$0")/../lib.sh"
asan && export ASAN_OPTIONS=disable_coredump=0 # else the sanitizer forbids the recorder, and so the program, to dump
need_command gdb
case $(cat /proc/sys/kernel/core_pattern) in
core) ;;
*) skip "core dumps are not files in the current directory here" ;;
esac
ulimit -c unlimited 2>/dev/null || skip "no core dumps may be made here"
[ "$(ulimit -c)" = unlimited ] || skip "no core dumps may be made here"
unset DEBUGINFOD_URLS
cc_program die -O0 -pthread <<'EOF'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}
static void ignore(int s) { (void)s; }
int inner(const char *how);
int inner(const char *how)
{
	volatile int zero = 0;
	pthread_t t;
	if (!strcmp(how, "thread"))
		pthread_create(&t, NULL, wait_for_ever, NULL);
	if (!strcmp(how, "reset")) {
		signal(SIGQUIT, ignore);
		signal(SIGQUIT, SIG_DFL);
	}
	if (!strcmp(how, "null") || !strcmp(how, "thread"))
		__asm__ volatile("mov %0, %%r13; vmovq %%r13, %%xmm9; mov %%al, (%%r13)" ::"r"(0x1234ul) : "r13", "xmm9");
	if (!strcmp(how, "illegal"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "abort"))
		abort();
	kill(getpid(), SIGQUIT);
	pause();
	return zero;
}
int main(int argc, char **argv) { return inner(argv[argc - 1]) + 1; }
EOF
# of WHAT: what gdb says of the dump
of() {
	gdb -nx -batch -ex bt -ex 'p $_siginfo.si_signo' -ex 'p $_siginfo._sifields._sigfault.si_addr' -ex 'p $r13' -ex 'p $xmm9.v2_int64[0]' ./die core >gdb.out 2>&1
	grep -qE '^#[0-9]+ .* inner \(how=0x[0-9a-f]+ "'"$1"'"\)' gdb.out && grep -qE '^#[0-9]+ .* main \(argc=2,' gdb.out || {
		cat gdb.out
		fail "$1: not the stack of the program"
	}
	[ "$(du -k core | cut -f 1)" -lt 20000 ] || fail "$1: a dump of $(du -k core)"
	[ "$(stat -c %s core)" -lt 200000000 ] || fail "$1: a dump of $(stat -c %s core) bytes"
}
# dies HOW STATUS OPTION...
dies() {
	local how=$1 expected=$2
	shift 2
	rm -f core
	run out err "$TW" record -q -o die.tw "$@" -- ./die "$how"
	status=$?
	[ $status = "$expected" ] || fail "$how: status $status"
	[ -f core ] || fail "$how: no core dump"
	of "$how"
}
dies null 139 --sink=count
printf '%s\n' '$1 = 11' '$2 = (void *) 0x1234' '$3 = 4660' '$4 = 4660' >expected
grep '^\$' gdb.out | cmp -s expected - || {
	cat gdb.out
	fail "not the registers of the program"
}
dies thread 139 -f none
dies abort 134 -f none
dies illegal 132
dies quit 131 --sink=count
dies reset 131 -f none
