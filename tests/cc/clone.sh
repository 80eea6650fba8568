# Processes that the program makes by clone(), syscall(), _Fork() or its own instructions, of which the C library tells nobody, record apart from their parents; all that they ran before _exit is
# there. Of those that code makes which is not instrumented it is said.
. "$(dirname "$0")/../cc.sh"
need_command gcc
make_work_h
cat >made.c <<'X'
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"
static int child(void *ends)
{
	char c;
	work(5000);
	close(((int *)ends)[1]);
	read(*(int *)ends, &c, 1); /* the parent writes until the child is about to end */
	work(300);
	return 7;
}
static long call(long number, const void *a, const void *b)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(0) : "rcx", "r11", "memory");
	return r;
}
static long call_fork(void)
{
	long r;
	__asm__ volatile("movl $57,%%eax\n\tsyscall" : "=a"(r) : : "rcx", "r11", "memory");
	return r;
}
/* On a stack of its own. */
static void *begun;
static void begin(void)
{
	_exit(child(begun));
}
static long call_clone(char *stack, int *ends)
{
	void **top = (void **)stack - 2;
	long r;
	begun = ends;
	top[0] = (void *)begin;
	__asm__ volatile("syscall\n\ttest %%rax,%%rax\n\tjnz 1f\n\tpop %%rax\n\tcall *%%rax\n1:"
	                 : "=a"(r)
	                 : "a"(SYS_clone), "D"(SIGCHLD), "S"(top), "d"(0)
	                 : "rcx", "r11", "memory");
	return r;
}
pid_t _Fork(void);
/* A process with a copy of this one's memory. */
static pid_t made(int how, char *stack, int *ends)
{
	static const unsigned long long args[8] = {[4] = SIGCHLD};
	if (how == 0)
		return clone(child, stack, SIGCHLD, ends);
	if (how == 4)
		return (pid_t)call_clone(stack, ends);
	const long pid = how == 1 ? syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)
	                 : how == 2 ? syscall(SYS_clone3, args, sizeof args)
	                 : how == 3 ? syscall(SYS_fork)
	                 : how == 5 ? call(SYS_clone3, args, (void *)sizeof args)
	                 : how == 6 ? call_fork()
	                            : _Fork();
	if (!pid)
		_exit(child(ends));
	return (pid_t)pid;
}
int main(void)
{
	enum { STACK = 65536, MADE = 8 };
	char *stack = malloc(STACK);
	int ends[2], status, s = 0;
	for (int k = 0; k < MADE; k++) {
		if (pipe(ends))
			return 1;
		const pid_t pid = made(k, stack + STACK, ends);
		close(ends[0]);
		s += work(4321 + k);
		close(ends[1]);
		waitpid(pid, &status, 0);
		s += work(100);
		printf("%d\n", WEXITSTATUS(status));
	}
	const int wrong = clone(NULL, stack, 0, NULL);
	printf("%d %d %s\n", s, wrong, strerror(errno));
	printf("%ld %s\n", syscall(SYS_close, -1), strerror(errno));
	printf("%ld %ld\n", syscall(SYS_clone3, NULL, 0), call(SYS_clone3, NULL, NULL));
	printf("%d %ld\n", syscall(SYS_getpid) == getpid(), syscall(SYS_tgkill, getpid(), getpid(), 0));
	return 0;
}
X
declare -A OPTIONS=(["gcc -O0 -fPIC -pie"]=--full=guard)
for how in "gcc -O2" "gcc -O2 -static -pthread" "gcc -O0 -fPIC -pie"; do
	# shellcheck disable=SC2086
	CC_OPTIONS=${OPTIONS[$how]-} instrumented made $how made.c
	runs_as_plain made
	"$TW" info recording.tw >info.out
	"$TW" record -q --sink=count -o counted.tw ./made >/dev/null
	[ "$("$TW" info counted.tw | grep '^blocks')" = "$(grep '^blocks' info.out)" ] || fail "$how: counted is not what is recorded"
	rm -r counted.tw
	[ "$(grep -c ' 1  *[0-9]\{5,6\}  exit 7  *\./made$' info.out)" = 8 ] || fail "$how: $(cat info.out)"
done

cat >elsewhere.c <<'X'
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"
int fork_elsewhere(void);
int main(void)
{
	if (!fork_elsewhere())
		_exit(work(5000) & 1);
	return wait(NULL) < 0 || !work(400);
}
X
cat >fork.s <<'X'
	.globl	fork_elsewhere
fork_elsewhere:
	movl	$57, %eax
	syscall
	ret
	.section .note.GNU-stack,"",@progbits
X
instrument elsewhere gcc -O2 elsewhere.c fork.s
run out err "$TW" record -q -o elsewhere.tw ./elsewhere || fail "a process made by code that is not instrumented: status $?"
grep -q 'incomplete: a process was made by a system call in code that is not instrumented' err || fail "a process made by code that is not instrumented: $(cat err)"
"$TW" check elsewhere.tw >check.out 2>&1 || fail "a process made by code that is not instrumented: $(cat check.out)"

# That another thread than the first ends a process is known, too.
cat >other.c <<'X'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"
static int how;
static void *end(void *arg)
{
	work(1000);
	if (how)
		_exit(7);
	exit(8);
	return arg;
}
int main(void)
{
	pthread_t thread;
	for (how = 0; how < 2; how++) {
		if (!fork()) {
			work(500);
			return pthread_create(&thread, NULL, end, NULL) || pthread_join(thread, NULL);
		}
		wait(NULL);
	}
	return work(100) & 0;
}
X
instrumented other gcc -O2 -pthread other.c
runs_as_plain other
[ "$("$TW" info recording.tw | grep -c 'exit [78]  *\./other$')" = 2 ] || fail "ended by another thread: $("$TW" info recording.tw)"
