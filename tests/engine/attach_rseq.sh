# record --pid: threads of a process that was there before may register restartable sequences, as natively; the C library ends the program where one that was just being made could not.
# What they have registered holds once the engine has left.
. "$(dirname "$0")/../lib.sh"
need_ptrace

cc_program own_areas -pthread -D_GNU_SOURCE <<'EOF2'
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { SIGNATURE = 0x53053053 };
static char area[2][64] __attribute__((aligned(64)));
static int is_there(const char *name) { return !access(name, F_OK); }
static int rseq(void *at, unsigned bytes, int flags, unsigned signature)
{
	return syscall(SYS_rseq, at, bytes, flags, signature) ? errno : 0;
}
static uint32_t cpu(int of) { return ((volatile struct rseq *)area[of])->cpu_id; }
int main(void)
{
	((struct rseq *)area[0])->cpu_id = ((struct rseq *)area[1])->cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED;
	puts("ready");
	fflush(stdout);
	while (!is_there("taken"))
		usleep(1000);
	printf("bad: %d %d %d %d\n", rseq(area[0] + 4, 32, 0, SIGNATURE), rseq(area[0], 32, 8, SIGNATURE), rseq(area[0], 32, RSEQ_FLAG_UNREGISTER, SIGNATURE),
	       rseq((void *)-64l, 32, 0, SIGNATURE));
	printf("good: %d\n", rseq(area[0], 32, 0, SIGNATURE));
	printf("again: %d %d %d\n", rseq(area[0], 32, 0, SIGNATURE), rseq(area[1], 32, 0, SIGNATURE), rseq(area[0], 32, 0, 1));
	printf("off: %d %d\n", rseq(area[0], 32, RSEQ_FLAG_UNREGISTER, SIGNATURE), rseq(area[0], 32, RSEQ_FLAG_UNREGISTER, SIGNATURE));
	printf("other: %d\n", rseq(area[1], 32, 0, SIGNATURE));
	fflush(stdout);
	fclose(fopen("registered", "w"));
	while (!is_there("left"))
		usleep(1000);
	printf("processors: %s %s\n", (int32_t)cpu(0) < 0 ? "none" : "some", (int32_t)cpu(1) < 0 ? "none" : "some");
	return 0;
}
EOF2
run() { # run WITH: natively, or with the engine there meanwhile
	rm -f taken registered left
	GLIBC_TUNABLES=glibc.pthread.rseq=0 start ./own_areas
	[ "$1" = native ] || attach -f none
	touch taken
	until [ -f registered ]; do
		kill -0 $PID 2>/dev/null || fail "$1: the program has ended: $(cat native.out native.err)"
		sleep 0.05
	done
	if [ "$1" != native ]; then
		"$TW" stop $PID >stop.out || fail "stop: status $?"
		wait $RECORDER || fail "the recorder ended with status $?: $(cat attached.err)"
	fi
	touch left
	wait $PID || fail "$1: status $?"
	cp native.out "$1.out"
}
run native
if grep -q 'good: 0' native.out; then
	cp native.out wanted
	run attached
	cmp -s wanted attached.out || fail "registered by a process that was taken: $(diff wanted attached.out)"
else
	skip "this kernel has no rseq"
fi
