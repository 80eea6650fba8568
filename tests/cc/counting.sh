# --sink=count: threads count their own records. What they count is what a recording has; of long streams it is an estimate, and that is said.
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >p.c <<'X1'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int table[256];
static char from[5000], to[5000];
static void *work(void *a)
{
	long n = (long)a, s = 0;
	for (long i = 0; i < n; i++)
		s += table[(s ^ i) & 255]++;
	for (int i = 0; i < 5; i++)
		__asm__ volatile("rep movsb" : : "S"(from), "D"(to), "c"(100L * i) : "memory");
	return (void *)s;
}
static pthread_key_t key;
static void forget(void *own)
{
	(void)own;
	work((void *)20);
}
static void *run(void *arg)
{
	pthread_setspecific(key, arg);
	return work(arg);
}
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100, s = 0;
	pthread_t t[2];
	pthread_key_create(&key, forget);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, (void *)(n + i));
	s += (long)work((void *)n);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return s < 0;
}
X1
instrumented p gcc -O2 -pthread p.c
figures() { "$TW" info "$1" | awk '/^(instructions|blocks|references|  reads|  writes)/ { print $1, $2 }'; }
for n in 100 20000; do # within a buffer; more than one
	rm -rf counted.tw kept.tw
	"$TW" record -q --sink=count -o counted.tw ./p $n || fail "--sink=count $n"
	"$TW" record -q -o kept.tw ./p $n || fail "record $n"
	figures counted.tw >counted && figures kept.tw >kept && cmp counted kept || {
		diff counted kept
		fail "$n: counted is not what is recorded"
	}
	"$TW" info kept.tw | grep -qx 'cut off at exit  *0' || fail "$n: a thread's end is not told, as it ran functions of thread-specific data"
	"$TW" info counted.tw | grep -q estimated && fail "$n: all was counted"
done
rm -rf counted.tw
"$TW" record -q --sink=count -o counted.tw ./p 3000000 || fail "--sink=count"
"$TW" info counted.tw | grep -q '^estimated from' || fail "it is not said that it is an estimate"
refs=$("$TW" info counted.tw | awk '/^references/ { print $2 }')
[ "$refs" -gt 14000000 ] && [ "$refs" -lt 22500000 ] || fail "$refs references, of 18 million"
# A thread that has a buffer fills it, and goes on in the next, without asking the kernel who it is: here that would kill it.
cat >own.c <<'X1'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static int table[256];
__attribute__((noinline)) static long work(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += table[(s ^ i) & 255]++;
	return s;
}
int main(void)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_gettid, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof f / sizeof *f, f};
	long s = work(10);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	s += work(200000);
	printf("%ld\n", s);
	fflush(stdout);
	syscall(__NR_exit_group, 0);
}
X1
instrumented own gcc -O2 -D_GNU_SOURCE -include unistd.h own.c
./own.plain >own.out
if [ $? = 77 ]; then
	untested "filters of system calls"
else
	TRACKWAY=discard ./own | cmp - own.out || fail "discarded: it is not as it was"
	for how in --sink=count -q; do
		rm -rf own.tw
		"$TW" record -q $how -o own.tw ./own | cmp - own.out || fail "$how: it is not as it was"
	done
fi
