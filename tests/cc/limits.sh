# What a program limits itself to, the recorder's share does not count: addresses (RLIMIT_AS), and system calls (SECCOMP_MODE_STRICT), from where on it is not recorded. Nor do root's processes need more than they
# timeout: 240
# have when they become another user's.
. "$(dirname "$0")/../cc.sh"
need_command gcc
make_work_h
cat >addresses.c <<'X'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"
int main(void)
{
	struct rlimit most = {256 << 20, 256 << 20}, now;
	int status;
	work(1000);
	const pid_t pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_AS, &most);
		void *some = malloc(100 << 20), *much = malloc(300 << 20);
		getrlimit(RLIMIT_AS, &now);
		work(1000000);
		printf("%d %d %d\n", some != NULL, much != NULL, (int)(now.rlim_cur >> 20));
		prlimit(0, RLIMIT_AS, NULL, &now);
		printf("%d %d\n", (int)(now.rlim_max >> 20), setrlimit(99, &now));
		return 3;
	}
	waitpid(pid, &status, 0);
	printf("%x\n", status);
	return 0;
}
X
cat >calls.c <<'X'
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"
int main(void)
{
	int s = work(1000);
	prctl(PR_SET_NAME, "calls");
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	for (int i = 0; i < 200; i++)
		s += work(10000);
	const char text[2] = {"0123456789abcdef"[s & 15], '\n'};
	if (write(1, text, 2) == 2)
		syscall(SYS_exit, 3);
}
X
# Filters of system calls kill for those that recording would make, also at the program's end, and where nobody records.
cat >filter.c <<'X'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"
static volatile int hits;
static void handle(int number)
{
	hits += number == SIGUSR1 && work(10) != 1;
}
#define PASS(call, to) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, to, 0)
int main(int argc, char **argv)
{
	struct sock_filter few[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    PASS(__NR_write, 5),
	    PASS(__NR_exit_group, 4),
	    PASS(__NR_kill, 3),
	    PASS(__NR_getpid, 2),
	    PASS(__NR_rt_sigreturn, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter most[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_acct, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof few / sizeof *few, few};
	int s = work(1000);
	(void)argv;
	if (argc == 3)
		program = (struct sock_fprog){sizeof most / sizeof *most, most};
	signal(SIGUSR1, handle);
	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (argc == 2 ? syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		return 77;
	for (int i = 0; i < 50; i++)
		s += work(10000);
	kill(getpid(), SIGUSR1);
	const char text[3] = {"0123456789abcdef"[s & 15], (char)('0' + hits), '\n'};
	return write(1, text, 3) == 3 ? 5 : 6;
}
X
gcc -O2 filter.c -o filter.plain && ./filter.plain >native.out
if [ $? = 5 ]; then
	for CC_OPTIONS in "" --full=guard --switchable; do
		instrument filter gcc -O2 filter.c
		runs_as_plain filter
		TRACKWAY=discard ./filter >out
		[ $? = 5 ] && cmp out native.out || fail "$CC_OPTIONS: with a filter of system calls, thrown away"
		left_out "$CC_OPTIONS" --full=guard --switchable && continue
		runs_as_plain filter by-syscall
		runs_as_plain filter that spares
		[ "$(info_value blocks)" -gt 500000 ] || fail "a filter that forbids little: $(info_value blocks) blocks"
	done
	CC_OPTIONS=
else
	untested "filters of system calls"
fi
# Memory that is locked (mlockall): not all that recording has addresses for, which took minutes.
cat >locked.c <<'X'
#include <stdio.h>
#include <sys/mman.h>
#include "work.h"
int main(void)
{
	printf("%d %d", mlockall(0), mlockall(MCL_CURRENT | MCL_FUTURE));
	printf(" %d\n", work(10000));
	return 0;
}
X
instrumented locked gcc -O2 locked.c
if ./locked.plain | grep -q '^-1 0'; then
	runs_as_plain locked
else
	untested "mlockall"
fi
for flags in "" -static; do
	instrumented addresses gcc -O2 $flags addresses.c
	runs_as_plain addresses
	for CC_OPTIONS in "" --full=guard; do
		left_out "$flags $CC_OPTIONS" "-static --full=guard" && continue
		instrumented calls gcc -O2 $flags calls.c
		runs_as_plain calls
		TRACKWAY=discard ./calls >out
		[ $? = "$NATIVE_STATUS" ] && cmp out native.out || fail "calls, thrown away"
	done
	CC_OPTIONS=
done

# Where a limit that another has set leaves too few addresses, the program runs, and that it is not recorded is said.
sh -c 'ulimit -v 100000; ./calls.plain' >native.out
status=$?
"$TW" record --native -q -o few.tw sh -c 'ulimit -v 100000; ./calls' >few.out 2>few.err
[ $? -eq $status ] && cmp native.out few.out || fail "ulimit -v: it does not run as by itself: $(cat few.err)"
grep -q 'what 1 threads ran is not in it: there was no memory for it' few.err || fail "ulimit -v: $(cat few.err)"
for few in 8000 18000; do
	sh -c "ulimit -v $few; ./calls.plain" >native.out
	status=$?
	for how in off discard; do
		TRACKWAY=$how sh -c "ulimit -v $few; ./calls" >few.out
		[ $? -eq $status ] && cmp native.out few.out || fail "ulimit -v $few, $how: it does not run as by itself"
	done
	rm -rf few.tw
	"$TW" record --native -q -o few.tw sh -c "ulimit -v $few; ./calls" >few.out 2>few.err
	[ $? -eq $status ] && cmp native.out few.out || fail "ulimit -v $few: it does not run as by itself: $(cat few.err)"
	grep -q 'programs that could not open the recorder.s channel are not in it: 1,.*/calls' few.err || fail "ulimit -v $few: $(cat few.err)"
done

cat >user.c <<'X'
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"
int main(void)
{
	const struct rlimit none = {0, 0};
	int status;
	work(100);
	if (!fork()) {
		if (!getuid() && (setgid(65534) || setuid(65534)))
			return 9;
		setrlimit(RLIMIT_NOFILE, &none);
		if (!fork())
			return work(10000) & 1;
		wait(&status);
		return 7;
	}
	wait(&status);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
X
instrumented user gcc -O2 user.c
if [ "$(id -u)" = 0 ]; then
	runs_as_plain user
	"$TW" info recording.tw >info.out
	grep -q ' [0-9]\{6\}  exit [01]  *\./user$' info.out || fail "another user's: $(cat info.out)"
	rm -rf user.tw
	"$TW" record -q --sink=count -o user.tw ./user >/dev/null
	[ "$("$TW" info user.tw | grep '^blocks')" = "$(grep '^blocks' info.out)" ] || fail "another user's, counted"
fi
# What is executed as another user is not in it, and that is said, with its name.
cat >exec.c <<'X'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"
int main(int argc, char **argv)
{
	int status;
	if (argc > 1)
		return work(1000) & 1;
	for (int k = 0; k < 2; k++) {
		if (!fork()) {
			if (!getuid() && (setgid(65534) || setuid(65534)))
				return 9;
			execl(argv[0], argv[0], "again", NULL);
			return 8;
		}
		wait(&status);
	}
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
X
instrumented exec gcc -O2 exec.c
chmod 755 .
if [ "$(id -u)" = 0 ]; then
	native ./exec.plain
	for sink in file count; do
		RECORD_OPTIONS=(--sink=$sink)
		recorded ./exec
		cmp native.out recorded.out || fail "executed as another user, it does not run as by itself"
		grep -q 'not in it: 2' recorded.err || fail "executed as another user: $(cat recorded.err)"
		"$TW" info recording.tw | grep -q "not in it: 2, of which $PWD/exec was the first" || fail "executed as another user: $("$TW" info recording.tw | grep ^state)"
	done
	RECORD_OPTIONS=()
else
	runs_as_plain exec
fi

rm -rf user.tw
(
	ulimit -v 100000000
	"$TW" record -q -o user.tw ./user >user.out 2>user.err
)
grep -q 'what 1 threads ran is not in it: their processes could not open' user.err || fail "another user's: $(cat user.err)"

# More threads than are recorded at once, and than the run-time part knows of.
cat >threads.c <<'X'
#include <pthread.h>
#include <stdlib.h>
#include "work.h"
static pthread_barrier_t all;
static void *run(void *arg)
{
	work(10);
	pthread_barrier_wait(&all);
	work(10);
	return arg;
}
int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t *t = malloc((size_t)n * sizeof *t);
	pthread_attr_t small;
	int k = 0, failed = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all, NULL, (unsigned)n);
	while (k < n && !failed)
		failed = pthread_create(&t[k++], &small, run, NULL);
	if (failed)
		exit(99); /* the machine has no more */
	while (k--)
		pthread_join(t[k], NULL);
	return 0;
}
X
for CC_OPTIONS in "" --full=guard; do
	instrument threads gcc -O2 -pthread threads.c
	rm -rf many.tw
	"$TW" record -q --sink=count -o many.tw ./threads 4300 2>many.err
	status=$?
	[ $status = 99 ] && continue
	[ $status = 0 ] || fail "4300 threads: status $status: $(cat many.err)"
	grep -q 'what [0-9]* threads ran is not in it: .* more than [0-9]* at once' many.err || fail "4300 threads: $(cat many.err)"
done
