# record --pid: what cannot be taken is told in one sentence, and left as it was.
. "$(dirname "$0")/../lib.sh"
need_ptrace

# refused PATTERN: the process $PID is not taken, and the sentence says so
refused() {
	one_sentence "$TW" record -o refused.tw --pid="$PID"
	says "$1"
	[ ! -e refused.tw ] || fail "a recording was begun of what says '$1'"
}
# ends_well: it goes on, natively, to its end
ends_well() {
	touch stop
	wait $PID || fail "the program ended with status $?"
	rm stop
}

cc_program odd -D_GNU_SOURCE -pthread <<'EOF'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *until_stop(void *unused)
{
	(void)unused;
	while (access("stop", F_OK))
		usleep(10000);
	_exit(0);
}
static void *thread(void *number)
{
	*(volatile int *)number = (int)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	static volatile int number;
	pthread_t t;
	pid_t child = 0;
	if (!strcmp(how, "filter")) {
		static struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
		const struct sock_fprog f = {1, &allow};
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f))
			return 77;
	} else if (!strcmp(how, "place")) {
		if (mmap((void *)0x68000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
			return 77;
	} else if (!strcmp(how, "zombie") || !strcmp(how, "traced")) {
		if (!(child = fork())) {
			while (!strcmp(how, "traced"))
				pause();
			_exit(0);
		}
		if (!strcmp(how, "traced") && ptrace(PTRACE_SEIZE, child, 0, 0))
			return 77;
		siginfo_t info;
		if (!strcmp(how, "zombie"))
			waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	} else if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, thread, (void *)&number);
		while (!number)
			usleep(1000);
	}
	printf("%d\nready\n", child ? child : number);
	fflush(stdout);
	if (!strcmp(how, "ended")) {
		pthread_create(&t, NULL, until_stop, NULL);
		pthread_exit(NULL);
	}
	while (access("stop", F_OK))
		usleep(10000);
	if (child)
		kill(child, SIGKILL);
	return 0;
}
EOF

one_sentence "$TW" record --pid=x
says "the number of a process"
one_sentence "$TW" record --pid=$$ true
says "no command"
PID=4194305 # more than the kernel gives out
refused "no process"

for how in filter place; do
	start ./odd $how
	[ $how = filter ] && refused "seccomp" || refused "where the engine"
	ends_well
done
for how in zombie traced thread; do
	start ./odd $how
	PARENT=$PID PID=$(head -n 1 native.out)
	case $how in
	zombie) refused "has ended" ;;
	traced) refused "already traced by process $PARENT" ;;
	thread) refused "thread of process $PARENT" ;;
	esac
	PID=$PARENT
	ends_well
done

start ./odd ended
await 'State:.*Z' /proc/$PID/status
refused "ended its first thread"
ends_well

start ./odd
kill -STOP $PID
await 'State:.*T' /proc/$PID/status
refused "is stopped"
kill -CONT $PID
attach -f none
SECOND=$RECORDER
refused "being recorded already"
ends_well
wait $SECOND || fail "the first recorder ended with status $?"
start ./odd
attach -f none
kill -KILL $RECORDER
wait $RECORDER 2>/dev/null
refused "was recorded by process $RECORDER, which was killed"
ends_well

if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	PID=2
	refused "is a kernel thread"
fi
if [ "$(id -u)" = 0 ] && setpriv --reuid=nobody --clear-groups true 2>/dev/null; then
	chmod 755 . && chmod 777 .
	start setpriv --reuid=nobody --clear-groups ./odd
	refused "belongs to user nobody"
	ends_well
	start setpriv --ruid=nobody ./odd
	refused "two users"
	ends_well
	if unshare -m true 2>/dev/null; then
		start unshare -m ./odd
		refused "other mounts"
		ends_well
	fi
else
	untested "processes of others (not root)"
fi
