# Namespaces, other roots, other users: processes whose numbers are not those that the collector sees, and that do not reach it or the engine when they
# execute a program, which then runs natively. Nobody is waited for that is gone.
. "$(dirname "$0")/../lib.sh"
need_command unshare setpriv chroot
[ "$(id -u)" = 0 ] && unshare -p -f true 2>/dev/null || skip "this machine does not let us make namespaces"
cc_program hello -static <<'END'
#include <stdio.h>
int main(int argc, char **argv)
{
	printf("hello %d %s\n", argc, argv[argc - 1]);
	return 3;
}
END
cc_program killed <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *forever(void *arg)
{
	for (volatile unsigned long k = 0;; k++)
		;
	return arg;
}
/* Process 1 of a namespace: its children end, or are killed, the last when it ends itself. */
static int one(void)
{
	int status, sum = getpid();
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();
		if (!pid) {
			pthread_t thread;
			pthread_create(&thread, NULL, forever, NULL);
			usleep(20000);
			if (i & 1)
				pause();
			_exit(7);
		}
		usleep(50000);
		if (i == 1)
			kill(pid, SIGKILL);
		if (i < 3) {
			waitpid(pid, &status, 0);
			sum = sum * 3 + status;
		}
	}
	printf("%d\n", sum);
	fflush(stdout);
	return 5;
}
int main(void)
{
	int status;
	if (unshare(CLONE_NEWPID))
		return 1;
	pid_t pid = fork();
	if (!pid)
		_exit(one());
	waitpid(pid, &status, 0);
	printf("%x\n", status);
	return 0;
}
END
mkdir root
cp hello root/
# runs_natively WHY: the recording says that one program has been executed natively, if its format records anything
runs_natively() {
	[ "${RECORD_OPTIONS[1]}" = none ] || "$TW" dump --raw recording.tw | grep -q 'executed natively' || fail "no word of a native run: $1"
}
for f in none dep; do
	RECORD_OPTIONS=(-f "$f")
	same_as_native ./killed
	same_as_native unshare -p -f sh -c 'sleep 100 & ./hello in a namespace'
	same_as_native unshare -p -f --mount-proc sh -c './hello in a namespace; ps | wc -l'
	runs_natively "the channel is not there in another /proc"
	same_as_native unshare -r sh -c './hello another user'
	runs_natively "the channel is not another user's"
	same_as_native chroot root /hello root
	runs_natively "the engine is not in another root"
	same_as_native setpriv --reuid 65534 --clear-groups ./hello nobody
done
RECORD_OPTIONS=(-f dep)
same_as_native ./killed
check_good
"$TW" info recording.tw | grep -q 'incomplete' && fail "the recording is incomplete"
verify_clean ./killed

# The recorder is process 1 itself, its own threads have the numbers that processes of a namespace below have, and these end without a word: nobody is waited for.
cc_program nested <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int status, ready[2];
	char byte;
	for (int i = 0; i < 3; i++) {
		if (pipe(ready))
			return 1;
		pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			for (int k = 0; k < 5; k++)
				if (!fork()) {
					if (write(ready[1], "", 1) != 1)
						_exit(1);
					for (;;)
						pause();
				}
			for (;;)
				pause();
		}
		for (int k = 0; k < 5; k++)
			if (read(ready[0], &byte, 1) != 1)
				return 2;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		printf("%x\n", status);
	}
	return 3;
}
END
native ./nested
for f in none dep; do
	rm -rf nested.tw
	timeout -s KILL 60 unshare -p -f --mount-proc --kill-child "$TW" record -q -f $f -o nested.tw ./nested >nested.out 2>nested.err
	[ $? = "$NATIVE_STATUS" ] || fail "the recorder as process 1, -f $f: $(cat nested.err)"
	cmp native.out nested.out || fail "the recorder as process 1, -f $f"
	[ ! -s nested.err ] || fail "the recorder as process 1, -f $f: $(cat nested.err)"
done

# Two namespaces at once, the first processes of which go by one number: the end of one is not taken for that of the other.
cc_program pair -O1 <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned memory[64];
/* Writes records for so long. */
static int works(int ms)
{
	struct timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		for (unsigned k = 0; k < 100000; k++)
			memory[k % 64] += k;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < ms);
	return 3;
}
int main(void)
{
	static const int ms[] = {300, 1500, 100};
	for (int i = 0; i < 3; i++)
		if (!syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0))
			_exit(works(ms[i]) + (int)getpid());
	int status, sum = 0;
	while (wait(&status) > 0)
		sum += status;
	printf("%x\n", sum);
	return 0;
}
END
for f in none dep; do
	RECORD_OPTIONS=(-f "$f")
	same_as_native ./pair
done
check_good
"$TW" info recording.tw | grep -q 'incomplete' && fail "the recording of two namespaces is incomplete"
[ "$("$TW" info recording.tw | grep -c '^ *1 .* exit 4 .*pair$')" = 3 ] || fail "info does not tell three processes of one number apart: $("$TW" info recording.tw | grep pair)"

# Several that go by one number execute programs at once: each finds the slot that was reserved for it.
cc_program several -O1 <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int status, sum = 0, go[2];
	char byte;
	if (argc > 1)
		return (int)getpid() + 2;
	for (int round = 0; round < 6; round++) {
		if (pipe(go))
			return 1;
		for (int i = 0; i < 16; i++)
			if (!syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0)) {
				close(go[1]);
				if (!read(go[0], &byte, 1))
					execl(argv[0], argv[0], "again", NULL);
				_exit(1);
			}
		close(go[0]);
		close(go[1]);
		while (wait(&status) > 0)
			sum += status;
	}
	printf("%x\n", sum);
	return 0;
}
END
RECORD_OPTIONS=(-f dep)
same_as_native ./several
check_good
"$TW" dump --raw recording.tw | grep -q gap && fail "something of several programs in namespaces was not recorded"

# Threads that come and go while the collector looks who is there: none is taken for the dead one whose slot it has got. (A thread that was
# could be told from what is written afterwards, which belongs to nobody.)
cc_program churn -pthread <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile long sums[48];
static void *add(void *p)
{
	for (int i = 0; i < 20000; i++)
		++*(volatile long *)p;
	return NULL;
}
int main(void)
{
	struct timespec begun, now;
	long rounds = 0, sum = 0;
	int status;
	pid_t pid = fork();
	if (!pid)
		_exit(unshare(CLONE_NEWPID) != 0); /* from here on numbers need not be the collector's */
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		pthread_t t[48];
		for (int i = 0; i < 48; i++)
			if (pthread_create(&t[i], NULL, add, (void *)&sums[i]))
				return 2;
		for (int i = 0; i < 48; i++)
			pthread_join(t[i], NULL);
		rounds++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begun.tv_sec < 3);
	for (int i = 0; i < 48; i++)
		sum += sums[i];
	puts(sum == rounds * 48 * 20000 ? "all" : "some");
	return 0;
}
END
for sink in count file; do
	"$TW" record -q --sink=$sink -o churn.tw ./churn >churn.out 2>churn.err || fail "churn: $(head -n 3 churn.err)"
	[ "$(cat churn.out)" = all ] && [ ! -s churn.err ] || fail "churn, --sink=$sink: $(head -n 3 churn.out churn.err)"
	if "$TW" info churn.tw | grep -q incomplete; then fail "churn, --sink=$sink: incomplete"; fi
done

# Number 1 of each namespace: in its /proc it is that process, with its program and signals, whoever else goes by that number. Without its /proc numbers there are not its own.
cat >ones <<'END'
unshare -pf --mount-proc bash -c 'trap "" USR1; echo b >>up; until [ "$(wc -l <up)" = 2 ]; do sleep 0.1; done; readlink /proc/1/exe; grep ^SigIgn /proc/1/status; read </proc/1/stat stat; set -- ${stat##*)}; echo ${31}; echo b >>done; until [ "$(wc -l <done)" = 2 ]; do sleep 0.1; done' >one.out &
unshare -pf --mount-proc perl -e '$SIG{USR2} = "IGNORE"; sub meet { system("echo p >>$_[0]; until [ \"\$(wc -l <$_[0])\" = 2 ]; do sleep 0.1; done") } meet("up"); system("readlink /proc/1/exe; grep ^SigIgn /proc/1/status"); meet("done")' >two.out
wait
cat one.out two.out
unshare -pf bash -c 'trap "" USR1; readlink /proc/self/exe; grep ^SigIgn /proc/1/status /proc/self/status; true'
rm up done
END
for f in none dep; do
	RECORD_OPTIONS=(-f "$f")
	same_as_native bash ones
done
